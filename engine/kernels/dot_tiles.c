/* Tiles of a product of bfloat16 in AVX-512 registers; see dot_tiles.h. A macro makes a function of
 * each shape: only then does the compiler keep all sums in registers. */
#include "engine/kernels/dot_tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <string.h>

#define DOT __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")))

/* Keeps a loaded value in its register; otherwise gcc loads it again for each use. */
#define KEEP(value) __asm__("" : "+v"(value))

#define UNROLL CSE_UNROLL

/* Repeats the statements `...` for each sum of the tile. */
#define EACH(ROWS, VECTORS, ...)                                                   \
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int v = 0; v < VECTORS; v++) \
    {                                                                              \
        const __mmask16 lanes = v == VECTORS - 1 ? t->lanes : 0xffff;              \
        __VA_ARGS__(void) lanes;                                                   \
    }

/* The place of a sum in an array of `type` whose rows are `stride` apart. */
#define PLACE(type, array, stride) ((type *)(array) + r * (stride) + v * CSE_LANE_COUNT)

/* One pair of steps, added to the sums. */
#define ADD_PAIR(ROWS, VECTORS)                                                    \
    {                                                                              \
        __m512i columns[VECTORS];                                                  \
        UNROLL for (int v = 0; v < VECTORS; v++)                                   \
        {                                                                          \
            columns[v] = _mm512_load_si512(panel + v * (CSE_DOT_PAIR_BYTES / 2));  \
            KEEP(columns[v]);                                                      \
        }                                                                          \
        UNROLL for (int r = 0; r < ROWS; r++)                                      \
        {                                                                          \
            int32_t pair;                                                          \
            memcpy(&pair, from + r * row_bytes, sizeof pair);                      \
            __m512i row = _mm512_set1_epi32(pair);                                 \
            KEEP(row);                                                             \
            UNROLL for (int v = 0; v < VECTORS; v++) sums[r][v] =                  \
                _mm512_dpbf16_ps(sums[r][v], (__m512bh)row, (__m512bh)columns[v]); \
        }                                                                          \
        from += pair_bytes;                                                        \
        panel += CSE_DOT_PAIR_BYTES;                                               \
    }

/* The tile of ROWS x VECTORS vectors. (max returns its second operand where either is NaN.) */
#define DEFINE_TILE(ROWS, VECTORS)                                                             \
    DOT static void tile_##VECTORS##_##ROWS(const cse_dot_tile *t)                             \
    {                                                                                          \
        __m512 sums[ROWS][VECTORS];                                                            \
        const char *from = t->from, *panel = t->panel;                                         \
        const int64_t row_bytes = t->row_bytes, pair_bytes = t->pair_bytes;                    \
        const __m512 zero = _mm512_setzero_ps();                                               \
        EACH(ROWS, VECTORS, sums[r][v] = zero;)                                                \
        if (t->old != NULL)                                                                    \
            EACH(ROWS, VECTORS,                                                                \
                 sums[r][v] =                                                                  \
                     _mm512_maskz_loadu_ps(lanes, PLACE(const float, t->old, t->old_stride));) \
        for (int64_t left = t->pairs; left > 0; left--)                                        \
            ADD_PAIR(ROWS, VECTORS)                                                            \
        if (t->bias != NULL)                                                                   \
            EACH(ROWS, VECTORS,                                                                \
                 sums[r][v] = _mm512_add_ps(                                                   \
                     sums[r][v], _mm512_maskz_loadu_ps(lanes, t->bias + v * CSE_LANE_COUNT));) \
        if (t->relu)                                                                           \
            EACH(ROWS, VECTORS, sums[r][v] = _mm512_max_ps(zero, sums[r][v]);)                 \
        if (t->narrow)                                                                         \
            EACH(ROWS, VECTORS,                                                                \
                 _mm256_mask_storeu_epi16(PLACE(uint16_t, t->to, t->to_stride), lanes,         \
                                          cse_lanes_to_bfloat16(sums[r][v]));)                 \
        else                                                                                   \
            EACH(ROWS, VECTORS,                                                                \
                 _mm512_mask_storeu_ps(PLACE(float, t->to, t->to_stride), lanes, sums[r][v]);) \
    }

#define EACH_HEIGHT(X, V) \
    X(1, V)               \
    X(2, V) X(3, V) X(4, V) X(5, V) X(6, V) X(7, V) X(8, V) X(9, V) X(10, V) X(11, V) X(12, V)

EACH_HEIGHT(DEFINE_TILE, 1)
EACH_HEIGHT(DEFINE_TILE, 2)

#define ENTRY(ROWS, VECTORS) [ROWS] = tile_##VECTORS##_##ROWS,

typedef void tile_function(const cse_dot_tile *tile);

static tile_function *const tiles[2][CSE_DOT_ROWS + 1] = { { EACH_HEIGHT(ENTRY, 1) },
                                                           { EACH_HEIGHT(ENTRY, 2) } };

void cse_dot_tile_run(cse_dot_tile *tile, int64_t rows, int64_t width)
{
    const int last = width > CSE_LANE_COUNT;
    tile->lanes = cse_lanes_of(width - last * CSE_LANE_COUNT);
    tiles[last][rows](tile);
}

bool cse_dot_tiles_run_here(void)
{
    return cse_isa_runs(CSE_ISA_AVX512_BF16);
}

#endif
