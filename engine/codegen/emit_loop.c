/* Fused loops as C: one visit of each row for each phase, values in registers, sums in
 * accumulators.
 *
 * Everything that a visit reads is loaded before anything is written, since a result may lie where
 * a dying input lay. Sums run in float over lanes and rows' sums in double; long rows and many rows
 * are summed in double throughout. The observed twin of a loop does the same arithmetic and also
 * leaves, in the sink's memory, what each observed value was before it was rounded. The maximum
 * keeps NaN through a flag, because lanes are joined by a comparison that would lose it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/codegen/emit.h"
#include "engine/passes/loop.h"

enum { MOST_FLOAT_COLUMNS = 4096, MOST_FLOAT_ROWS = 1024 };

typedef struct emitter {
    cse_text *out;
    const cse_graph *graph;
    const cse_group *group;
    cse_loop loop;
    cse_node **outside; /* values from other groups */
    int outside_count;
    bool declared[CSE_LOOP_MOST_NODES]; /* values that the visit at hand has already */
    const char *margin;
    bool observing; /* the observed twin */
} emitter;

/* ---- questions about nodes of the group ---- */

static const cse_loop_value *value_at(const emitter *e, int n)
{
    return &e->loop.values[n];
}

static int position_of(const emitter *e, cse_node *input)
{
    return cse_loop_position(e->group->nodes, e->group->node_count, cse_node_storage(input));
}

static bool is_reduction(const cse_node *node)
{
    return node->op->kind == CSE_OP_REDUCE && !cse_loop_is_degenerate(node);
}

static bool is_stored(const cse_node *node)
{
    return node->space != CSE_SPACE_NONE;
}

/* Reads as (row, column) -> element of its input; copies of the same size are no such thing. */
static bool is_stretch(const cse_node *node)
{
    return node->op->kind == CSE_OP_BROADCAST &&
           cse_shape_elements(node->shape) != cse_shape_elements(node->inputs[0]->shape);
}

static bool is_sum(const cse_node *node)
{
    return node->op->role == CSE_ROLE_SUM;
}

static bool is_max(const cse_node *node)
{
    return node->op->role == CSE_ROLE_MAX;
}

static bool sums_columns(const emitter *e, int n)
{
    return is_reduction(e->group->nodes[n]) && value_at(e, n)->level == CSE_LEVEL_COLUMN;
}

/* Type of a reduction's accumulator, within a row and over rows. */
static const char *row_type(const emitter *e, const cse_node *node)
{
    bool wide =
        is_sum(node) && cse_dtype_is_float(node->dtype) && e->loop.columns > MOST_FLOAT_COLUMNS;
    return wide ? "double" : cse_emit_value_type(node->dtype);
}

static const char *total_type(const cse_node *node)
{
    bool wide = is_sum(node) && cse_dtype_is_float(node->dtype);
    return wide ? "double" : cse_emit_value_type(node->dtype);
}

static const char *column_type(const emitter *e, const cse_node *node)
{
    return e->loop.rows > MOST_FLOAT_ROWS ? total_type(node) : cse_emit_value_type(node->dtype);
}

static void initial_text(const cse_node *node, char name[CSE_NAME_BYTES])
{
    if (cse_dtype_is_float(node->dtype))
        cse_emit_number(node->op->initial, CSE_FLOAT32, name);
    else if (is_max(node))
        snprintf(name, CSE_NAME_BYTES, "(-2147483647 - 1)");
    else
        cse_emit_number(node->op->initial, node->dtype, name);
}

/* ---- reading ---- */

/* The index along a node's last axis for the element at hand. */
static void last_index_text(const emitter *e, const cse_node *node, const cse_loop_value *value,
                            char text[CSE_NAME_BYTES])
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

static void flat_text(const emitter *e, const cse_loop_value *value, char text[CSE_NAME_BYTES])
{
    if (value->level == CSE_LEVEL_FULL)
        snprintf(text, CSE_NAME_BYTES, "r * %lldll + c", (long long)e->loop.columns);
    else
        snprintf(text, CSE_NAME_BYTES, "%s",
                 value->level == CSE_LEVEL_SCALAR ? "(int64_t)0"
                 : value->level == CSE_LEVEL_ROW  ? "r"
                                                  : "c");
}

