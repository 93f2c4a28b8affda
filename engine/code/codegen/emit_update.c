/* UPDATE groups as C: computes the new values of a range of elements, then, line by line, copies
 * the old values to the undo log and writes the new ones to the states.
 *
 * A moment in blocks (engine/graph/ops/blockwise.h) has a block a line: a group that has one goes
 * line by line in any case, with the values of its old and of its new block in arrays. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/code/codegen/emit.h"
#include "engine/graph/ops/blockwise.h"

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

/* Whether a node is, or assigns, a block that the group makes. */
static bool makes_blocks(const cse_node *node)
{
    if (node->op == &cse_op_assign && node->inputs[0]->part == CSE_PART_UPDATE)
        node = node->inputs[0];
    return node->op == &cse_op_quantize_blockwise;
}

static bool has_blocks(const cse_group *group)
{
    bool any = false;
    for (int n = 0; n < group->node_count; n++)
        any = any || makes_blocks(group->nodes[n]) ||
              group->nodes[n]->op == &cse_op_dequantize_blockwise;
    return any;
}

/* The first element of the array `name` in line `line`, an expression of C. */
static void emit_line_of(cse_text *out, const cse_node *assign, const char *name, const char *line)
{
    cse_text_add(out, "%s%u + %s * %d", name, assign->id, line,
                 makes_blocks(assign) ? CSE_BLOCK_WORDS : CSE_LINE_ELEMENTS);
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
        if (cse_shape_elements(outside[o]->shape) != group->elements || group->elements == 1)
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
        if (node->op->kind == CSE_OP_RESHAPE || makes_blocks(node))
            continue;
        if (node->op == &cse_op_dequantize_blockwise) {
            cse_text_add(out, "        const float v%u = u%u[i - first];\n", node->id, node->id);
            continue;
        }
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

void cse_emit_update_blocks(cse_text *out, const cse_group *group)
{
    for (int n = 0; n < group->node_count; n++) {
        const cse_node *node = group->nodes[n];
        if (node->op != &cse_op_dequantize_blockwise)
            continue;
        cse_text_add(out,
                     "    _Alignas(64) float u%u[%d];\n"
                     "    cse_dequantize_block(b%u + first / %d * %d, %d, u%u);\n",
                     node->id, CSE_BLOCK_ELEMENTS, node->inputs[0]->id, CSE_BLOCK_ELEMENTS,
                     CSE_BLOCK_WORDS, (int)cse_block_factor(&node->attributes), node->id);
    }
}

/* Stores element i of each array of new values; of what becomes a block, in an array of its own. */
static void emit_update_stores(cse_text *out, const cse_group *group)
{
    for (int n = 0; n < group->node_count; n++) {
        const cse_node *node = group->nodes[n];
        char value[CSE_NAME_BYTES];
        if (node->op == &cse_op_quantize_blockwise) {
            cse_emit_update_name(group, node->inputs[0], value);
            cse_text_add(out, "        p%u[i - first] = %s;\n", node->id, value);
        } else if (node->op == &cse_op_assign && !makes_blocks(node)) {
            snprintf(value, sizeof value, "v%u", node->id);
            cse_text_add(out, "        n%u[i - first] = ", node->id);
            cse_emit_stored(out, node->dtype, value);
            cse_text_add(out, ";\n");
        }
    }
}

/* The new blocks of the line; those of a step that is skipped stay. */
static void emit_new_blocks(cse_text *out, const cse_group *group)
{
    for (int n = 0; n < group->node_count; n++) {
        const cse_node *assign = group->nodes[n], *node = assign->inputs[0];
        char finite[CSE_NAME_BYTES] = "1";
        if (assign->op != &cse_op_assign || !makes_blocks(assign))
            continue;
        if (node->input_count == 3)
            cse_emit_update_name(group, node->inputs[1], finite);
        cse_text_add(out,
                     "    for (int64_t i = end; i < first + %d; i++)\n"
                     "        p%u[i - first] = 0.0f;\n"
                     "    if (%s)\n"
                     "        cse_quantize_block(p%u, %d, n%u);\n",
                     CSE_BLOCK_ELEMENTS, node->id, finite, node->id,
                     (int)cse_block_factor(&node->attributes), assign->id);
        if (node->input_count == 3)
            cse_text_add(out,
                         "    else\n"
                         "        __builtin_memmove(n%u, b%u + first / %d * %d, %d);\n",
                         assign->id, cse_node_storage(node->inputs[2])->id, CSE_BLOCK_ELEMENTS,
                         CSE_BLOCK_WORDS, CSE_BLOCK_WORDS * 4);
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
    cse_emit_update_blocks(out, group);
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n]->op == &cse_op_quantize_blockwise)
            cse_text_add(out, "    _Alignas(64) float p%u[%d];\n", group->nodes[n]->id,
                         CSE_BLOCK_ELEMENTS);
    cse_text_add(out, "#pragma omp simd\n    for (int64_t i = first; i < end; i++) {\n");
    cse_emit_update_element(out, group, outside, count);
    emit_update_stores(out, group);
    cse_text_add(out, "    }\n");
    emit_new_blocks(out, group);
    cse_text_add(out, "}\n\n");
}

