/* One fused loop that is being written as C; used by the files that write it (emit_loop.c,
 * loop_value.c, loop_reduction.c).
 *
 * Names in the generated code, for node 12; r is the row, c the column:
 *
 *   v12             its value
 *   b12, p12        the base of its storage; a pointer to the current row there
 *   s12, r12, x12   a value of another group: a scalar, one for each row, one for each element
 *   a12, t12        the accumulator of a reduction; one over all rows
 *   h12             that of a block of a long row
 *   n12             whether a maximum has met a NaN
 *   k12             a row's values that are kept for a later pass
 *   strip, end      the first column of a strip, and the one after its last
 *   u12, o12        a value before it is rounded; where such values are stored for statistics
 */
#ifndef CSE_CODEGEN_LOOP_EMITTER_H
#define CSE_CODEGEN_LOOP_EMITTER_H

#include "engine/code/codegen/emit.h"
#include "engine/graph/passes/loop.h"

typedef struct cse_loop_emitter {
    cse_text *out;
    const cse_graph *graph;
    const cse_group *group;
    cse_loop loop;
    cse_node **outside; /* values of other groups */
    int outside_count;
    const char *margin;
    bool takes_statistics; /* the variant for steps that take tensor statistics */
    bool in_strips;        /* all rows of one strip of columns, then of the next */
} cse_loop_emitter;

/* Columns of a strip, and of what is accumulated for one. */
enum { CSE_LOOP_STRIP_COLUMNS = 4096 };

static inline const cse_loop_value *cse_loop_value_at(const cse_loop_emitter *e, int n)
{
    return &e->loop.values[n];
}

/* A reduction that has an accumulator. */
static inline bool cse_loop_is_reduction(const cse_node *node)
{
    return node->op->kind == CSE_OP_REDUCE && !cse_loop_is_degenerate(node);
}

/* Whether it sums over rows, with one accumulator for each column. */
static inline bool cse_loop_reduces_rows(const cse_loop_emitter *e, int n)
{
    return cse_loop_is_reduction(e->group->nodes[n]) &&
           cse_loop_value_at(e, n)->level == CSE_LEVEL_COLUMN;
}

static inline bool cse_loop_is_stored(const cse_node *node)
{
    return node->space != CSE_SPACE_NONE;
}

/* Whether it is a broadcast to more elements than its input has; otherwise it is a copy. */
static inline bool cse_loop_is_broadcast(const cse_node *node)
{
    return node->op->kind == CSE_OP_BROADCAST &&
           cse_shape_elements(node->shape) != cse_shape_elements(node->inputs[0]->shape);
}

/* ---- loop_value.c ---- */

/* Position in the group of the node that stores `input`; -1: it is of another group. */
int cse_loop_position_of(const cse_loop_emitter *e, cse_node *input);

/* The C name of input i of a node where a value of `level` is computed. */
void cse_loop_input_name(const cse_loop_emitter *e, const cse_node *node, int i,
                         cse_loop_level level, char name[CSE_NAME_BYTES]);

/* "const float x12 = p12[c];": the value of another group that `level` reads at its index. */
void cse_loop_emit_load(cse_loop_emitter *e, const cse_node *outside, cse_loop_level level);

/* "const float v12 = <expression>;", and its statistics. */
void cse_loop_emit_value(cse_loop_emitter *e, int n);

/* "p12[c] = v12;" with the array's letter and the index. */
void cse_loop_emit_store(cse_loop_emitter *e, const cse_node *node, char array, const char *index);

/* For statistics: declares where unrounded values are stored; stores one; passes all of them to the
 * collector. */
void cse_loop_emit_statistics_bases(cse_loop_emitter *e);
void cse_loop_emit_statistics(cse_loop_emitter *e, int n);
void cse_loop_emit_statistics_calls(cse_loop_emitter *e);

/* ---- loop_reduction.c ---- */

/* The value a reduction starts from. */
void cse_loop_initial_name(const cse_node *node, char name[CSE_NAME_BYTES]);

/* Whether the group is one sum over rows whose accumulators have no room on a stack: it is computed
 * in strips of columns. Each column's sum is the same as without them. */
bool cse_loop_needs_strips(const cse_loop_emitter *e);

/* "[c]": where an accumulator over rows has column c. */
const char *cse_loop_accumulator_index(const cse_loop_emitter *e);

/* Declares accumulators: those over rows before the first row; that of a row, where the loop over
 * its columns follows; "reduction(+ : a12)", for the pragma of that loop. */
void cse_loop_emit_outer_accumulator(cse_loop_emitter *e, int n);
void cse_loop_emit_row_accumulator(cse_loop_emitter *e, const cse_node *node);
void cse_loop_add_reduction_clause(const cse_loop_emitter *e, cse_text *clauses,
                                   const cse_node *node);

/* Whether a row's sum is made of blocks of columns: float in a block, double over them. The loop
 * over blocks, "for (...; block += ...) {" with the block's `end`; and in it, the declaration of
 * the block's accumulator, and (`ends`) its addition to a12. */
bool cse_loop_has_long_sum(const cse_loop_emitter *e, const cse_node *node);
void cse_loop_emit_blocks_begin(cse_loop_emitter *e);
void cse_loop_emit_block_accumulator(cse_loop_emitter *e, const cse_node *node, bool ends);

/* Adds an element to a12, or to that of its column. */
void cse_loop_emit_accumulation(cse_loop_emitter *e, int n);
/* After a block of rows: adds a12[c] to t12[c], where many rows are summed. */
void cse_loop_emit_row_end(cse_loop_emitter *e, int n);
/* Adds a row's sum to t12. */
void cse_loop_emit_row_into_total(cse_loop_emitter *e, int n);

/* "const float v12 = (float)t12;": the result of a reduction, rounded once to its type. */
void cse_loop_emit_result(cse_loop_emitter *e, int n);

#endif
