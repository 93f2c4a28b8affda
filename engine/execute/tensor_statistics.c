/* The counting itself: blocks of a fixed length, so that every loop but the histogram's runs in
 * vectors. A last block that is not full is filled up with zeros, which are taken off the counts
 * again.
 *
 * Rounding is done on the bits of float32, without the way through 16 bits and back; the formats'
 * own conversions are what the tests hold it against. */
#include "engine/execute/tensor_statistics.h"

#include <stdatomic.h>
#include <string.h>

#include "engine/types/dtype.h"
#include "engine/types/narrow.h"

enum { BLOCK = CSE_DIGEST_BLOCK, TABLES = 8, LANES = 64, NEAR = 24 };

#define INFINITE 0x7f800000u
#define LEAST_NORMAL 0x00800000u
#define CANONICAL_NAN 0x7fc00000u

/* Sanitizers instrument the choice, which runs before they are set up. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#if __GNUC__ >= 12
#define VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define VECTOR_CLONES
#endif
#define INLINE static inline __attribute__((always_inline))

/* ---- rounding ---- */

/* Of float32's mantissa `dropped` bits are rounded away; least normal number; the number whose last
 * place is the least subnormal; the first magnitude that does not round to zero, and the first that
 * rounds to infinity. */
typedef struct format {
    uint32_t dropped, least_normal, ruler, kept, overflow;
} format;

#define FLOAT32 ((format){ 0, 0, 0, LEAST_NORMAL, INFINITE })
#define FLOAT16 ((format){ 13, 113u << 23, 126u << 23, (102u << 23) + 1, 0x477ff000u })
#define CBFLOAT16 ((format){ 14, 97u << 23, 111u << 23, (87u << 23) + 1, 0x4f7fe000u })
#define BFLOAT16 ((format){ 16, 0, 0, LEAST_NORMAL, 0x7f7f8000u })

/* Without a branch, so that the loops run in vectors. */
INLINE uint32_t choose(uint32_t condition, uint32_t yes, uint32_t no)
{
    const uint32_t mask = 0u - condition;
    return (yes & mask) | (no & ~mask);
}

/* The magnitude's bits, rounded to nearest, ties to even. */
INLINE uint32_t round_magnitude(uint32_t magnitude, format f)
{
    const uint32_t half = (1u << (f.dropped - 1)) - 1, odd = magnitude >> f.dropped & 1;
    const uint32_t normal = (magnitude + half + odd) & ~((1u << f.dropped) - 1);
    /* The sum's last place is the least subnormal: the addition itself rounds. */
    const float ruler = cse_float_from_bits(f.ruler);
    const uint32_t small = cse_float_bits((cse_float_from_bits(magnitude) + ruler) - ruler);
    const uint32_t finite = choose(magnitude < f.least_normal, small, normal);
    return choose(magnitude >= f.overflow, INFINITE, finite);
}

/* ---- places ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Two odd numbers for each place of a block. */
typedef struct place_numbers {
    _Alignas(64) uint32_t low[BLOCK], high[BLOCK];
} place_numbers;

/* Whoever comes first fills the table; two at once write the same. */
static const place_numbers *places(void)
{
    static place_numbers numbers;
    static _Atomic bool filled;
    if (atomic_load_explicit(&filled, memory_order_acquire))
        return &numbers;
    for (int i = 0; i < BLOCK; i++) {
        const uint64_t number = mix((uint64_t)i + 0x9e3779b97f4a7c15u);
        numbers.low[i] = (uint32_t)number | 1;
        numbers.high[i] = (uint32_t)(number >> 32) | 1;
    }
    atomic_store_explicit(&filled, true, memory_order_release);
    return &numbers;
}

/* ---- a block ---- */

typedef struct block_counts {
    uint32_t nan, infinite, saturated, flushed, zeros;
    uint32_t low, high; /* sums of the rounded values, each times its place's numbers */
} block_counts;

INLINE uint32_t round_bits(uint32_t x, format f)
{
    const uint32_t before = x & 0x7fffffffu, sign = x & 0x80000000u;
    return (f.dropped > 0 ? round_magnitude(before, f) : before) | sign;
}

/* The lower half of a rounded value is often zero, and a product's lower half hears of its factors'
 * lower halves alone. */
INLINE uint32_t swap_halves(uint32_t y)
{
    return y << 16 | y >> 16;
}

/* Where a value of the block is not finite or becomes infinite. NaNs are all alike. */
INLINE block_counts look_at_nonfinite(const uint32_t *restrict x, const place_numbers *restrict p,
                                      format f)
{
    uint32_t nan = 0, over = 0, nonfinite = 0, low = 0, high = 0;
    for (int i = 0; i < BLOCK; i++) {
        const uint32_t before = x[i] & 0x7fffffffu;
        const uint32_t y =
            swap_halves(choose(before > INFINITE, CANONICAL_NAN, round_bits(x[i], f)));
        nan += before > INFINITE;
        over += before >= f.overflow;
        nonfinite += before >= INFINITE;
        low += y * p->low[i];
        high += y * p->high[i];
    }
    return (block_counts){
        .nan = nan, .infinite = over - nan, .saturated = over - nonfinite, .low = low, .high = high
    };
}

