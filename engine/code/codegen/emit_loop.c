/* Fused loops as C: a loop over rows with one or more passes over the columns of each row (a pass
 * is called a phase in the code), with values in registers and sums in accumulators.
 *
 * A pass loads everything it reads before it writes anything, because a result may overwrite an
 * input that is read for the last time. The variant of a loop for steps that take tensor statistics
 * does the same arithmetic and also stores each tracked value before rounding. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/code/codegen/loop_emitter.h"

/* ---- one pass over a row's columns ---- */

/* Whether node n is computed or reduced in a pass. */
static bool works_in_phase(const cse_loop_emitter *e, int n, int phase)
{
    const cse_node *node = e->group->nodes[n];
    const cse_loop_value *value = cse_loop_value_at(e, n);
    if (cse_loop_is_reduction(node))
        return value->reduces == CSE_LEVEL_FULL && value->phase == phase;
    return value->level == CSE_LEVEL_FULL && value->phase == phase &&
           (!cse_loop_is_broadcast(node) || cse_loop_is_stored(node));
}

/* Marks the group's per-element values that a pass needs: computed in it, recomputed (broadcasts),
 * or kept from an earlier pass. */
static void mark_needed(const cse_loop_emitter *e, int phase, bool needed[])
{
    memset(needed, 0, CSE_LOOP_MOST_NODES * sizeof *needed);
    for (int n = e->group->node_count - 1; n >= 0; n--) {
        bool works = works_in_phase(e, n, phase);
        bool again = needed[n] && cse_loop_is_broadcast(e->group->nodes[n]);
        needed[n] = needed[n] || works;
        if (!works && !again)
            continue;
        for (int i = 0; i < e->group->nodes[n]->input_count; i++) {
            int at = cse_loop_position_of(e, e->group->nodes[n]->inputs[i]);
            if (at >= 0 && cse_loop_value_at(e, at)->level == CSE_LEVEL_FULL)
                needed[at] = true;
        }
    }
}

/* Whether a later pass needs a per-element value that is not a broadcast, which would be
 * recomputed. */
static bool is_kept(const cse_loop_emitter *e, int n)
{
    bool needed[CSE_LOOP_MOST_NODES];
    if (cse_loop_value_at(e, n)->level != CSE_LEVEL_FULL || cse_loop_value_at(e, n)->after_rows ||
        cse_loop_is_broadcast(e->group->nodes[n]))
        return false;
    for (int phase = cse_loop_value_at(e, n)->phase + 1; phase < e->loop.phases; phase++) {
        mark_needed(e, phase, needed);
        if (needed[n])
            return true;
    }
    return false;
}

static bool reads_at(const cse_loop_emitter *e, int n, const cse_node *outside)
{
    const cse_node *node = e->group->nodes[n];
    for (int i = 0; i < node->input_count; i++)
        if (cse_node_storage(node->inputs[i]) == outside && !cse_loop_is_broadcast(node))
            return true;
    return false;
}

/* Loads the values of other groups that the pass reads element by element. */
static void emit_loads(cse_loop_emitter *e, int phase)
{
    for (int o = 0; o < e->outside_count; o++) {
        const cse_node *outside = e->outside[o];
        bool read = false;
        for (int n = 0; n < e->group->node_count; n++)
            read = read || (works_in_phase(e, n, phase) && reads_at(e, n, outside));
        if (read && cse_shape_elements(outside->shape) != 1)
            cse_loop_emit_load(e, outside, CSE_LEVEL_FULL);
    }
}

/* Whether a pass fills the accumulator of a reduction over a row. */
static bool reduces_row(const cse_loop_emitter *e, int n, int phase)
{
    return cse_loop_is_reduction(e->group->nodes[n]) && works_in_phase(e, n, phase) &&
           !cse_loop_reduces_rows(e, n);
}

/* "for (...) {" over the columns of a row, or of its part in a strip. */
static void emit_column_loop(cse_loop_emitter *e)
{
    if (e->in_strips)
        cse_text_add(e->out, "%sfor (int64_t c = strip; c < end; c++) {\n", e->margin);
    else
        cse_text_add(e->out, "%sfor (int64_t c = 0; c < %lld; c++) {\n", e->margin,
                     (long long)e->loop.columns);
}

