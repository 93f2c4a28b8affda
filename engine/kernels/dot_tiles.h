/* The inner loops of products of bfloat16 with AVX512_BF16: tiles of the result that stay in
 * registers over a part of the depth, in the order `dot` of matmul_tiles.h.
 *
 * One instruction multiplies 16 pairs of steps by 16 pairs and adds both products to 16 sums. One
 * operand gives rows: each pair is broadcast, from where it lies in memory or from a panel. The
 * other gives columns: panels of 32 of them, pair by pair. */
#ifndef CSE_KERNELS_DOT_TILES_H
#define CSE_KERNELS_DOT_TILES_H

#include "engine/kernels/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)

/* 24 sums: enough to hide the latency of the instruction. Wider and less high tiles (6 x 64, 8 x
 * 48) ran at the same rate. */
enum { CSE_DOT_ROWS = 12, CSE_DOT_COLUMNS = 2 * CSE_LANE_COUNT };
/* A panel holds, for each pair of steps, 32 columns of two values each. */
enum { CSE_DOT_PAIR_BYTES = CSE_DOT_COLUMNS * 4 };

/* One tile: `rows` broadcast from `from`, columns from the panel. */
typedef struct cse_dot_tile {
    const char *from;
    int64_t row_bytes, pair_bytes; /* from row to row, from pair to pair */
    const char *panel;
    int64_t pairs;
    const float *old; /* sums of the depth before; NULL: this is its beginning */
    int64_t old_stride;
    void *to;
    int64_t to_stride;
    bool narrow;       /* `to` is bfloat16, else float32 */
    bool relu;         /* like the bias: only at the end of the depth */
    const float *bias; /* by column, or NULL */
    __mmask16 lanes;   /* of the last vector */
} cse_dot_tile;

bool cse_dot_tiles_run_here(void);

/* Multiplies `rows` rows (1 to CSE_DOT_ROWS) by `width` columns (1 to CSE_DOT_COLUMNS); sets
 * `lanes`. */
void cse_dot_tile_run(cse_dot_tile *tile, int64_t rows, int64_t width);

#endif
#endif