/* What input i of a node is called where a value of `level` is computed. */
static void input_name(const emitter *e, const cse_node *node, int i, cse_loop_level level,
                       char name[CSE_NAME_BYTES])
{
    cse_node *input = cse_node_storage(node->inputs[i]);
    if (cse_emit_inline(input, name))
        return;
    if (position_of(e, input) >= 0) {
        snprintf(name, CSE_NAME_BYTES, "v%u", input->id);
        return;
    }
    static const char prefixes[] = { 's', 'r', 'x', 'x' };
    bool single = cse_shape_elements(input->shape) == 1;
    snprintf(name, CSE_NAME_BYTES, "%c%u", prefixes[single ? CSE_LEVEL_SCALAR : level], input->id);
}

/* ---- observed values ---- */

/* Gradients are read where they are stored. */
static bool is_tracked(const emitter *e, const cse_node *node)
{
    return e->observing && node->tracked > 0 &&
           e->graph->tracked[node->tracked - 1].scratch_offset >= 0;
}

/* Rounded to 16 bits where it is computed; u12 is the value before that. */
static bool rounds_here(const cse_node *node)
{
    return node->op->kind == CSE_OP_ELEMENTWISE && cse_dtype_is_float(node->dtype) &&
           node->dtype != CSE_FLOAT32;
}

static void emit_statistics(emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    char flat[CSE_NAME_BYTES];
    flat_text(e, value_at(e, n), flat);
    if (is_tracked(e, node))
        cse_text_add(e->out, "%so%u[%s] = %c%u;\n", e->margin, node->id, flat,
                     rounds_here(node) ? 'u' : 'v', node->id);
}

static void emit_statistics_bases(emitter *e)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (is_tracked(e, node))
            cse_text_add(e->out, "    float *const o%u = (float *)(frame->sink->scratch + %lld);\n",
                         node->id, (long long)e->graph->tracked[node->tracked - 1].scratch_offset);
    }
}

static void emit_statistics_handing(emitter *e)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (is_tracked(e, node))
            cse_text_add(e->out, "    frame->sink->take(frame->sink, frame, %d, o%u);\n",
                         node->tracked - 1, node->id);
    }
}

