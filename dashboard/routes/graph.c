/* The step graph as it was compiled. */
#include <string.h>

#include "dashboard/server.h"

static void get_graph(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_text content = { 0 };
    if (!cse_server_open_run(request, answer, &run))
        return;
    bool validation = strcmp(cse_request_text(request, "name", "training"), "validation") == 0;
    const char *name = validation ? "graph.validation.json" : "graph.training.json";
    cse_status status = cse_store_reader_artefact(run.reader, name, &content, NULL, 0);
    cse_server_close_run(request, &run);
    if (status == CSE_OK)
        cse_answer_text(answer, 200, "application/json", &content);
    else
        cse_answer_failure(answer, status);
    cse_text_clear(&content);
}

static const char schemas[] =
    "Graph open  # The step graph as compiled: engine/graph/json.c's format. nodes[] with op, "
    "dtype, shape, inputs (indices), scope, backward, part (0 replica, 1 weights, 2 update), "
    "group (fused kernel), inserted_cast, pol_forward, accumulation; states[], inputs[], "
    "fetches[].\n";

const cse_route cse_route_graph = {
    .path = "/api/v1/jobs/{id}/graph",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { .method = "GET",
          .id = "getGraph",
          .summary = "The step graph",
          .parameters = "name? 'training'|'validation' = training  # which step\n",
          .replies = "200 Graph",
          .problems = "503",
          .handle = get_graph },
        { 0 },
    },
};
