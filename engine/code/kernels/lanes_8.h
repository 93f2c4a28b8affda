/* Eight lanes: the part of lanes.h that is particular to AVX2, with FMA and F16C. Include lanes.h.
 *
 * AVX2 has no masks for elements of 16 bits, so a mask is a number of lanes: partial vectors of
 * them are copied element by element. */
#ifndef CSE_KERNELS_LANES_8_H
#define CSE_KERNELS_LANES_8_H

#define CSE_LANE_TARGET __attribute__((target("avx2,fma,f16c")))
#define CSE_LANED(name) name##_avx2
#define CSE_LANE_ISA CSE_ISA_AVX2

typedef __m256 cse_vector;
typedef __m128i cse_halves;
typedef int cse_lane_mask;    /* how many lanes, from the first */
typedef cse_words cse_choice; /* all bits of a lane, or none */

enum { CSE_LANES_ALL = CSE_LANE_COUNT };

static inline bool cse_lanes_run_here(void)
{
    return cse_isa_runs(CSE_ISA_AVX2);
}

/* The first `count` lanes. */
static inline cse_lane_mask cse_lanes_of(int64_t count)
{
    return (cse_lane_mask)(count >= CSE_LANE_COUNT ? CSE_LANE_COUNT : count);
}

CSE_LANES cse_vector cse_lanes_of_all(float x)
{
    return _mm256_set1_ps(x);
}

/* a * b + c, rounded once. */
CSE_LANES cse_vector cse_lanes_multiply_add(cse_vector a, cse_vector b, cse_vector c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* The second operand where either is NaN. */
CSE_LANES cse_vector cse_lanes_greatest(cse_vector a, cse_vector b)
{
    return _mm256_max_ps(a, b);
}

/* ---- memory: lanes outside the mask are 0 and not read, or not written ---- */

CSE_LANES __m256i cse_lanes_mask_bits(cse_lane_mask lanes)
{
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), number);
}

CSE_LANES cse_vector cse_lanes_read(const float *from, cse_lane_mask lanes)
{
    return lanes == CSE_LANES_ALL ? _mm256_loadu_ps(from)
                                  : _mm256_maskload_ps(from, cse_lanes_mask_bits(lanes));
}

CSE_LANES void cse_lanes_write(float *to, cse_lane_mask lanes, cse_vector x)
{
    if (lanes == CSE_LANES_ALL)
        _mm256_storeu_ps(to, x);
    else
        _mm256_maskstore_ps(to, cse_lanes_mask_bits(lanes), x);
}

CSE_LANES cse_halves cse_halves_read(const uint16_t *from, cse_lane_mask lanes)
{
    uint16_t room[CSE_LANE_COUNT] = { 0 };
    if (lanes == CSE_LANES_ALL)
        return _mm_loadu_si128((const __m128i *)(const void *)from);
    for (int i = 0; i < lanes; i++)
        room[i] = from[i];
    return _mm_loadu_si128((const __m128i *)(const void *)room);
}

CSE_LANES void cse_halves_write(uint16_t *to, cse_lane_mask lanes, cse_halves x)
{
    uint16_t room[CSE_LANE_COUNT];
    if (lanes == CSE_LANES_ALL) {
        _mm_storeu_si128((__m128i *)(void *)to, x);
        return;
    }
    _mm_storeu_si128((__m128i *)(void *)room, x);
    for (int i = 0; i < lanes; i++)
        to[i] = room[i];
}

/* ---- conversion ---- */

CSE_LANES cse_words cse_words_from_halves(cse_halves x)
{
    return (cse_words)_mm256_cvtepu16_epi32(x);
}

/* The low halves, of numbers below 2^16. */
CSE_LANES cse_halves cse_halves_from_words(cse_words x)
{
    return _mm_packus_epi32(_mm256_castsi256_si128((__m256i)x),
                            _mm256_extracti128_si256((__m256i)x, 1));
}

CSE_LANES cse_vector cse_lanes_from_words(cse_words x)
{
    return _mm256_cvtepi32_ps((__m256i)x);
}

CSE_LANES cse_vector cse_lanes_from_float16(cse_halves x)
{
    return _mm256_cvtph_ps(x);
}

CSE_LANES cse_halves cse_lanes_round_to_float16(cse_vector x)
{
    return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* ---- choices ---- */

/* Of numbers below 2^31. */
CSE_LANES cse_choice cse_words_less(cse_words a, cse_words b)
{
    return (cse_words)_mm256_cmpgt_epi32((__m256i)b, (__m256i)a);
}

CSE_LANES cse_choice cse_lanes_are_nan(cse_vector x)
{
    return (cse_words)_mm256_cmp_ps(x, x, _CMP_UNORD_Q);
}

CSE_LANES cse_words cse_words_where(cse_choice condition, cse_words yes, cse_words no)
{
    return (cse_words)_mm256_blendv_epi8((__m256i)no, (__m256i)yes, (__m256i)condition);
}

/* Each two neighbours change places. */
CSE_LANES cse_vector cse_lanes_swap_pairs(cse_vector x)
{
    return _mm256_permute_ps(x, 0xb1);
}

/* Transposes an 8 x 8 block of 32-bit elements in registers. */
CSE_LANES void cse_lanes_transpose(cse_vector x[CSE_LANE_COUNT])
{
    __m256 y[CSE_LANE_COUNT];
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i += 2)
    {
        y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
    }
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i += 4)
    {
        CSE_UNROLL for (int j = 0; j < 2; j++)
        {
            __m256d low = _mm256_castps_pd(y[i + j]), high = _mm256_castps_pd(y[i + 2 + j]);
            x[i + 2 * j] = _mm256_castpd_ps(_mm256_unpacklo_pd(low, high));
            x[i + 2 * j + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low, high));
        }
    }
    /* x[4 i + j] holds, in its half h, column 4 h + j of rows 4 i to 4 i + 3. */
    CSE_UNROLL for (int j = 0; j < 4; j++)
    {
        y[j] = _mm256_permute2f128_ps(x[j], x[4 + j], 0x20);
        y[4 + j] = _mm256_permute2f128_ps(x[j], x[4 + j], 0x31);
    }
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i++) x[i] = y[i];
}

#endif
