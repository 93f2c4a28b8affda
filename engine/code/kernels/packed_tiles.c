/* Tiles of a packed product in AVX-512 registers; see packed_tiles.h. A macro makes a function of
 * each shape and order: only then does the compiler keep all sums in registers. */
#include "engine/code/kernels/packed_tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <string.h>

#define CHAIN_TARGET CSE_AVX512
#define DOT_TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")))

/* One unit of 16 columns, multiplied by that of a row and added to the sums. */
#define CHAIN_STEP(sum, row, columns) \
    _mm512_fmadd_ps(_mm512_castsi512_ps(row), _mm512_castsi512_ps(columns), sum)
#define DOT_STEP(sum, row, columns) _mm512_dpbf16_ps(sum, (__m512bh)row, (__m512bh)columns)

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

/* One unit of the depth, added to the sums. */
#define ADD_UNIT(STEP, ROWS, VECTORS)                                               \
    {                                                                               \
        __m512i columns[VECTORS];                                                   \
        UNROLL for (int v = 0; v < VECTORS; v++)                                    \
        {                                                                           \
            columns[v] = _mm512_load_si512(panel + v * (CSE_PANEL_STEP_BYTES / 2)); \
            KEEP(columns[v]);                                                       \
        }                                                                           \
        UNROLL for (int r = 0; r < ROWS; r++)                                       \
        {                                                                           \
            int32_t unit;                                                           \
            memcpy(&unit, from + r * row_bytes, sizeof unit);                       \
            __m512i row = _mm512_set1_epi32(unit);                                  \
            KEEP(row);                                                              \
            UNROLL for (int v = 0; v < VECTORS; v++) sums[r][v] =                   \
                STEP(sums[r][v], row, columns[v]);                                  \
        }                                                                           \
        from += unit_bytes;                                                         \
        panel += CSE_PANEL_STEP_BYTES;                                              \
    }

/* The tile of ROWS x VECTORS vectors. (max returns its second operand where either is NaN.) Whole
 * vectors are stored without a mask: some processors take many cycles for a store with one. */
#define DEFINE_TILE(ORDER, ROWS, VECTORS)                                                         \
    ORDER##_TARGET static void ORDER##_##VECTORS##_##ROWS(const cse_packed_tile *t)               \
    {                                                                                             \
        __m512 sums[ROWS][VECTORS];                                                               \
        const char *from = t->from, *panel = t->panel;                                            \
        const int64_t row_bytes = t->row_bytes, unit_bytes = t->unit_bytes;                       \
        const __m512 zero = _mm512_setzero_ps();                                                  \
        EACH(ROWS, VECTORS, sums[r][v] = zero;)                                                   \
        if (t->old != NULL)                                                                       \
            EACH(ROWS, VECTORS,                                                                   \
                 sums[r][v] =                                                                     \
                     _mm512_maskz_loadu_ps(lanes, PLACE(const float, t->old, t->old_stride));)    \
        for (int64_t left = t->units; left > 0; left--)                                           \
            ADD_UNIT(ORDER##_STEP, ROWS, VECTORS)                                                 \
        if (t->bias != NULL)                                                                      \
            EACH(ROWS, VECTORS,                                                                   \
                 sums[r][v] = _mm512_add_ps(                                                      \
                     sums[r][v], _mm512_maskz_loadu_ps(lanes, t->bias + v * CSE_LANE_COUNT));)    \
        if (t->relu)                                                                              \
            EACH(ROWS, VECTORS, sums[r][v] = _mm512_max_ps(zero, sums[r][v]);)                    \
        if (t->narrow && t->lanes == 0xffff)                                                      \
            EACH(ROWS, VECTORS,                                                                   \
                 _mm256_storeu_si256((__m256i_u *)PLACE(uint16_t, t->to, t->to_stride),           \
                                     cse_lanes_to_bfloat16(sums[r][v]));)                         \
        else if (t->narrow)                                                                       \
            EACH(ROWS, VECTORS,                                                                   \
                 _mm256_mask_storeu_epi16(PLACE(uint16_t, t->to, t->to_stride), lanes,            \
                                          cse_lanes_to_bfloat16(sums[r][v]));)                    \
        else if (t->lanes == 0xffff)                                                              \
            EACH(ROWS, VECTORS, _mm512_storeu_ps(PLACE(float, t->to, t->to_stride), sums[r][v]);) \
        else                                                                                      \
            EACH(ROWS, VECTORS,                                                                   \
                 _mm512_mask_storeu_ps(PLACE(float, t->to, t->to_stride), lanes, sums[r][v]);)    \
    }

#define TO_6(X, O, V) X(O, 1, V) X(O, 2, V) X(O, 3, V) X(O, 4, V) X(O, 5, V) X(O, 6, V)
#define TO_9(X, O, V) TO_6(X, O, V) X(O, 7, V) X(O, 8, V) X(O, 9, V)
#define TO_12(X, O, V) TO_9(X, O, V) X(O, 10, V) X(O, 11, V) X(O, 12, V)

TO_12(DEFINE_TILE, CHAIN, 1)
TO_12(DEFINE_TILE, CHAIN, 2)
TO_12(DEFINE_TILE, DOT, 1)
TO_12(DEFINE_TILE, DOT, 2)

#define ENTRY(ORDER, ROWS, VECTORS) [ROWS] = ORDER##_##VECTORS##_##ROWS,

typedef void tile_function(const cse_packed_tile *tile);

static tile_function *const tiles[2][2][CSE_PACKED_ROWS + 1] = {
    { { TO_12(ENTRY, CHAIN, 1) }, { TO_12(ENTRY, CHAIN, 2) } },
    { { TO_12(ENTRY, DOT, 1) }, { TO_12(ENTRY, DOT, 2) } },
};

void cse_packed_tile_run(cse_packed_tile *tile, int64_t rows, int64_t width)
{
    const int last = width > CSE_LANE_COUNT;
    tile->lanes = cse_lanes_of(width - last * CSE_LANE_COUNT);
    tiles[tile->dot][last][rows](tile);
}

bool cse_packed_dot_runs_here(void)
{
    return cse_isa_runs(CSE_ISA_AVX512_BF16);
}

#endif
