/* The sweeps below the server's root: folders that `csengine sweep` trains or has trained. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/routes/sweep_support.h"
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
    if (!cse_name_is_good(name)) {
        add_unreadable(l, name,
                       "its name is not accepted as that of a sweep; accepted: " CSE_NAME_ACCEPTED);
        return;
    }
    cse_arena *arena = cse_arena_new();
    if (cse_sweep_folder_read(root, name, arena, &log) == CSE_OK)
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

static void create_sweep(const cse_request *request, cse_answer *answer)
{
    bool made = false;
    cse_server *server = request->server;
    if (!cse_sweep_admits(request, answer))
        return;
    const cse_status status = cse_sweep_runs_begin(server->sweeps, request->body, &made);
    if (status == CSE_OK)
        cse_sweep_answer(request, made ? 201 : 200,
                         json_string_value(json_object_get(request->body, "name")), answer);
    else
        cse_answer_failure(answer, status);
}

static const char schemas[] =
    "SweepName string ~^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$\n"
    "SweepParameter\n"
    "  path string  # of the setting, as in --set\n"
    "  kind 'choice'|'uniform'|'log_uniform'|'int'\n"
    "  low,high number|null  # of a range\n"
    "  values [string]|null  # of a choice, as text of YAML\n"
    "SweepSpec  # As sweep.yaml of `csengine sweep`, with the configuration itself.\n"
    "  name SweepName\n"
    "  config string 1..1048576  # CONFIG.yaml as text\n"
    "  method? 'grid'|'random'|'halving'  # default: random\n"
    "  trials? integer 1..10000  # of random and halving\n"
    "  seed? integer 0..9007199254740991\n"
    "  metric? string 1..255  # default: val_loss\n"
    "  goal? 'min'|'max'\n"
    "  parameters {any} 1..64  # of each setting: a list of values, {uniform: [low, high]}, "
    "{log_uniform: [low, high]} or {int: [low, high]}\n"
    "  settings? [string] ..1000  # PATH=VALUE of all trials\n"
    "  steps? object  # of halving\n"
    "    min,max integer 1..2147483647\n"
    "    eta? integer 2..100  # default: 3\n"
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
    "  by_server boolean  # it was started through the API, and can be cancelled by it\n"
    "  wanted boolean  # the server goes on with it until it is complete\n"
    "  message string|null  # why the server does not\n"
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
          .doc = "A sweep is there once it was sent here, or `csengine sweep` trains it in this "
                 "folder: with `--server ROOT`, or with `--folder ROOT/sweeps/NAME`. A server of "
                 "one run has none.",
          .replies = "200 SweepList" },
        { CSE_OPERATION("POST", "createSweep", create_sweep, "Trains a sweep in the queue"),
          .doc = "Its trials are jobs with the labels sweep and trial. The same sweep again is "
                 "answered with what is there, and goes on where it had ended. A token with a "
                 "name may not: the jobs would not be its own.",
          .parameters = "Idempotency-Key",
          .body = "SweepSpec",
          .replies = "201 Sweep +Location\n"
                     "200 Sweep  # It was there",
          .problems = "409 501 503" },
    },
};
