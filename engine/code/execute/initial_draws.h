/* Random initial values of many elements, in vectors. */
#ifndef CSE_EXECUTE_INITIAL_DRAWS_H
#define CSE_EXECUTE_INITIAL_DRAWS_H

#include <stdint.h>

#include "engine/graph/graph.h"

/* The value of one element, by the definition: in double, with the C library's functions. */
double cse_initial_draw(const cse_initializer *init, uint64_t key, uint32_t element);

/* Elements [first, first + count) of a float32 state, for the kinds that draw: bit for bit what the
 * definition gives, at a tenth of its time. */
void cse_initial_draws(const cse_initializer *init, uint64_t key, int64_t first, int64_t count,
                       float *values);

#endif
