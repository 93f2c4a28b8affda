/* The past steps of a job that were done again. */
#include "dashboard/replays/replays.h"

#include "dashboard/routes/route_support.h"

static void list_steps(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_run_status status = { .last_step = -1 };
    if (!cse_server_open_run(request, answer, &run))
        return;
    const cse_status read = cse_store_reader_status(run.reader, &status);
    json_t *replays = cse_replays_list(request->server->replays, run.job.record.id);
    cse_server_close_run(request, &run);
    cse_answer_result(answer, read,
                      json_pack("{s:I, s:o}", "last_step",
                                (json_int_t)(status.last_step > 0 ? status.last_step : 0),
                                "replays", replays));
}

static const char schemas[] = "StepReplay  # as StepTensors, without the answer\n"
                              "  step integer\n"
                              "  options StepQuestion\n"
                              "  state 'running'|'done'|'failed'\n"
                              "  last_step integer|null\n"
                              "  message string|null\n"
                              "  kept integer|null  # bytes of values that are kept\n"
                              "StepList\n"
                              "  last_step integer  # of the run\n"
                              "  replays [StepReplay]  # the newest first\n";

const cse_route cse_route_steps = {
    .path = "/api/v1/jobs/{id}/steps",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listSteps", list_steps,
                        "Past steps that were done again, or are being done"),
          .replies = "200 StepList",
          .problems = "503" },
    },
};
