/* UPDATE groups as C: computes the new values of a range of elements, then, line by line, copies
 * the old values to the undo log and writes the new ones to the states. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/code/codegen/emit.h"

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