/* All counts are found from the magnitudes before rounding. */
INLINE block_counts look_at(const uint32_t *restrict x, const place_numbers *restrict p, format f)
{
    uint32_t largest = 0, under = 0, zeros = 0, low = 0, high = 0;
    for (int i = 0; i < BLOCK; i++) {
        const uint32_t before = x[i] & 0x7fffffffu, y = swap_halves(round_bits(x[i], f));
        largest = before > largest ? before : largest;
        under += before < f.kept;
        zeros += before < LEAST_NORMAL;
        low += y * p->low[i];
        high += y * p->high[i];
    }
    block_counts counts = { .low = low, .high = high };
    if (largest >= f.overflow)
        counts = look_at_nonfinite(x, p, f);
    counts.flushed = under - zeros;
    counts.zeros = zeros;
    return counts;
}

VECTOR_CLONES
static block_counts count_float32(const uint32_t *restrict x, const place_numbers *restrict p)
{
    return look_at(x, p, FLOAT32);
}

VECTOR_CLONES
static block_counts count_bfloat16(const uint32_t *restrict x, const place_numbers *restrict p)
{
    return look_at(x, p, BFLOAT16);
}

VECTOR_CLONES
static block_counts count_float16(const uint32_t *restrict x, const place_numbers *restrict p)
{
    return look_at(x, p, FLOAT16);
}

VECTOR_CLONES
static block_counts count_cbfloat16(const uint32_t *restrict x, const place_numbers *restrict p)
{
    return look_at(x, p, CBFLOAT16);
}

static block_counts count_block(const uint32_t *x, const place_numbers *p, cse_dtype rounded)
{
    switch (rounded) {
    case CSE_BFLOAT16:
        return count_bfloat16(x, p);
    case CSE_FLOAT16:
        return count_float16(x, p);
    case CSE_CBFLOAT16:
        return count_cbfloat16(x, p);
    default:
        return count_float32(x, p);
    }
}

/* The elements, each times its place's odd numbers, so that a change of one always shows; mixed
 * with the block's own place in the tensor and the microbatch. */
static uint64_t digest_block(block_counts counts, uint64_t block, uint64_t microbatch)
{
    const uint64_t place = mix(block * 2 + 1) ^ mix(microbatch * 2 + 2);
    return mix(((uint64_t)counts.high << 32 | counts.low) + place);
}

/* ---- reading ---- */

INLINE void widen(uint32_t *restrict y, const uint16_t *restrict x, cse_dtype dtype)
{
    for (int i = 0; i < BLOCK; i++)
        y[i] = cse_float_bits(dtype == CSE_BFLOAT16  ? cse_load_bfloat16(x[i])
                              : dtype == CSE_FLOAT16 ? cse_load_float16(x[i])
                                                     : cse_load_cbfloat16(x[i]));
}

VECTOR_CLONES
static void widen_block(uint32_t *restrict y, const uint16_t *restrict x, cse_dtype dtype)
{
    if (dtype == CSE_BFLOAT16)
        widen(y, x, CSE_BFLOAT16);
    else if (dtype == CSE_FLOAT16)
        widen(y, x, CSE_FLOAT16);
    else
        widen(y, x, CSE_CBFLOAT16);
}

/* Bits as float32 of elements [at, at + n), and zeros after them: where they are, or in `room`. */
static const uint32_t *read_block(const cse_tensor_values *v, int64_t at, int n,
                                  uint32_t room[BLOCK])
{
    const bool narrow = v->stored != CSE_FLOAT32;
    const size_t size = narrow ? 2 : 4;
    _Alignas(64) uint16_t halves[BLOCK];
    const unsigned char *from = (const unsigned char *)v->values + (size_t)at * size;
    unsigned char *to = narrow ? (unsigned char *)halves : (unsigned char *)room;
    if (n == BLOCK && !narrow)
        return (const uint32_t *)(const void *)from;
    if (n < BLOCK) {
        memcpy(to, from, (size_t)n * size);
        memset(to + (size_t)n * size, 0, (size_t)(BLOCK - n) * size);
    }
    if (narrow)
        widen_block(room, n < BLOCK ? halves : (const uint16_t *)(const void *)from, v->stored);
    return room;
}

/* ---- exponents ---- */

typedef uint8_t byte_lanes __attribute__((vector_size(LANES)));

/* The least and the greatest exponent of the finite normal numbers; greatest < least where there is
 * none. */
