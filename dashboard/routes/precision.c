/* Which precision each part of the step has, and why. */
#include "dashboard/server.h"

static void get_precision(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_text content = { 0 };
    if (!cse_server_open_run(request, answer, &run))
        return;
    const char *name = "precision.json";
    cse_status status = cse_store_reader_artefact(run.reader, name, &content, NULL, 0);
    cse_server_close_run(request, &run);
    if (status == CSE_OK)
        cse_answer_text(answer, 200, "application/json", &content);
    else
        cse_answer_failure(answer, status);
    cse_text_clear(&content);
}

static const char schemas[] =
    "Precision open  # The precision report as csengine compile --print_precision --json prints "
    "it.\n";

const cse_route cse_route_precision = {
    .path = "/api/v1/jobs/{id}/precision",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { .method = "GET",
          .id = "getPrecision",
          .summary = "The precision report",
          .replies = "200 Precision",
          .problems = "503",
          .handle = get_precision },
        { 0 },
    },
};
