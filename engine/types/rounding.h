/* A way to keep float32 numbers in fewer bits: a format and how values are brought to it. Settings
 * know them by short names: fp32, bf16, bf16sr (stochastically rounded bfloat16), fp16, cb16. */
#ifndef CSE_TYPES_ROUNDING_H
#define CSE_TYPES_ROUNDING_H

#include "csengine/tensor.h"

typedef struct cse_rounding {
    cse_dtype format; /* CSE_FLOAT32: values stay as they are */
    bool stochastic;  /* else to nearest, ties to even */
} cse_rounding;

/* By short name; false when there is none of that name. */
bool cse_rounding_from_name(const char *name, cse_rounding *rounding);
/* The short name, or "unknown". */
const char *cse_rounding_name(cse_rounding rounding);

#endif
