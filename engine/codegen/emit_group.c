/* Blocks, library calls and updates as C. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/codegen/emit.h"
#include "engine/types/shape.h"

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

/* The axis from which on all are reduced (rank: none is), for sums of floats. */
static int tail_axis(const cse_node *node, bool reduced[CSE_MAX_RANK])
{
    cse_shape shape = node->inputs[0]->shape;
    for (int i = 0; i < shape.rank; i++)
        reduced[i] = false;
    if (node->op->role != CSE_ROLE_SUM || node->dtype != CSE_FLOAT32 || cse_node_is_tiled(node))
        return shape.rank;
    for (int i = 1; i < node->attributes.integer_count; i++)
        reduced[node->attributes.integers[i]] = true;
    int tail = shape.rank;
    while (tail > 0 && reduced[tail - 1])
        tail--;
    return tail;
}

/* A sum over the last axes and others (a convolution's bias gradient): contiguous runs in lanes of
 * float, the runs together in double. */
static void emit_tail_sum(cse_text *out, const cse_node *node, const bool reduced[], int tail)
{
    cse_shape shape = node->inputs[0]->shape;
    int64_t strides[CSE_MAX_RANK], run = 1;
    cse_shape_strides(shape, strides);
    for (int i = tail; i < shape.rank; i++)
        run *= shape.dims[i];
    cse_text_add(out, "    float *next = y;\n");
    for (int outer = 1; outer >= 0; outer--) {
        for (int i = 0; i < tail; i++)
            if (reduced[i] != (outer == 1))
                cse_text_add(out, "    for (int64_t i%d = 0; i%d < %lld; i%d++)\n", i, i,
                             (long long)shape.dims[i], i);
        cse_text_add(out, outer ? "    {\n    double total = 0;\n" : "    {\n");
    }
    cse_text_add(out, "        const float *const run = x0");
    for (int i = 0; i < tail; i++)
        cse_text_add(out, " + i%d * %lld", i, (long long)strides[i]);
    cse_text_add(out,
                 ";\n        float part = 0;\n#pragma omp simd reduction(+ : part)\n"
                 "        for (int64_t c = 0; c < %lld; c++)\n            part += run[c];\n"
                 "        total += part;\n    }\n    *next++ = (float)total;\n    }\n",
                 (long long)run);
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
    bool reduced[CSE_MAX_RANK];
    int rank = node->input_count > 0 ? node->inputs[0]->shape.rank : 0;
    int tail = rank > 0 ? tail_axis(node, reduced) : 0;
    if (tail < rank)
        emit_tail_sum(out, node, reduced, tail);
    else
        node->op->emit(out, node);
    cse_text_add(out, "}\n\n");
}

/* ---- library calls ---- */

static int kernel_number(const cse_graph *graph, const cse_group *group)
{
    int number = 0;
    for (const cse_group *g = graph->groups; g < group; g++)
        number += g->kind == CSE_GROUP_LIBRARY;
    return number;
}

void cse_emit_library_group(cse_text *out, const cse_graph *graph, const cse_group *group)
{
    cse_node *inputs[CSE_MAX_INPUTS] = { NULL };
    int count = cse_group_inputs(graph, group, inputs, CSE_MAX_INPUTS);
    int number = kernel_number(graph, group);
    cse_text_add(out,
                 "static void group_%d(const cse_step_frame *frame)\n{\n"
                 "    cse_step_kernel *const kernel = frame->kernels[%d];\n"
                 "    const void *const inputs[] = {\n",
                 (int)(group - graph->groups), number);
    for (int i = 0; i < count && i < CSE_MAX_INPUTS; i++) {
        cse_text_add(out, "        ");
        cse_emit_place(out, inputs[i]);
        cse_text_add(out, ",\n");
    }
    cse_text_add(out, "    };\n    kernel->run(kernel, inputs, ");
    cse_emit_place(out, group->nodes[group->node_count - 1]);
    cse_text_add(out, ");\n}\n\n");
}

/* ---- updates ---- */

static bool is_inside(const cse_group *group, const cse_node *node)
{
    bool found = false;
    for (int n = 0; n < group->node_count && !found; n++)
        found = group->nodes[n] == node;
    return found;
}

void cse_emit_update_name(const cse_group *group, cse_node *input, char name[CSE_NAME_BYTES])
{
    input = cse_node_storage(input);
    if (cse_emit_inline(input, name))
        return;
    bool inside = is_inside(group, input);
    bool single = cse_shape_elements(input->shape) == 1;
    snprintf(name, CSE_NAME_BYTES, "%c%u", inside ? 'v' : single ? 's' : 'x', input->id);
}

void cse_emit_update_outside(cse_text *out, cse_node *const outside[], int count)
{
    for (int o = 0; o < count; o++) {
        char array[CSE_NAME_BYTES];
        snprintf(array, sizeof array, "b%u", outside[o]->id);
        cse_emit_base(out, outside[o], false);
        if (cse_shape_elements(outside[o]->shape) != 1)
            continue;
        cse_text_add(out, "    const %s s%u = ", cse_emit_value_type(outside[o]->dtype),
                     outside[o]->id);
        cse_emit_load(out, outside[o]->dtype, array, "0");
        cse_text_add(out, ";\n");
    }
}

static void emit_assigned_bases(cse_text *out, const cse_group *group)
{
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n]->op == &cse_op_assign)
            cse_emit_base(out, group->nodes[n], true);
}

