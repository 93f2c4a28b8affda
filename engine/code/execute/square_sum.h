/* A sum of squares of float32 values without rounding, so that it is the same in any order, and
 * sums of parts add up to that of the whole. The square of a value is an integer of 48 bits times a
 * power of two; words[i] counts multiples of 2^(32 i - 298). */
#ifndef CSE_EXECUTE_SQUARE_SUM_H
#define CSE_EXECUTE_SQUARE_SUM_H

#include <stdint.h>

enum { CSE_SQUARE_SUM_WORDS = 18 };

typedef struct cse_square_sum {
    uint64_t words[CSE_SQUARE_SUM_WORDS]; /* each of 2^32 values at most */
    uint64_t not_finite;                  /* values that are not in it */
} cse_square_sum;

/* A subnormal value counts as zero. */
void cse_square_sum_add(cse_square_sum *sum, float value);
void cse_square_sum_join(cse_square_sum *to, const cse_square_sum *from);
/* The root of the sum; NaN where a value was not finite. */
double cse_square_sum_root(const cse_square_sum *sum);

#endif
