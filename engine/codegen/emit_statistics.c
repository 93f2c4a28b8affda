/* What a step that takes tensor statistics runs: variants of the loops that compute tracked values,
 * a call of the frame's collector for each tracked tensor, and updates whose results are computed
 * but not stored.
 *
 * The arithmetic is written by the same functions as that of every other step, so that statistics
 * change no bit of a result. */
#include <stdlib.h>

#include "engine/codegen/emit.h"
#include "engine/types/shape.h"

bool cse_emit_has_statistics(const cse_graph *graph, const cse_group *group)
{
    for (int n = 0; n < group->node_count; n++) {
        int tracked = group->nodes[n]->tracked - 1;
        if (tracked >= 0 && graph->tracked[tracked].scratch_offset >= 0)
            return true;
    }
    return false;
}

/* Counts the values that are read from where they are stored: results of products, and gradients.
 */
static void emit_stored_statistics(cse_text *out, const cse_graph *graph, const cse_group *group)
{
    for (int n = 0; n < group->node_count; n++) {
        const cse_node *node = group->nodes[n];
        int tracked = node->tracked - 1;
        if (tracked < 0 || graph->tracked[tracked].scratch_offset >= 0)
            continue;
        cse_text_add(out, "    frame->collector->count(frame->collector, frame, %d,\n        ",
                     tracked);
        cse_emit_place(out, node);
        cse_text_add(out, ");\n");
    }
}

void cse_emit_statistics_part(cse_text *out, const cse_graph *graph, cse_part part,
                              const char *name)
{
    cse_text_add(out,
                 "static __attribute__((noinline)) void statistics_%s("
                 "const cse_step_frame *frame)\n{\n    (void)frame;\n",
                 name);
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        if (group->part != part)
            continue;
        cse_text_add(out, "    group_%d%s(frame);\n", g,
                     cse_emit_has_statistics(graph, group) ? "_statistics" : "");
        emit_stored_statistics(out, graph, group);
    }
    cse_text_add(out, "}\n\n");
}

static void emit_proposal(cse_text *out, const cse_graph *graph, int g)
{
    const cse_group *group = &graph->groups[g];
    cse_node *proposed[CSE_MAX_PROPOSED];
    int proposed_count = cse_group_proposed(graph, g, proposed);
    int count = cse_group_inputs(graph, group, NULL, 0);
    cse_node **outside = cse_calloc((size_t)count + 1, sizeof *outside);
    count = cse_group_inputs(graph, group, outside, count);
    cse_text_add(out,
                 "static void proposed_%d(const cse_step_frame *frame, int64_t first, int64_t end,"
                 "\n    float *const values[])\n{\n    (void)frame;\n",
                 g);
    cse_emit_update_outside(out, outside, count);
    for (int i = 0; i < proposed_count; i++)
        cse_text_add(out, "    float *const n%d = values[%d];\n", i, i);
    cse_text_add(out, "    for (int64_t i = first; i < end; i++) {\n");
    cse_emit_update_element(out, group, outside, count);
    for (int i = 0; i < proposed_count; i++) {
        char name[CSE_NAME_BYTES];
        cse_emit_update_name(group, proposed[i], name);
        cse_text_add(out, "        n%d[i - first] = %s;\n", i, name);
    }
    cse_text_add(out, "    }\n}\n\n");
    free(outside);
}

void cse_emit_propose_entry(cse_text *out, const cse_graph *graph)
{
    cse_node *proposed[CSE_MAX_PROPOSED];
    for (int g = 0; g < graph->group_count; g++)
        if (cse_group_proposed(graph, g, proposed) > 0)
            emit_proposal(out, graph, g);
    cse_text_add(out, "CSE_ENTRY void cse_step_propose(const cse_step_frame *frame, int group,\n"
                      "    const int64_t lines[2], float *const values[])\n{\n"
                      "    (void)frame;\n    (void)lines;\n    (void)values;\n"
                      "    switch (group) {\n");
    for (int g = 0; g < graph->group_count; g++) {
        long long elements = (long long)graph->groups[g].elements;
        if (cse_group_proposed(graph, g, proposed) > 0)
            cse_text_add(out,
                         "    case %d:\n        proposed_%d(frame, lines[0] * %d,\n"
                         "            lines[1] * %d < %lldll ? lines[1] * %d : %lldll, values);\n"
                         "        break;\n",
                         g, g, CSE_LINE_ELEMENTS, CSE_LINE_ELEMENTS, elements, CSE_LINE_ELEMENTS,
                         elements);
    }
    cse_text_add(out, "    default:\n        break;\n    }\n}\n\n");
}
