/* What every generated step begins with: the frame, access to the plan's memory, barriers, and
 * float functions without branches, which a compiler inlines and vectorises.
 *
 * The text of this file (after those of random.h, types/narrow.h and types/dynamic_map.h) is
 * embedded in the library and put before the generated code; ops' expressions and blocks may call
 * whatever is declared here. The functions are our own because gcc vectorises expf, tanhf and erff
 * only under -ffast-math, which changes the arithmetic of the whole process.
 *
 * Bounds of error are in units of the last place of the exact result (ulp), for normal results, and
 * are held by tests against double precision. Subnormal results may be flushed to zero. */
#ifndef CSE_CODEGEN_PRELUDE_H
#define CSE_CODEGEN_PRELUDE_H

#include <stdint.h>

#include "engine/base/random.h"
#include "engine/base/types/dynamic_map.h"
#include "engine/base/types/narrow.h"

/* ---- memory of the plan ---- */

enum {
    CSE_AT_NONE,
    CSE_AT_STATE,
    CSE_AT_INPUT,
    CSE_AT_REPLICA,
    CSE_AT_PARTIAL,
    CSE_AT_REDUCED,
    CSE_AT_WEIGHTS,
    CSE_AT_FETCH,
    CSE_AT_CONSTANT,
    CSE_AT_LENT,
    CSE_AT_COUNT
};

/* A library kernel (engine/code/kernels/plan.h); the engine makes it when it opens the step. */
typedef struct cse_step_kernel {
    void (*run)(struct cse_step_kernel *self, const void *const inputs[], void *output);
} cse_step_kernel;

struct cse_step_frame;

/* As cse_statistics_collector in engine/code/execute/tensor_statistics.h. */
typedef struct cse_step_statistics {
    void (*count)(struct cse_step_statistics *self, const struct cse_step_frame *frame, int tracked,
                  const void *values);
    unsigned char *scratch;
} cse_step_statistics;

/* As cse_frame in engine/code/execute/execute.h. */
typedef struct cse_step_frame {
    unsigned char *base[CSE_AT_COUNT];
    uint64_t seed;
    int64_t step;
    int64_t first_sample;
    _Bool prepared;
    cse_step_kernel *const *kernels;
    cse_step_statistics *collector;
} cse_step_frame;

/* As cse_undo_log in engine/code/execute/execute.h. */
typedef struct cse_step_undo {
    unsigned char *lines[2];
    volatile uint64_t *progress;
    uint64_t dirty_base;
} cse_step_undo;

/* As in program.h. */
#define CSE_LENT_FROM ((int64_t)1 << 62)

static inline unsigned char *cse_step_place(const cse_step_frame *frame, int space, int64_t offset)
{
    if (space == CSE_AT_REPLICA && offset >= CSE_LENT_FROM)
        return frame->base[CSE_AT_LENT] + (offset - CSE_LENT_FROM);
    return frame->base[space] + offset;
}

/* The value of `bytes` bytes stored at an offset of a space; offsets are multiples of 64 bytes, and
 * so are bases. */
#define CSE_PLACE(type, space, offset, bytes) \
    ((type *)__builtin_assume_aligned(cse_step_place(frame, space, offset), 64))

/* The number of a tensor that statistics are taken of, and of a stream of random numbers. */
#define CSE_TRACKED(number) ((int)(number))
#define CSE_STREAM(number) ((uint32_t)(number))

/* Nothing is moved across it by the compiler; the processor keeps the order of stores itself. */
#define CSE_BARRIER() __asm__ volatile("" ::: "memory")

/* ---- bits ---- */

