/* One routine serves the three 16-bit formats: they differ in two field widths and a bias. */
#include "engine/base/types/dtype.h"

#include <math.h>

static const struct {
    const char *name;
    size_t size;
} dtype_rows[] = {
#define CSE_DTYPE_ROW(enumerator, name_, size_) [enumerator] = { .name = name_, .size = size_ },
    CSE_DTYPE_TABLE(CSE_DTYPE_ROW)
#undef CSE_DTYPE_ROW
};

const char *cse_dtype_name(cse_dtype dtype)
{
    return (unsigned)dtype < CSE_DTYPE_COUNT ? dtype_rows[dtype].name : "unknown";
}

size_t cse_dtype_size(cse_dtype dtype)
{
    return (unsigned)dtype < CSE_DTYPE_COUNT ? dtype_rows[dtype].size : 0;
}

bool cse_dtype_is_float(cse_dtype dtype)
{
    return dtype == CSE_FLOAT32 || dtype == CSE_BFLOAT16 || dtype == CSE_FLOAT16 ||
           dtype == CSE_CBFLOAT16;
}

cse_dtype cse_dtype_from_name(const char *name)
{
    for (int dtype = 0; dtype < CSE_DTYPE_COUNT; dtype++)
        if (strcmp(dtype_rows[dtype].name, name) == 0)
            return (cse_dtype)dtype;
    return CSE_DTYPE_COUNT;
}

/* Explicit mantissa bits and exponent bias of a 16-bit format. */
static void format_of(cse_dtype dtype, int *mantissa_bits, int *bias)
{
    *mantissa_bits = dtype == CSE_BFLOAT16 ? 7 : dtype == CSE_CBFLOAT16 ? 9 : 10;
    *bias = dtype == CSE_BFLOAT16 ? 127 : dtype == CSE_CBFLOAT16 ? 31 : 15;
}

/* |value|, of a subnormal number too, which a conversion may flush to 0. */
static double exact_magnitude(float value)
{
    const uint32_t bits = cse_float_bits(value) & 0x7fffffff;
    return bits < 0x00800000 ? (double)bits * 0x1p-149 : fabs((double)value);
}

uint16_t cse_round_to_bits(cse_dtype dtype, float value)
{
    int mantissa_bits, bias;
    format_of(dtype, &mantissa_bits, &bias);
    const uint16_t sign = (uint16_t)(cse_float_bits(value) >> 31 << 15);
    const uint16_t infinity = (uint16_t)(((1 << (15 - mantissa_bits)) - 1) << mantissa_bits);
    if (isnan(value))
        return sign | infinity | (uint16_t)(1 << (mantissa_bits - 1));
    if (isinf(value))
        return sign | infinity;
    int exponent;
    double magnitude = exact_magnitude(value);
    if (magnitude == 0)
        return sign;
    frexp(magnitude, &exponent); /* magnitude = f * 2^exponent with f in [0.5, 1) */
    int unit = exponent - 1 < 1 - bias ? 1 - bias - mantissa_bits : exponent - 1 - mantissa_bits;
    /* Exact in double; nearbyint rounds ties to even. A carry propagates into the exponent
     * field. */
    long units = lrint(nearbyint(ldexp(magnitude, -unit)));
    long field = (long)(unit + mantissa_bits + bias - 1) << mantissa_bits;
    long bits = field + units;
    return sign | (bits >= infinity ? infinity : (uint16_t)bits);
}

float cse_float_from_format(cse_dtype dtype, uint16_t bits)
{
    int mantissa_bits, bias;
    format_of(dtype, &mantissa_bits, &bias);
    int field = (bits & 0x7fff) >> mantissa_bits, top = (1 << (15 - mantissa_bits)) - 1;
    int mantissa = bits & ((1 << mantissa_bits) - 1);
    float sign = bits & 0x8000 ? -1.0f : 1.0f;
    if (field == top)
        return mantissa ? NAN : sign * INFINITY;
    if (field == 0)
        return sign * ldexpf((float)mantissa, 1 - bias - mantissa_bits);
    /* Normal numbers of the format are normal in float32. */
    return cse_float_from_bits((uint32_t)(bits & 0x8000) << 16 |
                               (uint32_t)(field - bias + 127) << 23 |
                               (uint32_t)mantissa << (23 - mantissa_bits));
}

uint16_t cse_round_stochastic_to_bits(cse_dtype format, float value, uint32_t random_bits)
{
    if (format == CSE_BFLOAT16)
        return cse_store_bfloat16_stochastic(value, random_bits);
    int mantissa_bits, bias;
    format_of(format, &mantissa_bits, &bias);
    return cse_store_narrow_stochastic(value, random_bits, mantissa_bits, bias);
}

float cse_round_stochastic(cse_dtype format, float value, uint32_t random_bits)
{
    if (format == CSE_FLOAT32)
        return value;
    return cse_float_from_format(format, cse_round_stochastic_to_bits(format, value, random_bits));
}
