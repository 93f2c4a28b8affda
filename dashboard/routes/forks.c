/* A fork of a run, as a job of the queue (dashboard/jobs/fork_source.h). */
#include <string.h>

#include "dashboard/jobs/fork_source.h"
#include "dashboard/routes/create.h"
#include "dashboard/routes/route_support.h"

/* What is asked for beside step, without and name goes into the JobSpec as it is. */
static json_t *spec_of(const json_t *body, const json_t *from, const char *yaml)
{
    json_t *spec = json_copy((json_t *)(uintptr_t)body);
    json_object_del(spec, "step");
    json_object_del(spec, "without");
    json_object_set_new(spec, "config", json_string(yaml));
    json_object_set(spec, "fork_from", (json_t *)(uintptr_t)from);
    return spec;
}

static json_t *source_of(const cse_job *job, const json_t *body)
{
    static const char *const members[] = { "step", "without" };
    json_t *from = json_pack("{s:s}", "job", job->record.id);
    for (size_t i = 0; i < 2; i++)
        if (json_object_get(body, members[i]) != NULL)
            json_object_set(from, members[i], json_object_get(body, members[i]));
    return from;
}

static void refuse(cse_answer *answer, const char *pointer, const char *message)
{
    cse_answer_diagnostics(answer, CSE_PROBLEM_UNPROCESSABLE,
                           json_pack("[{s:s, s:s}]", "pointer", pointer, "message", message), "%s",
                           message);
}

/* With a queue, and a body that names what is shared. */
static void fork_job(const cse_request *request, cse_answer *answer, const cse_job *job)
{
    const char *yaml = NULL;
    const char *model_dir = job->record.model_dir;
    cse_arena *arena = cse_arena_new();
    json_t *from = source_of(job, request->body);
    cse_status status = cse_fork_source_check(model_dir, from);
    if (status == CSE_OK)
        status = cse_fork_source_configuration(model_dir, from, arena, &yaml);
    if (status == CSE_OK) {
        json_t *spec = spec_of(request->body, from, yaml);
        cse_route_create_spec(request, answer, NULL, spec);
        json_decref(spec);
    } else if (status == CSE_NO_INPUT || status == CSE_DATA || status == CSE_USAGE) {
        refuse(answer, json_object_get(from, "step") != NULL ? "/step" : "/without",
               cse_error_message());
    } else {
        cse_answer_failure(answer, status);
    }
    json_decref(from);
    cse_arena_destroy(&arena);
}

static void post_fork(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    const json_t *body = request->body;
    if (!cse_server_find_job(request, answer, &job))
        return;
    if (!cse_jobs_is_root(request->server->jobs))
        cse_answer_problem(answer, CSE_PROBLEM_NOT_IMPLEMENTED,
                           "this server shows one run and has no queue; `csengine fork %s` makes "
                           "the fork by hand, csengine serve --root DIR has a queue",
                           job.record.model_dir);
    else if (json_object_get(body, "step") == NULL && json_object_get(body, "without") == NULL)
        refuse(answer, "",
               "give step, the last one that both runs share, or without, samples that the new "
               "one leaves out, or both");
    else
        fork_job(request, answer, &job);
    cse_job_release(&job);
}

static const char schemas[] =
    "ForkRequest  # What is not given is as the run has it; give step, without, or both\n"
    "  step? integer 1..  # the last one that both runs share\n"
    "  without? [integer 0..] 1..1000  # numbers of samples that the new run leaves out; without "
    "step both share the steps before the first use\n"
    "  overrides? {string|number|boolean|integer|null} ..256  # settings that differ from the "
    "run's, by dotted path\n"
    "  name? string 1..200 ~^[^\001-\037\177]+$  # for people; need not be unique\n"
    "  labels? Labels\n"
    "  priority? Priority\n"
    "  resources? Resources\n"
    "  restart_policy? RestartPolicy\n"
    "  = {\"step\": 500, \"overrides\": {\"trainer.init.precision.precision_opt_level\": 0}}\n";

const cse_route cse_route_forks = {
    .path = "/api/v1/jobs/{id}/forks",
    .tag = "control",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("POST", "forkJob", post_fork,
                        "Puts a new job into the queue that shares the run's steps up to one"),
          .doc = "As `csengine fork`: the new run has the checkpoints up to the step as hard "
                 "links, the curves, and the chain of digests; a step without a checkpoint is "
                 "done again when the job starts, and the job fails where its digests differ. The "
                 "run itself may go on.",
          .parameters = "Idempotency-Key\n",
          .body = "ForkRequest",
          .replies = "201 Job +Location +ETag  # Created\n",
          .problems = "409 501 503" },
    },
};
