/* The loops that add and round arrays of gradients, one set for each rounding.
 *
 * A packed array holds 16-bit values. Every result is rounded, and so is a float32 operand that is
 * a microbatch gradient; the sums in between are float32. Random bits of stochastic rounding are a
 * pure function of (key, number of the element), so that neither the block length nor the
 * instruction set changes a bit. */
#ifndef CSE_WORKERS_ARENA_REDUCE_LOOPS_H
#define CSE_WORKERS_ARENA_REDUCE_LOOPS_H

#include <stdint.h>

#include "engine/base/types/rounding.h"

/* Source of random bits: the key of what is rounded, and the number of its first element. Unused
 * when rounding to nearest. */
typedef struct cse_draw {
    uint64_t key;
    uint32_t first;
} cse_draw;

typedef struct cse_reduce_loops {
    /* packed y := x */
    void (*pack)(uint16_t *restrict y, const float *restrict x, int64_t n, cse_draw y_draw);
    /* y := packed x, exactly */
    void (*unpack)(float *restrict y, const uint16_t *restrict x, int64_t n);
    /* packed y := y + packed x */
    void (*add_packed)(uint16_t *restrict y, const uint16_t *restrict x, int64_t n,
                       cse_draw y_draw);
    /* packed y := y + x, x rounded before */
    void (*add_gradient)(uint16_t *restrict y, const float *restrict x, int64_t n, cse_draw y_draw,
                         cse_draw x_draw);
    /* y := y + packed x, rounded but not packed */
    void (*add_unpacked)(float *restrict y, const uint16_t *restrict x, int64_t n, cse_draw y_draw);
    /* y := y + x, rounded but not packed */
    void (*add_rounded)(float *restrict y, const float *restrict x, int64_t n, cse_draw y_draw);
} cse_reduce_loops;

/* NULL for float32 and for roundings that have no loops. */
const cse_reduce_loops *cse_reduce_loops_for(cse_rounding rounding);

/* y := y + x in float32. */
void cse_add_exact(float *restrict y, const float *restrict x, int64_t n);

#endif
