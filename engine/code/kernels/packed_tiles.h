/* The inner loops of packed products (matmul_packed.c): tiles of the result that stay in AVX-512
 * registers over a part of the depth.
 *
 * What is multiplied comes in units of four bytes: one step of the depth in float32, or a pair of
 * steps in bfloat16. One operand gives rows: each unit is broadcast, from where it lies in memory
 * or from a panel. The other gives columns: panels of 32 of them, unit by unit. The orders are
 * those of matmul_tiles.h: `chain` of float32 units, or `dot` of pairs, which is one instruction of
 * AVX512_BF16. */
#ifndef CSE_KERNELS_PACKED_TILES_H
#define CSE_KERNELS_PACKED_TILES_H

#include "engine/code/kernels/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)

/* 24 sums: enough to hide the latency of the instructions. Wider and less high tiles (6 x 64, 8 x
 * 48) ran at the same rate. */
enum { CSE_PACKED_ROWS = 12, CSE_PACKED_COLUMNS = 2 * CSE_LANE_COUNT };
/* Bytes of a unit, and of one unit of all columns of a panel. */
enum { CSE_UNIT_BYTES = 4, CSE_PANEL_STEP_BYTES = CSE_PACKED_COLUMNS * CSE_UNIT_BYTES };

/* One tile: `rows` broadcast from `from`, columns from the panel. */
typedef struct cse_packed_tile {
    const char *from;
    int64_t row_bytes, unit_bytes; /* from row to row, from unit to unit */
    const char *panel;
    int64_t units;
    bool dot;         /* the order: `dot`, else `chain` */
    const float *old; /* sums of the depth before; NULL: this is its beginning */
    int64_t old_stride;
    void *to;
    int64_t to_stride;
    bool narrow;       /* `to` is bfloat16, else float32 */
    bool relu;         /* like the bias: only at the end of the depth */
    const float *bias; /* by column, or NULL */
    __mmask16 lanes;   /* of the last vector */
} cse_packed_tile;

/* Whether there is the instruction that `dot` wants. */
bool cse_packed_dot_runs_here(void);

/* Multiplies `rows` rows (1 to CSE_PACKED_ROWS) by `width` columns (1 to CSE_PACKED_COLUMNS); sets
 * `lanes`. */
void cse_packed_tile_run(cse_packed_tile *tile, int64_t rows, int64_t width);

#endif
#endif