/* Declares the accumulators of one row, and begins the loop over its blocks where a sum has them,
 * and over its columns, with the clauses that let it vectorise. Returns whether there are blocks.
 */
static bool emit_columns_begin(cse_loop_emitter *e, int phase)
{
    cse_text clauses = { 0 };
    bool lanes = true, blocks = false;
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (!reduces_row(e, n, phase))
            continue;
        cse_loop_emit_row_accumulator(e, node);
        cse_loop_add_reduction_clause(e, &clauses, node);
        blocks = blocks || cse_loop_has_long_sum(e, node);
        lanes = lanes && (node->op->role == CSE_OP_ROLE_SUM || node->op->role == CSE_OP_ROLE_MAX);
    }
    if (blocks)
        cse_loop_emit_blocks_begin(e);
    for (int n = 0; blocks && n < e->group->node_count; n++)
        if (reduces_row(e, n, phase))
            cse_loop_emit_block_accumulator(e, e->group->nodes[n], false);
    if (lanes)
        cse_text_add(e->out, "#pragma omp simd%s\n", clauses.data ? clauses.data : "");
    cse_text_clear(&clauses);
    if (blocks)
        cse_text_add(e->out, "%sfor (int64_t c = block; c < end; c++) {\n", e->margin);
    else
        emit_column_loop(e);
    return blocks;
}

/* Loads a value that an earlier pass stored or kept. */
static void emit_reload(cse_loop_emitter *e, const cse_node *node)
{
    char array[CSE_NAME_BYTES];
    snprintf(array, sizeof array, "%c%u", cse_loop_is_stored(node) ? 'p' : 'k', node->id);
    cse_text_add(e->out, "%sconst %s v%u = ", e->margin, cse_emit_value_type(node->dtype),
                 node->id);
    cse_emit_load(e->out, cse_loop_is_stored(node) ? node->dtype : CSE_FLOAT32, array, "c");
    cse_text_add(e->out, ";\n");
}

/* Accumulates the sums of a pass and writes its stored and kept values. */
static void emit_ends(cse_loop_emitter *e, int phase)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (!works_in_phase(e, n, phase))
            continue;
        if (cse_loop_is_reduction(node))
            cse_loop_emit_accumulation(e, n);
        else if (cse_loop_is_stored(node))
            cse_loop_emit_store(e, node, 'p', "c");
        else if (is_kept(e, n))
            cse_text_add(e->out, "%sk%u[c] = v%u;\n", e->margin, node->id, node->id);
    }
}

static void emit_phase(cse_loop_emitter *e, int phase)
{
    bool needed[CSE_LOOP_MOST_NODES];
    mark_needed(e, phase, needed);
    const char *margin = e->margin;
    const bool blocks = emit_columns_begin(e, phase);
    e->margin = e->loop.rows > 1 ? "            " : "        ";
    emit_loads(e, phase);
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_loop_value *value = cse_loop_value_at(e, n);
        if (!needed[n] || value->level != CSE_LEVEL_FULL || value->after_rows)
            continue;
        if (value->phase == phase || cse_loop_is_broadcast(e->group->nodes[n]))
            cse_loop_emit_value(e, n);
        else
            emit_reload(e, e->group->nodes[n]);
    }
    emit_ends(e, phase);
    e->margin = margin;
    cse_text_add(e->out, "%s}\n", margin);
    for (int n = 0; blocks && n < e->group->node_count; n++)
        if (reduces_row(e, n, phase))
            cse_loop_emit_block_accumulator(e, e->group->nodes[n], true);
    if (blocks)
        cse_text_add(e->out, "%s}\n", margin);
}

/* ---- rows ---- */

