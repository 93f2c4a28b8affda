/* Whole arrays between float32 and the 16-bit formats, at the speed of memory where the machine has
 * AVX2. Widening is exact, narrowing rounds once, to nearest even. */
#ifndef CSE_KERNELS_CONVERT_H
#define CSE_KERNELS_CONVERT_H

#include "engine/base/types/dtype.h"

/* `from` holds `count` values of `dtype`, any float type. */
void cse_widen(cse_dtype dtype, const void *from, float *to, int64_t count);
void cse_narrow(cse_dtype dtype, const float *from, void *to, int64_t count);

/* The same in vectors, for a 16-bit format, where the instruction set is there. */
void cse_widen_array_avx512(cse_dtype dtype, const void *from, float *to, int64_t count);
void cse_narrow_array_avx512(cse_dtype dtype, const float *from, void *to, int64_t count);
void cse_widen_array_avx2(cse_dtype dtype, const void *from, float *to, int64_t count);
void cse_narrow_array_avx2(cse_dtype dtype, const float *from, void *to, int64_t count);

#endif