void cse_emit_update_element(cse_text *out, const cse_group *group, cse_node *const outside[],
                             int count)
{
    for (int o = 0; o < count; o++) {
        char array[CSE_NAME_BYTES];
        if (cse_shape_elements(outside[o]->shape) == 1)
            continue;
        snprintf(array, sizeof array, "b%u", outside[o]->id);
        cse_text_add(out, "        const %s x%u = ", cse_emit_value_type(outside[o]->dtype),
                     outside[o]->id);
        cse_emit_load(out, outside[o]->dtype, array, "i");
        cse_text_add(out, ";\n");
    }
    for (int n = 0; n < group->node_count; n++) {
        const cse_node *node = group->nodes[n];
        cse_emit_names names = { .flat = "i", .last_index = "i" };
        if (node->op->kind == CSE_OP_RESHAPE)
            continue;
        for (int i = 0; i < node->input_count; i++)
            cse_emit_update_name(group, node->inputs[i], names.inputs[i]);
        cse_text_add(out, "        const %s v%u = ", cse_emit_value_type(node->dtype), node->id);
        if (node->op->kind == CSE_OP_BROADCAST)
            cse_text_add(out, "%s", names.inputs[0]);
        else
            cse_emit_expression(out, node, &names);
        cse_text_add(out, ";\n");
    }
}

static void emit_update_values(cse_text *out, const cse_graph *graph, const cse_group *group,
                               cse_node *const outside[], int count)
{
    cse_text_add(out,
                 "/* New values of elements [first, end), into an array for each state. */\n"
                 "static inline __attribute__((always_inline)) void values_%d(\n"
                 "    const cse_step_frame *frame, int64_t first, int64_t end",
                 (int)(group - graph->groups));
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n]->op == &cse_op_assign)
            cse_text_add(out, ",\n    %s *n%u", cse_emit_stored_type(group->nodes[n]->dtype),
                         group->nodes[n]->id);
    cse_text_add(out, ")\n{\n");
    cse_emit_update_outside(out, outside, count);
    cse_text_add(out, "#pragma omp simd\n    for (int64_t i = first; i < end; i++) {\n");
    cse_emit_update_element(out, group, outside, count);
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n]->op == &cse_op_assign)
            cse_text_add(out, "        n%u[i - first] = v%u;\n", group->nodes[n]->id,
                         group->nodes[n]->id);
    cse_text_add(out, "    }\n}\n\n");
}

/* For each assigned state, `format` with its id twice, its element type, and its place among them.
 */
static void emit_for_assigns(cse_text *out, const cse_group *group, bool lines)
{
    int number = 0;
    for (int n = 0; n < group->node_count; n++) {
        unsigned id = group->nodes[n]->id;
        if (group->nodes[n]->op != &cse_op_assign)
            continue;
        if (lines)
            cse_text_add(out,
                         "        __builtin_memcpy(kept + %d, b%u + first, "
                         "(uint64_t)(end - first) * 4);\n",
                         number++ * CSE_LINE_ELEMENTS * 4, id);
        else
            cse_text_add(out,
                         "        __builtin_memcpy(b%u + first, n%u, "
                         "(uint64_t)(end - first) * 4);\n",
                         id, id);
    }
}

static void emit_update_function(cse_text *out, const cse_graph *graph, const cse_group *group)
{
    int number = (int)(group - graph->groups);
    long long elements = (long long)group->elements;
    cse_text_add(out,
                 "static void update_%d(const cse_step_frame *frame, const int64_t lines[2],\n"
                 "    const cse_step_undo *undo)\n{\n",
                 number);
    emit_assigned_bases(out, group);
    cse_text_add(out,
                 "    int64_t last = lines[1] * %d < %lldll ? lines[1] * %d : %lldll;\n"
                 "    if (undo == 0) {\n        values_%d(frame, lines[0] * %d, last",
                 CSE_LINE_ELEMENTS, elements, CSE_LINE_ELEMENTS, elements, number,
                 CSE_LINE_ELEMENTS);
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n]->op == &cse_op_assign)
            cse_text_add(out, ", b%u + lines[0] * %d", group->nodes[n]->id, CSE_LINE_ELEMENTS);
    cse_text_add(out,
                 ");\n        return;\n    }\n"
                 "    for (int64_t line = lines[0]; line < lines[1]; line++) {\n"
                 "        int64_t first = line * %d;\n"
                 "        int64_t end = first + %d < last ? first + %d : last;\n"
                 "        unsigned char *const kept = undo->lines[line & 1];\n",
                 CSE_LINE_ELEMENTS, CSE_LINE_ELEMENTS, CSE_LINE_ELEMENTS);
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n]->op == &cse_op_assign)
            cse_text_add(out, "        _Alignas(64) %s n%u[%d];\n",
                         cse_emit_stored_type(group->nodes[n]->dtype), group->nodes[n]->id,
                         CSE_LINE_ELEMENTS);
    cse_text_add(out, "        values_%d(frame, first, end", number);
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n]->op == &cse_op_assign)
            cse_text_add(out, ", n%u", group->nodes[n]->id);
    cse_text_add(out, ");\n");
    emit_for_assigns(out, group, true);
    cse_text_add(out, "        CSE_BARRIER();\n"
                      "        *undo->progress = undo->dirty_base + (uint64_t)line;\n"
                      "        CSE_BARRIER();\n");
    emit_for_assigns(out, group, false);
    cse_text_add(out, "        CSE_BARRIER();\n    }\n}\n\n");
}

void cse_emit_update_group(cse_text *out, const cse_graph *graph, const cse_group *group)
{
    int count = cse_group_inputs(graph, group, NULL, 0);
    cse_node **outside = cse_calloc((size_t)count + 1, sizeof *outside);
    count = cse_group_inputs(graph, group, outside, count);
    emit_update_values(out, graph, group, outside, count);
    emit_update_function(out, graph, group);
    free(outside);
}
