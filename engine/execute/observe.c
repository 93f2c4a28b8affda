/* The counting itself: blocks of a fixed length, so that every loop but the histogram's runs in
 * vectors. A last block that is not full is filled up with zeros, which add nothing to the digest
 * and are taken off the counts again. */
#include "engine/execute/observe.h"

#include <limits.h>
#include <string.h>

#include "engine/codegen/prelude.h"

enum { BLOCK = 256, TABLES = 4 };

#define INFINITE 0x7f800000u
#define LEAST_NORMAL 0x00800000u
#define CANONICAL_NAN 0x7fc00000u

/* Sanitizers instrument the choice, which runs before they are set up. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTOR_CLONES
#endif

static inline uint32_t bits_of(float value)
{
    return (uint32_t)cse_bits(value);
}

/* ---- reading and rounding ---- */

VECTOR_CLONES
static void widen_block(float *restrict y, const uint16_t *restrict x, cse_dtype dtype)
{
    if (dtype == CSE_BFLOAT16)
        for (int i = 0; i < BLOCK; i++)
            y[i] = cse_load_bfloat16(x[i]);
    else if (dtype == CSE_FLOAT16)
        for (int i = 0; i < BLOCK; i++)
            y[i] = cse_load_float16(x[i]);
    else
        for (int i = 0; i < BLOCK; i++)
            y[i] = cse_load_cbfloat16(x[i]);
}

VECTOR_CLONES
static void round_block(float *restrict y, const float *restrict x, cse_dtype dtype)
{
    if (dtype == CSE_BFLOAT16)
        for (int i = 0; i < BLOCK; i++)
            y[i] = cse_round_bfloat16(x[i]);
    else if (dtype == CSE_FLOAT16)
        for (int i = 0; i < BLOCK; i++)
            y[i] = cse_round_float16(x[i]);
    else if (dtype == CSE_CBFLOAT16)
        for (int i = 0; i < BLOCK; i++)
            y[i] = cse_round_cbfloat16(x[i]);
    else
        memcpy(y, x, BLOCK * sizeof *y);
}

/* Elements [at, at + n) of the values, and zeros after them. */
static void read_block(const cse_observed_values *v, int64_t at, int n, float x[BLOCK])
{
    const bool narrow = v->stored != CSE_FLOAT32;
    const size_t size = narrow ? 2 : 4;
    const unsigned char *from = (const unsigned char *)v->values + (size_t)at * size;
    _Alignas(64) uint16_t halves[BLOCK];
    void *to = narrow ? (void *)halves : (void *)x;
    memcpy(to, from, (size_t)n * size);
    if (n < BLOCK)
        memset((unsigned char *)to + (size_t)n * size, 0, (size_t)(BLOCK - n) * size);
    if (narrow)
        widen_block(x, halves, v->stored);
}

/* ---- counting ---- */

/* Each element's bits, one to one spread over all places (0 stays 0), times an odd number that its
 * index gives: a change of one element always shows, any other nearly always. */
VECTOR_CLONES
static uint64_t digest_block(const float *restrict y, uint64_t first_index)
{
    const uint32_t low = (uint32_t)first_index;
    const uint32_t high = (uint32_t)(first_index >> 32) * 0x27d4eb2fu;
    uint64_t sum = 0;
    for (int i = 0; i < BLOCK; i++) {
        uint32_t h = ((low + (uint32_t)i) * 0x9e3779b1u) ^ high;
        h = (h ^ (h >> 15)) * 0x85ebca77u;
        h = (h ^ (h >> 13)) * 0xc2b2ae3du;
        const uint32_t a = (h ^ (h >> 16)) | 1u, b = h * 0x165667b1u;
        const uint32_t bits = bits_of(y[i]);
        const uint32_t canonical = (bits & 0x7fffffffu) > INFINITE ? CANONICAL_NAN : bits;
        const uint32_t spread = canonical * 0x9e3779b1u, value = spread ^ (spread >> 16);
        sum += (uint64_t)value * a + ((uint64_t)(value * b) << 32);
    }
    return sum;
}

typedef struct block_counts {
    uint32_t nan, infinite, saturated, flushed, zeros;
} block_counts;

VECTOR_CLONES
static block_counts count_block(const float *restrict x, const float *restrict y)
{
    uint32_t nan = 0, infinite = 0, saturated = 0, flushed = 0, zeros = 0;
    for (int i = 0; i < BLOCK; i++) {
        const uint32_t before = bits_of(x[i]) & 0x7fffffffu, after = bits_of(y[i]) & 0x7fffffffu;
        nan += after > INFINITE;
        infinite += after == INFINITE;
        saturated += (before < INFINITE) & (after == INFINITE);
        flushed += (before >= LEAST_NORMAL) & (after < LEAST_NORMAL);
        zeros += before < LEAST_NORMAL;
    }
    return (block_counts){ nan, infinite, saturated, flushed, zeros };
}

/* Several tables, since equal exponents often follow each other. */
static void count_exponents(uint32_t tables[TABLES][CSE_EXPONENT_BINS], const float *x, int n)
{
    int i = 0;
    for (; i + TABLES <= n; i += TABLES)
        for (int t = 0; t < TABLES; t++)
            tables[t][bits_of(x[i + t]) >> 23 & 0xff]++;
    for (; i < n; i++)
        tables[0][bits_of(x[i]) >> 23 & 0xff]++;
}

