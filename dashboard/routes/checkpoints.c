/* The checkpoints of a run. */
#include "dashboard/routes/route_support.h"
#include "dashboard/routes/saved.h"

static void list_checkpoints(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    if (!cse_server_open_run(request, answer, &run))
        return;
    json_t *list = json_array();
    cse_status status = cse_saved_list(&run, list);
    cse_server_close_run(request, &run);
    cse_answer_result(answer, status, json_pack("{s:O}", "checkpoints", list));
    json_decref(list);
}

static const char schemas[] = "Checkpoint\n"
                              "  step integer\n"
                              "  attempt integer\n"
                              "  time_ms time\n"
                              "  path string  # file name in the run's directory\n"
                              "  bytes integer 0..\n"
                              "  digest string|null  # BLAKE2b-256, hexadecimal\n"
                              "  write_ms integer|null  # milliseconds it took to write\n"
                              "  verified boolean\n"
                              "  deleted boolean  # its file was removed: there is no link to it\n"
                              "  links Links\n"
                              "CheckpointList\n"
                              "  checkpoints [Checkpoint]\n";

const cse_route cse_route_checkpoints = {
    .path = "/api/v1/jobs/{id}/checkpoints",
    .tag = "checkpoints",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listCheckpoints", list_checkpoints, "Checkpoints"),
          .replies = "200 CheckpointList",
          .problems = "503" },
    },
};
