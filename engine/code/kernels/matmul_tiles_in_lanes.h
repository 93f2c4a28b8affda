/* Tiles of a matrix product in registers, for lanes of either width; see matmul_tiles.h.
 *
 * A macro makes a function of each shape whose sums fit the registers (24 vectors of 32 in AVX-512,
 * 12 of 16 in AVX2): only then does the compiler keep all sums there. 6 x 64 and 6 x 16 elements
 * are the largest for chains; pairs keep two sums for each element. */
#ifndef CSE_KERNELS_MATMUL_TILES_IN_LANES_H
#define CSE_KERNELS_MATMUL_TILES_IN_LANES_H

#include "engine/code/kernels/matmul_tiles.h"

/* Keeps a loaded value in its register; otherwise gcc loads it again for each row. */
#define KEEP(value) __asm__("" : "+v"(value))

#define UNROLL CSE_UNROLL

/* Repeats the statements `...` for each sum of the tile. */
#define EACH(ROWS, VECTORS, ...)                                                   \
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int v = 0; v < VECTORS; v++) \
    {                                                                              \
        cse_lane_mask lanes = v == VECTORS - 1 ? t->last_lanes : CSE_LANES_ALL;    \
        float *at = t->to + r * t->to_stride + v * CSE_LANE_COUNT;                 \
        __VA_ARGS__(void) lanes, (void)at;                                         \
    }

/* One step of the depth, added to `sums`. */
#define ADD_STEP(ROWS, VECTORS, sums)                                       \
    {                                                                       \
        cse_vector columns[VECTORS];                                        \
        UNROLL for (int v = 0; v < VECTORS; v++)                            \
        {                                                                   \
            columns[v] = *(const cse_vector *)(panel + v * CSE_LANE_COUNT); \
            KEEP(columns[v]);                                               \
        }                                                                   \
        UNROLL for (int r = 0; r < ROWS; r++)                               \
        {                                                                   \
            cse_vector row = cse_lanes_of_all(from[r * row_stride]);        \
            UNROLL for (int v = 0; v < VECTORS; v++) sums[r][v] =           \
                cse_lanes_multiply_add(row, columns[v], sums[r][v]);        \
        }                                                                   \
        from += depth_stride;                                               \
        panel += VECTORS * CSE_LANE_COUNT;                                  \
    }

/* The tile of ROWS x VECTORS vectors. (max returns its second operand where either is NaN.) */
#define DEFINE_TILE(ROWS, VECTORS)                                                               \
    CSE_LANE_TARGET static void tile_##VECTORS##_##ROWS(const cse_tile *t)                       \
    {                                                                                            \
        cse_vector sums[ROWS][VECTORS];                                                          \
        const float *from = t->from, *panel = t->panel;                                          \
        const int64_t row_stride = t->row_stride, depth_stride = t->depth_stride;                \
        const cse_vector zero = cse_lanes_of_all(0);                                             \
        EACH(ROWS, VECTORS, __builtin_prefetch(at, 1); sums[r][v] = zero;)                       \
        if (!t->first)                                                                           \
            EACH(ROWS, VECTORS, sums[r][v] = cse_lanes_read(at, lanes);)                         \
        for (int64_t p = t->depth; p > 0; p--)                                                   \
            ADD_STEP(ROWS, VECTORS, sums)                                                        \
        if (t->bias != NULL)                                                                     \
            EACH(ROWS, VECTORS,                                                                  \
                 sums[r][v] = sums[r][v] + cse_lanes_read(t->bias + v * CSE_LANE_COUNT, lanes);) \
        if (t->relu)                                                                             \
            EACH(ROWS, VECTORS, sums[r][v] = cse_lanes_greatest(zero, sums[r][v]);)              \
        EACH(ROWS, VECTORS, cse_lanes_write(at, lanes, sums[r][v]);)                             \
    }

#define TO_3(X, V) X(1, V) X(2, V) X(3, V)
#define TO_4(X, V) TO_3(X, V) X(4, V)
#define TO_6(X, V) TO_4(X, V) X(5, V) X(6, V)
#define TO_8(X, V) TO_6(X, V) X(7, V) X(8, V)
#define TO_12(X, V) TO_8(X, V) X(9, V) X(10, V) X(11, V) X(12, V)
#define TO_14(X, V) TO_12(X, V) X(13, V) X(14, V)