/* "const float v12 = <expression>;" for an elementwise node or a degenerate reduction. */
static void emit_computation(emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    const cse_loop_value *value = value_at(e, n);
    char last[CSE_NAME_BYTES], flat[CSE_NAME_BYTES];
    cse_emit_names names = { .flat = flat, .last_index = last };
    last_index_text(e, node, value, last);
    flat_text(e, value, flat);
    int shift = node->op->kind == CSE_OP_REDUCE ? 1 : 0;
    if (shift)
        initial_text(node, names.inputs[0]);
    for (int i = 0; i < node->input_count; i++)
        input_name(e, node, i, value->level, names.inputs[i + shift]);
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

/* The value of a stretch of something outside the loop, at the row or the element at hand. */
static void emit_outside_stretch(emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    cse_node *input = cse_node_storage(node->inputs[0]);
    bool full = value_at(e, n)->level == CSE_LEVEL_FULL;
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

static void emit_value(emitter *e, int n)
{
    cse_node *node = e->group->nodes[n];
    if (!is_stretch(node)) {
        emit_computation(e, n);
        emit_statistics(e, n);
        return;
    }
    cse_node *input = cse_node_storage(node->inputs[0]);
    if (position_of(e, input) < 0)
        emit_outside_stretch(e, n);
    else
        cse_text_add(e->out, "%sconst %s v%u = v%u;\n", e->margin, cse_emit_value_type(node->dtype),
                     node->id, input->id);
}

/* ---- one visit of a row's columns ---- */

static bool works_in_phase(const emitter *e, int n, int phase)
{
    const cse_node *node = e->group->nodes[n];
    const cse_loop_value *value = value_at(e, n);
    if (is_reduction(node))
        return value->reduces == CSE_LEVEL_FULL && value->phase == phase;
    return value->level == CSE_LEVEL_FULL && value->phase == phase &&
           (!is_stretch(node) || is_stored(node));
}

/* Marks the full values of the group that a phase needs: computed there, computed again
 * (stretches), or kept from an earlier phase. */
static void mark_needed(const emitter *e, int phase, bool needed[])
{
    memset(needed, 0, CSE_LOOP_MOST_NODES * sizeof *needed);
    for (int n = e->group->node_count - 1; n >= 0; n--) {
        bool works = works_in_phase(e, n, phase);
        bool again = needed[n] && is_stretch(e->group->nodes[n]);
        needed[n] = needed[n] || works;
        if (!works && !again)
            continue;
        for (int i = 0; i < e->group->nodes[n]->input_count; i++) {
            int at = position_of(e, e->group->nodes[n]->inputs[i]);
            if (at >= 0 && value_at(e, at)->level == CSE_LEVEL_FULL)
                needed[at] = true;
        }
    }
}

/* A full value that a later phase needs and that is no stretch. */
static bool is_kept(const emitter *e, int n)
{
    bool needed[CSE_LOOP_MOST_NODES];
    if (value_at(e, n)->level != CSE_LEVEL_FULL || value_at(e, n)->late ||
        is_stretch(e->group->nodes[n]))
        return false;
    for (int phase = value_at(e, n)->phase + 1; phase < e->loop.phases; phase++) {
        mark_needed(e, phase, needed);
        if (needed[n])
            return true;
    }
    return false;
}

static bool reads_at(const emitter *e, int n, const cse_node *outside)
{
    const cse_node *node = e->group->nodes[n];
    for (int i = 0; i < node->input_count; i++)
        if (cse_node_storage(node->inputs[i]) == outside && !is_stretch(node))
            return true;
    return false;
}

/* Loads of outside values that the phase reads element by element. */
static void emit_loads(emitter *e, int phase)
{
    for (int o = 0; o < e->outside_count; o++) {
        const cse_node *outside = e->outside[o];
        bool read = false;
        for (int n = 0; n < e->group->node_count; n++)
            read = read || (works_in_phase(e, n, phase) && reads_at(e, n, outside));
        if (!read || cse_shape_elements(outside->shape) == 1)
            continue;
        char array[CSE_NAME_BYTES];
        cse_text_add(e->out, "%sconst %s x%u = ", e->margin, cse_emit_value_type(outside->dtype),
                     outside->id);
        if (outside->op == &cse_op_sample_index) {
            cse_text_add(e->out, "(int32_t)(frame->first_sample + r * %lldll + c)",
                         (long long)e->loop.columns);
        } else {
            snprintf(array, sizeof array, "p%u", outside->id);
            cse_emit_load(e->out, outside->dtype, array, "c");
        }
        cse_text_add(e->out, ";\n");
    }
}

static void emit_store(emitter *e, const cse_node *node, const char *array, const char *index)
{
    char value[CSE_NAME_BYTES];
    snprintf(value, sizeof value, "v%u", node->id);
    cse_text_add(e->out, "%s%s%u[%s] = ", e->margin, array, node->id, index);
    cse_emit_stored(e->out, node->dtype, value);
    cse_text_add(e->out, ";\n");
}

static void emit_accumulation(emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    cse_emit_names names = { .flat = "0", .last_index = "0" };
    input_name(e, node, 0, CSE_LEVEL_FULL, names.inputs[1]);
    const char *index = sums_columns(e, n) ? "[c]" : "";
    snprintf(names.inputs[0], CSE_NAME_BYTES, "a%u%s", node->id, index);
    cse_text_add(e->out, "%sa%u%s = ", e->margin, node->id, index);
    if (is_max(node) && !sums_columns(e, n))
        cse_text_add(e->out, "%s > a%u ? %s : a%u", names.inputs[1], node->id, names.inputs[1],
                     node->id);
    else
        cse_emit_unrounded(e->out, node, &names);
    cse_text_add(e->out, ";\n");
    if (is_max(node) && !sums_columns(e, n) && cse_dtype_is_float(node->dtype))
        cse_text_add(e->out, "%sn%u |= %s != %s;\n", e->margin, node->id, names.inputs[1],
                     names.inputs[1]);
}

/* "const float v12 = (float)t12;": what a reduction has gathered, rounded once to its type. */
static void emit_total(emitter *e, const cse_node *node, const char *prefix, const char *index)
{
    const char *type = cse_emit_value_type(node->dtype);
    cse_text_add(e->out, "%sconst %s v%u = ", e->margin, type, node->id);
    cse_emit_rounding_begin(e->out, node->dtype);
    cse_text_add(e->out, "(%s)%s%u%s", type, prefix, node->id, index);
    cse_emit_rounding_end(e->out, node->dtype);
    cse_text_add(e->out, ";\n");
}

/* Accumulators of one row, and the clauses that let the loop run in lanes. */
static void emit_row_accumulators(emitter *e, int phase)
{
    char initial[CSE_NAME_BYTES];
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (!is_reduction(node) || !works_in_phase(e, n, phase) || sums_columns(e, n))
            continue;
        initial_text(node, initial);
        cse_text_add(e->out, "%s%s a%u = %s;\n", e->margin, row_type(e, node), node->id, initial);
        if (is_max(node) && cse_dtype_is_float(node->dtype))
            cse_text_add(e->out, "%sint32_t n%u = 0;\n", e->margin, node->id);
    }
    cse_text clauses = { 0 };
    bool lanes = true;
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (!is_reduction(node) || !works_in_phase(e, n, phase) || sums_columns(e, n))
            continue;
        lanes = lanes && (is_sum(node) || is_max(node));
        cse_text_add(&clauses, " reduction(%s : a%u)", is_sum(node) ? "+" : "max", node->id);
        if (is_max(node) && cse_dtype_is_float(node->dtype))
            cse_text_add(&clauses, " reduction(| : n%u)", node->id);
    }
    if (lanes)
        cse_text_add(e->out, "#pragma omp simd%s\n", clauses.data ? clauses.data : "");
    cse_text_clear(&clauses);
}

