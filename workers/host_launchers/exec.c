/* A client that the configuration describes: a template of its arguments, for all that starts
 * commands elsewhere and has no launcher of its own (nsenter, a container's exec, pdsh).
 *
 *     nsenter --net=/run/netns/{host} unshare -u sh -c 'hostname {host}; exec {command}'
 *     kubectl exec -i {host} -- {command}
 *
 * The template is split once, before anything is replaced, so no name or argument can add a word.
 * "{host}" becomes the host's name. A word "{command}" becomes the command's words; inside of a
 * longer word, which a shell is going to read, it becomes the command quoted for a shell. Without
 * one the command's words follow at the end. */
#include <string.h>

#include "workers/host_launchers/host_launcher.h"
#include "workers/host_launchers/words.h"

static const char mark[] = "{command}";

static cse_status exec_arguments(const cse_host_launch *launch, cse_arena *arena,
                                 const char *const **arguments)
{
    cse_words template = { 0 }, words = { 0 };
    CSE_TRY(cse_words_split(&template, arena, launch->options));
    if (template.count == 0)
        return cse_fail(CSE_CONFIG, "host launcher exec: it has no template; give one such as "
                                    "\"nsenter --net=/run/netns/{host} {command}\"");
    if (strstr(template.items[0], mark) != NULL)
        return cse_fail(CSE_CONFIG,
                        "host launcher exec: the template begins with %s; it begins with the "
                        "program that starts it on {host}",
                        mark);
    const char *quoted;
    CSE_TRY(cse_words_quote(arena, launch->command, &quoted));
    bool placed = false;
    for (int i = 0; i < template.count; i++) {
        const char *word = cse_words_replace(arena, template.items[i], "{host}", launch->host);
        if (strcmp(word, mark) == 0)
            cse_words_add_all(&words, arena, launch->command);
        else
            cse_words_add(&words, arena, cse_words_replace(arena, word, mark, quoted));
        placed = placed || strstr(word, mark) != NULL;
    }
    if (!placed)
        cse_words_add_all(&words, arena, launch->command);
    *arguments = words.items;
    return CSE_OK;
}

/* What the template starts is not known here: a signal may have ended the client alone, and 255 is
 * what clients of remote shells say of a lost connection. */
static bool exec_proves_end(cse_exit how)
{
    return how.signal == 0 && how.code >= 0 && how.code != 255;
}

const cse_host_launcher cse_host_launcher_exec = {
    .name = "exec",
    .summary = "a command of the configuration, with {host} and {command} in it",
    .leader_loss = "as the command of the configuration does; the input pipe closes",
    .arguments = exec_arguments,
    .proves_end = exec_proves_end,
};
