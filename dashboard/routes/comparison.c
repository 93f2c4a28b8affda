/* Runs beside each other: in what their configurations differ, and up to which step their bits are
 * those of the first. */
#include <stdlib.h>
#include <string.h>

#include "dashboard/query/origins.h"
#include "dashboard/queue/job_json.h"
#include "dashboard/queue/job_values.h"
#include "dashboard/routes/route_support.h"
#include "engine/base/config/settings.h"
#include "run/travel/chains_compared.h"

enum { MOST_RUNS = 50 };

typedef struct compared {
    cse_job jobs[MOST_RUNS];
    json_t *settings[MOST_RUNS]; /* path: text */
    int count;
} compared;

static void release(compared *c)
{
    for (int i = 0; i < c->count; i++) {
        cse_job_release(&c->jobs[i]);
        json_decref(c->settings[i]);
    }
    free(c);
}

/* False after it filled the answer. */
static bool find_runs(const cse_request *request, cse_answer *answer, compared *c)
{
    size_t i;
    json_t *id;
    cse_jobs *jobs = request->server->jobs;
    json_array_foreach(json_object_get(request->values, "runs"), i, id)
    {
        const char *name = json_string_value(id);
        if (!cse_jobs_find(jobs, name, &c->jobs[c->count])) {
            cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "there is no job \"%s\"", name);
            return false;
        }
        json_t *values = cse_job_values(jobs, &c->jobs[c->count]);
        c->settings[c->count++] = json_incref(json_object_get(values, "settings"));
        json_decref(values);
    }
    return true;
}

/* ---- bits ---- */

/* Null where a run has no digests, or none was recorded yet. */
static json_t *bits_of(const compared *c, int run)
{
    const char *const directories[2] = { c->jobs[0].record.model_dir,
                                         c->jobs[run].record.model_dir };
    cse_chains_compared found;
    if (run == 0 || cse_chains_compare(directories, &found) != CSE_OK || found.common == 0)
        return json_null();
    const bool parts = found.differs > 0;
    return json_pack("{s:I, s:o, s:o, s:o}", "common", (json_int_t)found.common, "same_to",
                     found.same_to > 0 ? json_integer(found.same_to) : json_null(), "differs_at",
                     parts ? json_integer(found.differs) : json_null(), "differs_in",
                     parts ? json_string(found.samples_differ ? "samples" : "states")
                           : json_null());
}

/* ---- plugins ---- */

/* The store may be anybody's. */
static bool are_plugins(const json_t *plugins)
{
    static const char *const members[] = { "kind", "name", "library", "digest" };
    size_t i;
    json_t *plugin;
    json_array_foreach(plugins, i, plugin)
    {
        for (size_t m = 0; m < sizeof members / sizeof members[0]; m++)
            if (!json_is_string(json_object_get(plugin, members[m])))
                return false;
    }
    return json_is_array(plugins);
}

/* Null where the run does not say it: it has not begun, or a version before wrote it. */
static json_t *plugins_of(const cse_request *request, const cse_job *job)
{
    cse_text text = { 0 };
    json_t *plugins = NULL;
    cse_store_reader *reader = NULL;
    cse_readers *readers = request->server->readers;
    if (cse_readers_borrow(readers, job->record.model_dir, &reader) != CSE_OK)
        return json_null();
    if (cse_store_reader_key(reader, "plugins", &text))
        plugins = json_loadb(text.data, text.size, 0, NULL);
    cse_readers_give_back(readers, job->record.model_dir, &reader);
    cse_text_clear(&text);
    if (are_plugins(plugins))
        return plugins;
    json_decref(plugins);
    return json_null();
}

static json_t *runs_json(const cse_request *request, const compared *c)
{
    static const char *const members[] = { "id", "name", "state", "batch_size" };
    json_t *runs = json_array();
    for (int i = 0; i < c->count; i++) {
        json_t *one = json_object(), *job = cse_job_json(request->server->jobs, &c->jobs[i]);
        for (size_t m = 0; m < sizeof members / sizeof members[0]; m++)
            json_object_set(one, members[m], json_object_get(job, members[m]));
        json_object_set_new(one, "bits", bits_of(c, i));
        json_object_set_new(one, "plugins", plugins_of(request, &c->jobs[i]));
        json_array_append_new(runs, one);
        json_decref(job);
    }
    return runs;
}

/* ---- settings ---- */

/* A folder of each run's own says nothing. */
static bool is_own(const char *path)
{
    return strcmp(path, "trainer.init.model_dir") == 0;
}