/* Copies what lies in the line of each assigned state: to the undo log, or from the new values. */
static void emit_copies(cse_text *out, const cse_group *group, bool to_log)
{
    int number = 0;
    for (int n = 0; n < group->node_count; n++) {
        const cse_node *assign = group->nodes[n];
        if (assign->op != &cse_op_assign)
            continue;
        cse_text_add(out, "        __builtin_memcpy(");
        if (to_log)
            cse_text_add(out, "kept + %d, ", number++ * CSE_LINE_ELEMENTS * 4);
        emit_line_of(out, assign, "b", "line");
        if (!to_log)
            cse_text_add(out, ", n%u", assign->id);
        if (makes_blocks(assign))
            cse_text_add(out, ", %d);\n", CSE_BLOCK_WORDS * 4);
        else
            cse_text_add(out, ", (uint64_t)(end - first) * %d);\n",
                         (int)cse_dtype_size(assign->dtype));
    }
}

/* Without a log the new values are written in place, all lines at once where none has a block. */
static void emit_unlogged(cse_text *out, const cse_group *group, int number)
{
    const bool blocks = has_blocks(group);
    cse_text_add(out, "    if (undo == 0) {\n");
    if (blocks)
        cse_text_add(out,
                     "        for (int64_t line = lines[0]; line < lines[1]; line++)\n"
                     "            values_%d(frame, line * %d,\n"
                     "                      line * %d + %d < last ? line * %d + %d : last",
                     number, CSE_LINE_ELEMENTS, CSE_LINE_ELEMENTS, CSE_LINE_ELEMENTS,
                     CSE_LINE_ELEMENTS, CSE_LINE_ELEMENTS);
    else
        cse_text_add(out, "        values_%d(frame, lines[0] * %d, last", number,
                     CSE_LINE_ELEMENTS);
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n]->op == &cse_op_assign) {
            cse_text_add(out, ", ");
            emit_line_of(out, group->nodes[n], "b", blocks ? "line" : "lines[0]");
        }
    cse_text_add(out, ");\n        return;\n    }\n");
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
    cse_text_add(out, "    int64_t last = lines[1] * %d < %lldll ? lines[1] * %d : %lldll;\n",
                 CSE_LINE_ELEMENTS, elements, CSE_LINE_ELEMENTS, elements);
    emit_unlogged(out, group, number);
    cse_text_add(out,
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
    emit_copies(out, group, true);
    cse_text_add(out, "        CSE_BARRIER();\n"
                      "        *undo->progress = undo->dirty_base + (uint64_t)line;\n"
                      "        CSE_BARRIER();\n");
    emit_copies(out, group, false);
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
