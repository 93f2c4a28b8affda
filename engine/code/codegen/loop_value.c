/* Values in a fused loop: how one is named, loaded, computed, stored and counted; see
 * loop_emitter.h. */
#include <stdio.h>

#include "engine/code/codegen/loop_emitter.h"

int cse_loop_position_of(const cse_loop_emitter *e, cse_node *input)
{
    return cse_loop_position(e->group->nodes, e->group->node_count, cse_node_storage(input));
}

/* The index of the current element along a node's last axis. */
static void last_index_text(const cse_loop_emitter *e, const cse_node *node,
                            const cse_loop_value *value, char text[CSE_NAME_BYTES])
{
    int64_t last = node->shape.rank > 0 ? node->shape.dims[node->shape.rank - 1] : 1;
    if (last == 1)
        snprintf(text, CSE_NAME_BYTES, "0");
    else if (value->level == CSE_LEVEL_ROW)
        snprintf(text, CSE_NAME_BYTES, "(int32_t)(r %% %lld)", (long long)last);
    else if (last == e->loop.columns)
        snprintf(text, CSE_NAME_BYTES, "(int32_t)c");
    else
        snprintf(text, CSE_NAME_BYTES, "(int32_t)((r * %lld + c) %% %lld)",
                 (long long)e->loop.columns, (long long)last);
}

/* The index of the current element in the whole tensor. */
static void flat_text(const cse_loop_emitter *e, cse_loop_level level, char text[CSE_NAME_BYTES])
{
    if (level == CSE_LEVEL_FULL)
        snprintf(text, CSE_NAME_BYTES, "r * %lldll + c", (long long)e->loop.columns);
    else
        snprintf(text, CSE_NAME_BYTES, "%s",
                 level == CSE_LEVEL_SCALAR ? "(int64_t)0"
                 : level == CSE_LEVEL_ROW  ? "r"
                                           : "c");
}

void cse_loop_input_name(const cse_loop_emitter *e, const cse_node *node, int i,
                         cse_loop_level level, char name[CSE_NAME_BYTES])
{
    cse_node *input = cse_node_storage(node->inputs[i]);
    if (cse_emit_inline(input, name))
        return;
    if (cse_loop_position_of(e, input) >= 0) {
        snprintf(name, CSE_NAME_BYTES, "v%u", input->id);
        return;
    }
    static const char prefixes[] = { 's', 'r', 'x', 'x' };
    bool single = cse_shape_elements(input->shape) == 1;
    snprintf(name, CSE_NAME_BYTES, "%c%u", prefixes[single ? CSE_LEVEL_SCALAR : level], input->id);
}

void cse_loop_emit_load(cse_loop_emitter *e, const cse_node *outside, cse_loop_level level)
{
    static const char prefixes[] = { 's', 'r', 'x', 'x' };
    static const char *const indices[] = { "0", "r", "c", "c" };
    char array[CSE_NAME_BYTES], flat[CSE_NAME_BYTES];
    cse_text_add(e->out, "%sconst %s %c%u = ", e->margin, cse_emit_value_type(outside->dtype),
                 prefixes[level], outside->id);
    if (outside->op == &cse_op_sample_index) {
        flat_text(e, level, flat);
        cse_text_add(e->out, "(int32_t)(frame->first_sample + %s)", flat);
    } else {
        snprintf(array, sizeof array, "%c%u", level == CSE_LEVEL_FULL ? 'p' : 'b', outside->id);
        cse_emit_load(e->out, outside->dtype, array, indices[level]);
    }
    cse_text_add(e->out, ";\n");
}

/* ---- statistics ---- */

/* Whether unrounded values are stored for statistics; others are read where they are stored anyway.
 */
static bool is_tracked(const cse_loop_emitter *e, const cse_node *node)
{
    return e->takes_statistics && node->tracked > 0 &&
           e->graph->tracked[node->tracked - 1].scratch_offset >= 0;
}

/* Whether the value is rounded to 16 bits where it is computed; u12 is the unrounded value. */
static bool rounds_here(const cse_node *node)
{
    return node->op->kind == CSE_OP_ELEMENTWISE && cse_dtype_is_float(node->dtype) &&
           node->dtype != CSE_FLOAT32;
}

void cse_loop_emit_statistics_bases(cse_loop_emitter *e)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (is_tracked(e, node))
            cse_text_add(e->out,
                         "    float *const o%u = (float *)(frame->collector->scratch + %lld);\n",
                         node->id, (long long)e->graph->tracked[node->tracked - 1].scratch_offset);
    }
}

void cse_loop_emit_statistics(cse_loop_emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    char flat[CSE_NAME_BYTES];
    flat_text(e, cse_loop_value_at(e, n)->level, flat);
    if (is_tracked(e, node))
        cse_text_add(e->out, "%so%u[%s] = %c%u;\n", e->margin, node->id, flat,
                     rounds_here(node) ? 'u' : 'v', node->id);
}

void cse_loop_emit_statistics_calls(cse_loop_emitter *e)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (is_tracked(e, node))
            cse_text_add(e->out,
                         "    frame->collector->count(frame->collector, frame, CSE_TRACKED(%d), "
                         "o%u);\n",
                         node->tracked - 1, node->id);
    }
}

