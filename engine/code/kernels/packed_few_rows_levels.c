/* Few rows times a packed matrix whose numbers of 4 bits stand for levels (levels_of_4_bits.c), in
 * AVX-512: 16 bytes of each of 16 rows are turned at a time, and each half of a byte chooses its
 * level in a register that holds all of them. Values and sums have the bits of packed_few_rows.h.
 */
#include "engine/code/kernels/packed_few_rows.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "engine/code/kernels/few_rows_sums.h"

enum { ELEMENTS = 64, HEAD = 4, TURNED_BYTES = 16 };

/* The factors of a block of 16 rows. */
CSE_LANES __m512 factors_at(const cse_few_sums *w, int vector, int64_t at)
{
    float factors[CSE_LANE_COUNT];
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i++)
        memcpy(&factors[i], w->rows[vector * CSE_LANE_COUNT + i] + at, sizeof factors[i]);
    return _mm512_loadu_ps(factors);
}

/* 16 bytes of the block, from `at` on, are the 32 numbers from `step` on; the first of two stands
 * in the upper half of a byte. */
CSE_LANES void add_numbers(cse_few_sums *w, __m512 levels, const __m512 scales[CSE_FEW_VECTORS],
                           const int64_t places[2], const int rows)
{
    const int64_t at = places[0], columns = w->few->columns;
    const float *x = w->few->x + w->x * columns + places[1];
    CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++)
    {
        __m512i words[4];
        cse_turn_rows(w->rows + v * CSE_LANE_COUNT, at, words);
        CSE_UNROLL for (int word = 0; word < 4; word++)
            CSE_UNROLL for (int half = 0; half < 8; half++)
        {
            /* Of a shifted word the lowest 4 bits choose. */
            const __m512i number = _mm512_srli_epi32(words[word], (unsigned)(4 * (half ^ 1)));
            const __m512 value = _mm512_permutexvar_ps(number, levels) * scales[v];
            CSE_UNROLL for (int r = 0; r < rows; r++) w->values[r][v] = _mm512_fmadd_ps(
                _mm512_set1_ps(x[r * columns + 8 * word + half]), value, w->values[r][v]);
        }
    }
}

CSE_LANES void run(cse_few_sums *w, const float levels[16], const int rows)
{
    const cse_few_rows *few = w->few;
    const int64_t blocks = few->columns / ELEMENTS, row_bytes = few->row_words * 4;
    const __m512 all = _mm512_loadu_ps(levels);
    for (int64_t row = few->first; row < few->end; row += CSE_FEW_TOGETHER) {
        const char *ahead = (const char *)(few->weight + (row + CSE_FEW_TOGETHER) * few->row_words);
        cse_few_sums_begin(w, row, rows);
        for (int64_t b = 0; b < blocks; b++) {
            __m512 scales[CSE_FEW_VECTORS];
            const int64_t at = b * (int64_t)few->type->bytes;
            for (int64_t i = CSE_FEW_TOGETHER * row_bytes / blocks * b;
                 i < CSE_FEW_TOGETHER * row_bytes / blocks * (b + 1); i += 64)
                __builtin_prefetch(ahead + i);
            CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++) scales[v] = factors_at(w, v, at);
            for (int part = 0; part < 2; part++)
                add_numbers(w, all, scales,
                            (int64_t[]){ at + HEAD + part * TURNED_BYTES,
                                         b * ELEMENTS + part * ELEMENTS / 2 },
                            rows);
        }
        cse_few_sums_store(w, row, rows);
    }
}

CSE_AVX512 static void run_one(cse_few_sums *w, const float levels[16])
{
    run(w, levels, 1);
}

CSE_AVX512 static void run_more(cse_few_sums *w, const float levels[16])
{
    run(w, levels, CSE_FEW_MOST_X);
}

bool cse_packed_few_levels(const cse_few_rows *few)
{
    cse_few_sums w = { .few = few };
    const float *levels = few->type == &cse_packed_nf4   ? cse_packed_levels_nf4
                          : few->type == &cse_packed_fp4 ? cse_packed_levels_fp4
                                                         : NULL;
    if (levels == NULL)
        return false;
    for (; w.x < few->rows; w.x += few->rows - w.x >= CSE_FEW_MOST_X ? CSE_FEW_MOST_X : 1)
        (few->rows - w.x >= CSE_FEW_MOST_X ? run_more : run_one)(&w, levels);
    return true;
}

#else

bool cse_packed_few_levels(const cse_few_rows *few)
{
    (void)few;
    return false;
}

#endif