CSE_INLINE double cse_double_from_bits(int64_t bits)
{
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

CSE_INLINE int64_t cse_double_bits(double x)
{
    int64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Sign of `sign`, magnitude of `x`. */
CSE_INLINE float cse_with_sign(float x, float sign)
{
    return cse_from_bits((cse_bits(x) & 0x7fffffff) | (cse_bits(sign) & (int32_t)0x80000000));
}

/* ---- functions ---- */

CSE_INLINE float cse_sqrt(float x)
{
    return __builtin_sqrtf(x);
}

/* 1.5 ulp: a correctly rounded root, then a correctly rounded quotient. */
CSE_INLINE float cse_rsqrt(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}

/* a * b + c, rounded once. Written out wherever it is meant, because the build contracts nothing:
 * so every instruction set computes the same bits. */
CSE_INLINE float cse_fma(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

/* x within [low, high], low < 0 < high; NaN stays NaN. Comparing the bits needs no branch on any
 * instruction set: those of negative values are above all others as unsigned numbers, and below
 * them as signed ones. */
CSE_INLINE float cse_limited(float x, float low, float high)
{
    const uint32_t lowest = (uint32_t)cse_bits(low), bits = (uint32_t)cse_bits(x);
    const int32_t highest = cse_bits(high), raised = (int32_t)(bits > lowest ? lowest : bits);
    const float y = cse_from_bits(raised < highest ? raised : highest);
    return x != x ? x : y;
}

/* e^r for |r| <= ln2 / 2: minimax polynomial, rest 3.2e-9. */
CSE_INLINE float cse_exp_near_zero(float r)
{
    float p = 1.38213043e-3f;
    p = cse_fma(p, r, 8.36866908e-3f);
    p = cse_fma(p, r, 4.16682586e-2f);
    p = cse_fma(p, r, 1.66665211e-1f);
    p = cse_fma(p, r, 4.9999994e-1f);
    p = cse_fma(p, r, 1.0f);
    return cse_fma(p, r, 1.0f);
}

/* x = n ln2 + r with |r| <= ln2 / 2. Adding 1.5 * 2^23 + bias rounds to an integer: n + bias is
 * then in the low bits of what is returned. */
CSE_INLINE int32_t cse_reduce_exponent(float x, float bias, float *r)
{
    const float ruler = 12582912.0f + bias;
    float shifted = cse_fma(x, 1.44269504f, ruler), n = shifted - ruler;
    *r = cse_fma(n, 1.90465421e-9f, cse_fma(n, -0.693147182f, x));
    return cse_bits(shifted);
}

/* 2^n of n + 127 in the low bits. */
CSE_INLINE float cse_power_of_two(int32_t biased)
{
    return cse_from_bits((int32_t)((uint32_t)biased << 23));
}

/* e^x to 1 ulp: e^r times 2^n in two steps, so that no intermediate overflows. */
CSE_INLINE float cse_exp(float x)
{
    float r;
    x = cse_limited(x, -104.0f, 89.0f);
    /* The sum of two biases: each half of it gets one. */
    int32_t exponents = cse_reduce_exponent(x, 254.0f, &r);
    const uint32_t half = (uint32_t)exponents >> 1, rest = (uint32_t)exponents - half;
    return cse_exp_near_zero(r) * cse_power_of_two((int32_t)half) * cse_power_of_two((int32_t)rest);
}

/* e^x to 1 ulp for |x| <= 87.3; wrong beyond. */
CSE_INLINE float cse_exp_limited(float x)
{
    float r;
    int32_t exponent = cse_reduce_exponent(x, 127.0f, &r);
    return cse_exp_near_zero(r) * cse_power_of_two(exponent);
}

/* 2^z to 1 ulp for |z| <= 126; wrong beyond. Minimax polynomial, rest 3.1e-9. */
CSE_INLINE float cse_exp2_limited(float z)
{
    const float ruler = 12582912.0f + 127.0f;
    float shifted = z + ruler, f = z - (shifted - ruler);
    float p = 1.53278277e-4f;
    p = cse_fma(p, f, 1.33909972e-3f);
    p = cse_fma(p, f, 9.61850304e-3f);
    p = cse_fma(p, f, 5.55035956e-2f);
    p = cse_fma(p, f, 2.40226477e-1f);
    p = cse_fma(p, f, 6.93147182e-1f);
    p = cse_fma(p, f, 1.0f);
    return p * cse_power_of_two(cse_bits(shifted));
}

/* ln x of a positive normal double, to 1e-11 relative to max(|ln x|, |x - 1|): x = m 2^e with m in
 * [sqrt(1/2), sqrt(2)), ln m = 2 artanh(s), s = (m-1)/(m+1), |s| <= 0.172, seven terms. */
CSE_INLINE double cse_log_double(double x)
{
    int64_t bits = cse_double_bits(x);
    int64_t exponent = (int64_t)((uint64_t)bits - 0x3fe6a09e667f3bcd) >> 52;
    double m = cse_double_from_bits((int64_t)((uint64_t)bits - ((uint64_t)exponent << 52)));
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    p = p * z + 2.0;
    return (double)exponent * 0.693147180559945309 + p * s;
}

/* ln x to 1 ulp, through double (in which a subnormal float is normal). */
CSE_INLINE float cse_log(float x)
{
    float y = (float)cse_log_double((double)x);
    y = x == 0.0f ? -__builtin_inff() : y;
    y = x < 0.0f ? __builtin_nanf("") : y;
    y = x == __builtin_inff() ? x : y;
    return x != x ? x : y;
}

/* e^x for x in double, |x| <= 200, with a relative error below 1e-11: range reduction as in
 * cse_exp, Taylor polynomial of degree 10. */
CSE_INLINE double cse_exp_double(double x)
{
    double shifted = x * 1.44269504088896341 + 6755399441055744.0;
    double n = shifted - 6755399441055744.0;
    int64_t exponent = cse_double_bits(shifted) - 0x4338000000000000;
    double r = x - n * 0.693147180559945309;
    double p = 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return p * cse_double_from_bits((int64_t)((uint64_t)(exponent + 1023) << 52));
}

/* x^y to 1 ulp, through double; the special cases of C's pow. */
CSE_INLINE float cse_pow(float x, float y)
{
    float magnitude = __builtin_fabsf(x), size = __builtin_fabsf(y);
    double t = (double)y * cse_log_double((double)magnitude);
    t = t > 150.0 ? 150.0 : t;
    t = t < -150.0 ? -150.0 : t;
    float result = (float)cse_exp_double(t);
    float zero_or_infinite = (y > 0.0f) == (magnitude > 1.0f) ? __builtin_inff() : 0.0f;
    result = magnitude == 0.0f || magnitude == __builtin_inff() ? zero_or_infinite : result;
    result = size == __builtin_inff() ? (magnitude == 1.0f ? 1.0f : zero_or_infinite) : result;
    /* Beyond 2^24 every float is an even integer. */
    float limited = size < 16777216.0f ? y : 0.0f;
    int32_t whole = (int32_t)limited;
    int32_t is_whole = (float)whole == limited, is_odd = is_whole & whole & 1;
    float negative = is_odd ? -result : result;
    negative = is_whole || magnitude == 0.0f || magnitude == __builtin_inff() ? negative
                                                                              : __builtin_nanf("");
    result = cse_bits(x) < 0 && x == x ? negative : result;
    result = x != x || y != y ? x + y : result;
    return y == 0.0f || x == 1.0f ? 1.0f : result;
}

/* ln(1 + x) to 1 ulp: 1 + x is exact enough in double, and ln of it loses what the sum lost. The
 * quotient of the two puts it back (Kahan; Higham, Accuracy and Stability, section 1.14.1). */
CSE_INLINE float cse_log1p(float x)
{
    double u = x > -1.0f ? 1.0 + (double)x : 1.0, d = u - 1.0;
    double y = d != 0.0 ? cse_log_double(u) * ((double)x / d) : (double)x;
    float z = x > -1.0f ? (float)y : x == -1.0f ? -__builtin_inff() : __builtin_nanf("");
    z = x == __builtin_inff() || x == 0.0f ? x : z;
    return x != x ? x : z;
}

/* e^x - 1 to 2 ulp: with x = n ln2 + r it is 2^n (e^r - 1) + (2^n - 1), of which e^r - 1 has its
 * own polynomial. */
CSE_INLINE float cse_expm1(float x)
{
    float r;
    int32_t exponent = cse_reduce_exponent(cse_limited(x, -25.0f, 88.0f), 127.0f, &r);
    float power = cse_power_of_two(exponent);
    float p = 1.38213043e-3f;
    p = cse_fma(p, r, 8.36866908e-3f);
    p = cse_fma(p, r, 4.16682586e-2f);
    p = cse_fma(p, r, 1.66665211e-1f);
    p = cse_fma(p, r, 4.9999994e-1f);
    p = cse_fma(p * r, r, r);
    float y = cse_fma(power, p, power - 1.0f);
    y = x > 88.0f ? cse_exp(x) : y;
    return x == 0.0f ? x : x != x ? x : y;
}

/* Whole numbers. Floats of 2^23 and more are whole; below, a conversion to int32 cuts towards 0.
 * The sign is x's, also that of a zero. */
CSE_INLINE float cse_floor(float x)
{
    float cut = (float)(int32_t)cse_limited(x, -8388608.0f, 8388608.0f);
    float y = cut > x ? cut - 1.0f : cut;
    return __builtin_fabsf(x) < 8388608.0f ? cse_with_sign(y, x) : x;
}

CSE_INLINE float cse_ceil(float x)
{
    float cut = (float)(int32_t)cse_limited(x, -8388608.0f, 8388608.0f);
    float y = cut < x ? cut + 1.0f : cut;
    return __builtin_fabsf(x) < 8388608.0f ? cse_with_sign(y, x) : x;
}

/* To the nearest, halves to even: adding 2^23 leaves no bits for a fraction. */
CSE_INLINE float cse_round(float x)
{
    float a = __builtin_fabsf(x), y = (a + 8388608.0f) - 8388608.0f;
    return a < 8388608.0f ? cse_with_sign(y, x) : x;
}

/* The quotient rounded down; 0 for a division by 0. It wraps for INT32_MIN / -1. */
CSE_INLINE int32_t cse_floor_divide(int32_t a, int32_t b)
{
    int64_t divisor = b == 0 ? 1 : b, quotient = a / divisor;
    quotient -= (quotient * divisor != a) & ((a < 0) != (divisor < 0));
    return b == 0 ? 0 : (int32_t)(uint32_t)quotient;
}

CSE_INLINE int32_t cse_remainder(int32_t a, int32_t b)
{
    int64_t divisor = b == 0 ? 1 : b, quotient = a / divisor;
    quotient -= (quotient * divisor != a) & ((a < 0) != (divisor < 0));
    return b == 0 ? a : (int32_t)(a - quotient * divisor);
}

/* Whether a, at index i, comes before b, at j: the larger first (or the smaller), equal ones by
 * index, NaN as larger than any number. */
CSE_INLINE _Bool cse_comes_before(double a, int32_t i, double b, int32_t j, _Bool smallest)
{
    if (a != a || b != b)
        return (a != a && b != b) ? i < j : smallest ? b != b : a != a;
    return a == b ? i < j : smallest ? a < b : a > b;
}

/* Scores of 31 bits by which elements are ranked: of the magnitude, whose order they have, or
 * random ones; and whether an element is within a rank (engine/graph/ops/ranking.h). */
CSE_INLINE int32_t cse_magnitude(float x)
{
    return cse_bits(x) & 0x7fffffff;
}

CSE_INLINE int32_t cse_draw_score(int32_t low, int32_t high, int64_t index)
{
    return (int32_t)(cse_hash_bits(cse_key_of(low, high), (uint32_t)index) >> 1);
}

CSE_INLINE _Bool cse_within_rank(int32_t score, int64_t index, int32_t least, int32_t last)
{
    return (score > least) | ((score == least) & (index <= last));
}

/* The angle of (x, y) to 3 ulp: of the smaller over the larger size t, atan t = t + t z P(z) with
 * z = t^2 (a minimax fit, rest 2.6e-09), then the octants. */
CSE_INLINE float cse_atan2(float y, float x)
{
    float a = __builtin_fabsf(x), b = __builtin_fabsf(y);
    float large = a > b ? a : b, small = a > b ? b : a;
    float t = large == 0.0f ? 0.0f : small == large ? 1.0f : small / large, z = t * t;
    float p = -1.793621780e-03f;
    p = cse_fma(p, z, 1.091460615e-02f);
    p = cse_fma(p, z, -3.117784678e-02f);
    p = cse_fma(p, z, 5.795759470e-02f);
    p = cse_fma(p, z, -8.403450407e-02f);
    p = cse_fma(p, z, 1.095218581e-01f);
    p = cse_fma(p, z, -1.426424169e-01f);
    p = cse_fma(p, z, 1.999854828e-01f);
    p = cse_fma(p, z, -3.333329909e-01f);
    float angle = cse_fma(p * z, t, t);
    angle = b > a ? (1.57079637f - angle) - 4.37113883e-8f : angle;
    angle = cse_bits(x) < 0 ? (3.14159274f - angle) - 8.74227766e-8f : angle;
    return x != x || y != y ? x + y : cse_with_sign(angle, y);
}

/* tanh x to 3 ulp: y / (y + 2) with y = e^2|x| - 1, which is 2^n (e^r - 1) + (2^n - 1). */
CSE_INLINE float cse_tanh(float x)
{
    float a = __builtin_fabsf(x), r;
    a = a > 10.0f ? 10.0f : a;
    float power = cse_power_of_two(cse_reduce_exponent(a + a, 127.0f, &r));
    float p = 1.38213043e-3f;
    p = cse_fma(p, r, 8.36866908e-3f);
    p = cse_fma(p, r, 4.16682586e-2f);
    p = cse_fma(p, r, 1.66665211e-1f);
    p = cse_fma(p, r, 4.9999994e-1f);
    p = cse_fma(p * r, r, r);
    float y = cse_fma(power, p, power - 1.0f);
    return cse_with_sign(y / (y + 2.0f), x);
}

/* erf x to 3 ulp: x P(x^2) below 1, else 1 - e^Q(|x|); both polynomials are minimax fits (rests
 * 1.2e-9 and 2.1e-11). */
CSE_INLINE float cse_erf(float x)
{
    float a = __builtin_fabsf(x), z = x * x;
    float p = 7.853894327e-05f;
    p = cse_fma(p, z, -8.010204775e-04f);
    p = cse_fma(p, z, 5.188329137e-03f);
    p = cse_fma(p, z, -2.685381284e-02f);
    p = cse_fma(p, z, 1.128358518e-01f);
    p = cse_fma(p, z, -3.761262583e-01f);
    p = cse_fma(p, z, 1.28379166e-01f);
    float near_zero = cse_fma(x, p, x);
    float b = a > 4.0f ? 4.0f : a;
    float q = -2.168676323e-05f;
    q = cse_fma(q, b, 4.413353007e-04f);
    q = cse_fma(q, b, -4.204556262e-03f);
    q = cse_fma(q, b, 2.520824080e-02f);
    q = cse_fma(q, b, -1.084185507e-01f);
    q = cse_fma(q, b, -6.332199193e-01f);
    q = cse_fma(q, b, -1.129578410e+00f);
    q = cse_fma(q, b, 1.880370496e-04f);
    float far = 1.0f - cse_exp_limited(q);
    return a < 1.0f ? near_zero : cse_with_sign(far, x);
}

/* 1 / (1 + e^-x) to 3 ulp. */
CSE_INLINE float cse_sigmoid(float x)
{
    x = cse_limited(x, -87.3f, 87.3f);
    return 1.0f / (1.0f + cse_exp_limited(-x));
}

CSE_INLINE float cse_silu(float x)
{
    return x * cse_sigmoid(x);
}

/* The derivative of x s(x), s the logistic function: s (1 + x (1 - s)), with 1 - s = s(-x). */
CSE_INLINE float cse_silu_slope(float x)
{
    x = cse_limited(x, -87.3f, 87.3f);
    float e = cse_exp_limited(-x), s = 1.0f / (1.0f + e);
    return s * cse_fma(x, e * s, 1.0f);
}

/* x / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3) is x s(2 u), s the logistic
 * function: one power of two and one quotient. Beyond |x| = 10 the factor is 0 or 1 in float.
 * cse_gelu_power is 2^z = e^(-2 u). */
CSE_INLINE float cse_gelu_power(float x)
{
    float squared = x * x;
    return cse_exp2_limited(x * cse_fma(squared, -0.102943240f, -2.30220819f));
}

/* Errors of the four below: 4e-7 max(1, |x|). */
CSE_INLINE float cse_gelu_tanh(float x)
{
    return x / (1.0f + cse_gelu_power(cse_limited(x, -10.0f, 10.0f)));
}

/* The derivative: s + x s (1 - s) 2 du/dx, with 1 - s = 2^z s. */
CSE_INLINE float cse_gelu_tanh_slope(float x)
{
    x = cse_limited(x, -10.0f, 10.0f);
    float power = cse_gelu_power(x), s = 1.0f / (1.0f + power);
    float slope = cse_fma(x * x, 0.214064449f, 1.59576912f);
    return s * cse_fma(x * slope, power * s, 1.0f);
}

/* The standard normal distribution function of x, and its density times sqrt(2 pi): with a = |x|,
 * the tail beyond a is e^(-a^2/2) t P(t), t = 1 / (1 + 0.26 a); minimax fit, rest 2.6e-8. */
CSE_INLINE float cse_normal_distribution(float x, float *power)
{
    float a = __builtin_fabsf(x);
    a = a > 13.0f ? 13.0f : a;
    float t = 1.0f / cse_fma(a, 0.26f, 1.0f);
    float p = 0.0305044539f;
    p = cse_fma(p, t, -0.152826473f);
    p = cse_fma(p, t, 0.251485944f);
    p = cse_fma(p, t, -0.150942281f);
    p = cse_fma(p, t, 0.160942867f);
    p = cse_fma(p, t, 0.0510299578f);
    p = cse_fma(p, t, 0.103029631f);
    p = cse_fma(p, t, 0.103016838f);
    p = cse_fma(p, t, 0.10375905f);
    *power = cse_exp_limited(-0.5f * a * a);
    float tail = *power * (p * t);
    return x < 0.0f ? tail : 1.0f - tail;
}

CSE_INLINE float cse_gelu_exact(float x)
{
    float power;
    return x * cse_normal_distribution(x, &power);
}

/* The derivative: the distribution function plus x times the density. */
CSE_INLINE float cse_gelu_exact_slope(float x)
{
    float power, distribution = cse_normal_distribution(x, &power);
    x = cse_limited(x, -13.0f, 13.0f);
    return cse_fma(x * 0.39894228f, power, distribution);
}

/* sin of r + quarter * pi/2 for |r| <= pi/4, in double: Taylor polynomials to r^11 and r^12. */
CSE_INLINE float cse_sine_of_quarter(double r, int64_t quarter)
{
    double z = r * r;
    double s = -1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    s = s * z * r + r;
    double c = 1.0 / 479001600.0;
    c = c * z - 1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    c = c * z - 0.5;
    c = c * z + 1.0;
    double y = quarter & 1 ? c : s;
    return (float)(quarter & 2 ? -y : y);
}

/* sin and cos to 1 ulp for |x| <= 2^20 (pi/2 in two parts, the first with 33 bits, so that its
 * multiples are exact); NaN for infinities. */
CSE_INLINE float cse_sin(float x)
{
    double shifted = (double)x * 0.636619772367581343 + 6755399441055744.0;
    double n = shifted - 6755399441055744.0;
    double r = ((double)x - n * 0x1.921fb544p0) - n * 0x1.0b4611a626331p-34;
    return cse_sine_of_quarter(r, cse_double_bits(shifted));
}

CSE_INLINE float cse_cos(float x)
{
    double shifted = (double)x * 0.636619772367581343 + 6755399441055744.0;
    double n = shifted - 6755399441055744.0;
    double r = ((double)x - n * 0x1.921fb544p0) - n * 0x1.0b4611a626331p-34;
    return cse_sine_of_quarter(r, cse_double_bits(shifted) + 1);
}

/* Standard normal from the words of cse_draw_words: cse_normal_from_bits of engine/base/random.c,
 * to 4 ulp (both call it sqrt(-2 ln u) cos(2 pi v)). */
CSE_INLINE float cse_draw_normal(uint64_t seed, int64_t step, uint32_t stream, uint32_t sample,
                                 uint32_t element)
{
    uint32_t words[4];
    cse_draw_words(seed, step, stream, sample, element, words);
    double u = ((double)words[0] + 1.0) * 0x1p-32;
    double turns = (double)words[1] * 0x1p-32, quarters = turns * 4.0;
    double shifted = quarters + 6755399441055744.0;
    double r = (quarters - (shifted - 6755399441055744.0)) * 1.57079632679489656;
    double radius = __builtin_sqrt(-2.0 * cse_log_double(u));
    return (float)radius * cse_sine_of_quarter(r, cse_double_bits(shifted) + 1);
}

#endif