static void emit_phase(emitter *e, int phase)
{
    bool needed[CSE_LOOP_MOST_NODES];
    mark_needed(e, phase, needed);
    const char *margin = e->margin;
    emit_row_accumulators(e, phase);
    cse_text_add(e->out, "%sfor (int64_t c = 0; c < %lld; c++) {\n", margin,
                 (long long)e->loop.columns);
    e->margin = e->loop.rows > 1 ? "            " : "        ";
    emit_loads(e, phase);
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        char array[CSE_NAME_BYTES];
        if (!needed[n] || value_at(e, n)->level != CSE_LEVEL_FULL || value_at(e, n)->late)
            continue;
        if (value_at(e, n)->phase == phase || is_stretch(node)) {
            emit_value(e, n);
            continue;
        }
        snprintf(array, sizeof array, "%c%u", is_stored(node) ? 'p' : 'k', node->id);
        cse_text_add(e->out, "%sconst %s v%u = ", e->margin, cse_emit_value_type(node->dtype),
                     node->id);
        cse_emit_load(e->out, is_stored(node) ? node->dtype : CSE_FLOAT32, array, "c");
        cse_text_add(e->out, ";\n");
    }
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (!works_in_phase(e, n, phase))
            continue;
        if (is_reduction(node))
            emit_accumulation(e, n);
        else if (is_stored(node))
            emit_store(e, node, "p", "c");
        else if (is_kept(e, n))
            cse_text_add(e->out, "%sk%u[c] = v%u;\n", e->margin, node->id, node->id);
    }
    e->margin = margin;
    cse_text_add(e->out, "%s}\n", margin);
}

/* ---- rows ---- */

/* Values of the row that are known after `phase` (-1: at its start). */
static void emit_row_values(emitter *e, int phase)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        const cse_loop_value *value = value_at(e, n);
        if (is_reduction(node) && value->late && !sums_columns(e, n) && value->phase == phase) {
            cse_emit_names names = { .flat = "0", .last_index = "0" };
            snprintf(names.inputs[0], CSE_NAME_BYTES, "t%u", node->id);
            if (value->reduces == CSE_LEVEL_FULL)
                snprintf(names.inputs[1], CSE_NAME_BYTES, "a%u", node->id);
            else
                input_name(e, node, 0, CSE_LEVEL_ROW, names.inputs[1]);
            if (is_max(node) && value->reduces == CSE_LEVEL_FULL && cse_dtype_is_float(node->dtype))
                cse_text_add(e->out, "%sa%u = n%u ? __builtin_nanf(\"\") : a%u;\n", e->margin,
                             node->id, node->id, node->id);
            cse_text_add(e->out, "%st%u = ", e->margin, node->id);
            cse_emit_unrounded(e->out, node, &names);
            cse_text_add(e->out, ";\n");
        }
        if (value->level != CSE_LEVEL_ROW || value->late || value->phase != phase)
            continue;
        if (is_reduction(node)) {
            bool flagged = is_max(node) && cse_dtype_is_float(node->dtype);
            if (flagged)
                cse_text_add(e->out, "%sa%u = n%u ? __builtin_nanf(\"\") : a%u;\n", e->margin,
                             node->id, node->id, node->id);
            emit_total(e, node, "a", "");
            emit_statistics(e, n);
        } else {
            emit_value(e, n);
        }
        if (is_stored(node))
            emit_store(e, node, "b", "r");
    }
}

