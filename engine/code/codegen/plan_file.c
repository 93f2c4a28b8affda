/* "CSEPLAN3", then versions, fingerprints, whether there is a step.so, program, graph. */
#include "engine/code/codegen/plan_file.h"

#include <stdio.h>
#include <string.h>

#include "engine/code/codegen/codegen.h"

enum { MAGIC_BYTES = 8 };
static const char magic[] = "CSEPLAN3";

void cse_plan_file_write(const cse_graph *graph, const cse_program *program, bool compiled,
                         const cse_traced_facts *traced, cse_text *out)
{
    char fingerprint[33];
    cse_graph_fingerprint(graph, fingerprint);
    cse_text_add_bytes(out, magic, MAGIC_BYTES);
    cse_pack_count(out, CSE_STEP_ABI);
    cse_pack_text(out, fingerprint);
    cse_pack_text(out, traced->fingerprint);
    cse_pack_count(out, compiled);
    cse_program_pack(program, out);
    cse_graph_pack(graph, traced->calls, out);
}

static cse_status read_plan(const cse_text *text, const cse_calls *calls, cse_plan_file *plan)
{
    size_t size;
    if (text->size < MAGIC_BYTES || memcmp(text->data, magic, MAGIC_BYTES) != 0)
        return cse_fail(CSE_DATA, "is no plan");
    cse_unpacker from = { .at = (const unsigned char *)text->data + MAGIC_BYTES,
                          .end = (const unsigned char *)text->data + text->size };
    uint64_t abi = cse_unpack_count(&from, UINT32_MAX);
    if (abi != CSE_STEP_ABI)
        return cse_fail(CSE_DATA,
                        "was made for ABI version %d, this engine has %d; remove its directory and "
                        "compile again",
                        (int)abi, CSE_STEP_ABI);
    const char *fingerprint = cse_unpack_text(&from, &size);
    snprintf(plan->fingerprint, sizeof plan->fingerprint, "%.*s", (int)size, fingerprint);
    fingerprint = cse_unpack_text(&from, &size);
    snprintf(plan->traced, sizeof plan->traced, "%.*s", (int)size, fingerprint);
    plan->compiled = cse_unpack_count(&from, 2) == 1;
    cse_program_unpack(&from, &plan->program);
    CSE_TRY(cse_graph_unpack(&from, calls, &plan->graph));
    return plan->compiled ? cse_program_check(&plan->program, plan->graph) : CSE_OK;
}

cse_status cse_plan_file_read(const cse_text *text, const char *directory, const cse_calls *calls,
                              cse_plan_file *plan)
{
    *plan = (cse_plan_file){ .graph = NULL };
    cse_status status = read_plan(text, calls, plan);
    if (status == CSE_OK)
        return CSE_OK;
    cse_plan_file_clear(plan);
    return cse_fail_within(status, "compiled step: %s/step.plan: ", directory);
}

void cse_plan_file_clear(cse_plan_file *plan)
{
    cse_graph_destroy(&plan->graph);
    cse_program_clear(&plan->program);
}
