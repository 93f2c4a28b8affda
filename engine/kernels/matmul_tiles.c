/* Tiles of a matrix product in AVX-512 registers; see matmul_tiles.h.
 *
 * A macro makes a function of each shape of 24 sums or fewer: only then does the compiler keep all
 * sums in registers. 6 x 64 is the largest for chains; pairs keep two sums for each element. */
#include "engine/kernels/matmul_tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)

/* Keeps a loaded value in its register; otherwise gcc loads it again for each row. */
#define KEEP(value) __asm__("" : "+v"(value))

#define UNROLL CSE_UNROLL

/* Repeats the statements `...` for each sum of the tile. */
#define EACH(ROWS, VECTORS, ...)                                                   \
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int v = 0; v < VECTORS; v++) \
    {                                                                              \
        __mmask16 lanes = v == VECTORS - 1 ? t->last_lanes : 0xffff;               \
        float *at = t->to + r * t->to_stride + v * CSE_LANE_COUNT;                 \
        __VA_ARGS__(void) lanes, (void)at;                                         \
    }

/* One step of the depth, added to `sums`. */
#define ADD_STEP(ROWS, VECTORS, sums)                                \
    {                                                                \
        __m512 columns[VECTORS];                                     \
        UNROLL for (int v = 0; v < VECTORS; v++)                     \
        {                                                            \
            columns[v] = _mm512_load_ps(panel + v * CSE_LANE_COUNT); \
            KEEP(columns[v]);                                        \
        }                                                            \
        UNROLL for (int r = 0; r < ROWS; r++)                        \
        {                                                            \
            __m512 row = _mm512_set1_ps(from[r * row_stride]);       \
            UNROLL for (int v = 0; v < VECTORS; v++) sums[r][v] =    \
                _mm512_fmadd_ps(row, columns[v], sums[r][v]);        \
        }                                                            \
        from += depth_stride;                                        \
        panel += VECTORS * CSE_LANE_COUNT;                           \
    }

/* The tile of ROWS x VECTORS vectors. (max returns its second operand where either is NaN.) */
#define DEFINE_TILE(ROWS, VECTORS)                                                             \
    CSE_AVX512 static void tile_##VECTORS##_##ROWS(const cse_tile *t)                          \
    {                                                                                          \
        __m512 sums[ROWS][VECTORS];                                                            \
        const float *from = t->from, *panel = t->panel;                                        \
        const int64_t row_stride = t->row_stride, depth_stride = t->depth_stride;              \
        const __m512 zero = _mm512_setzero_ps();                                               \
        EACH(ROWS, VECTORS, __builtin_prefetch(at, 1); sums[r][v] = zero;)                     \
        if (!t->first)                                                                         \
            EACH(ROWS, VECTORS, sums[r][v] = _mm512_maskz_loadu_ps(lanes, at);)                \
        for (int64_t p = t->depth; p > 0; p--)                                                 \
            ADD_STEP(ROWS, VECTORS, sums)                                                      \
        if (t->bias != NULL)                                                                   \
            EACH(ROWS, VECTORS,                                                                \
                 sums[r][v] = _mm512_add_ps(                                                   \
                     sums[r][v], _mm512_maskz_loadu_ps(lanes, t->bias + v * CSE_LANE_COUNT));) \
        if (t->relu)                                                                           \
            EACH(ROWS, VECTORS, sums[r][v] = _mm512_max_ps(zero, sums[r][v]);)                 \
        EACH(ROWS, VECTORS, _mm512_mask_storeu_ps(at, lanes, sums[r][v]);)                     \
    }

#define TO_3(X, V) X(1, V) X(2, V) X(3, V)
#define TO_4(X, V) TO_3(X, V) X(4, V)
#define TO_6(X, V) TO_4(X, V) X(5, V) X(6, V)
#define TO_8(X, V) TO_6(X, V) X(7, V) X(8, V)
#define TO_12(X, V) TO_8(X, V) X(9, V) X(10, V) X(11, V) X(12, V)
#define TO_14(X, V) TO_12(X, V) X(13, V) X(14, V)

TO_14(DEFINE_TILE, 1)
TO_12(DEFINE_TILE, 2)
TO_8(DEFINE_TILE, 3)
TO_6(DEFINE_TILE, 4)

/* The same for pairs: `even` and `odd` are the two chains of 32 steps. */
#define DEFINE_PAIRED(ROWS, VECTORS)                                                          \
    CSE_AVX512 static void paired_##VECTORS##_##ROWS(const cse_tile *t)                       \
    {                                                                                         \
        const float *from = t->from, *panel = t->panel;                                       \
        const int64_t row_stride = t->row_stride, depth_stride = t->depth_stride;             \
        for (int64_t done = 0; done < t->depth; done += CSE_TILE_PAIRED_DEPTH) {              \
            __m512 even[ROWS][VECTORS], odd[ROWS][VECTORS];                                   \
            bool first = t->first && done == 0;                                               \
            EACH(ROWS, VECTORS, even[r][v] = odd[r][v] = _mm512_setzero_ps();)                \
            for (int pair = 0; pair < CSE_TILE_PAIRED_DEPTH / 2; pair++) {                    \
                ADD_STEP(ROWS, VECTORS, even)                                                 \
                ADD_STEP(ROWS, VECTORS, odd)                                                  \
            }                                                                                 \
            EACH(ROWS, VECTORS, __m512 sum = _mm512_add_ps(even[r][v], odd[r][v]);            \
                 __m512 old = first ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(lanes, at); \
                 _mm512_mask_storeu_ps(at, lanes, _mm512_add_ps(old, sum));)                  \
        }                                                                                     \
    }

TO_12(DEFINE_PAIRED, 1)
TO_6(DEFINE_PAIRED, 2)
TO_4(DEFINE_PAIRED, 3)
TO_3(DEFINE_PAIRED, 4)

#define CHAIN_ENTRY(ROWS, VECTORS) [ROWS] = tile_##VECTORS##_##ROWS,
#define PAIRED_ENTRY(ROWS, VECTORS) [ROWS] = paired_##VECTORS##_##ROWS,

const cse_tiles cse_tiles_chain = {
    .run = { [1] = { TO_14(CHAIN_ENTRY, 1) },
             [2] = { TO_12(CHAIN_ENTRY, 2) },
             [3] = { TO_8(CHAIN_ENTRY, 3) },
             [4] = { TO_6(CHAIN_ENTRY, 4) } },
    .most_rows = { 0, 14, 12, 8, 6 },
};

const cse_tiles cse_tiles_pairs = {
    .run = { [1] = { TO_12(PAIRED_ENTRY, 1) },
             [2] = { TO_6(PAIRED_ENTRY, 2) },
             [3] = { TO_4(PAIRED_ENTRY, 3) },
             [4] = { TO_3(PAIRED_ENTRY, 4) } },
    .most_rows = { 0, 12, 6, 4, 3 },
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
