/* Few rows times a packed matrix whose blocks are 32 numbers of 4 or 8 bits, in AVX-512: numbers
 * are turned as words of four bytes and become floats in registers, so that nothing is stored
 * between the blocks and the sums. Values and sums have the bits of packed_few_rows.h.
 *
 * Two vectors of rows go through the depth together, since a sum waits for the one before. The rows
 * behind them are fetched meanwhile. */
#include "engine/code/kernels/packed_few_rows.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "engine/code/kernels/few_rows_sums.h"

enum { ELEMENTS = 32 };

typedef enum kind { CENTRED_4, SHIFTED_4, SIGNED_8 } kind;

/* What is known when it is compiled: of numbers of 4 bits, `half` of a byte. */
typedef struct form {
    kind k;
    int rows, half;
} form;

/* A block of 16 rows: float factors, and the words of 16 bytes of each. */
typedef struct turned {
    __m512 scale, minimum;
    __m512i words[4];
} turned;

/* The float16 factors at the beginning of a block of each row. */
CSE_LANES void take_factors(const cse_few_sums *w, int vector, int64_t at, turned *block)
{
    uint32_t heads[CSE_LANE_COUNT];
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i++)
        memcpy(&heads[i], w->rows[vector * CSE_LANE_COUNT + i] + at, sizeof heads[i]);
    const __m512i both = _mm512_loadu_si512(heads);
    block->scale = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(both));
    block->minimum = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(both, 16)));
}

/* One number of each row, from byte `byte` of a word; of 4 bits its low or its high `half`. */
CSE_LANES __m512 value_of(const turned *block, const kind k, __m512i word, int byte, int half)
{
    const __m512i number =
        k == SIGNED_8 ? _mm512_srai_epi32(_mm512_slli_epi32(word, (unsigned)(24 - 8 * byte)), 24)
                      : _mm512_and_epi32(_mm512_srli_epi32(word, (unsigned)(8 * byte + 4 * half)),
                                         _mm512_set1_epi32(15));
    const __m512i centred =
        k == CENTRED_4 ? _mm512_sub_epi32(number, _mm512_set1_epi32(8)) : number;
    const __m512 scaled = block->scale * _mm512_cvtepi32_ps(centred);
    if (k == SHIFTED_4)
        return scaled + block->minimum;
    return scaled;
}

/* 16 steps of the depth from `step` on, of which `blocks` hold the numbers. */
CSE_LANES void add_steps(cse_few_sums *w, const turned blocks[CSE_FEW_VECTORS], const form f,
                         int64_t step)
{
    const float *x = w->few->x + w->x * w->few->columns + step;
    CSE_UNROLL for (int word = 0; word < 4; word++) CSE_UNROLL for (int byte = 0; byte < 4; byte++)
        CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++)
    {
        const __m512 value = value_of(&blocks[v], f.k, blocks[v].words[word], byte, f.half);
        CSE_UNROLL for (int r = 0; r < f.rows; r++) w->values[r][v] = _mm512_fmadd_ps(
            _mm512_set1_ps(x[r * w->few->columns + 4 * word + byte]), value, w->values[r][v]);
    }
}

/* Block `index` of all rows, whose factors take `head` bytes. */
CSE_LANES void add_block(cse_few_sums *w, const kind k, int64_t index, const int rows)
{
    turned blocks[CSE_FEW_VECTORS];
    const int64_t at = index * (int64_t)w->few->type->bytes, head = k == SHIFTED_4 ? 4 : 2;
    CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++) take_factors(w, v, at, &blocks[v]);
    CSE_UNROLL for (int half = 0; half < 2; half++)
    {
        CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++) if (half == 0 || k == SIGNED_8)
            cse_turn_rows(w->rows + v * CSE_LANE_COUNT, at + head + (k == SIGNED_8 ? 16 * half : 0),
                          blocks[v].words);
        add_steps(w, blocks, (form){ k, rows, half }, index * ELEMENTS + 16 * half);
    }
}

CSE_LANES void run(cse_few_sums *w, const kind k, const int rows)
{
    const cse_few_rows *few = w->few;
    const int64_t blocks = few->columns / ELEMENTS, row_bytes = few->row_words * 4;
    for (int64_t row = few->first; row < few->end; row += CSE_FEW_TOGETHER) {
        const char *ahead = (const char *)(few->weight + (row + CSE_FEW_TOGETHER) * few->row_words);
        cse_few_sums_begin(w, row, rows);
        for (int64_t b = 0; b < blocks; b++) {
            for (int64_t i = CSE_FEW_TOGETHER * row_bytes / blocks * b;
                 i < CSE_FEW_TOGETHER * row_bytes / blocks * (b + 1); i += 64)
                __builtin_prefetch(ahead + i);
            add_block(w, k, b, rows);
        }
        cse_few_sums_store(w, row, rows);
    }
}

CSE_AVX512 static void run_4(cse_few_sums *w, kind k)
{
    if (k == CENTRED_4)
        run(w, CENTRED_4, CSE_FEW_MOST_X);
    else if (k == SHIFTED_4)
        run(w, SHIFTED_4, CSE_FEW_MOST_X);
    else
        run(w, SIGNED_8, CSE_FEW_MOST_X);
}

CSE_AVX512 static void run_1(cse_few_sums *w, kind k)
{
    if (k == CENTRED_4)
        run(w, CENTRED_4, 1);
    else if (k == SHIFTED_4)
        run(w, SHIFTED_4, 1);
    else
        run(w, SIGNED_8, 1);
}

bool cse_packed_few_words(const cse_few_rows *few)
{
    kind k = SIGNED_8;
    cse_few_sums w = { .few = few };
    if (few->type == &cse_packed_q4_0)
        k = CENTRED_4;
    else if (few->type == &cse_packed_q4_1)
        k = SHIFTED_4;
    else if (few->type != &cse_packed_q8_0)
        return false;
    for (; w.x < few->rows; w.x += few->rows - w.x >= CSE_FEW_MOST_X ? CSE_FEW_MOST_X : 1)
        if (few->rows - w.x >= CSE_FEW_MOST_X)
            run_4(&w, k);
        else
            run_1(&w, k);
    return true;
}

#else

bool cse_packed_few_words(const cse_few_rows *few)
{
    (void)few;
    return false;
}

#endif
