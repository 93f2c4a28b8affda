/* Sixteen lanes: the part of lanes.h that is particular to AVX-512. Include lanes.h. */
#ifndef CSE_KERNELS_LANES_16_H
#define CSE_KERNELS_LANES_16_H

#define CSE_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq")))
#define CSE_LANE_TARGET CSE_AVX512
#define CSE_LANED(name) name##_avx512
#define CSE_LANE_ISA CSE_ISA_AVX512

typedef __m512 cse_vector;
typedef __m256i cse_halves;
typedef __mmask16 cse_lane_mask, cse_choice;

enum { CSE_LANES_ALL = 0xffff };

static inline bool cse_lanes_run_here(void)
{
    return cse_isa_runs(CSE_ISA_AVX512);
}

/* The first `count` lanes. */
static inline cse_lane_mask cse_lanes_of(int64_t count)
{
    return (cse_lane_mask)(count >= CSE_LANE_COUNT ? 0xffffu : (1u << count) - 1u);
}

CSE_LANES cse_vector cse_lanes_of_all(float x)
{
    return _mm512_set1_ps(x);
}

/* a * b + c, rounded once. */
CSE_LANES cse_vector cse_lanes_multiply_add(cse_vector a, cse_vector b, cse_vector c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* The second operand where either is NaN. */
CSE_LANES cse_vector cse_lanes_greatest(cse_vector a, cse_vector b)
{
    return _mm512_max_ps(a, b);
}

/* ---- memory: lanes outside the mask are 0 and not read, or not written ---- */

CSE_LANES cse_vector cse_lanes_read(const float *from, cse_lane_mask lanes)
{
    return _mm512_maskz_loadu_ps(lanes, from);
}

CSE_LANES void cse_lanes_write(float *to, cse_lane_mask lanes, cse_vector x)
{
    _mm512_mask_storeu_ps(to, lanes, x);
}

CSE_LANES cse_halves cse_halves_read(const uint16_t *from, cse_lane_mask lanes)
{
    return _mm256_maskz_loadu_epi16(lanes, from);
}

CSE_LANES void cse_halves_write(uint16_t *to, cse_lane_mask lanes, cse_halves x)
{
    _mm256_mask_storeu_epi16(to, lanes, x);
}

/* ---- conversion ---- */

CSE_LANES cse_words cse_words_from_halves(cse_halves x)
{
    return (cse_words)_mm512_cvtepu16_epi32(x);
}

/* The low halves. */
CSE_LANES cse_halves cse_halves_from_words(cse_words x)
{
    return _mm512_cvtepi32_epi16((__m512i)x);
}

CSE_LANES cse_vector cse_lanes_from_words(cse_words x)
{
    return _mm512_cvtepi32_ps((__m512i)x);
}

CSE_LANES cse_vector cse_lanes_from_float16(cse_halves x)
{
    return _mm512_cvtph_ps(x);
}

CSE_LANES cse_halves cse_lanes_round_to_float16(cse_vector x)
{
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* ---- choices ---- */

/* Of numbers below 2^31. */
CSE_LANES cse_choice cse_words_less(cse_words a, cse_words b)
{
    return _mm512_cmplt_epi32_mask((__m512i)a, (__m512i)b);
}

CSE_LANES cse_choice cse_lanes_are_nan(cse_vector x)
{
    return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
}

CSE_LANES cse_words cse_words_where(cse_choice condition, cse_words yes, cse_words no)
{
    return (cse_words)_mm512_mask_mov_epi32((__m512i)no, condition, (__m512i)yes);
}

/* Each two neighbours change places. */
CSE_LANES cse_vector cse_lanes_swap_pairs(cse_vector x)
{
    return _mm512_permute_ps(x, 0xb1);
}

/* Transposes a 16 x 16 block of 32-bit elements in registers. */
CSE_LANES void cse_lanes_transpose(cse_vector x[CSE_LANE_COUNT])
{
    __m512 y[CSE_LANE_COUNT];
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i += 2)
    {
        y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
    }
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i += 4)
    {
        CSE_UNROLL for (int j = 0; j < 2; j++)
        {
            __m512d low = _mm512_castps_pd(y[i + j]), high = _mm512_castps_pd(y[i + 2 + j]);
            x[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            x[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
    }
    /* x[4 i + j] holds, in its quarter q, column 4 q + j of rows 4 i to 4 i + 3. */
    CSE_UNROLL for (int j = 0; j < 4; j++)
    {
        __m512 low = _mm512_shuffle_f32x4(x[j], x[4 + j], 0x88);
        __m512 low_odd = _mm512_shuffle_f32x4(x[j], x[4 + j], 0xdd);
        __m512 high = _mm512_shuffle_f32x4(x[8 + j], x[12 + j], 0x88);
        __m512 high_odd = _mm512_shuffle_f32x4(x[8 + j], x[12 + j], 0xdd);
        y[j] = _mm512_shuffle_f32x4(low, high, 0x88);
        y[8 + j] = _mm512_shuffle_f32x4(low, high, 0xdd);
        y[4 + j] = _mm512_shuffle_f32x4(low_odd, high_odd, 0x88);
        y[12 + j] = _mm512_shuffle_f32x4(low_odd, high_odd, 0xdd);
    }
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i++) x[i] = y[i];
}

#endif