typedef struct exponent_range {
    uint8_t least, greatest;
} exponent_range;

VECTOR_CLONES
static exponent_range find_exponents(uint8_t *restrict exponents, const uint32_t *restrict x)
{
    uint8_t below = UINT8_MAX, above = 0; /* of exponent - 1, of exponent + 1: 0 and 255 wrap */
    for (int i = 0; i < BLOCK; i++)
        exponents[i] = (uint8_t)(x[i] >> 23);
    for (int i = 0; i < BLOCK; i++) {
        const uint8_t less = (uint8_t)(exponents[i] - 1), more = (uint8_t)(exponents[i] + 1);
        below = less < below ? less : below;
        above = more > above ? more : above;
    }
    return (exponent_range){ (uint8_t)(below + 1), (uint8_t)(above - 1) };
}

/* Counts on the way: `near` holds each exponent's in LANES parts, which are added up before one of
 * them could be too large for a byte; `tables` the rest. */
typedef struct exponent_counts {
    byte_lanes near[CSE_EXPONENT_BINS];
    uint32_t tables[TABLES][CSE_EXPONENT_BINS];
    exponent_range range; /* of what `near` holds */
    int blocks;
} exponent_counts;

static void add_up(exponent_counts *c)
{
    for (int exponent = c->range.least; exponent <= c->range.greatest; exponent++) {
        uint32_t sum = 0;
        for (int j = 0; j < LANES; j++)
            sum += c->near[exponent][j];
        c->tables[0][exponent] += sum;
        c->near[exponent] = (byte_lanes){ 0 };
    }
    c->range = (exponent_range){ UINT8_MAX, 0 };
    c->blocks = 0;
}

VECTOR_CLONES
static void count_near(byte_lanes *restrict near, const byte_lanes *restrict exponents,
                       exponent_range range)
{
    for (int exponent = range.least; exponent <= range.greatest; exponent++) {
        const byte_lanes wanted = (uint8_t)exponent - (byte_lanes){ 0 };
        byte_lanes n = near[exponent];
        for (int i = 0; i < BLOCK / LANES; i++)
            n -= (byte_lanes)(exponents[i] == wanted); /* true is -1 */
        near[exponent] = n;
    }
}

/* A block's exponents are mostly near each other: each is then looked for in vectors. Zeros and
 * what is not finite were counted already. Else several tables are counted up, since equal
 * exponents often follow each other. */
static void count_exponents(exponent_counts *c, const uint32_t x[BLOCK], block_counts counts)
{
    byte_lanes lanes[BLOCK / LANES];
    const uint8_t *exponents = (const uint8_t *)lanes;
    const exponent_range range = find_exponents((uint8_t *)lanes, x);
    if (range.greatest - range.least >= NEAR) {
        for (int i = 0; i < BLOCK; i += TABLES)
            for (int t = 0; t < TABLES; t++)
                c->tables[t][exponents[i + t]]++;
        return;
    }
    c->tables[0][0] += counts.zeros;
    c->tables[0][CSE_EXPONENT_BINS - 1] += counts.nan + counts.infinite - counts.saturated;
    if (range.greatest < range.least)
        return;
    if (c->blocks == UINT8_MAX / (BLOCK / LANES))
        add_up(c);
    count_near(c->near, lanes, range);
    c->range.least = range.least < c->range.least ? range.least : c->range.least;
    c->range.greatest = range.greatest > c->range.greatest ? range.greatest : c->range.greatest;
    c->blocks++;
}

void cse_tensor_statistics_count(cse_tensor_statistics *record, const cse_tensor_values *v)
{
    exponent_counts exponents = { .range = { UINT8_MAX, 0 } };
    const place_numbers *p = places();
    _Alignas(64) uint32_t room[BLOCK];
    int64_t filled = 0;
    for (int64_t at = 0; at < v->count; at += BLOCK) {
        const int n = v->count - at < BLOCK ? (int)(v->count - at) : BLOCK;
        const uint32_t *x = read_block(v, at, n, room);
        const block_counts counts = count_block(x, p, v->rounded);
        filled += BLOCK - n;
        record->nan += counts.nan;
        record->infinite += counts.infinite;
        record->saturated += counts.saturated;
        record->flushed += counts.flushed;
        record->zeros += counts.zeros;
        record->digest +=
            digest_block(counts, (uint64_t)(v->first_index + at) / BLOCK, (uint64_t)v->microbatch);
        count_exponents(&exponents, x, counts);
    }
    record->count += (uint64_t)v->count;
    record->zeros -= (uint64_t)filled;
    record->exponents[0] -= (uint64_t)filled;
    add_up(&exponents);
    for (int bin = 0; bin < CSE_EXPONENT_BINS; bin++)
        for (int t = 0; t < TABLES; t++)
            record->exponents[bin] += exponents.tables[t][bin];
}

