/* The parts of attention that go by rows, for pairs of bfloat16 with AVX-512's rounding to them
 * (VCVTNEPS2BF16): what the vector units' way and the matrix units' share. To be included behind
 * attention_lanes.h. */
#ifndef CSE_KERNELS_ATTENTION_BF16_ROWS_H
#define CSE_KERNELS_ATTENTION_BF16_ROWS_H

#define CSE_AVX512_BF16                                                                        \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,prefer-vector-width=" \
                          "512")))
#define ROWS_FUNCTION CSE_AVX512_BF16 static
#define ROWS_INLINE static inline __attribute__((always_inline)) CSE_AVX512_BF16

ROWS_INLINE __m256i narrow_lanes(lanes x)
{
    return (__m256i)_mm512_cvtneps_pbh(x);
}

#include "engine/code/kernels/attention_pack.h"

#include "engine/code/kernels/attention_rows.h"

#endif
