/* The inner loops of our matrix products, in lanes of either width (lanes.h): tiles of the result
 * that stay in registers over the whole depth (k), in the orders of summation.
 *
 * One operand gives rows: its elements are read in place, whatever their strides, and broadcast.
 * The other gives columns: panels of up to 4 vectors of them in AVX-512 and 2 in AVX2, packed so
 * that the loop reads them in order.
 *
 *   chain   each element is one chain of fused multiply-adds over k in its order
 *   pairs   the order of the matrix units' bfloat16 product (TDPBF16PS): of each 32 steps of k the
 *           even ones are one chain from 0 and the odd ones another; their sum is added to the
 *           element. Subnormal numbers count as 0: the caller must set FTZ and DAZ.
 *   dot     the order of the vector units' bfloat16 dot product (VDPBF16PS): one chain from 0 over
 *           k, filled up with a zero where it is odd, in which of each two steps the odd one comes
 *           first. Subnormal numbers count as 0, before and after each step. It is `chain` over
 *           steps that were packed in that order, with FTZ and DAZ set. */
#ifndef CSE_KERNELS_MATMUL_TILES_H
#define CSE_KERNELS_MATMUL_TILES_H

#include "engine/code/kernels/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)

enum { CSE_TILE_MOST_VECTORS = CSE_LANE_COUNT == 16 ? 4 : 2 };
enum { CSE_TILE_MOST_ROWS = 14, CSE_TILE_PAIRED_DEPTH = 32 };

/* One tile: `rows` broadcast from `from`, columns from the panel, stored at `to`. */
typedef struct cse_tile {
    const float *from;
    int64_t row_stride, depth_stride;
    const float *panel;
    int64_t depth; /* pairs: a multiple of 32, padded with zeros */
    float *to;
    int64_t to_stride;
    cse_lane_mask last_lanes; /* of the last vector */
    bool first;               /* first chunk of the depth: the sums start from 0 */
    bool relu;                /* like the bias: only after the last chunk; chain only */
    const float *bias;        /* by column, or NULL; chain alone */
} cse_tile;

typedef void cse_tile_function(const cse_tile *tile);

/* Tiles by vectors and rows; NULL where the sums would not fit the registers. */
typedef struct cse_tiles {
    cse_tile_function *run[CSE_TILE_MOST_VECTORS + 1][CSE_TILE_MOST_ROWS + 1];
    int most_rows[CSE_TILE_MOST_VECTORS + 1]; /* by vectors */
} cse_tiles;

#define cse_tiles_chain CSE_LANED(cse_tiles_chain)
#define cse_tiles_pairs CSE_LANED(cse_tiles_pairs)
#define cse_tiles_run CSE_LANED(cse_tiles_run)

extern const cse_tiles cse_tiles_chain, cse_tiles_pairs;

/* The start of part `index` of `parts` near-equal parts of `size`. */
static inline int64_t cse_border(int64_t size, int64_t parts, int64_t index)
{
    return size / parts * index + (size % parts < index ? size % parts : index);
}

/* Multiplies all `rows` by the panel of `width` columns; `tile` says where the first tile reads and
 * stores, and is advanced past the last one. */
void cse_tiles_run(const cse_tiles *tiles, cse_tile *tile, int64_t rows, int64_t width);

#endif
#endif
