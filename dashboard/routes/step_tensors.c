/* Tensors of any past step of a job, by a replay (dashboard/replays/replays.h). */
#include "dashboard/replays/replays.h"

#include "dashboard/routes/route_support.h"

static void answer_shown(const cse_request *request, cse_answer *answer, int status, json_t *shown)
{
    cse_answer_json(answer, status, shown);
    if (status == 202)
        cse_answer_header(answer, "Location", "%s", request->path);
}

/* False after it filled the answer. */
static bool has_done(const cse_server_run *run, int64_t step, cse_answer *answer)
{
    cse_run_status status = { .last_step = -1 };
    if (cse_store_reader_status(run->reader, &status) == CSE_OK && step <= status.last_step)
        return true;
    cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND,
                       "the run has done the steps 1 to %lld, and not step %lld",
                       (long long)(status.last_step > 0 ? status.last_step : 0), (long long)step);
    return false;
}

static void begin_replay(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    bool begun = false;
    json_t *shown = NULL;
    const int64_t step = cse_request_integer(request, "step", 0);
    if (!cse_server_open_run(request, answer, &run))
        return;
    if (has_done(&run, step, answer)) {
        const cse_step_question question = { .job = run.job.record.id,
                                             .model_dir = run.job.record.model_dir,
                                             .created_ms = run.job.record.created_ms,
                                             .step = step,
                                             .options = request->body };
        const cse_status status =
            cse_replays_begin(request->server->replays, &question, &begun, &shown);
        if (status == CSE_USAGE)
            cse_answer_problem(answer, CSE_PROBLEM_CONFLICT, "%s", cse_error_message());
        else if (status != CSE_OK)
            cse_answer_failure(answer, status);
        else
            answer_shown(request, answer, begun ? 202 : 200, shown);
    }
    cse_server_close_run(request, &run);
}

static void no_replay(cse_answer *answer)
{
    cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND,
                       "nobody has asked for this step, or it was long ago: POST does it again");
}

static void get_replay(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    if (!cse_server_find_job(request, answer, &job))
        return;
    json_t *shown = cse_replays_show(request->server->replays, job.record.id,
                                     cse_request_integer(request, "step", 0));
    cse_job_release(&job);
    if (shown != NULL)
        answer_shown(request, answer, 200, shown);
    else
        no_replay(answer);
}

static void end_replay(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    if (!cse_server_find_job(request, answer, &job))
        return;
    const bool found = cse_replays_end(request->server->replays, job.record.id,
                                       cse_request_integer(request, "step", 0));
    cse_job_release(&job);
    if (found)
        cse_answer_empty(answer, 204);
    else
        no_replay(answer);
}

static const char schemas[] =
    "StepQuestion  # What of the step is asked for; absent: its states\n"
    "  tensor? string 1..500  # a name, an end of it behind a dot, or a regular expression\n"
    "  computed? boolean  # of what the step computes: values, gradients\n"
    "  microbatch? integer 0..  # of what this microbatch of the step computes\n"
    "  sample? integer 0..  # of what the step computes for this sample, by its number in the "
    "data\n"
    "  values? integer 0..4096  # shown of each tensor; default: 8, with keep: 0\n"
    "  keep? boolean  # the values of its states and of what it computes are kept, for "
    "getStepValues and getStepHistogram: up to 1 GiB of a step, 2 GiB together; without "
    "computed, microbatch, sample\n"
    "  = {\"tensor\": \"last_layer.weight\", \"values\": 4}\n"
    "StepTensor open  # as csengine inspect --json has it\n"
    "  name string\n"
    "  dtype string  # of its values\n"
    "  shape [integer]\n"
    "  role string  # state, optimizer; of what is computed: value, cast, gradient\n"
    "  format string  # in which the step has it\n"
    "  rows? string  # of what is computed: what its first dimension counts: samples, "
    "microbatches, or nothing\n"
    "  op? string  # that computes it\n"
    "  backward? boolean\n"
    "  min,max,mean,std,norm number|null  # of its finite values\n"
    "  zeros,nan,inf integer  # so many values\n"
    "StepAnswer open\n"
    "  step,from integer  # steps behind `from` were done again\n"
    "  from_kept boolean  # from states that an earlier replay left\n"
    "  bits 'same'|'other'|'unknown'  # whether these are the run's bits\n"
    "  words string  # the same for people, or what is other\n"
    "  chain string|null\n"
    "  tensors [StepTensor]\n"
    "  samples? [integer]  # of the batch in its order, by their numbers in the data\n"
    "  microbatches? integer\n"
    "StepTensors\n"
    "  job JobId\n"
    "  step integer\n"
    "  options StepQuestion\n"
    "  state 'running'|'done'|'failed'\n"
    "  last_step integer|null  # that has been done again so far; null: none, or it has ended\n"
    "  message string|null  # why it failed\n"
    "  answer StepAnswer|null\n"
    "  kept integer|null  # bytes of values that are kept; null: none are\n";

const cse_route cse_route_step_tensors = {
    .path = "/api/v1/jobs/{id}/steps/{step}/tensors",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getStepTensors", get_replay,
                        "What was found of a past step, or how far its replay is"),
          .replies = "200 StepTensors" },
        { CSE_OPERATION("POST", "replayStep", begin_replay,
                        "Does a past step again, for any of its tensors"),
          .doc = "The steps from the nearest checkpoint, or the nearest states that an earlier "
                 "replay left, on are done again by one process, in a "
                 "folder of its own, one replay at a time and for ten minutes at most; GET says "
                 "how far it is, and then what was found and whether these are the run's bits. The "
                 "newest 16 answers are kept while the server lives.",
          .body = "StepQuestion", .body_optional = true,
          .replies = "202 StepTensors +Location  # It has begun\n"
                     "200 StepTensors  # It is under way, or was answered before",
          .problems = "409 503" },
        { CSE_OPERATION("DELETE", "endReplay", end_replay,
                        "Ends the replay, or forgets its answer"),
          .replies = "204  # Ended" },
    },
};