/* Whether some node reads an outside value at `level`. */
static bool is_read_at(const emitter *e, const cse_node *outside, cse_loop_level level)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        const cse_loop_value *value = value_at(e, n);
        cse_loop_level reads = is_reduction(node) ? value->reduces : value->level;
        if (reads == level && reads_at(e, n, outside))
            return true;
    }
    return false;
}

static void emit_row_pointers(emitter *e)
{
    for (int o = 0; o < e->outside_count; o++) {
        const cse_node *outside = e->outside[o];
        bool single = cse_shape_elements(outside->shape) == 1;
        const char *type = cse_emit_stored_type(outside->dtype);
        bool counted = outside->op == &cse_op_sample_index;
        if (!single && !counted && is_read_at(e, outside, CSE_LEVEL_FULL))
            cse_text_add(e->out, "%sconst %s *const p%u = b%u + r * %lld;\n", e->margin, type,
                         outside->id, outside->id, (long long)e->loop.columns);
        if (single || !is_read_at(e, outside, CSE_LEVEL_ROW))
            continue;
        char array[CSE_NAME_BYTES];
        cse_text_add(e->out, "%sconst %s r%u = ", e->margin, cse_emit_value_type(outside->dtype),
                     outside->id);
        snprintf(array, sizeof array, "b%u", outside->id);
        if (counted)
            cse_text_add(e->out, "(int32_t)(frame->first_sample + r)");
        else
            cse_emit_load(e->out, outside->dtype, array, "r");
        cse_text_add(e->out, ";\n");
    }
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (is_stored(node) && value_at(e, n)->level == CSE_LEVEL_FULL)
            cse_text_add(e->out, "%s%s *const p%u = b%u + r * %lld;\n", e->margin,
                         cse_emit_stored_type(node->dtype), node->id, node->id,
                         (long long)e->loop.columns);
    }
}

static void emit_rows(emitter *e)
{
    bool row_values = false;
    for (int n = 0; n < e->group->node_count; n++)
        row_values = row_values || (value_at(e, n)->level == CSE_LEVEL_ROW);
    if (e->loop.phases == 0 && !row_values)
        return;
    if (e->loop.rows > 1)
        cse_text_add(e->out, "    for (int64_t r = 0; r < %lld; r++) {\n", (long long)e->loop.rows);
    else
        cse_text_add(e->out, "    const int64_t r = 0;\n    (void)r;\n");
    e->margin = e->loop.rows > 1 ? "        " : "    ";
    emit_row_pointers(e);
    emit_row_values(e, -1);
    for (int phase = 0; phase < e->loop.phases; phase++) {
        emit_phase(e, phase);
        emit_row_values(e, phase);
    }
    if (e->loop.rows > 1)
        cse_text_add(e->out, "    }\n");
    e->margin = "    ";
}

/* ---- before the first row and after the last ---- */

static void emit_bases(emitter *e)
{
    for (int o = 0; o < e->outside_count; o++) {
        const cse_node *outside = e->outside[o];
        char array[CSE_NAME_BYTES];
        if (outside->op == &cse_op_sample_index) {
            if (cse_shape_elements(outside->shape) == 1)
                cse_text_add(e->out, "    const int32_t s%u = (int32_t)frame->first_sample;\n",
                             outside->id);
            continue;
        }
        cse_emit_base(e->out, outside, false);
        if (cse_shape_elements(outside->shape) != 1)
            continue;
        snprintf(array, sizeof array, "b%u", outside->id);
        cse_text_add(e->out, "    const %s s%u = ", cse_emit_value_type(outside->dtype),
                     outside->id);
        cse_emit_load(e->out, outside->dtype, array, "0");
        cse_text_add(e->out, ";\n    (void)s%u;\n", outside->id);
    }
    for (int n = 0; n < e->group->node_count; n++)
        if (is_stored(e->group->nodes[n]))
            cse_emit_base(e->out, e->group->nodes[n], true);
}

