/* The generated file as a whole: heading, prelude, the functions and their table. */
#include <string.h>

#include "engine/code/codegen/codegen.h"
#include "engine/code/codegen/emit.h"
#include "engine/code/codegen/share.h"

static cse_status check_types(const cse_graph *graph)
{
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        if (node->group >= 0 && graph->groups[node->group].kind == CSE_GROUP_BLOCK &&
            graph->groups[node->group].nodes[0]->op->emit == NULL)
            return cse_fail(CSE_INTERNAL, "op %s writes no code and is in no fused loop",
                            node->op->name);
    }
    return CSE_OK;
}

static void emit_heading(const cse_graph *graph, const char *fingerprint, cse_text *out)
{
    cse_text_add(
        out,
        "/* A training step, written by csengine from a step graph (%s).\n *\n"
        " * %d microbatches of %lld samples; %d groups; %d states.\n"
        " *\n"
        " * One function stands for all groups that are alike. `places` holds what differs:\n"
        " * offsets of values, numbers of kernels, tensors and random streams. Which function\n"
        " * each group calls, and with which places, is in the file step.plan. */\n",
        fingerprint, graph->microbatch_count, (long long)graph->micro_batch_size,
        graph->group_count, graph->state_count);
}

static void emit_groups(const cse_graph *graph, cse_program *program, cse_text *out)
{
    cse_sharer *sharer = cse_sharer_new(program, graph->group_count);
    cse_text functions = { 0 }, comment = { 0 };
    int kernel = 0;
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        functions.size = 0;
        if (group->part == CSE_PART_UPDATE) {
            cse_emit_update_group(&functions, graph, group);
            cse_emit_proposal(&functions, graph, group);
        } else if (group->kind == CSE_GROUP_LOOP) {
            cse_emit_loop_group(&functions, graph, group);
        } else if (group->kind == CSE_GROUP_LIBRARY) {
            cse_emit_library_group(&functions, graph, group, kernel++);
        } else {
            cse_emit_block_group(&functions, graph, group);
        }
        if (cse_sharer_add_take(sharer, g, &functions)) {
            cse_emit_group_comment(&comment, group);
            cse_sharer_comment_take(sharer, &comment);
        }
    }
    cse_sharer_print(sharer, out);
    cse_text_clear(&functions);
    cse_sharer_destroy(&sharer);
}

cse_status cse_codegen_print(const cse_graph *graph, cse_program *program, cse_text *out)
{
    char fingerprint[33];
    CSE_TRY(check_types(graph));
    cse_graph_fingerprint(graph, fingerprint);
    emit_heading(graph, fingerprint, out);
    cse_text_add(out, "\n");
    cse_text_add_bytes(out, cse_prelude_text, strlen(cse_prelude_text));
    cse_text_add(out, "\n#define CSE_ENTRY __attribute__((visibility(\"default\")))\n\n");
    emit_groups(graph, program, out);
    cse_text_add(out,
                 "CSE_ENTRY const int cse_step_abi = %d;\n"
                 "CSE_ENTRY const int cse_step_isa = CSE_STEP_ISA;\n"
                 "CSE_ENTRY const char cse_step_fingerprint[33] = \"%s\";\n",
                 CSE_STEP_ABI, fingerprint);
    return CSE_OK;
}
