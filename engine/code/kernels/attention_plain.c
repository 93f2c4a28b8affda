/* The parts of the attention kernels in plain C, for processors without AVX-512; see attention.h.
 *
 * Fused multiply-adds are instructions where the processor has them, else calls of the C library's
 * fma, which is slow and as exact. */
#include <string.h>

#include "engine/code/kernels/attention.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

/* Not with sanitizers: they would instrument the function that selects. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

#define ROWS_FUNCTION CLONES static
#define ROWS_INLINE static inline __attribute__((always_inline))

enum { ROWS_IN_TURN = 1, LANES = 16, FLUSH_BITS = 0x8040 };

typedef struct lanes {
    float x[LANES];
} lanes;

#define DEFINE_BINARY(name, expression)              \
    ROWS_INLINE lanes name##_lanes(lanes a, lanes b) \
    {                                                \
        for (int i = 0; i < LANES; i++)              \
            a.x[i] = (expression);                   \
        return a;                                    \
    }

DEFINE_BINARY(mul, a.x[i] * b.x[i])
DEFINE_BINARY(add, a.x[i] + b.x[i])
DEFINE_BINARY(sub, a.x[i] - b.x[i])
DEFINE_BINARY(max, a.x[i] > b.x[i] ? a.x[i] : b.x[i])
DEFINE_BINARY(min, a.x[i] < b.x[i] ? a.x[i] : b.x[i])

ROWS_INLINE lanes load_lanes(const float *at)
{
    lanes x;
    memcpy(&x, at, sizeof x);
    return x;
}

ROWS_INLINE void store_lanes(float *at, lanes x)
{
    memcpy(at, &x, sizeof x);
}

ROWS_INLINE lanes set_lanes(float value)
{
    lanes x;
    for (int i = 0; i < LANES; i++)
        x.x[i] = value;
    return x;
}

ROWS_INLINE lanes fma_lanes(lanes a, lanes b, lanes c)
{
    for (int i = 0; i < LANES; i++)
        c.x[i] = __builtin_fmaf(a.x[i], b.x[i], c.x[i]);
    return c;
}

/* Adding 1.5 * 2^23 rounds to an integer; enough for the clamped arguments of 2^x. */
ROWS_INLINE lanes nearest_lanes(lanes x)
{
    for (int i = 0; i < LANES; i++)
        x.x[i] = (x.x[i] + 12582912.0f) - 12582912.0f;
    return x;
}

/* The bits of the shifted number end in those of n. */
ROWS_INLINE lanes scale_lanes(lanes x, lanes n)
{
    for (int i = 0; i < LANES; i++) {
        uint32_t bits = cse_float_bits(n.x[i] + 12582912.0f) - 0x4b400000u + 127u;
        x.x[i] *= cse_float_from_bits(bits << 23);
    }
    return x;
}

ROWS_INLINE float sum_lanes(lanes x)
{
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            x.x[i] += x.x[i + width];
    return x.x[0];
}

ROWS_INLINE float maximum_lanes(lanes x)
{
    for (int i = 1; i < LANES; i++)
        x.x[0] = x.x[i] > x.x[0] ? x.x[i] : x.x[0];
    return x.x[0];
}

ROWS_INLINE lanes keep_lanes(lanes x, int64_t from, int64_t end)
{
    for (int i = 0; i < LANES; i++)
        x.x[i] = i >= from && i < end ? x.x[i] : 0;
    return x;
}

ROWS_INLINE lanes lowest_lanes(lanes x, int64_t count)
{
    for (int i = 0; i < LANES; i++)
        x.x[i] = i < count ? x.x[i] : -__builtin_inff();
    return x;
}

ROWS_INLINE lanes span_lanes(lanes x, const cse_attention_spans *spans, int64_t at, int32_t query,
                             float other)
{
    for (int i = 0; i < LANES; i++)
        x.x[i] = spans->begins[at + i] <= query && query < spans->ends[at + i] ? x.x[i] : other;
    return x;
}

ROWS_INLINE lanes read_lanes(cse_dtype dtype, const void *at, int64_t index, int64_t count)
{
    lanes x = set_lanes(0);
    for (int i = 0; i < LANES && i < count; i++)
        x.x[i] = dtype == CSE_FLOAT32
                     ? ((const float *)at)[index + i]
                     : cse_float_from_bits((uint32_t)((const uint16_t *)at)[index + i] << 16);
    return x;
}

ROWS_INLINE void write_lanes(cse_dtype dtype, void *at, int64_t index, int64_t count, lanes x)
{
    for (int i = 0; i < LANES && i < count; i++)
        if (dtype == CSE_FLOAT32)
            ((float *)at)[index + i] = x.x[i];
        else
            ((uint16_t *)at)[index + i] = (uint16_t)cse_round_to_bits(CSE_BFLOAT16, x.x[i]);
}

/* As VCVTNEPS2BF16 rounds: subnormal numbers become 0. */
ROWS_INLINE uint32_t narrow(float value)
{
    const uint32_t bits = cse_float_bits(value), magnitude = bits & 0x7fffffffu;
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    rounded = magnitude > 0x7f800000u ? bits >> 16 | 0x40u : rounded;
    return magnitude < 0x00800000u ? bits >> 31 << 15 : rounded;
}

ROWS_INLINE void pack_lanes(uint16_t *at, lanes x)
{
    for (int i = 0; i < LANES; i++)
        at[i] = (uint16_t)narrow(x.x[i]);
}

ROWS_INLINE lanes pair_lanes(lanes low, lanes high)
{
    for (int i = 0; i < LANES; i++)
        low.x[i] = cse_float_from_bits(narrow(low.x[i]) | narrow(high.x[i]) << 16);
    return low;
}

