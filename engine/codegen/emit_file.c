/* The generated file as a whole: heading, prelude, groups, entries. */
#include <string.h>

#include "engine/codegen/codegen.h"
#include "engine/codegen/emit.h"
#include "engine/codegen/share.h"

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

static void emit_heading(const cse_graph *graph, cse_text *out)
{
    char fingerprint[33], shape[128];
    cse_graph_fingerprint(graph, fingerprint);
    cse_text_add(out,
                 "/* A training step, written by csengine from a step graph (%s).\n *\n"
                 " * %d microbatches of %lld samples; %d groups.\n",
                 fingerprint, graph->microbatch_count, (long long)graph->micro_batch_size,
                 graph->group_count);
    for (int s = 0; s < graph->state_count; s++)
        if (strstr(graph->states[s].name, "*/") == NULL)
            cse_text_add(out, " *   state %s : %s %s\n", graph->states[s].name,
                         cse_dtype_name(graph->states[s].dtype),
                         cse_shape_text(graph->states[s].shape, shape, sizeof shape));
    cse_text_add(out, " */\n");
}

/* Calls of the groups that run once a step, which come first, or of the others. */
static void emit_calls(const cse_graph *graph, cse_part part, bool per_step, cse_text *out)
{
    int calls = 0;
    for (int g = 0; g < graph->group_count; g++) {
        if (graph->groups[g].part != part || graph->groups[g].per_step != per_step)
            continue;
        if (per_step && calls == 0)
            cse_text_add(out, "    if (!frame->prepared) {\n");
        cse_text_add(out, per_step ? "        group_%d(frame);\n" : "    group_%d(frame);\n", g);
        calls++;
    }
    if (per_step && calls > 0)
        cse_text_add(out, "    }\n");
}

static void emit_entry(const cse_graph *graph, cse_part part, const char *name, cse_text *out)
{
    if (graph->tracked_count > 0)
        cse_emit_statistics_part(out, graph, part, name);
    cse_text_add(out,
                 "CSE_ENTRY void cse_step_%s(const cse_step_frame *frame)\n{\n"
                 "    (void)frame;\n",
                 name);
    if (graph->tracked_count > 0)
        cse_text_add(out,
                     "    if (frame->collector != 0) {\n        statistics_%s(frame);\n"
                     "        return;\n    }\n",
                     name);
    emit_calls(graph, part, true, out);
    emit_calls(graph, part, false, out);
    cse_text_add(out, "}\n\n");
}

static void emit_update_entry(const cse_graph *graph, cse_text *out)
{
    cse_text_add(out, "CSE_ENTRY void cse_step_update(const cse_step_frame *frame, int group,\n"
                      "    const int64_t lines[2], const cse_step_undo *undo)\n{\n"
                      "    (void)frame;\n    (void)lines;\n    (void)undo;\n"
                      "    switch (group) {\n");
    for (int g = 0; g < graph->group_count; g++)
        if (graph->groups[g].part == CSE_PART_UPDATE)
            cse_text_add(out,
                         "    case %d:\n        update_%d(frame, lines, undo);\n"
                         "        break;\n",
                         g, g);
    cse_text_add(out, "    default:\n        break;\n    }\n}\n\n");
}

/* The table of group functions for timed runs. The entries call the functions directly instead, so
 * that the compiler may inline them. */
static void emit_table(const cse_graph *graph, cse_text *out)
{
    cse_text_add(out,
                 "CSE_ENTRY void (*const cse_step_groups[])(const cse_step_frame *frame) = {\n");
    for (int g = 0; g < graph->group_count; g++)
        cse_text_add(out, graph->groups[g].part == CSE_PART_UPDATE ? "    0,\n" : "    group_%d,\n",
                     g);
    cse_text_add(out, "    0\n};\n\n");
}

static void emit_groups(const cse_graph *graph, cse_text *out)
{
    cse_sharer *sharer = cse_sharer_new(graph->group_count);
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        cse_text comment = { 0 }, functions = { 0 };
        cse_emit_group_comment(&comment, graph, group);
        if (group->part == CSE_PART_UPDATE)
            cse_emit_update_group(&functions, graph, group);
        else if (group->kind == CSE_GROUP_LOOP)
            cse_emit_loop_group(&functions, graph, group);
        else if (group->kind == CSE_GROUP_LIBRARY)
            cse_emit_library_group(&functions, graph, group);
        else
            cse_emit_block_group(&functions, graph, group);
        cse_sharer_add_take(sharer, g, &comment, &functions);
    }
    cse_sharer_print(sharer, out);
    cse_sharer_destroy(&sharer);
}

cse_status cse_codegen_print(const cse_graph *graph, cse_text *out)
{
    char fingerprint[33];
    CSE_TRY(check_types(graph));
    emit_heading(graph, out);
    cse_text_add(out, "\n");
    cse_text_add_bytes(out, cse_prelude_text, strlen(cse_prelude_text));
    cse_text_add(out, "\n#define CSE_ENTRY __attribute__((visibility(\"default\")))\n\n");
    emit_groups(graph, out);
    emit_entry(graph, CSE_PART_REPLICA, "replica", out);
    emit_entry(graph, CSE_PART_WEIGHTS, "weights", out);
    emit_update_entry(graph, out);
    emit_table(graph, out);
    if (graph->tracked_count > 0)
        cse_emit_propose_entry(out, graph);
    cse_graph_fingerprint(graph, fingerprint);
    cse_text_add(out,
                 "CSE_ENTRY const int cse_step_abi = %d;\n"
                 "CSE_ENTRY const int cse_step_isa = CSE_STEP_ISA;\n"
                 "CSE_ENTRY const char cse_step_fingerprint[33] = \"%s\";\n",
                 CSE_STEP_ABI, fingerprint);
    return CSE_OK;
}
