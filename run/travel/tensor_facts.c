/* Two passes: the bins need the least and the greatest value. */
#include "run/travel/tensor_facts.h"

#include <math.h>
#include <string.h>

#include "engine/base/types/dtype.h"

#define FLOAT16_MOST 65504.0
#define FLOAT16_NORMAL 6.103515625e-05
#define FLOAT16_HALF_LEAST 2.98023223876953125e-08 /* rounds to zero, and all below it */
#define BFLOAT16_MOST 3.38953138925153547590470800371487866880e+38
#define BFLOAT16_NORMAL 1.17549435082228750796873653722224568e-38
#define BFLOAT16_HALF_LEAST 4.59177480789956057773364653e-41

double cse_tensor_value(cse_dtype dtype, const void *values, int64_t index)
{
    float number;
    int32_t integer;
    uint16_t narrow;
    const unsigned char *at =
        (const unsigned char *)values + index * (int64_t)cse_dtype_size(dtype);
    if (dtype == CSE_INT32) {
        memcpy(&integer, at, sizeof integer);
        return integer;
    }
    if (dtype == CSE_BFLOAT16) {
        memcpy(&narrow, at, sizeof narrow);
        return (double)cse_float_from_bfloat16(narrow);
    }
    memcpy(&number, at, sizeof number);
    return (double)number;
}

static void count_limits(cse_format_limits *limits, double size, const double bounds[3])
{
    limits->above += size > bounds[0];
    limits->subnormal += size > bounds[2] && size < bounds[1];
    limits->flushed += size > 0 && size <= bounds[2];
}

static void count_value(cse_tensor_facts *facts, double value, double *sum, double *squares)
{
    static const double half[] = { FLOAT16_MOST, FLOAT16_NORMAL, FLOAT16_HALF_LEAST };
    static const double brain[] = { BFLOAT16_MOST, BFLOAT16_NORMAL, BFLOAT16_HALF_LEAST };
    const int64_t finite = facts->count - facts->nan - facts->inf;
    facts->count++;
    facts->nan += isnan(value) != 0;
    facts->inf += isinf(value) != 0;
    facts->zeros += value == 0;
    if (!isfinite(value))
        return;
    facts->minimum = finite == 0 ? value : fmin(facts->minimum, value);
    facts->maximum = finite == 0 ? value : fmax(facts->maximum, value);
    *sum += value;
    *squares += value * value;
    count_limits(&facts->float16, fabs(value), half);
    count_limits(&facts->bfloat16, fabs(value), brain);
}

cse_tensor_facts cse_tensor_facts_of(cse_dtype dtype, const void *values, int64_t count)
{
    cse_tensor_facts facts = { .count = 0 };
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++)
        count_value(&facts, cse_tensor_value(dtype, values, i), &sum, &squares);
    const int64_t finite = facts.count - facts.nan - facts.inf;
    if (finite == 0)
        return facts;
    facts.mean = sum / (double)finite;
    facts.norm = sqrt(squares);
    facts.deviation = sqrt(fmax(squares / (double)finite - facts.mean * facts.mean, 0));
    const double width = (facts.maximum - facts.minimum) / CSE_FACT_BINS;
    for (int64_t i = 0; i < count; i++) {
        const double value = cse_tensor_value(dtype, values, i);
        if (!isfinite(value))
            continue;
        const int bin = width > 0 ? (int)((value - facts.minimum) / width) : 0;
        facts.bins[bin < CSE_FACT_BINS ? bin : CSE_FACT_BINS - 1]++;
    }
    return facts;
}
