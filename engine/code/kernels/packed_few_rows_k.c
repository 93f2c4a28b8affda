/* Few rows times a packed matrix whose blocks are 256 numbers in parts with scales of their own
 * (blocks_of_256.c), in AVX-512, as packed_few_rows_words.c does it for blocks of 32.
 *
 * Scales and minima of a block of 32 rows are made first, part by part; then 16 bytes of each row
 * are turned at a time, their bits and those from elsewhere in the block put together as bytes of
 * words, and multiplied from registers. Values and sums have the bits of packed_few_rows.h. */
#include "engine/code/kernels/packed_few_rows.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "engine/code/kernels/few_rows_sums.h"

enum { ELEMENTS = 256, PARTS = 16 };

typedef enum kind { Q2, Q3, Q4, Q5, Q6 } kind;

typedef struct work {
    cse_few_sums sums;
    _Alignas(64) float scales[PARTS][CSE_FEW_TOGETHER],
        minima[PARTS][CSE_FEW_TOGETHER]; /* of a block */
} work;

/* ---- scales ---- */

static float half_at(const char *block, int64_t at)
{
    return cse_packed_half((const unsigned char *)block + at);
}

/* 6 bits each; see scale_of_q3_k of blocks_of_256.c. */
static int scale_of_q3(const unsigned char packed[12], int i)
{
    const int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
    return (low | (packed[8 + i % 4] >> (2 * (i / 4)) & 3) << 4) - 32;
}

CSE_LANES __m512i field(__m512i words, int shift, int mask)
{
    return _mm512_and_si512((__m512i)((cse_words)words >> (uint32_t)shift),
                            _mm512_set1_epi32(mask));
}

/* Those of Q4_K and Q5_K (cse_packed_six_bits), which stand before the numbers of a block, of 16
 * rows at a time. False: a scale is not finite, whose bits a conversion may change. */
CSE_LANES bool read_six_bits(work *w, int64_t at)
{
    CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++)
    {
        __m512i words[4];
        cse_turn_rows(w->sums.rows + v * CSE_LANE_COUNT, at, words);
        const __m512i low = _mm512_set1_epi32(0x7c00), high = _mm512_set1_epi32(0x7c000000);
        if ((_mm512_cmpeq_epi32_mask(_mm512_and_si512(words[0], low), low) |
             _mm512_cmpeq_epi32_mask(_mm512_and_si512(words[0], high), high)) != 0)
            return false;
        const __m512 d = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words[0]));
        const __m512 dmin = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(words[0], 16)));
        CSE_UNROLL for (int p = 0; p < PARTS / 2; p++)
        {
            const int shift = 8 * (p % 4);
            __m512i scale = field(words[p < 4 ? 1 : 3], shift, p < 4 ? 63 : 15);
            __m512i minimum =
                field(words[p < 4 ? 2 : 3], p < 4 ? shift : shift + 4, p < 4 ? 63 : 15);
            if (p >= 4) {
                scale = _mm512_or_si512(scale, _mm512_slli_epi32(field(words[1], shift + 6, 3), 4));
                minimum =
                    _mm512_or_si512(minimum, _mm512_slli_epi32(field(words[2], shift + 6, 3), 4));
            }
            CSE_UNROLL for (int half = 0; half < 2; half++)
            {
                _mm512_store_ps(w->scales[2 * p + half] + v * CSE_LANE_COUNT,
                                d * _mm512_cvtepi32_ps(scale));
                _mm512_store_ps(w->minima[2 * p + half] + v * CSE_LANE_COUNT,
                                dmin * _mm512_cvtepi32_ps(minimum));
            }
        }
    }
    return true;
}

