/* Two vectors of rows go through the depth together, since a sum waits for the one before; what is
 * behind them is fetched meanwhile: these are more rows than the processor foresees. */
#include "engine/code/kernels/matmul_few_rows.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <string.h>

#include "engine/code/kernels/turned_rows.h"

enum { VECTORS = 2, TOGETHER = VECTORS * CSE_LANE_COUNT, STEP = 4, UNIT_BYTES = 4 };

#define CHAIN_TARGET CSE_AVX512
#define DOT_TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")))
#define INLINED static inline __attribute__((always_inline))
#define CHAIN_ADD(sum, x, w) _mm512_fmadd_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(w), sum)
#define DOT_ADD(sum, x, w) _mm512_dpbf16_ps(sum, (__m512bh)(x), (__m512bh)(w))

/* Where rows of the matrix lie; beyond the last one that one again. */
typedef struct places {
    const char *rows[TOGETHER], *ahead;
} places;

/* The units behind the last whole step, `left` of them. */
CSE_LANES void turn_rest(const char *const rows[], int64_t at, int64_t left, __m512i words[STEP])
{
    uint32_t turned[STEP][CSE_LANE_COUNT] = { { 0 } };
    for (int64_t u = 0; u < left; u++)
        for (int r = 0; r < CSE_LANE_COUNT; r++)
            memcpy(&turned[u][r], rows[r] + at + u * UNIT_BYTES, UNIT_BYTES);
    for (int u = 0; u < STEP; u++)
        words[u] = _mm512_loadu_si512(turned[u]);
}

CSE_LANES __m512i unit_of(const cse_matmul_few *few, int64_t row, int64_t at)
{
    int32_t unit;
    memcpy(&unit, few->x + row * few->x_bytes + at, sizeof unit);
    return _mm512_set1_epi32(unit);
}

static void find_rows(const cse_matmul_few *few, int64_t column, places *p)
{
    for (int64_t i = 0; i < TOGETHER; i++)
        p->rows[i] = few->matrix +
                     (column + i < few->columns ? column + i : few->columns - 1) * few->row_bytes;
    p->ahead = few->matrix + (column + TOGETHER) * few->row_bytes;
}

/* What lies as far behind as the step is in its rows. */
CSE_LANES void fetch(const cse_matmul_few *few, const places *p, int64_t unit)
{
    const int64_t begin = TOGETHER * UNIT_BYTES * unit, end = begin + TOGETHER * UNIT_BYTES * STEP;
    (void)few;
    for (int64_t i = begin; i < end; i += 64)
        __builtin_prefetch(p->ahead + i, 0, 2);
}

CSE_AVX512 static void finish(const cse_matmul_few *few, int64_t column,
                              const __m512 sums[][VECTORS])
{
    const int64_t left = few->columns - column;
    _Alignas(64) float values[CSE_MATMUL_FEW_ROWS][TOGETHER];
    for (int64_t r = 0; r < few->rows; r++)
        for (int v = 0; v < VECTORS; v++)
            _mm512_store_ps(values[r] + v * CSE_LANE_COUNT, sums[r][v]);
    cse_matmul_finish_avx512(few->end,
                             &(cse_matmul_block){ .values = values[0],
                                                  .stride = TOGETHER,
                                                  .rows = few->rows,
                                                  .column = column,
                                                  .columns = left < TOGETHER ? left : TOGETHER });
}

/* ROWS is a constant where this is expanded, so that the sums stay in registers. */
#define ADD_STEP(ORDER, ROWS, COUNT, TURN)                                                   \
    CSE_UNROLL for (int v = 0; v < VECTORS; v++)                                             \
    {                                                                                        \
        __m512i words[STEP];                                                                 \
        TURN;                                                                                \
        CSE_UNROLL for (int u = 0; u < STEP; u++) if (u < (COUNT))                           \
            CSE_UNROLL for (int r = 0; r < ROWS; r++) sums[r][v] =                           \
                ORDER##_ADD(sums[r][v], unit_of(few, r, (unit + u) * UNIT_BYTES), words[u]); \
    }

#define DEFINE_RUN(ORDER, ROWS)                                                                    \
    ORDER##_TARGET static void ORDER##_##ROWS(const cse_matmul_few *few)                           \
    {                                                                                              \
        const int64_t whole = few->units / STEP * STEP;                                            \
        places p;                                                                                  \
        for (int64_t column = 0; column < few->columns; column += TOGETHER) {                      \
            __m512 sums[ROWS][VECTORS];                                                            \
            CSE_UNROLL for (int r = 0; r < ROWS; r++) CSE_UNROLL for (int v = 0; v < VECTORS; v++) \
                sums[r][v] = _mm512_setzero_ps();                                                  \
            find_rows(few, column, &p);                                                            \
            int64_t unit = 0;                                                                      \
            for (; unit < whole; unit += STEP) {                                                   \
                fetch(few, &p, unit);                                                              \
                ADD_STEP(ORDER, ROWS, STEP,                                                        \
                         cse_turn_rows(p.rows + v * CSE_LANE_COUNT, unit * UNIT_BYTES, words))     \
            }                                                                                      \
            if (unit < few->units)                                                                 \
                ADD_STEP(ORDER, ROWS, few->units - whole,                                          \
                         turn_rest(p.rows + v * CSE_LANE_COUNT, unit * UNIT_BYTES,                 \
                                   few->units - whole, words))                                     \
            finish(few, column, sums);                                                             \
        }                                                                                          \
    }

#define TO_8(X, O) X(O, 1) X(O, 2) X(O, 3) X(O, 4) X(O, 5) X(O, 6) X(O, 7) X(O, 8)

TO_8(DEFINE_RUN, CHAIN)
TO_8(DEFINE_RUN, DOT)

#define ENTRY(ORDER, ROWS) [ROWS] = ORDER##_##ROWS,

void cse_matmul_few_run(const cse_matmul_few *few)
{
    typedef void run_function(const cse_matmul_few *few);
    static run_function *const functions[2][CSE_MATMUL_FEW_ROWS + 1] = { { TO_8(ENTRY, CHAIN) },
                                                                         { TO_8(ENTRY, DOT) } };
    functions[few->dot][few->rows](few);
}

#endif
