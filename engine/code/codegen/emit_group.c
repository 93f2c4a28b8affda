/* Groups of one op as C: blocks, and calls of library kernels. */
#include "engine/code/codegen/emit.h"

/* ---- blocks ---- */

/* "x0" points at contiguous values: where they are stored, or at a copy of what is not. */
static void emit_pointer(cse_text *out, cse_node *input, int i)
{
    char number[CSE_NAME_BYTES];
    const char *type = cse_emit_stored_type(input->dtype);
    if (cse_emit_inline(input, number)) {
        cse_text_add(out, "    const %s c%d = %s;\n    const %s *const x%d = &c%d;\n", type, i,
                     number, type, i, i);
    } else if (input->op == &cse_op_sample_index) {
        long long count = (long long)cse_shape_elements(input->shape);
        cse_text_add(out,
                     "    int32_t c%d[%lld];\n    for (int64_t i = 0; i < %lld; i++)\n"
                     "        c%d[i] = (int32_t)(frame->first_sample + i);\n"
                     "    const int32_t *const x%d = c%d;\n",
                     i, count, count, i, i, i);
    } else {
        cse_text_add(out, "    const %s *const x%d = ", type, i);
        cse_emit_place(out, input);
        cse_text_add(out, ";\n");
    }
    cse_text_add(out, "    (void)x%d;\n", i);
}

void cse_emit_block_group(cse_text *out, const cse_graph *graph, const cse_group *group)
{
    const cse_node *node = group->nodes[0], *result = group->nodes[group->node_count - 1];
    cse_text_add(out, "static void group_%d(const cse_step_frame *frame)\n{\n",
                 (int)(group - graph->groups));
    for (int i = 0; i < node->input_count; i++)
        emit_pointer(out, cse_node_storage(node->inputs[i]), i);
    cse_text_add(out, "    %s *const y = ", cse_emit_stored_type(result->dtype));
    cse_emit_place(out, result);
    cse_text_add(out, ";\n");
    node->op->emit(out, node);
    cse_text_add(out, "}\n\n");
}

/* ---- library calls ---- */

/* The places of the results, by number; 0 for one that nobody needs. */
static void emit_results(cse_text *out, const cse_group *group)
{
    cse_text_add(out, "    };\n    void *const results[] = {\n");
    for (int r = 0; r < group->nodes[0]->op->kernel.results; r++) {
        const cse_node *result = NULL;
        for (int n = 0; n < group->node_count; n++)
            if (cse_node_result(group->nodes[n]) == r)
                result = group->nodes[n];
        cse_text_add(out, "        ");
        if (result != NULL)
            cse_emit_place(out, result);
        else
            cse_text_add(out, "0");
        cse_text_add(out, ",\n");
    }
    cse_text_add(out, "    };\n    kernel->run(kernel, inputs, (void *)results);\n}\n\n");
}

void cse_emit_library_group(cse_text *out, const cse_graph *graph, const cse_group *group,
                            int kernel)
{
    cse_node *inputs[CSE_MAX_INPUTS] = { NULL };
    int count = cse_group_inputs(graph, group, inputs, CSE_MAX_INPUTS);
    cse_text_add(out,
                 "static void group_%d(const cse_step_frame *frame)\n{\n"
                 "    cse_step_kernel *const kernel = frame->kernels[%d];\n"
                 "    const void *const inputs[] = {\n",
                 (int)(group - graph->groups), kernel);
    for (int i = 0; i < count && i < CSE_MAX_INPUTS; i++) {
        cse_text_add(out, "        ");
        cse_emit_place(out, inputs[i]);
        cse_text_add(out, ",\n");
    }
    if (group->nodes[0]->op->kernel.results > 1) {
        emit_results(out, group);
        return;
    }
    cse_text_add(out, "    };\n    kernel->run(kernel, inputs, ");
    cse_emit_place(out, group->nodes[group->node_count - 1]);
    cse_text_add(out, ");\n}\n\n");
}
