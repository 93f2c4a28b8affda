/* What a step that takes tensor statistics runs: variants of the loops that compute tracked values,
 * which call the frame's collector, and updates whose results are computed but not stored.
 *
 * The arithmetic is written by the same functions as that of every other step, so that statistics
 * change no bit of a result. */
#include <stdlib.h>

#include "engine/base/types/shape.h"
#include "engine/code/codegen/emit.h"

bool cse_emit_has_statistics(const cse_graph *graph, const cse_group *group)
{
    for (int n = 0; n < group->node_count; n++) {
        int tracked = group->nodes[n]->tracked - 1;
        if (tracked >= 0 && graph->tracked[tracked].scratch_offset >= 0)
            return true;
    }
    return false;
}

void cse_emit_proposal(cse_text *out, const cse_graph *graph, const cse_group *group)
{
    cse_node *proposed[CSE_MAX_PROPOSED];
    const int g = (int)(group - graph->groups);
    const long long elements = (long long)group->elements;
    int proposed_count = cse_group_proposed(graph, g, proposed);
    if (proposed_count == 0)
        return;
    int count = cse_group_inputs(graph, group, NULL, 0);
    cse_node **outside = cse_calloc((size_t)count + 1, sizeof *outside);
    count = cse_group_inputs(graph, group, outside, count);
    cse_text_add(out,
                 "static void proposed_%d(const cse_step_frame *frame, const int64_t lines[2],\n"
                 "    float *const values[])\n{\n    (void)frame;\n"
                 "    const int64_t begin = lines[0] * %d;\n"
                 "    const int64_t last = lines[1] * %d < %lldll ? lines[1] * %d : %lldll;\n",
                 g, CSE_LINE_ELEMENTS, CSE_LINE_ELEMENTS, elements, CSE_LINE_ELEMENTS, elements);
    cse_emit_update_outside(out, outside, count);
    for (int i = 0; i < proposed_count; i++)
        cse_text_add(out, "    float *const n%d = values[%d];\n", i, i);
    cse_text_add(out,
                 "    for (int64_t first = begin; first < last; first += %d) {\n"
                 "    const int64_t end = first + %d < last ? first + %d : last;\n",
                 CSE_LINE_ELEMENTS, CSE_LINE_ELEMENTS, CSE_LINE_ELEMENTS);
    cse_emit_update_blocks(out, group);
    cse_text_add(out, "    for (int64_t i = first; i < end; i++) {\n");
    cse_emit_update_element(out, group, outside, count);
    for (int i = 0; i < proposed_count; i++) {
        char name[CSE_NAME_BYTES];
        cse_emit_update_name(group, proposed[i], name);
        cse_text_add(out, "        n%d[i - begin] = %s;\n", i, name);
    }
    cse_text_add(out, "    }\n    }\n}\n\n");
    free(outside);
}