/* Writes the final value of node n, computed or the result of a reduction, and stores it. */
static void emit_complete(cse_loop_emitter *e, int n)
{
    static const char *const indices[] = { "0", "r", NULL, "c" };
    const cse_node *node = e->group->nodes[n];
    assert(cse_loop_value_at(e, n)->level != CSE_LEVEL_FULL);
    if (cse_loop_is_reduction(node))
        cse_loop_emit_result(e, n);
    else
        cse_loop_emit_value(e, n);
    if (cse_loop_is_stored(node))
        cse_loop_emit_store(e, node, 'b', indices[cse_loop_value_at(e, n)->level]);
}

/* Writes the values of the row that are final after pass `phase` (-1: at its start). */
static void emit_row_values(cse_loop_emitter *e, int phase)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_loop_value *value = cse_loop_value_at(e, n);
        if (value->phase != phase)
            continue;
        if (cse_loop_is_reduction(e->group->nodes[n]) && value->after_rows &&
            !cse_loop_reduces_rows(e, n))
            cse_loop_emit_row_into_total(e, n);
        else if (value->level == CSE_LEVEL_ROW && !value->after_rows)
            emit_complete(e, n);
    }
}

/* Whether some node reads a value of another group at `level`. */
static bool is_read_at(const cse_loop_emitter *e, const cse_node *outside, cse_loop_level level)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        const cse_loop_value *value = cse_loop_value_at(e, n);
        cse_loop_level reads = cse_loop_is_reduction(node) ? value->reduces : value->level;
        if (reads == level && reads_at(e, n, outside))
            return true;
    }
    return false;
}

static void emit_row_pointers(cse_loop_emitter *e)
{
    for (int o = 0; o < e->outside_count; o++) {
        const cse_node *outside = e->outside[o];
        if (cse_shape_elements(outside->shape) == 1)
            continue;
        if (outside->op != &cse_op_sample_index && is_read_at(e, outside, CSE_LEVEL_FULL))
            cse_text_add(e->out, "%sconst %s *const p%u = b%u + r * %lld;\n", e->margin,
                         cse_emit_stored_type(outside->dtype), outside->id, outside->id,
                         (long long)e->loop.columns);
        if (is_read_at(e, outside, CSE_LEVEL_ROW))
            cse_loop_emit_load(e, outside, CSE_LEVEL_ROW);
    }
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        if (cse_loop_is_stored(node) && cse_loop_value_at(e, n)->level == CSE_LEVEL_FULL)
            cse_text_add(e->out, "%s%s *const p%u = b%u + r * %lld;\n", e->margin,
                         cse_emit_stored_type(node->dtype), node->id, node->id,
                         (long long)e->loop.columns);
    }
}

static void emit_rows(cse_loop_emitter *e)
{
    bool row_values = false;
    for (int n = 0; n < e->group->node_count; n++)
        row_values = row_values || (cse_loop_value_at(e, n)->level == CSE_LEVEL_ROW);
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
    for (int n = 0; n < e->group->node_count; n++)
        cse_loop_emit_row_end(e, n);
    if (e->loop.rows > 1)
        cse_text_add(e->out, "    }\n");
    e->margin = "    ";
}

/* ---- before the first row and after the last ---- */

static void emit_bases(cse_loop_emitter *e)
{
    for (int o = 0; o < e->outside_count; o++) {
        const cse_node *outside = e->outside[o];
        if (outside->op != &cse_op_sample_index)
            cse_emit_base(e->out, outside, false);
        if (cse_shape_elements(outside->shape) != 1)
            continue;
        cse_loop_emit_load(e, outside, CSE_LEVEL_SCALAR);
        cse_text_add(e->out, "    (void)s%u;\n", outside->id);
    }
    for (int n = 0; n < e->group->node_count; n++)
        if (cse_loop_is_stored(e->group->nodes[n]))
            cse_emit_base(e->out, e->group->nodes[n], true);
}

