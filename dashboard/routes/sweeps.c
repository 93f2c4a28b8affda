/* The sweeps below the server's root: folders that `csengine sweep` trains or has trained. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/server.h"
#include "dashboard/sweeps/sweep_folder.h"
#include "dashboard/sweeps/sweep_json.h"
#include "engine/base/name.h"

enum { MOST_SWEEPS = 1000 };

typedef struct listing {
    json_t *sweeps, *unreadable;
} listing;

static void add_unreadable(listing *l, const char *name, const char *message)
{
    json_array_append_new(l->unreadable, json_pack("{s:o, s:o}", "name", cse_text_json(name),
                                                   "message", cse_text_json(message)));
}

static void add_sweep(listing *l, const char *root, const char *name)
{
    cse_sweep_log log;
    cse_arena *arena = cse_arena_new();
    const cse_status status = cse_sweep_folder_read(root, name, arena, &log);
    if (!cse_name_is_good(name))
        add_unreadable(l, name,
                       "its name is not accepted as that of a sweep; accepted: " CSE_NAME_ACCEPTED);
    else if (status == CSE_OK)
        json_array_append_new(l->sweeps, cse_sweep_summary_json(&log, name));
    else
        add_unreadable(l, name, cse_error_message());
    cse_arena_destroy(&arena);
}

static int by_update(const void *left, const void *right)
{
    const json_int_t a = json_integer_value(json_object_get(*(json_t *const *)left, "updated_ms"));
    const json_int_t b = json_integer_value(json_object_get(*(json_t *const *)right, "updated_ms"));
    return (a < b) - (a > b);
}

/* The newest first. */
static json_t *sorted(json_t *sweeps)
{
    const size_t count = json_array_size(sweeps);
    json_t **list = cse_calloc(count + 1, sizeof *list), *result = json_array();
    for (size_t i = 0; i < count; i++)
        list[i] = json_array_get(sweeps, i);
    qsort(list, count, sizeof(json_t *), by_update);
    for (size_t i = 0; i < count; i++)
        json_array_append(result, list[i]);
    free(list);
    json_decref(sweeps);
    return result;
}

static void list_sweeps(const cse_request *request, cse_answer *answer)
{
    listing l = { json_array(), json_array() };
    const char *root = request->server->options.root;
    struct dirent *entry;
    int total = 0;
    DIR *folder = root != NULL ? cse_sweep_folders_open(root) : NULL;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.' && ++total <= MOST_SWEEPS)
            add_sweep(&l, root, entry->d_name);
    if (folder != NULL)
        closedir(folder);
    cse_answer_json(answer, 200,
                    json_pack("{s:i, s:o, s:o}", "total", total, "sweeps", sorted(l.sweeps),
                              "unreadable", l.unreadable));
}

static const char schemas[] =
    "SweepName string ~^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$\n"
    "SweepParameter\n"
    "  path string  # of the setting, as in --set\n"
    "  kind 'choice'|'uniform'|'log_uniform'|'int'\n"
    "  low,high number|null  # of a range\n"
    "  values [string]|null  # of a choice, as text of YAML\n"
    "SweepSummary\n"
    "  name SweepName  # of its folder\n"
    "  label string  # its name, which the label sweep of its jobs has\n"
    "  method 'grid'|'random'|'halving'\n"
    "  metric string  # series whose last value is compared\n"
    "  goal 'min'|'max'\n"
    "  state 'running'|'complete'|'stopped'  # running: a process trains it; stopped: none does, "
    "and trials are left: the same command goes on\n"
    "  updated_ms time  # of the newest result\n"
    "  unreadable integer 0..  # lines of trials.jsonl that tell of no trial\n"
    "  trial_count,tried,failed integer 0..\n"
    "  best integer|null  # number of the best trial\n"
    "  best_value number|null\n"
    "  parameters [SweepParameter]\n"
    "SweepList\n"
    "  total integer 0..  # folders; of more than 1000 the others are left out\n"
    "  sweeps [SweepSummary]  # the newest result first\n"
    "  unreadable [object]  # folders that hold no sweep that can be read\n"
    "    name string|null\n"
    "    message string|null\n";

const cse_route cse_route_sweeps = {
    .path = "/api/v1/sweeps",
    .tag = "sweeps",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listSweeps", list_sweeps, "Sweeps in the root's folder sweeps"),
          .doc = "A sweep is there once `csengine sweep` trains it in this folder: with `--server "
                 "ROOT`, or with `--folder ROOT/sweeps/NAME`. A server of one run has none.",
          .replies = "200 SweepList" },
    },
};