/* ---- computing ---- */

/* "const float v12 = <expression>;" for an elementwise node or a degenerate reduction. */
static void emit_computation(cse_loop_emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    const cse_loop_value *value = cse_loop_value_at(e, n);
    char last[CSE_NAME_BYTES], flat[CSE_NAME_BYTES];
    cse_emit_names names = { .flat = flat, .last_index = last };
    last_index_text(e, node, value, last);
    flat_text(e, value->level, flat);
    int shift = node->op->kind == CSE_OP_REDUCE ? 1 : 0;
    if (shift)
        cse_loop_initial_name(node, names.inputs[0]);
    for (int i = 0; i < node->input_count; i++)
        cse_loop_input_name(e, node, i, value->level, names.inputs[i + shift]);
    if (is_tracked(e, node) && rounds_here(node)) {
        cse_text_add(e->out, "%sconst float u%u = ", e->margin, node->id);
        cse_emit_unrounded(e->out, node, &names);
        cse_text_add(e->out, ";\n%sconst float v%u = cse_round_%s(u%u);\n", e->margin, node->id,
                     cse_dtype_name(node->dtype), node->id);
        return;
    }
    cse_text_add(e->out, "%sconst %s v%u = ", e->margin, cse_emit_value_type(node->dtype),
                 node->id);
    if (node->op->kind == CSE_OP_BROADCAST)
        cse_text_add(e->out, "%s", names.inputs[0]);
    else
        cse_emit_expression(e->out, node, &names);
    cse_text_add(e->out, ";\n");
}

/* The offset of a row in what a broadcast reads. */
static void offset_text(const cse_loop_map *map, cse_text *text)
{
    for (int t = 0; t < map->count; t++) {
        cse_text_add(text, t ? " + " : "");
        cse_text_add(text, map->terms[t].divide > 1 ? "r / %lld" : "r",
                     (long long)map->terms[t].divide);
        if (map->terms[t].modulus > 0)
            cse_text_add(text, " %% %lld", (long long)map->terms[t].modulus);
        if (map->terms[t].stride != 1)
            cse_text_add(text, " * %lld", (long long)map->terms[t].stride);
    }
    if (map->count == 0)
        cse_text_add(text, "0");
}

/* A broadcast of a value of another group, for the current row or element. */
static void emit_outside_broadcast(cse_loop_emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    cse_node *input = cse_node_storage(node->inputs[0]);
    bool full = cse_loop_value_at(e, n)->level == CSE_LEVEL_FULL;
    char name[CSE_NAME_BYTES];
    cse_loop_map map = { 0 };
    cse_text offset = { 0 };
    cse_text_add(e->out, "%sconst %s v%u = ", e->margin, cse_emit_value_type(node->dtype),
                 node->id);
    if (cse_shape_elements(input->shape) == 1) {
        if (!cse_emit_inline(input, name))
            snprintf(name, sizeof name, "s%u", input->id);
        cse_text_add(e->out, "%s;\n", name);
        return;
    }
    cse_loop_map_of(node, full ? e->loop.columns : 1, &map);
    offset_text(&map, &offset);
    if (full && map.step)
        cse_text_add(&offset, " + c");
    if (input->op == &cse_op_sample_index) {
        cse_text_add(e->out, "(int32_t)(frame->first_sample + (%s))", offset.data);
    } else {
        snprintf(name, sizeof name, "b%u", input->id);
        cse_emit_load(e->out, input->dtype, name, offset.data);
    }
    cse_text_add(e->out, ";\n");
    cse_text_clear(&offset);
}

void cse_loop_emit_value(cse_loop_emitter *e, int n)
{
    cse_node *node = e->group->nodes[n];
    if (!cse_loop_is_broadcast(node)) {
        emit_computation(e, n);
        cse_loop_emit_statistics(e, n);
        return;
    }
    cse_node *input = cse_node_storage(node->inputs[0]);
    if (cse_loop_position_of(e, input) < 0)
        emit_outside_broadcast(e, n);
    else
        cse_text_add(e->out, "%sconst %s v%u = v%u;\n", e->margin, cse_emit_value_type(node->dtype),
                     node->id, input->id);
}

void cse_loop_emit_store(cse_loop_emitter *e, const cse_node *node, char array, const char *index)
{
    char value[CSE_NAME_BYTES];
    snprintf(value, sizeof value, "v%u", node->id);
    cse_text_add(e->out, "%s%c%u[%s] = ", e->margin, array, node->id, index);
    cse_emit_stored(e->out, node->dtype, value);
    cse_text_add(e->out, ";\n");
}

void cse_loop_initial_name(const cse_node *node, char name[CSE_NAME_BYTES])
{
    if (cse_dtype_is_float(node->dtype))
        cse_emit_number(node->op->initial, CSE_FLOAT32, name);
    else if (node->op->role == CSE_OP_ROLE_MAX)
        snprintf(name, CSE_NAME_BYTES, "(-2147483647 - 1)");
    else
        cse_emit_number(node->op->initial, node->dtype, name);
}