#if CSE_LANE_COUNT == 16
#define EACH_CHAIN(X)                                 \
    { TO_14(X, 1) }, { TO_12(X, 2) }, { TO_8(X, 3) }, \
    {                                                 \
        TO_6(X, 4)                                    \
    }
#define EACH_PAIRED(X)                               \
    { TO_12(X, 1) }, { TO_6(X, 2) }, { TO_4(X, 3) }, \
    {                                                \
        TO_3(X, 4)                                   \
    }
TO_14(DEFINE_TILE, 1)
TO_12(DEFINE_TILE, 2)
TO_8(DEFINE_TILE, 3)
TO_6(DEFINE_TILE, 4)
#else
#define EACH_CHAIN(X) \
    { TO_12(X, 1) },  \
    {                 \
        TO_6(X, 2)    \
    }
#define EACH_PAIRED(X) \
    { TO_6(X, 1) },    \
    {                  \
        TO_3(X, 2)     \
    }
TO_12(DEFINE_TILE, 1)
TO_6(DEFINE_TILE, 2)
#endif

/* The same for pairs: `even` and `odd` are the two chains of 32 steps. */
#define DEFINE_PAIRED(ROWS, VECTORS)                                                       \
    CSE_LANE_TARGET static void paired_##VECTORS##_##ROWS(const cse_tile *t)               \
    {                                                                                      \
        const float *from = t->from, *panel = t->panel;                                    \
        const int64_t row_stride = t->row_stride, depth_stride = t->depth_stride;          \
        for (int64_t done = 0; done < t->depth; done += CSE_TILE_PAIRED_DEPTH) {           \
            cse_vector even[ROWS][VECTORS], odd[ROWS][VECTORS];                            \
            bool first = t->first && done == 0;                                            \
            EACH(ROWS, VECTORS, even[r][v] = odd[r][v] = cse_lanes_of_all(0);)             \
            for (int pair = 0; pair < CSE_TILE_PAIRED_DEPTH / 2; pair++) {                 \
                ADD_STEP(ROWS, VECTORS, even)                                              \
                ADD_STEP(ROWS, VECTORS, odd)                                               \
            }                                                                              \
            EACH(ROWS, VECTORS, cse_vector sum = even[r][v] + odd[r][v];                   \
                 cse_vector old = first ? cse_lanes_of_all(0) : cse_lanes_read(at, lanes); \
                 cse_lanes_write(at, lanes, old + sum);)                                   \
        }                                                                                  \
    }

#if CSE_LANE_COUNT == 16
TO_12(DEFINE_PAIRED, 1)
TO_6(DEFINE_PAIRED, 2)
TO_4(DEFINE_PAIRED, 3)
TO_3(DEFINE_PAIRED, 4)
#else
TO_6(DEFINE_PAIRED, 1)
TO_3(DEFINE_PAIRED, 2)
#endif

#define CHAIN_ENTRY(ROWS, VECTORS) [ROWS] = tile_##VECTORS##_##ROWS,
#define PAIRED_ENTRY(ROWS, VECTORS) [ROWS] = paired_##VECTORS##_##ROWS,

const cse_tiles cse_tiles_chain = {
    .run = { { NULL }, EACH_CHAIN(CHAIN_ENTRY) },
#if CSE_LANE_COUNT == 16
    .most_rows = { 0, 14, 12, 8, 6 },
#else
    .most_rows = { 0, 12, 6 },
#endif
};

const cse_tiles cse_tiles_pairs = {
    .run = { { NULL }, EACH_PAIRED(PAIRED_ENTRY) },
#if CSE_LANE_COUNT == 16
    .most_rows = { 0, 12, 6, 4, 3 },
#else
    .most_rows = { 0, 6, 3 },
#endif
};

void cse_tiles_run(const cse_tiles *tiles, cse_tile *tile, int64_t rows, int64_t width)
{
    int vectors = (int)((width + CSE_LANE_COUNT - 1) / CSE_LANE_COUNT);
    int64_t most = tiles->most_rows[vectors], count = (rows + most - 1) / most;
    tile->last_lanes = cse_lanes_of(width - (vectors - 1) * CSE_LANE_COUNT);
    for (int64_t i = 0; i < count; i++) {
        int64_t size = cse_border(rows, count, i + 1) - cse_border(rows, count, i);
        tiles->run[vectors][size](tile);
        tile->from += size * tile->row_stride;
        tile->to += size * tile->to_stride;
    }
}

#endif
