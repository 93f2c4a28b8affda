/* Which nodes can run as one fused loop, and in what form.
 *
 * A fused loop visits `rows` x `columns` elements. Each value in it has a level: a scalar, one
 * value a row, one value an element (full), or one value a column. Elementwise nodes keep the level
 * of their inputs. A reduction over the columns leads from full to row and a broadcast from row to
 * full, for which the row's columns are visited again, in the next *phase* (softmax has three
 * phases). A reduction over the rows, or over all elements, is known only after the last row, so
 * that only elementwise nodes after the loop over the rows can read it. Positions are flat, so that
 * reshapes need no code.
 *
 * Fusion asks whether a set of nodes fits; code generation asks how it runs. */
#ifndef CSE_PASSES_LOOP_H
#define CSE_PASSES_LOOP_H

#include "engine/graph/graph.h"

enum {
    CSE_LOOP_MOST_NODES = 96,
    /* Bounds sums over rows, but for one that has a loop of its own; and what a loop keeps of one
     * row between phases, all values of it together. */
    CSE_LOOP_MOST_SUMMED_COLUMNS = 16384,
    CSE_LOOP_MOST_KEPT_ELEMENTS = 131072,
};

typedef enum cse_loop_level {
    CSE_LEVEL_SCALAR,
    CSE_LEVEL_ROW,
    CSE_LEVEL_FULL,
    CSE_LEVEL_COLUMN
} cse_loop_level;

typedef struct cse_loop_value {
    cse_loop_level level;
    bool after_rows; /* known only after the last row */
    /* FULL: the phase that computes it, from 0. ROW: the phase after which it is known; -1: before
     * the first. */
    int phase;
    cse_loop_level reduces; /* of a reduction: the level of its input */
} cse_loop_value;

typedef struct cse_loop {
    int64_t rows, columns;
    int phases;                                 /* visits of each row's columns */
    cse_loop_value values[CSE_LOOP_MOST_NODES]; /* by position in the set */
} cse_loop;

/* Whether `nodes` (inputs before users) can run as a loop over rows x columns; fills `loop`. Uses
 * the nodes' scratch. */
bool cse_loop_fits(cse_node *const nodes[], int count, int64_t rows, int64_t columns,
                   cse_loop *loop);

/* The same over the domains that suit some node of the set: the first that fits. */
bool cse_loop_find(cse_node *const nodes[], int count, cse_loop *loop);

/* Position of a value in the set that cse_loop_fits saw last, -1 when it is not in it. */
int cse_loop_position(cse_node *const nodes[], int count, const cse_node *value);

/* Whether a node can be in a fused loop at all. */
bool cse_loop_takes(const cse_node *node);

/* A reduction that reduces nothing: as many elements as before. */
bool cse_loop_is_degenerate(const cse_node *node);

/* How a broadcast reads its input: the element for (row, column) is row_offset + column * step. */
typedef struct cse_loop_map {
    int64_t step; /* 0 or 1 */
    int count; /* terms of row_offset: (row / divide % modulus) * stride; modulus 0: no modulus */
    struct {
        int64_t divide, modulus, stride;
    } terms[CSE_MAX_RANK];
} cse_loop_map;

bool cse_loop_map_of(const cse_node *broadcast, int64_t columns, cse_loop_map *map);

#endif
