/* The history of a run: the run that it was forked from, its own forks, and its starts. */
#include <string.h>

#include "dashboard/queue/job_json.h"
#include "dashboard/queue/job_past.h"
#include "dashboard/routes/route_support.h"
#include "store/replaced.h"

/* All jobs that are forks, or are named by one. */
typedef struct family {
    json_t *jobs;    /* id: as the API shows it */
    json_t *parents; /* id: {"job": id, "step"} */
    json_t *folders; /* model_dir: id */
    cse_jobs *table;
} family;

static bool take_job(void *self, const cse_job *job)
{
    family *f = self;
    json_object_set_new(f->folders, job->record.model_dir, json_string(job->record.id));
    return true;
}

static bool take_fork(void *self, const cse_job *job)
{
    static const char *const members[] = { "id", "name", "state" };
    family *f = self;
    json_t *shown = cse_job_json(f->table, job), *fork = json_object_get(shown, "fork");
    json_t *one = json_object();
    for (size_t m = 0; m < sizeof members / sizeof members[0]; m++)
        json_object_set(one, members[m], json_object_get(shown, members[m]));
    json_object_set(one, "last_step", json_object_get(json_object_get(shown, "progress"), "step"));
    json_object_set_new(f->jobs, job->record.id, one);
    if (json_is_object(fork)) {
        const char *folder = json_string_value(json_object_get(fork, "model_dir"));
        json_t *parent = json_object_get(fork, "job");
        if (folder != NULL)
            parent = json_object_get(f->folders, folder);
        json_object_set_new(f->parents, job->record.id,
                            json_pack("{s:O?, s:s?, s:O}", "job",
                                      json_is_string(parent) ? parent : NULL, "model_dir", folder,
                                      "step", json_object_get(fork, "step")));
    }
    json_decref(shown);
    return true;
}

static const char *parent_of(const family *f, const char *id)
{
    return json_string_value(json_object_get(json_object_get(f->parents, id), "job"));
}

/* The run that begins by itself, as far as it is known here; a circle ends it. */
static const char *root_of(const family *f, const char *id)
{
    for (int depth = 0; depth < CSE_MOST_PASTS; depth++) {
        const char *parent = parent_of(f, id);
        if (parent == NULL || json_object_get(f->jobs, parent) == NULL)
            break;
        id = parent;
    }
    return id;
}

static int64_t step_of(const family *f, const char *id)
{
    return json_integer_value(json_object_get(json_object_get(f->parents, id), "step"));
}

/* The runs that were forked from one, by the step. */
static json_t *forks_of(const family *f, const char *id)
{
    json_t *forks = json_array(), *of;
    const char *other;
    json_object_foreach(f->parents, other, of)
    {
        const char *from = json_string_value(json_object_get(of, "job"));
        size_t at = json_array_size(forks);
        if (from == NULL || strcmp(from, id) != 0)
            continue;
        while (at > 0 &&
               step_of(f, json_string_value(json_array_get(forks, at - 1))) > step_of(f, other))
            at--;
        json_array_insert_new(forks, at, json_string(other));
    }
    return forks;
}

/* A run, then those that were forked from it. */
static void add_runs(const family *f, const char *id, int depth, json_t *runs)
{
    const json_t *parent = json_object_get(f->parents, id);
    json_t *run = json_copy(json_object_get(f->jobs, id)), *forks = forks_of(f, id), *fork;
    size_t i;
    json_object_set_new(run, "depth", json_integer(depth));
    json_object_set(run, "from", parent != NULL ? json_object_get(parent, "job") : json_null());
    json_object_set(run, "from_dir",
                    parent != NULL ? json_object_get(parent, "model_dir") : json_null());
    json_object_set(run, "at", parent != NULL ? json_object_get(parent, "step") : json_null());
    json_array_append_new(runs, run);
    json_array_foreach(forks, i, fork) if (depth < CSE_MOST_PASTS)
        add_runs(f, json_string_value(fork), depth + 1, runs);
    json_decref(forks);
}

static json_t *step_or_null(int64_t step)
{
    return step > 0 ? json_integer(step) : json_null();
}

static void take_attempt(void *self, const cse_attempt_steps *a)
{
    json_array_append_new(
        self, json_pack("{s:I, s:o, s:o, s:o, s:o}", "attempt", (json_int_t)a->attempt,
                        "first_step", step_or_null(a->first), "last_step", step_or_null(a->last),
                        "replaced_first", step_or_null(a->replaced_first), "replaced_last",
                        step_or_null(a->replaced_last)));
}

/* A job that waits for its turn has made no start. */
static json_t *attempts_of(const cse_request *request, const cse_job *job)
{
    cse_readers *readers = request->server->readers;
    cse_store_reader *reader = NULL;
    json_t *attempts = json_array();
    if (cse_readers_borrow(readers, job->record.model_dir, &reader) == CSE_OK)
        cse_store_reader_attempts(reader, take_attempt, attempts);
    cse_readers_give_back(readers, job->record.model_dir, &reader);
    return attempts;
}

static void get_history(const cse_request *request, cse_answer *answer)
{
    cse_jobs *jobs = request->server->jobs;
    cse_job job;
    if (!cse_server_find_job(request, answer, &job))
        return;
    family f = { json_object(), json_object(), json_object(), jobs };
    json_t *runs = json_array();
    cse_jobs_each(jobs, take_job, &f);
    cse_jobs_each(jobs, take_fork, &f);
    add_runs(&f, root_of(&f, job.record.id), 0, runs);
    cse_answer_json(answer, 200,
                    json_pack("{s:o, s:o}", "runs", runs, "attempts", attempts_of(request, &job)));
    json_decref(f.jobs);
    json_decref(f.parents);
    json_decref(f.folders);
    cse_job_release(&job);
}

static const char schemas[] =
    "HistoryRun\n"
    "  id JobId\n"
    "  name string\n"
    "  state State\n"
    "  last_step integer|null  # that it has done\n"
    "  depth integer 0..  # forks between it and the first\n"
    "  from JobId|null  # whose steps it shares; null: it began by itself, or that run is no job "
    "here\n"
    "  from_dir string|null  # the folder of that run, where csengine fork named it\n"
    "  at integer|null  # the last step that both share\n"
    "HistoryAttempt  # A start of the run that has points; first_step and last_step of those that "
    "count.\n"
    "  attempt integer 1..\n"
    "  first_step,last_step integer|null\n"
    "  replaced_first,replaced_last integer|null  # that a later start did again\n"
    "History\n"
    "  runs [HistoryRun]  # the first run, then those that were forked from it, each followed by "
    "its "
    "own forks\n"
    "  attempts [HistoryAttempt]  # of the job, oldest first\n";

const cse_route cse_route_history = {
    .path = "/api/v1/jobs/{id}/history",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getHistory", get_history,
                        "The run that it was forked from, its own forks, and its starts"),
          .replies = "200 History" },
    },
};
