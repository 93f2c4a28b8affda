/* The table, and what a value may be. */
#include "workers/batch/slurm_options.h"

#include <stdbool.h>
#include <string.h>

enum { MOST_VALUE_BYTES = 256 };

typedef struct option {
    const char *name;
    bool has_value;
} option;

static const option accepted[] = {
    { "account", true },
    { "array", true },
    { "begin", true },
    { "cluster-constraint", true },
    { "clusters", true },
    { "comment", true },
    { "constraint", true },
    { "contiguous", false },
    { "cores-per-socket", true },
    { "cpus-per-task", true },
    { "deadline", true },
    { "dependency", true },
    { "exclude", true },
    { "exclusive", false },
    { "gres", true },
    { "hold", false },
    { "job-name", true },
    { "licenses", true },
    { "mem", true },
    { "mem-per-cpu", true },
    { "mincpus", true },
    { "nice", true },
    { "no-requeue", false },
    { "nodelist", true },
    { "nodes", true },
    { "oversubscribe", false },
    { "partition", true },
    { "priority", true },
    { "qos", true },
    { "reservation", true },
    { "sockets-per-node", true },
    { "switches", true },
    { "threads-per-core", true },
    { "time", true },
    { "time-min", true },
    { "tmp", true },
    { "wait-all-nodes", true },
    { "wckey", true },
};
enum { ACCEPTED = sizeof accepted / sizeof *accepted };

static cse_status refuse(cse_arena *arena, const char *word, const char *why)
{
    const char *names = "";
    for (int i = 0; i < ACCEPTED; i++)
        names = cse_arena_printf(arena, "%s%s--%s%s", names, i > 0 ? ", " : "", accepted[i].name,
                                 accepted[i].has_value ? "=" : "");
    return cse_fail(CSE_CONFIG, "launcher slurm: option \"%.80s\" %s; accepted: %s", word, why,
                    names);
}

/* Letters and signs that a value of these options can have; none that could end it. */
static bool is_value(const char *value)
{
    const size_t length = strlen(value);
    for (size_t i = 0; i < length; i++)
        if (value[i] < ' ' || value[i] > '~')
            return false;
    return length > 0 && length <= MOST_VALUE_BYTES;
}

static cse_status check(cse_arena *arena, const char *word)
{
    if (strncmp(word, "--", 2) != 0)
        return refuse(arena, word, "is none of a long name with its value behind =");
    const size_t length = strcspn(word + 2, "=");
    const char *value = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
    for (int i = 0; i < ACCEPTED; i++) {
        if (strlen(accepted[i].name) != length || strncmp(accepted[i].name, word + 2, length) != 0)
            continue;
        if (!accepted[i].has_value && value != NULL)
            return refuse(arena, word, "takes no value");
        if (accepted[i].has_value && value == NULL)
            return refuse(arena, word, "needs a value behind =");
        if (value != NULL && !is_value(value))
            return refuse(arena, word, "has a value that is empty, too long or not of ASCII");
        return CSE_OK;
    }
    return refuse(arena, word, "is none that a job may have");
}

cse_status cse_slurm_options_add(cse_words *words, cse_arena *arena, const char *text)
{
    const int before = words->count;
    CSE_TRY(cse_words_split(words, arena, text));
    for (int i = before; i < words->count; i++)
        CSE_TRY(check(arena, words->items[i]));
    return CSE_OK;
}