void cse_observe(cse_observed *record, const cse_observed_values *v)
{
    uint32_t tables[TABLES][CSE_EXPONENT_BINS] = { { 0 } };
    _Alignas(64) float x[BLOCK], y[BLOCK];
    for (int64_t at = 0; at < v->count; at += BLOCK) {
        const int n = v->count - at < BLOCK ? (int)(v->count - at) : BLOCK;
        read_block(v, at, n, x);
        round_block(y, x, v->rounded == v->stored ? CSE_FLOAT32 : v->rounded);
        const block_counts counts = count_block(x, y);
        record->nan += counts.nan;
        record->infinite += counts.infinite;
        record->saturated += counts.saturated;
        record->flushed += counts.flushed;
        record->zeros += counts.zeros - (uint32_t)(BLOCK - n);
        record->digest += digest_block(y, (uint64_t)(v->first_index + at));
        count_exponents(tables, x, n);
    }
    record->count += (uint64_t)v->count;
    for (int bin = 0; bin < CSE_EXPONENT_BINS; bin++)
        for (int t = 0; t < TABLES; t++)
            record->exponents[bin] += tables[t][bin];
}

VECTOR_CLONES
static uint32_t largest_magnitude(const float *restrict x)
{
    uint32_t largest = 0;
    for (int i = 0; i < BLOCK; i++) {
        const uint32_t magnitude = bits_of(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

bool cse_observe_finds_nonfinite(const float *values, int64_t count)
{
    int64_t at = 0;
    for (; at + BLOCK <= count; at += BLOCK)
        if (largest_magnitude(values + at) >= INFINITE)
            return true;
    for (; at < count; at++)
        if ((bits_of(values[at]) & 0x7fffffffu) >= INFINITE)
            return true;
    return false;
}

uint64_t cse_observe_digest(const float *values, int64_t count, int64_t first_index)
{
    _Alignas(64) float last[BLOCK] = { 0 };
    uint64_t digest = 0;
    int64_t at = 0;
    for (; at + BLOCK <= count; at += BLOCK)
        digest += digest_block(values + at, (uint64_t)(first_index + at));
    if (at == count)
        return digest;
    memcpy(last, values + at, (size_t)(count - at) * sizeof *last);
    return digest + digest_block(last, (uint64_t)(first_index + at));
}

uint64_t cse_observe_absorbed(const float *before, const float *kept, const float *delta,
                              int64_t count)
{
    uint64_t absorbed = 0;
    for (int64_t i = 0; i < count; i++)
        absorbed += (bits_of(before[i]) == bits_of(kept[i])) &
                    ((bits_of(delta[i]) & 0x7fffffffu) >= LEAST_NORMAL);
    return absorbed;
}

void cse_observed_add(cse_observed *to, const cse_observed *from, int count)
{
    for (int i = 0; i < count; i++) {
        cse_observed *a = &to[i];
        const cse_observed *b = &from[i];
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

int32_t cse_observed_max_exponent(const cse_observed *record)
{
    for (int bin = CSE_EXPONENT_BINS - 2; bin > 0; bin--)
        if (record->exponents[bin] > 0)
            return bin - CSE_EXPONENT_BIAS;
    return INT32_MIN;
}

/* ---- the observer of a program ---- */

static void note_microbatch(cse_observed *record, int64_t microbatch)
{
    if (record->first_microbatch == 0 || microbatch + 1 < record->first_microbatch)
        record->first_microbatch = microbatch + 1;
}

/* What does not depend on the microbatch is counted with the first one alone. A microbatch's
 * gradient is only searched for what is not finite: its numbers are counted in the sum. */
static void take(cse_observer *self, const cse_frame *frame, int observation, const void *values)
{
    const cse_observation *o = &self->graph->observations[observation];
    cse_observed *record = &self->records[observation];
    const bool in_batch = o->node->batch;
    const int64_t microbatch = in_batch ? frame->first_sample / self->graph->micro_batch_size : 0;
    const int64_t count = cse_shape_elements(o->node->shape);
    if (!in_batch && o->node->part == CSE_PART_REPLICA && frame->first_sample != 0)
        return;
    if (o->kind == CSE_OBSERVED_GRADIENT) {
        if (cse_observe_finds_nonfinite(values, count))
            note_microbatch(record, microbatch);
        return;
    }
    const uint64_t bad = record->nan + record->infinite;
    cse_observe(record, &(cse_observed_values){ .values = values,
                                                .stored = o->scratch_offset >= 0 ? CSE_FLOAT32
                                                                                 : o->node->dtype,
                                                .rounded = o->node->dtype,
                                                .count = count,
                                                .first_index = microbatch * count });
    if (in_batch && record->nan + record->infinite > bad)
        note_microbatch(record, microbatch);
}

void cse_observer_init(cse_observer *observer, const cse_graph *graph, cse_observed *records,
                       unsigned char *scratch)
{
    *observer =
        (cse_observer){ .take = take, .scratch = scratch, .graph = graph, .records = records };
}