static void emit_prologue(cse_loop_emitter *e)
{
    for (int n = 0; n < e->group->node_count; n++) {
        const cse_node *node = e->group->nodes[n];
        const cse_loop_value *value = cse_loop_value_at(e, n);
        if (cse_loop_reduces_rows(e, n) || (cse_loop_is_reduction(node) && value->after_rows))
            cse_loop_emit_outer_accumulator(e, n);
        else if (value->level == CSE_LEVEL_SCALAR && !value->after_rows)
            emit_complete(e, n);
        if (is_kept(e, n) && !cse_loop_is_stored(node))
            cse_text_add(e->out, "    _Alignas(64) %s k%u[%lld];\n",
                         cse_emit_value_type(node->dtype), node->id, (long long)e->loop.columns);
    }
}

/* Writes the values that are final after the last row. */
static void emit_scalars_after_rows(cse_loop_emitter *e)
{
    for (int n = 0; n < e->group->node_count; n++)
        if (cse_loop_value_at(e, n)->level == CSE_LEVEL_SCALAR &&
            cse_loop_value_at(e, n)->after_rows)
            emit_complete(e, n);
}

static void emit_columns_after_rows(cse_loop_emitter *e)
{
    bool any = false;
    for (int n = 0; n < e->group->node_count; n++)
        any = any || cse_loop_value_at(e, n)->level == CSE_LEVEL_COLUMN;
    if (!any)
        return;
    cse_text_add(e->out, "#pragma omp simd\n");
    emit_column_loop(e);
    e->margin = "        ";
    for (int o = 0; o < e->outside_count; o++)
        if (is_read_at(e, e->outside[o], CSE_LEVEL_COLUMN) &&
            cse_shape_elements(e->outside[o]->shape) != 1)
            cse_loop_emit_load(e, e->outside[o], CSE_LEVEL_COLUMN);
    for (int n = 0; n < e->group->node_count; n++)
        if (cse_loop_value_at(e, n)->level == CSE_LEVEL_COLUMN)
            emit_complete(e, n);
    cse_text_add(e->out, "    }\n");
    e->margin = "    ";
}

static void emit_strips_begin(cse_loop_emitter *e)
{
    const long long columns = (long long)e->loop.columns;
    cse_text_add(e->out,
                 "    for (int64_t strip = 0; strip < %lld; strip += %d) {\n"
                 "    const int64_t end = strip < %lld ? strip + %d : %lld;\n",
                 columns, CSE_LOOP_STRIP_COLUMNS, columns - CSE_LOOP_STRIP_COLUMNS,
                 CSE_LOOP_STRIP_COLUMNS, columns);
}

static void emit_function(cse_text *out, const cse_graph *graph, const cse_group *group,
                          bool takes_statistics)
{
    cse_loop_emitter *e = cse_calloc(1, sizeof *e);
    *e = (cse_loop_emitter){ .out = out,
                             .graph = graph,
                             .group = group,
                             .margin = "    ",
                             .takes_statistics = takes_statistics };
    e->outside_count = cse_group_inputs(graph, group, NULL, 0);
    e->outside = cse_calloc((size_t)e->outside_count + 1, sizeof *e->outside);
    e->outside_count = cse_group_inputs(graph, group, e->outside, e->outside_count);
    const bool found = cse_loop_find(group->nodes, group->node_count, &e->loop);
    assert(found); /* fusion makes no other group of this kind */
    (void)found;
    e->in_strips = cse_loop_needs_strips(e);
    cse_text_add(out, "static void group_%d%s(const cse_step_frame *frame)\n{\n",
                 (int)(group - graph->groups), takes_statistics ? "_statistics" : "");
    emit_bases(e);
    cse_loop_emit_statistics_bases(e);
    if (e->in_strips)
        emit_strips_begin(e);
    emit_prologue(e);
    emit_rows(e);
    emit_scalars_after_rows(e);
    emit_columns_after_rows(e);
    if (e->in_strips)
        cse_text_add(out, "    }\n");
    cse_loop_emit_statistics_calls(e);
    cse_text_add(out, "}\n\n");
    free(e->outside);
    free(e);
}

void cse_emit_loop_group(cse_text *out, const cse_graph *graph, const cse_group *group)
{
    emit_function(out, graph, group, false);
    if (cse_emit_has_statistics(graph, group))
        emit_function(out, graph, group, true);
}
