/* Statistics of tensors; see tensor_statistics.h. An incomplete last block is padded with zeros,
 * which are subtracted from the counts. */
#include "engine/code/execute/tensor_statistics.h"

#include <math.h>

#include <string.h>

#include "engine/base/types/dtype.h"
#include "engine/base/types/narrow.h"
#include "engine/base/vector_clones.h"

enum { BLOCK = CSE_DIGEST_BLOCK };

/* ---- reading ---- */

CSE_VECTOR_INLINE void widen(uint32_t *restrict y, const uint16_t *restrict x, cse_dtype dtype)
{
    for (int i = 0; i < BLOCK; i++)
        y[i] = cse_float_bits(dtype == CSE_BFLOAT16  ? cse_load_bfloat16(x[i])
                              : dtype == CSE_FLOAT16 ? cse_load_float16(x[i])
                                                     : cse_load_cbfloat16(x[i]));
}

CSE_VECTOR_CLONES(void, widen_block,
                  (uint32_t *restrict y, const uint16_t *restrict x, cse_dtype dtype),
                  (y, x, dtype))
{
    if (dtype == CSE_BFLOAT16)
        widen(y, x, CSE_BFLOAT16);
    else if (dtype == CSE_FLOAT16)
        widen(y, x, CSE_FLOAT16);
    else
        widen(y, x, CSE_CBFLOAT16);
}

/* The float32 bits of elements [at, at + n), padded with zeros: in place, or copied to `room`. */
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

void cse_tensor_statistics_count(cse_tensor_statistics *record, const cse_tensor_values *v)
{
    cse_exponent_histogram histogram;
    _Alignas(64) uint32_t room[BLOCK];
    int64_t filled = 0;
    cse_exponent_histogram_start(&histogram);
    for (int64_t at = 0; at < v->count; at += BLOCK) {
        const int n = v->count - at < BLOCK ? (int)(v->count - at) : BLOCK;
        const uint32_t *x = read_block(v, at, n, room);
        const cse_block_counts counts = cse_count_block(x, v->rounded);
        filled += BLOCK - n;
        record->nan += counts.nan;
        record->infinite += counts.infinite;
        record->saturated += counts.saturated;
        record->flushed += counts.flushed;
        record->zeros += counts.zeros;
        record->digest += cse_block_digest(counts, (uint64_t)(v->first_index + at) / BLOCK,
                                           (uint64_t)v->microbatch);
        cse_exponent_histogram_count(&histogram, x, counts);
    }
    record->count += (uint64_t)v->count;
    record->zeros -= (uint64_t)filled;
    record->exponents[0] -= (uint64_t)filled;
    cse_exponent_histogram_add_to(&histogram, record->exponents);
}

CSE_VECTOR_CLONES(uint32_t, largest_magnitude, (const float *restrict x), (x))
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
        if (largest_magnitude(values + at) >= CSE_BITS_INFINITE)
            return true;
    for (; at < count; at++)
        if ((cse_float_bits(values[at]) & 0x7fffffffu) >= CSE_BITS_INFINITE)
            return true;
    return false;
}

uint64_t cse_tensor_digest(const float *values, int64_t count, int64_t first_index)
{
    const cse_tensor_values v = { .values = values, .count = count };
    _Alignas(64) uint32_t room[BLOCK];
    uint64_t digest = 0;
    for (int64_t at = 0; at < count; at += BLOCK) {
        const int n = count - at < BLOCK ? (int)(count - at) : BLOCK;
        const cse_block_counts counts = cse_count_block(read_block(&v, at, n, room), CSE_FLOAT32);
        digest += cse_block_digest(counts, (uint64_t)(first_index + at) / BLOCK, 0);
    }
    return digest;
}

uint64_t cse_count_absorbed(const float *before, const float *kept, const float *delta,
                            int64_t count)
{
    uint64_t absorbed = 0;
    for (int64_t i = 0; i < count; i++)
        absorbed += (cse_float_bits(before[i]) == cse_float_bits(kept[i])) &
                    ((cse_float_bits(delta[i]) & 0x7fffffffu) >= CSE_BITS_LEAST_NORMAL);
    return absorbed;
}

void cse_count_update(cse_tensor_statistics *record, const float *before, const float *after,
                      int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        cse_square_sum_add(&record->weight, before[i]);
        cse_square_sum_add(&record->update, after[i] - before[i]);
    }
}

double cse_update_ratio(const cse_tensor_statistics *record)
{
    const double weight = cse_square_sum_root(&record->weight);
    return weight > 0 ? cse_square_sum_root(&record->update) / weight : NAN;
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
        cse_square_sum_join(&a->weight, &b->weight);
        cse_square_sum_join(&a->update, &b->update);
    }
}

int32_t cse_tensor_statistics_max_exponent(const cse_tensor_statistics *record)
{
    for (int bin = CSE_EXPONENT_BINS - 2; bin > 0; bin--)
        if (record->exponents[bin] > 0)
            return bin - CSE_EXPONENT_BIAS;
    return INT32_MIN;
}
