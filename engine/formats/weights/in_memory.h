/* Weights whose float32 elements are in memory. */
#ifndef CSE_WEIGHTS_IN_MEMORY_H
#define CSE_WEIGHTS_IN_MEMORY_H

#include "engine/formats/weights/weights.h"

cse_weights *cse_in_memory_new(const char *path);
/* Adds one; *values are its elements, zeroed, which the weights own. CSE_DATA. */
cse_status cse_in_memory_add(cse_weights *weights, const char *name, cse_shape shape,
                             float **values);

#endif