ROWS_INLINE void turn_lanes(lanes x[LANES])
{
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < i; j++) {
            const float other = x[i].x[j];
            x[i].x[j] = x[j].x[i];
            x[j].x[i] = other;
        }
}

#include "engine/code/kernels/attention_rows.h"

/* ---- packing ---- */

/* Word `word` of a row. */
static float word_of(const cse_attention_matrix *m, int64_t row, int64_t word)
{
    const uint16_t *halves = m->values;
    if (m->dtype == CSE_FLOAT32)
        return ((const float *)m->values)[row * m->stride + word];
    halves += row * m->stride + 2 * word;
    return cse_float_from_bits(halves[0] |
                               (2 * word + 1 < m->columns ? (uint32_t)halves[1] << 16 : 0));
}

static void pack_turned(const cse_attention_matrix *m, int64_t depth, float *to)
{
    const int64_t width = CSE_ATTENTION_TURNED_COLUMNS;
    const int64_t words = m->dtype == CSE_FLOAT32 ? m->columns : (m->columns + 1) / 2;
    const int64_t rows = (m->rows + width - 1) / width * width;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t word = 0; word < depth; word++)
            to[(row / width * depth + word) * width + row % width] =
                row < m->rows && word < words ? word_of(m, row, word) : 0;
}

static void interleave(const uint16_t *low, const uint16_t *high, int64_t count, uint32_t *to)
{
    for (int64_t c = 0; c < count; c++)
        to[c] = low[c] | (uint32_t)high[c] << 16;
}

/* ---- products ---- */

ROWS_INLINE lanes high_lanes(lanes pairs)
{
    for (int i = 0; i < LANES; i++)
        pairs.x[i] = cse_float_from_bits(cse_float_bits(pairs.x[i]) & 0xffff0000u);
    return pairs;
}

ROWS_INLINE lanes low_lanes(lanes pairs)
{
    for (int i = 0; i < LANES; i++)
        pairs.x[i] = cse_float_from_bits(cse_float_bits(pairs.x[i]) << 16);
    return pairs;
}

/* 16 columns of a row. */
ROWS_INLINE void multiply_lanes(const cse_attention_product *p, int64_t row, int64_t column,
                                bool paired)
{
    float *to = p->to + row * p->to_stride + column;
    lanes sums = p->first ? set_lanes(0) : load_lanes(to);
    for (int64_t step = 0; step < p->depth; step++) {
        const lanes factor = set_lanes(p->from[row * p->row_stride + step * p->depth_stride]);
        const lanes columns = load_lanes(p->panel + step * p->width + column);
        if (paired) {
            sums = fma_lanes(high_lanes(factor), high_lanes(columns), sums);
            sums = fma_lanes(low_lanes(factor), low_lanes(columns), sums);
        } else {
            sums = fma_lanes(factor, columns, sums);
        }
    }
    store_lanes(to, sums);
}

CLONES static void multiply(const cse_attention_product *p)
{
    for (int64_t row = 0; row < p->rows; row++)
        for (int64_t column = 0; column < p->width; column += LANES)
            multiply_lanes(p, row, column, false);
}

CLONES static void multiply_by_dot(const cse_attention_product *p)
{
    for (int64_t row = 0; row < p->rows; row++)
        for (int64_t column = 0; column < p->width; column += LANES)
            multiply_lanes(p, row, column, true);
}

/* 16 columns of a row in the order `pairs`. */
ROWS_INLINE void multiply_pairs_lanes(const cse_attention_product *p, int64_t row, int64_t column)
{
    float *to = p->to + row * p->to_stride + column;
    lanes sums = p->first ? set_lanes(0) : load_lanes(to);
    for (int64_t chunk = 0; chunk < p->depth; chunk += CSE_ATTENTION_CHUNK) {
        lanes even = set_lanes(0), odd = set_lanes(0);
        for (int64_t step = chunk; step < chunk + CSE_ATTENTION_CHUNK; step++) {
            const lanes factor = set_lanes(p->from[row * p->row_stride + step * p->depth_stride]);
            const lanes columns = load_lanes(p->panel + step * p->width + column);
            even = fma_lanes(low_lanes(factor), low_lanes(columns), even);
            odd = fma_lanes(high_lanes(factor), high_lanes(columns), odd);
        }
        sums = add_lanes(sums, add_lanes(even, odd));
    }
    store_lanes(to, sums);
}

CLONES static void multiply_by_pairs(const cse_attention_product *p)
{
    for (int64_t row = 0; row < p->rows; row++)
        for (int64_t column = 0; column < p->width; column += LANES)
            multiply_pairs_lanes(p, row, column);
}

/* Subnormal numbers count as 0. */
static void flushed(void (*product)(const cse_attention_product *), const cse_attention_product *p)
{
#if defined(__x86_64__) && defined(__GNUC__)
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | FLUSH_BITS);
    product(p);
    _mm_setcsr(mode);
#else
    product(p);
#endif
}

static void multiply_dot(const cse_attention_product *p)
{
    flushed(multiply_by_dot, p);
}

static void multiply_pairs(const cse_attention_product *p)
{
    flushed(multiply_by_pairs, p);
}

static bool runs_here(void)
{
    return true;
}

#define WAY(product)                                                         \
    {                                                                        \
        .name = "plain", .runs_here = runs_here, .pack_turned = pack_turned, \
        .interleave = interleave, .multiply = product, .softmax = softmax,   \
        .differentiate = differentiate, .dot_rows = dot_rows, .store = store \
    }

const cse_attention_way cse_attention_plain = WAY(multiply);
const cse_attention_way cse_attention_plain_dot = WAY(multiply_dot);
const cse_attention_way cse_attention_plain_pairs = WAY(multiply_pairs);