/* Those of Q2_K and Q6_K: a byte for each part, at the begin of the block or behind its numbers. */
CSE_LANES void read_bytes(work *w, const kind k, int64_t at)
{
    _Alignas(64) float d[CSE_FEW_TOGETHER], dmin[CSE_FEW_TOGETHER];
    for (int r = 0; r < CSE_FEW_TOGETHER; r++) {
        d[r] = half_at(w->sums.rows[r] + at, k == Q2 ? 80 : 208);
        dmin[r] = k == Q2 ? half_at(w->sums.rows[r] + at, 82) : 0;
    }
    CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++)
    {
        __m512i words[4];
        cse_turn_rows(w->sums.rows + v * CSE_LANE_COUNT, at + (k == Q2 ? 0 : 192), words);
        CSE_UNROLL for (int p = 0; p < PARTS; p++)
        {
            const int shift = 8 * (p % 4);
            const __m512i scale =
                k == Q2 ? field(words[p / 4], shift, 15)
                        : _mm512_srai_epi32(_mm512_slli_epi32(words[p / 4], (unsigned)(24 - shift)),
                                            24);
            _mm512_store_ps(w->scales[p] + v * CSE_LANE_COUNT,
                            _mm512_load_ps(d + v * CSE_LANE_COUNT) * _mm512_cvtepi32_ps(scale));
            if (k == Q2)
                _mm512_store_ps(w->minima[p] + v * CSE_LANE_COUNT,
                                _mm512_load_ps(dmin + v * CSE_LANE_COUNT) *
                                    _mm512_cvtepi32_ps(field(words[p / 4], shift + 4, 15)));
        }
    }
}

/* Parts of 16; those of 32 have each scale twice. */
CSE_LANES void read_scales(work *w, const kind k, int64_t at)
{
    if ((k == Q4 || k == Q5) && read_six_bits(w, at))
        return;
    if (k == Q2 || k == Q6) {
        read_bytes(w, k, at);
        return;
    }
    for (int r = 0; r < CSE_FEW_TOGETHER; r++) {
        const char *block = w->sums.rows[r] + at;
        const unsigned char *bytes = (const unsigned char *)block;
        const float d = half_at(block, k == Q3 ? 108 : 0);
        const float dmin = half_at(block, 2);
        for (int p = 0; p < PARTS; p += k == Q3 ? 1 : 2) {
            int scale = 0, minimum = 0;
            if (k == Q3)
                scale = scale_of_q3(bytes + 96, p);
            else
                cse_packed_six_bits(bytes + 4, p / 2, &scale, &minimum);
            w->scales[p][r] = d * (float)scale;
            w->minima[p][r] = dmin * (float)minimum;
            if (k != Q3) {
                w->scales[p + 1][r] = w->scales[p][r];
                w->minima[p + 1][r] = w->minima[p][r];
            }
        }
    }
}

/* ---- numbers ---- */

/* Bits [shift, shift + ...) of each byte that `mask` leaves. */
CSE_LANES __m512i bits_of(__m512i word, int shift, int mask)
{
    return _mm512_and_si512((__m512i)((cse_words)word >> (uint32_t)shift),
                            _mm512_set1_epi32(mask * 0x01010101));
}

/* Where the low bits of a part are, and their place in a byte. */
CSE_LANES int64_t low_at(const kind k, int p)
{
    const int64_t of_2 = p / 8 * 32 + p % 2 * 16;
    return k == Q2   ? 16 + of_2
           : k == Q3 ? 32 + of_2
           : k == Q6 ? p / 8 * 64 + p % 8 / 2 % 2 * 32 + p % 2 * 16
                     : (k == Q5 ? 48 : 16) + p / 4 * 32 + p % 2 * 16;
}

CSE_LANES int64_t high_at(const kind k, int p)
{
    return k == Q6 ? 128 + p / 8 * 32 + p % 2 * 16 : (k == Q5 ? 16 : 0) + p % 2 * 16;
}

/* The numbers of a part, a byte each, of 16 rows. */
CSE_LANES void read_numbers(const char *const rows[], int64_t at, const kind k, int p,
                            __m512i words[4])
{
    const int shift = k == Q2 || k == Q3 ? 2 * (p % 8 / 2)
                      : k == Q6          ? 4 * (p % 8 / 4)
                                         : 4 * (p / 2 % 2);
    __m512i high[4];
    cse_turn_rows(rows, at + low_at(k, p), words);
    if (k == Q3 || k == Q5 || k == Q6)
        cse_turn_rows(rows, at + high_at(k, p), high);
    CSE_UNROLL for (int i = 0; i < 4; i++)
    {
        words[i] = bits_of(words[i], shift, k == Q2 || k == Q3 ? 3 : 15);
        if (k == Q3)
            high[i] = _mm512_slli_epi32(bits_of(high[i], p / 2, 1), 2);
        else if (k == Q5)
            high[i] = _mm512_slli_epi32(bits_of(high[i], p / 2, 1), 4);
        else if (k == Q6)
            high[i] = _mm512_slli_epi32(bits_of(high[i], 2 * (p % 8 / 2), 3), 4);
        if (k == Q3 || k == Q5 || k == Q6)
            words[i] = _mm512_or_si512(words[i], high[i]);
    }
}

