/* Few rows times a packed matrix whose blocks are 32 numbers of 4, 5 or 8 bits, in AVX-512: numbers
 * are turned as words of four bytes and become floats in registers, so that nothing is stored
 * between the blocks and the sums. Values and sums have the bits of packed_few_rows.h.
 *
 * Two vectors of rows go through the depth together, since a sum waits for the one before. The rows
 * behind them are fetched meanwhile. */
#include "engine/code/kernels/packed_few_rows.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "engine/code/kernels/few_rows_sums.h"

enum { ELEMENTS = 32 };

typedef enum kind { CENTRED_4, SHIFTED_4, CENTRED_5, SHIFTED_5, SIGNED_8 } kind;

/* What is known when it is compiled: of numbers of 4 or 5 bits, `half` of a byte. */
typedef struct form {
    kind k;
    int rows, half;
} form;

/* A block of 16 rows: float factors, the words of 16 bytes of each, and a bit of each number. */
typedef struct turned {
    __m512 scale, minimum;
    __m512i words[4], fifth;
} turned;

CSE_LANES bool is_shifted(const kind k)
{
    return k == SHIFTED_4 || k == SHIFTED_5;
}

CSE_LANES bool has_fifth(const kind k)
{
    return k == CENTRED_5 || k == SHIFTED_5;
}

/* Four bytes of each row. */
CSE_LANES __m512i words_at(const cse_few_sums *w, int vector, int64_t at)
{
    uint32_t words[CSE_LANE_COUNT];
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i++)
        memcpy(&words[i], w->rows[vector * CSE_LANE_COUNT + i] + at, sizeof words[i]);
    return _mm512_loadu_si512(words);
}

/* What stands at the beginning of a block of each row: float16 factors, and fifth bits. */
CSE_LANES void take_head(const cse_few_sums *w, const kind k, int vector, int64_t at, turned *block)
{
    const __m512i both = words_at(w, vector, at);
    block->fifth = has_fifth(k) ? words_at(w, vector, at + (is_shifted(k) ? 4 : 2)) : both;
    block->scale = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(both));
    block->minimum = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(both, 16)));
}

/* The fifth bits of number `index` of the block, in place. */
CSE_LANES __m512i fifth_of(const turned *block, int index)
{
    const __m512i moved = index < 4 ? _mm512_slli_epi32(block->fifth, (unsigned)(4 - index))
                                    : _mm512_srli_epi32(block->fifth, (unsigned)(index - 4));
    return _mm512_and_epi32(moved, _mm512_set1_epi32(16));
}

/* One number of each row, from byte `byte` of word `word`; of 4 or 5 bits its `half`. */
CSE_LANES __m512 value_of(const turned *block, const kind k, int word, int byte, int half)
{
    const __m512i bits = block->words[word];
    __m512i number =
        k == SIGNED_8 ? _mm512_srai_epi32(_mm512_slli_epi32(bits, (unsigned)(24 - 8 * byte)), 24)
                      : _mm512_and_epi32(_mm512_srli_epi32(bits, (unsigned)(8 * byte + 4 * half)),
                                         _mm512_set1_epi32(15));
    if (has_fifth(k))
        number = _mm512_or_epi32(number, fifth_of(block, 16 * half + 4 * word + byte));
    if (k == CENTRED_4 || k == CENTRED_5)
        number = _mm512_sub_epi32(number, _mm512_set1_epi32(k == CENTRED_5 ? 16 : 8));
    const __m512 scaled = block->scale * _mm512_cvtepi32_ps(number);
    if (is_shifted(k))
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
        const __m512 value = value_of(&blocks[v], f.k, word, byte, f.half);
        CSE_UNROLL for (int r = 0; r < f.rows; r++) w->values[r][v] = _mm512_fmadd_ps(
            _mm512_set1_ps(x[r * w->few->columns + 4 * word + byte]), value, w->values[r][v]);
    }
}

/* Block `index` of all rows. */
CSE_LANES void add_block(cse_few_sums *w, const kind k, int64_t index, const int rows)
{
    turned blocks[CSE_FEW_VECTORS];
    const int64_t at = index * (int64_t)w->few->type->bytes;
    const int64_t head = (is_shifted(k) ? 4 : 2) + (has_fifth(k) ? 4 : 0);
    CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++) take_head(w, k, v, at, &blocks[v]);
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

#define DEFINE_RUN(NAME)                                \
    CSE_AVX512 static void run_##NAME(cse_few_sums *w)  \
    {                                                   \
        run(w, NAME, 1);                                \
    }                                                   \
    CSE_AVX512 static void runs_##NAME(cse_few_sums *w) \
    {                                                   \
        run(w, NAME, CSE_FEW_MOST_X);                   \
    }

DEFINE_RUN(CENTRED_4)
DEFINE_RUN(SHIFTED_4)
DEFINE_RUN(CENTRED_5)
DEFINE_RUN(SHIFTED_5)
DEFINE_RUN(SIGNED_8)

typedef struct runs {
    const cse_packed_type *type;
    void (*one)(cse_few_sums *w), (*more)(cse_few_sums *w);
} runs;

bool cse_packed_few_words(const cse_few_rows *few)
{
    static const runs all[] = {
        { &cse_packed_q4_0, run_CENTRED_4, runs_CENTRED_4 },
        { &cse_packed_q4_1, run_SHIFTED_4, runs_SHIFTED_4 },
        { &cse_packed_q5_0, run_CENTRED_5, runs_CENTRED_5 },
        { &cse_packed_q5_1, run_SHIFTED_5, runs_SHIFTED_5 },
        { &cse_packed_q8_0, run_SIGNED_8, runs_SIGNED_8 },
    };
    enum { COUNT = sizeof all / sizeof all[0] };
    cse_few_sums w = { .few = few };
    int i = 0;
    while (i < COUNT && all[i].type != few->type)
        i++;
    if (i == COUNT)
        return false;
    for (; w.x < few->rows; w.x += few->rows - w.x >= CSE_FEW_MOST_X ? CSE_FEW_MOST_X : 1)
        (few->rows - w.x >= CSE_FEW_MOST_X ? all[i].more : all[i].one)(&w);
    return true;
}

#else

bool cse_packed_few_words(const cse_few_rows *few)
{
    (void)few;
    return false;
}

#endif
