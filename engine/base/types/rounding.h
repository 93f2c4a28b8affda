/* How float32 numbers are kept in fewer bits: a format and how values are rounded to it. Settings
 * use short names; bf16sr is stochastically rounded bfloat16. */
#ifndef CSE_TYPES_ROUNDING_H
#define CSE_TYPES_ROUNDING_H

#include "csengine/tensor.h"
#include "engine/base/choices.h"

/* LIST(FIRST, NEXT) of (name, format): the 16-bit formats that a step may compute in. */
#define CSE_LOW_FORMATS(FIRST, NEXT) \
    FIRST(float16, CSE_FLOAT16)      \
    NEXT(bfloat16, CSE_BFLOAT16)     \
    NEXT(cbfloat16, CSE_CBFLOAT16)

/* Of (name, format, stochastic). The first three are also those of sums between tiles. */
#define CSE_TILING_ROUNDINGS(FIRST, NEXT) \
    FIRST(fp32, CSE_FLOAT32, false)       \
    NEXT(bf16, CSE_BFLOAT16, false)       \
    NEXT(bf16sr, CSE_BFLOAT16, true)
#define CSE_ROUNDINGS(FIRST, NEXT)    \
    CSE_TILING_ROUNDINGS(FIRST, NEXT) \
    NEXT(fp16, CSE_FLOAT16, false)    \
    NEXT(cb16, CSE_CBFLOAT16, false)

typedef struct cse_rounding {
    cse_dtype format; /* CSE_FLOAT32: no rounding */
    bool stochastic;  /* else to nearest, ties to even */
} cse_rounding;

/* By short name; false when there is none of that name. */
bool cse_rounding_from_name(const char *name, cse_rounding *rounding);
/* The short name, or "unknown". */
const char *cse_rounding_name(cse_rounding rounding);

#endif