static bool differs(const compared *c, const char *path)
{
    const json_t *first = json_object_get(c->settings[0], path);
    for (int i = 1; i < c->count; i++) {
        const json_t *other = json_object_get(c->settings[i], path);
        if (first == NULL || other == NULL ? first != other : !json_equal(first, other))
            return true;
    }
    return false;
}

static json_t *difference(const compared *c, const char *path)
{
    json_t *values = json_array();
    for (int i = 0; i < c->count; i++) {
        json_t *value = json_object_get(c->settings[i], path);
        json_array_append_new(values, value != NULL ? json_incref(value) : json_null());
    }
    return json_pack("{s:s, s:b, s:o}", "path", path, "changes_bits",
                     cse_setting_changes_bits(path), "values", values);
}

/* What can change a bit comes first. */
static json_t *settings_json(const compared *c)
{
    json_t *seen = json_object(), *first = json_array(), *others = json_array(), *value;
    const char *path;
    for (int i = 0; i < c->count; i++)
        json_object_foreach(c->settings[i], path, value)
        {
            if (json_object_get(seen, path) != NULL || is_own(path) || !differs(c, path))
                continue;
            json_object_set_new(seen, path, json_true());
            json_array_append_new(cse_setting_changes_bits(path) ? first : others,
                                  difference(c, path));
        }
    json_array_extend(first, others);
    json_decref(others);
    json_decref(seen);
    return first;
}

static json_t *origins_json(const cse_request *request, const compared *c)
{
    json_t *links = json_array();
    for (int i = 0; i < c->count; i++) {
        json_t *job = cse_job_json(request->server->jobs, &c->jobs[i]);
        json_t *own = json_object_get(job, "identity_links");
        json_array_append(links, own != NULL ? own : json_null());
        json_decref(job);
    }
    json_t *origins = cse_origins_that_differ(links);
    json_decref(links);
    return origins;
}

static void get_comparison(const cse_request *request, cse_answer *answer)
{
    compared *c = cse_calloc(1, sizeof *c);
    if (find_runs(request, answer, c))
        cse_answer_json(answer, 200,
                        json_pack("{s:o, s:o, s:o}", "runs", runs_json(request, c), "settings",
                                  settings_json(c), "origins", origins_json(request, c)));
    release(c);
}

static const char parameters[] = "runs [,JobId] 1..50  # comma-separated: the jobs; the bits of "
                                 "the others are compared with those of the first\n"
                                 "  = [\"mnist-1\", \"mnist-2\"]\n";

static const char schemas[] =
    "ComparedBits  # By the digests that runs keep of each step.\n"
    "  common integer 1..  # steps of which both have digests, up to the first that differs\n"
    "  same_to integer|null  # the last step up to which states and samples are the same; null: "
    "none is\n"
    "  differs_at integer|null  # the first step that is not; null: there is none\n"
    "  differs_in 'samples'|'states'|null  # what is not the same there; states: its samples are\n"
    "ComparedPlugin\n"
    "  kind string  # optimizer, model, op, ...\n"
    "  name string\n"
    "  library string  # path of the shared object that holds it\n"
    "  digest string  # of that file (BLAKE2b-256), taken before any of its code ran\n"
    "ComparedRun\n"
    "  id JobId\n"
    "  name string\n"
    "  state State\n"
    "  batch_size integer|null\n"
    "  bits ComparedBits|null  # null: of the first run, and where both have no digests of the "
    "same step\n"
    "  plugins [ComparedPlugin]|null  # of the libraries that its process had loaded when it "
    "began; null: the run does not say it\n"
    "ComparedSetting\n"
    "  path string\n"
    "  changes_bits boolean  # whether it can change a bit of a step; else it says where a run "
    "happens, how long, and what it leaves\n"
    "  values [string|null]  # as YAML, one for each run; null: the run has none\n"
    "Comparison\n"
    "  runs [ComparedRun]  # in the order in which they were asked for\n"
    "  settings [ComparedSetting]  # those that differ; what can change a bit comes first\n"
    "  origins [ComparedSetting]  # what else the runs were made from, where it differs: the step "
    "graph, the program, its generated code, the data; path is in words, values are digests and "
    "versions of the newest checkpoint; null: it is not known\n";

const cse_route cse_route_comparison = {
    .path = "/api/v1/comparison",
    .tag = "jobs",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "compareRuns", get_comparison,
                        "In what runs differ: settings, and the step from which their bits do"),
          .parameters = parameters,
          .replies = "200 Comparison",
          .problems = "404" },
    },
};
