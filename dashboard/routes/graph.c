/* The step graph as it was compiled. */
#include <string.h>

#include "dashboard/route_support.h"

static void get_graph(const cse_request *request, cse_answer *answer)
{
    bool validation = strcmp(cse_request_text(request, "name", "training"), "validation") == 0;
    cse_server_answer_artefact(request, answer,
                               validation ? "graph.validation.json" : "graph.training.json");
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
        { CSE_OPERATION("GET", "getGraph", get_graph, "The step graph"),
          .parameters = "name? 'training'|'validation' = training  # which step\n",
          .replies = "200 Graph",
          .problems = "503" },
    },
};
