/* Which precision each part of the step has, and why. */
#include "dashboard/route_support.h"

static void get_precision(const cse_request *request, cse_answer *answer)
{
    cse_server_answer_artefact(request, answer, "precision.json");
}

static const char schemas[] =
    "Precision open  # The precision report as csengine compile --print_precision --json prints "
    "it.\n";

const cse_route cse_route_precision = {
    .path = "/api/v1/jobs/{id}/precision",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getPrecision", get_precision, "The precision report"),
          .replies = "200 Precision",
          .problems = "503" },
    },
};
