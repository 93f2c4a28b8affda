/* What a run was compiled to, as text: for reading, and for comparing it with another run's. */
#include <string.h>

#include "dashboard/routes/route_support.h"
#include "run/measure/compiled_files.h"
#include "run/measure/plan_text.h"

static cse_status read_source(cse_store_reader *reader, cse_text *text)
{
    cse_text directory;
    cse_artefact artefact;
    const cse_status status = cse_compiled_files_read(reader, &directory, &artefact);
    if (status == CSE_OK) {
        *text = artefact.files[CSE_ARTEFACT_SOURCE];
        artefact.files[CSE_ARTEFACT_SOURCE] = (cse_text){ 0 };
    }
    cse_artefact_clear(&artefact);
    cse_text_clear(&directory);
    if (status == CSE_OK && text->size == 0)
        return cse_fail(CSE_NO_INPUT, "no C was written for the run");
    return status;
}

static cse_status read_plan(cse_store_reader *reader, cse_text *text)
{
    cse_graph *graph = NULL;
    cse_text content = { 0 };
    cse_status status = cse_store_reader_artefact(reader, "graph.training.json", &content, NULL, 0);
    if (status == CSE_OK)
        status = cse_graph_from_json(content.data, content.size, &graph);
    cse_text_clear(&content);
    if (status == CSE_OK)
        cse_plan_text(graph, text);
    cse_graph_destroy(&graph);
    return status;
}

static void get_compiled(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_text text = { 0 };
    const bool plan = strcmp(cse_request_text(request, "part", "source"), "plan") == 0;
    if (!cse_server_open_run(request, answer, &run))
        return;
    const cse_status status = (plan ? read_plan : read_source)(run.reader, &text);
    cse_server_close_run(request, &run);
    cse_answer_json(answer, 200,
                    json_pack("{s:o, s:s?}", "text",
                              status == CSE_OK ? cse_text_json(text.data) : json_null(), "missing",
                              status == CSE_OK ? NULL : cse_error_message()));
    cse_text_clear(&text);
}

static const char schemas[] = "CompiledText\n"
                              "  text string|null\n"
                              "  missing string|null  # why there is no text\n";

const cse_route cse_route_compiled = {
    .path = "/api/v1/jobs/{id}/compiled",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getCompiled", get_compiled,
                        "The generated C of a run, or its plan, as text"),
          .doc = "The C is read from the folder that the run was compiled to, as long as it is "
                 "there. The plan is the schedule of the kernels, with the place in memory of each "
                 "value, from the run's store.",
          .parameters = "part? 'source'|'plan' = source  # which of both\n",
          .replies = "200 CompiledText",
          .problems = "503",
          .slow = true },
    },
};