/* ---- sums ---- */

CSE_LANES void add_part(work *w, const kind k, int p, int64_t block, const int rows)
{
    const int64_t at = block * (int64_t)w->sums.few->type->bytes;
    const float *x = w->sums.few->x + w->sums.x * w->sums.few->columns + block * ELEMENTS + 16 * p;
    const int centre = k == Q3 ? 4 : k == Q6 ? 32 : 0;
    CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++)
    {
        __m512i words[4];
        const __m512 scale = _mm512_load_ps(w->scales[p] + v * CSE_LANE_COUNT);
        const __m512 minimum = _mm512_load_ps(w->minima[p] + v * CSE_LANE_COUNT);
        read_numbers(w->sums.rows + v * CSE_LANE_COUNT, at, k, p, words);
        CSE_UNROLL for (int i = 0; i < 16; i++)
        {
            __m512i number = _mm512_and_si512(
                _mm512_srli_epi32(words[i / 4], (unsigned)(8 * (i % 4))), _mm512_set1_epi32(255));
            if (centre != 0)
                number = _mm512_sub_epi32(number, _mm512_set1_epi32(centre));
            __m512 value = scale * _mm512_cvtepi32_ps(number);
            if (k == Q2 || k == Q4 || k == Q5)
                value = value - minimum;
            CSE_UNROLL for (int r = 0; r < rows; r++) w->sums.values[r][v] = _mm512_fmadd_ps(
                _mm512_set1_ps(x[r * w->sums.few->columns + i]), value, w->sums.values[r][v]);
        }
    }
}

CSE_LANES void run(work *w, const kind k, const int rows)
{
    const cse_few_rows *few = w->sums.few;
    const int64_t blocks = few->columns / ELEMENTS, row_bytes = few->row_words * 4;
    for (int64_t row = few->first; row < few->end; row += CSE_FEW_TOGETHER) {
        const char *ahead = (const char *)(few->weight + (row + CSE_FEW_TOGETHER) * few->row_words);
        cse_few_sums_begin(&w->sums, row, rows);
        for (int64_t b = 0; b < blocks; b++) {
            for (int64_t i = CSE_FEW_TOGETHER * row_bytes / blocks * b;
                 i < CSE_FEW_TOGETHER * row_bytes / blocks * (b + 1); i += 64)
                __builtin_prefetch(ahead + i, 0, 2);
            read_scales(w, k, b * (int64_t)few->type->bytes);
            for (int p = 0; p < PARTS; p++)
                add_part(w, k, p, b, rows);
        }
        cse_few_sums_store(&w->sums, row, rows);
    }
}

#define DEFINE_RUN(NAME)                        \
    CSE_AVX512 static void run_##NAME(work *w)  \
    {                                           \
        run(w, NAME, 1);                        \
    }                                           \
    CSE_AVX512 static void runs_##NAME(work *w) \
    {                                           \
        run(w, NAME, CSE_FEW_MOST_X);           \
    }

DEFINE_RUN(Q2)
DEFINE_RUN(Q3)
DEFINE_RUN(Q4)
DEFINE_RUN(Q5)
DEFINE_RUN(Q6)

typedef struct runs {
    const cse_packed_type *type;
    void (*one)(work *w), (*more)(work *w);
} runs;

bool cse_packed_few_k(const cse_few_rows *few)
{
    static const runs all[] = {
        { &cse_packed_q2_k, run_Q2, runs_Q2 }, { &cse_packed_q3_k, run_Q3, runs_Q3 },
        { &cse_packed_q4_k, run_Q4, runs_Q4 }, { &cse_packed_q5_k, run_Q5, runs_Q5 },
        { &cse_packed_q6_k, run_Q6, runs_Q6 },
    };
    enum { COUNT = sizeof all / sizeof all[0] };
    work w = { .sums = { .few = few } };
    int i = 0;
    while (i < COUNT && all[i].type != few->type)
        i++;
    if (i == COUNT)
        return false;
    for (; w.sums.x < few->rows;
         w.sums.x += few->rows - w.sums.x >= CSE_FEW_MOST_X ? CSE_FEW_MOST_X : 1)
        (few->rows - w.sums.x >= CSE_FEW_MOST_X ? all[i].more : all[i].one)(&w);
    return true;
}

#else

bool cse_packed_few_k(const cse_few_rows *few)
{
    (void)few;
    return false;
}

#endif