static void emit_prologue(emitter *e)
{
    char initial[CSE_NAME_BYTES];
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        const cse_loop_value *value = value_at(e, n);
        initial_text(node, initial);
        if (sums_columns(e, n))
            cse_text_add(e->out,
                         "    _Alignas(64) %s a%u[%lld];\n"
                         "    for (int64_t c = 0; c < %lld; c++)\n        a%u[c] = %s;\n",
                         column_type(e, node), node->id, (long long)e->loop.columns,
                         (long long)e->loop.columns, node->id, initial);
        else if (is_reduction(node) && value->late)
            cse_text_add(e->out, "    %s t%u = %s;\n", total_type(node), node->id, initial);
        else if (value->level == CSE_LEVEL_SCALAR && !value->late) {
            emit_value(e, n);
            if (is_stored(node))
                emit_store(e, node, "b", "0");
        }
        if (is_kept(e, n) && !is_stored(node))
            cse_text_add(e->out, "    _Alignas(64) %s k%u[%lld];\n",
                         cse_emit_value_type(node->dtype), node->id, (long long)e->loop.columns);
    }
}

static void emit_late_scalars(emitter *e)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (value_at(e, n)->level != CSE_LEVEL_SCALAR || !value_at(e, n)->late)
            continue;
        if (is_reduction(node)) {
            emit_total(e, node, "t", "");
            emit_statistics(e, n);
        } else {
            emit_value(e, n);
        }
        if (is_stored(node))
            emit_store(e, node, "b", "0");
    }
}

static void emit_late_columns(emitter *e)
{
    bool any = false;
    for (int n = 0; n < e->group->node_count; n++)
        any = any || value_at(e, n)->level == CSE_LEVEL_COLUMN;
    if (!any)
        return;
    cse_text_add(e->out, "#pragma omp simd\n    for (int64_t c = 0; c < %lld; c++) {\n",
                 (long long)e->loop.columns);
    e->margin = "        ";
    for (int o = 0; o < e->outside_count; o++) {
        const cse_node *outside = e->outside[o];
        char array[CSE_NAME_BYTES];
        if (!is_read_at(e, outside, CSE_LEVEL_COLUMN) || cse_shape_elements(outside->shape) == 1)
            continue;
        cse_text_add(e->out, "        const %s x%u = ", cse_emit_value_type(outside->dtype),
                     outside->id);
        snprintf(array, sizeof array, "b%u", outside->id);
        if (outside->op == &cse_op_sample_index)
            cse_text_add(e->out, "(int32_t)(frame->first_sample + c)");
        else
            cse_emit_load(e->out, outside->dtype, array, "c");
        cse_text_add(e->out, ";\n");
    }
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (value_at(e, n)->level != CSE_LEVEL_COLUMN)
            continue;
        if (is_reduction(node)) {
            emit_total(e, node, "a", "[c]");
            emit_statistics(e, n);
        } else {
            emit_value(e, n);
        }
        if (is_stored(node))
            emit_store(e, node, "b", "c");
    }
    cse_text_add(e->out, "    }\n");
    e->margin = "    ";
}

static void emit_function(cse_text *out, const cse_graph *graph, const cse_group *group,
                          bool observing)
{
    emitter *e = cse_calloc(1, sizeof *e);
    *e = (emitter){
        .out = out, .graph = graph, .group = group, .margin = "    ", .observing = observing
    };
    e->outside_count = cse_group_inputs(graph, group, NULL, 0);
    e->outside = cse_calloc((size_t)e->outside_count + 1, sizeof *e->outside);
    e->outside_count = cse_group_inputs(graph, group, e->outside, e->outside_count);
    cse_loop_find(group->nodes, group->node_count, &e->loop);
    cse_text_add(out, "static void group_%d%s(const cse_step_frame *frame)\n{\n",
                 (int)(group - graph->groups), observing ? "_observed" : "");
    emit_bases(e);
    emit_statistics_bases(e);
    emit_prologue(e);
    emit_rows(e);
    emit_late_scalars(e);
    emit_late_columns(e);
    emit_statistics_handing(e);
    cse_text_add(out, "}\n\n");
    free(e->outside);
    free(e);
}

void cse_emit_loop_group(cse_text *out, const cse_graph *graph, const cse_group *group)
{
    emit_function(out, graph, group, false);
    if (cse_emit_has_twin(graph, group))
        emit_function(out, graph, group, true);
}
