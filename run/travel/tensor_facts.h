/* What the values of a tensor are like: for people who look at a step of the past. */
#ifndef CSE_RUN_TRAVEL_TENSOR_FACTS_H
#define CSE_RUN_TRAVEL_TENSOR_FACTS_H

#include "csengine/tensor.h"

enum { CSE_FACT_BINS = 16 };

/* Values that a narrower format cannot hold as they are. */
typedef struct cse_format_limits {
    int64_t above;     /* beyond its largest value: they become infinite */
    int64_t subnormal; /* below its smallest normal one */
    int64_t flushed;   /* not zero, and zero there */
} cse_format_limits;

typedef struct cse_tensor_facts {
    int64_t count, zeros, nan, inf;
    double minimum, maximum, mean, deviation, norm; /* of the finite values; 0: there are none */
    int64_t bins[CSE_FACT_BINS];                    /* finite values, from minimum to maximum */
    cse_format_limits float16, bfloat16;
} cse_tensor_facts;

/* Of float32, bfloat16 or int32 values. */
cse_tensor_facts cse_tensor_facts_of(cse_dtype dtype, const void *values, int64_t count);

/* A value as a number. */
double cse_tensor_value(cse_dtype dtype, const void *values, int64_t index);

#endif
