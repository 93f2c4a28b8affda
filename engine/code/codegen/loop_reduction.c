/* Reductions in a fused loop; see loop_emitter.h.
 *
 * Within a row a sum is accumulated in float, in several vector lanes; the sums of rows are added
 * in double. In long rows, and in sums over many rows, what is accumulated in float is added to a
 * double after each block of them: lanes of float are twice as many, and their sums stay short. A
 * maximum records NaN in a
 * separate flag, because the comparison that merges the lanes would lose it. */
#include <stdio.h>

#include "engine/code/codegen/loop_emitter.h"

enum { FLOAT_COLUMNS = 4096, MOST_FLOAT_ROWS = 1024, FLOAT_ROWS = 256 };

static bool is_float_sum(const cse_node *node)
{
    return node->op->role == CSE_OP_ROLE_SUM && cse_dtype_is_float(node->dtype);
}

/* A maximum that has a flag n12 for NaN. */
static bool has_flag(const cse_node *node)
{
    return node->op->role == CSE_OP_ROLE_MAX && cse_dtype_is_float(node->dtype);
}

static const char *accumulator_type(const cse_node *node, bool wide)
{
    return wide && is_float_sum(node) ? "double" : cse_emit_value_type(node->dtype);
}

bool cse_loop_has_long_sum(const cse_loop_emitter *e, const cse_node *node)
{
    return is_float_sum(node) && e->loop.columns > FLOAT_COLUMNS;
}

bool cse_loop_needs_strips(const cse_loop_emitter *e)
{
    return e->group->node_count == 1 && cse_loop_reduces_rows(e, 0) &&
           e->loop.columns > CSE_LOOP_MOST_SUMMED_COLUMNS;
}

const char *cse_loop_accumulator_index(const cse_loop_emitter *e)
{
    return e->in_strips ? "[c - strip]" : "[c]";
}

/* Whether a sum over rows is moved from a12[c] to t12[c] after each block of rows. */
static bool is_sum_of_many_rows(const cse_loop_emitter *e, int n)
{
    return cse_loop_reduces_rows(e, n) && is_float_sum(e->group->nodes[n]) &&
           e->loop.rows > MOST_FLOAT_ROWS;
}

/* "float a12[4096]" over rows, with the initial value in each column. */
static void emit_accumulators(cse_loop_emitter *e, const cse_node *node, char array, bool wide,
                              const char *initial)
{
    const long long columns = e->in_strips ? CSE_LOOP_STRIP_COLUMNS : (long long)e->loop.columns;
    cse_text_add(e->out,
                 "    _Alignas(64) %s %c%u[%lld];\n"
                 "    for (int64_t c = 0; c < %lld; c++)\n        %c%u[c] = %s;\n",
                 accumulator_type(node, wide), array, node->id, columns, columns, array, node->id,
                 initial);
}

void cse_loop_emit_outer_accumulator(cse_loop_emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    char initial[CSE_NAME_BYTES];
    cse_loop_initial_name(node, initial);
    if (cse_loop_reduces_rows(e, n))
        emit_accumulators(e, node, 'a', false, initial);
    if (is_sum_of_many_rows(e, n))
        emit_accumulators(e, node, 't', true, "0");
    else if (!cse_loop_reduces_rows(e, n))
        cse_text_add(e->out, "    %s t%u = %s;\n", accumulator_type(node, true), node->id, initial);
}

void cse_loop_emit_row_accumulator(cse_loop_emitter *e, const cse_node *node)
{
    char initial[CSE_NAME_BYTES];
    cse_loop_initial_name(node, initial);
    cse_text_add(e->out, "%s%s a%u = %s;\n", e->margin,
                 accumulator_type(node, cse_loop_has_long_sum(e, node)), node->id, initial);
    if (has_flag(node))
        cse_text_add(e->out, "%sint32_t n%u = 0;\n", e->margin, node->id);
}

void cse_loop_emit_blocks_begin(cse_loop_emitter *e)
{
    cse_text_add(e->out,
                 "%sfor (int64_t block = 0; block < %lld; block += %d) {\n"
                 "%s    const int64_t end = block < %lld ? block + %d : %lld;\n",
                 e->margin, (long long)e->loop.columns, FLOAT_COLUMNS, e->margin,
                 (long long)e->loop.columns - FLOAT_COLUMNS, FLOAT_COLUMNS,
                 (long long)e->loop.columns);
}

void cse_loop_emit_block_accumulator(cse_loop_emitter *e, const cse_node *node, bool ends)
{
    if (cse_loop_has_long_sum(e, node))
        cse_text_add(e->out, ends ? "%s    a%u += h%u;\n" : "%s    float h%u = 0;\n", e->margin,
                     node->id, node->id);
}