VECTOR_CLONES
static uint32_t largest_magnitude(const float *restrict x)
{
    uint32_t largest = 0;
    for (int i = 0; i < BLOCK; i++) {
        const uint32_t magnitude = cse_float_bits(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

bool cse_has_nonfinite(const float *values, int64_t count)
{
    int64_t at = 0;
    for (; at + BLOCK <= count; at += BLOCK)
        if (largest_magnitude(values + at) >= INFINITE)
            return true;
    for (; at < count; at++)
        if ((cse_float_bits(values[at]) & 0x7fffffffu) >= INFINITE)
            return true;
    return false;
}

uint64_t cse_tensor_digest(const float *values, int64_t count, int64_t first_index)
{
    const cse_tensor_values v = { .values = values, .count = count };
    const place_numbers *p = places();
    _Alignas(64) uint32_t room[BLOCK];
    uint64_t digest = 0;
    for (int64_t at = 0; at < count; at += BLOCK) {
        const int n = count - at < BLOCK ? (int)(count - at) : BLOCK;
        const block_counts counts = count_float32(read_block(&v, at, n, room), p);
        digest += digest_block(counts, (uint64_t)(first_index + at) / BLOCK, 0);
    }
    return digest;
}

uint64_t cse_count_absorbed(const float *before, const float *kept, const float *delta,
                            int64_t count)
{
    uint64_t absorbed = 0;
    for (int64_t i = 0; i < count; i++)
        absorbed += (cse_float_bits(before[i]) == cse_float_bits(kept[i])) &
                    ((cse_float_bits(delta[i]) & 0x7fffffffu) >= LEAST_NORMAL);
    return absorbed;
}

void cse_tensor_statistics_add(cse_tensor_statistics *to, const cse_tensor_statistics *from,
                               int count)
{
    for (int i = 0; i < count; i++) {
        cse_tensor_statistics *a = &to[i];
        const cse_tensor_statistics *b = &from[i];
        a->count += b->count;
        a->nan += b->nan;
        a->infinite += b->infinite;
        a->saturated += b->saturated;
        a->flushed += b->flushed;
        a->zeros += b->zeros;
        a->absorbed += b->absorbed;
        a->digest += b->digest;
        a->digest_after += b->digest_after;
        if (b->first_microbatch > 0 &&
            (a->first_microbatch == 0 || b->first_microbatch < a->first_microbatch))
            a->first_microbatch = b->first_microbatch;
        for (int bin = 0; bin < CSE_EXPONENT_BINS; bin++)
            a->exponents[bin] += b->exponents[bin];
    }
}

int32_t cse_tensor_statistics_max_exponent(const cse_tensor_statistics *record)
{
    for (int bin = CSE_EXPONENT_BINS - 2; bin > 0; bin--)
        if (record->exponents[bin] > 0)
            return bin - CSE_EXPONENT_BIAS;
    return INT32_MIN;
}

/* ---- the sink of a program ---- */

static void note_microbatch(cse_tensor_statistics *record, int64_t microbatch)
{
    if (record->first_microbatch == 0 || microbatch + 1 < record->first_microbatch)
        record->first_microbatch = microbatch + 1;
}

/* What does not depend on the microbatch is counted with the first one alone. A microbatch's
 * gradient is only searched for what is not finite: its numbers are counted in the sum. */
static void take(cse_statistics_sink *self, const cse_frame *frame, int tracked, const void *values)
{
    const cse_tracked_tensor *o = &self->graph->tracked[tracked];
    cse_tensor_statistics *record = &self->records[tracked];
    const bool in_batch = o->node->batch;
    const int64_t microbatch = in_batch ? frame->first_sample / self->graph->micro_batch_size : 0;
    const int64_t count = cse_shape_elements(o->node->shape);
    if (!in_batch && o->node->part == CSE_PART_REPLICA && frame->first_sample != 0)
        return;
    if (o->kind == CSE_TRACKED_GRADIENT) {
        if (cse_has_nonfinite(values, count))
            note_microbatch(record, microbatch);
        return;
    }
    const uint64_t bad = record->nan + record->infinite;
    cse_tensor_statistics_count(
        record,
        &(cse_tensor_values){ .values = values,
                              .stored = o->scratch_offset >= 0 ? CSE_FLOAT32 : o->node->dtype,
                              .rounded = o->node->dtype,
                              .count = count,
                              .first_index = microbatch * count });
    if (in_batch && record->nan + record->infinite > bad)
        note_microbatch(record, microbatch);
}

void cse_statistics_sink_init(cse_statistics_sink *sink, const cse_graph *graph,
                              cse_tensor_statistics *records, unsigned char *scratch)
{
    *sink = (cse_statistics_sink){
        .take = take, .scratch = scratch, .graph = graph, .records = records
    };
}