void cse_loop_emit_row_end(cse_loop_emitter *e, int n)
{
    const unsigned id = e->group->nodes[n]->id;
    if (is_sum_of_many_rows(e, n))
        cse_text_add(e->out,
                     "%sif (r %% %d == %d || r == %lld)\n"
                     "%s    for (int64_t c = 0; c < %lld; c++) {\n"
                     "%s        t%u[c] += a%u[c];\n%s        a%u[c] = 0;\n%s    }\n",
                     e->margin, FLOAT_ROWS, FLOAT_ROWS - 1, (long long)e->loop.rows - 1, e->margin,
                     e->in_strips ? CSE_LOOP_STRIP_COLUMNS : (long long)e->loop.columns, e->margin,
                     id, id, e->margin, id, e->margin);
}

void cse_loop_add_reduction_clause(const cse_loop_emitter *e, cse_text *clauses,
                                   const cse_node *node)
{
    cse_text_add(clauses, " reduction(%s : %c%u)", node->op->role == CSE_OP_ROLE_SUM ? "+" : "max",
                 cse_loop_has_long_sum(e, node) ? 'h' : 'a', node->id);
    if (has_flag(node))
        cse_text_add(clauses, " reduction(| : n%u)", node->id);
}

void cse_loop_emit_accumulation(cse_loop_emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    const bool by_column = cse_loop_reduces_rows(e, n);
    const unsigned id = node->id;
    cse_emit_names names = { .flat = "0", .last_index = "0" };
    cse_loop_input_name(e, node, 0, CSE_LEVEL_FULL, names.inputs[1]);
    snprintf(names.inputs[0], CSE_NAME_BYTES, "%c%u%s",
             cse_loop_has_long_sum(e, node) && !by_column ? 'h' : 'a', id,
             by_column ? cse_loop_accumulator_index(e) : "");
    cse_text_add(e->out, "%s%s = ", e->margin, names.inputs[0]);
    if (node->op->role == CSE_OP_ROLE_MAX && !by_column)
        cse_text_add(e->out, "%s > a%u ? %s : a%u", names.inputs[1], id, names.inputs[1], id);
    else
        cse_emit_unrounded(e->out, node, &names);
    cse_text_add(e->out, ";\n");
    if (has_flag(node) && !by_column)
        cse_text_add(e->out, "%sn%u |= %s != %s;\n", e->margin, id, names.inputs[1],
                     names.inputs[1]);
}

/* A row's maximum is NaN where its flag is set. */
static void emit_flag(cse_loop_emitter *e, const cse_node *node)
{
    if (has_flag(node))
        cse_text_add(e->out, "%sa%u = n%u ? __builtin_nanf(\"\") : a%u;\n", e->margin, node->id,
                     node->id, node->id);
}

void cse_loop_emit_row_into_total(cse_loop_emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    cse_emit_names names = { .flat = "0", .last_index = "0" };
    snprintf(names.inputs[0], CSE_NAME_BYTES, "t%u", node->id);
    if (cse_loop_value_at(e, n)->reduces == CSE_LEVEL_FULL) {
        snprintf(names.inputs[1], CSE_NAME_BYTES, "a%u", node->id);
        emit_flag(e, node);
    } else {
        cse_loop_input_name(e, node, 0, CSE_LEVEL_ROW, names.inputs[1]);
    }
    cse_text_add(e->out, "%st%u = ", e->margin, node->id);
    cse_emit_unrounded(e->out, node, &names);
    cse_text_add(e->out, ";\n");
}

void cse_loop_emit_result(cse_loop_emitter *e, int n)
{
    const cse_node *node = e->group->nodes[n];
    const char *type = cse_emit_value_type(node->dtype);
    const cse_loop_level level = cse_loop_value_at(e, n)->level;
    if (level == CSE_LEVEL_ROW)
        emit_flag(e, node);
    cse_text_add(e->out, "%sconst %s v%u = ", e->margin, type, node->id);
    cse_emit_rounding_begin(e->out, node->dtype);
    cse_text_add(e->out, "(%s)%c%u%s", type,
                 level == CSE_LEVEL_SCALAR || is_sum_of_many_rows(e, n) ? 't' : 'a', node->id,
                 level == CSE_LEVEL_COLUMN ? cse_loop_accumulator_index(e) : "");
    cse_emit_rounding_end(e->out, node->dtype);
    cse_text_add(e->out, ";\n");
    cse_loop_emit_statistics(e, n);
}
