/* Counting in blocks; see block_counts.h. */
#include "engine/code/execute/block_counts.h"

#include <stdatomic.h>

#include "engine/base/vector_clones.h"

#define CANONICAL_NAN 0x7fc00000u

/* ---- rounding ---- */

/* A format, described by float32 bit patterns. */
typedef struct format {
    uint32_t dropped;       /* bits of the mantissa that are rounded away */
    uint32_t least_normal;  /* the least normal number */
    uint32_t rounding_term; /* adding it rounds to a multiple of the least subnormal, its ulp */
    uint32_t kept;          /* the first magnitude that does not round to zero */
    uint32_t overflow;      /* the first that rounds to infinity */
} format;

#define FLOAT32 ((format){ 0, 0, 0, CSE_BITS_LEAST_NORMAL, CSE_BITS_INFINITE })
#define FLOAT16 ((format){ 13, 113u << 23, 126u << 23, (102u << 23) + 1, 0x477ff000u })
#define CBFLOAT16 ((format){ 14, 97u << 23, 111u << 23, (87u << 23) + 1, 0x4f7fe000u })
#define BFLOAT16 ((format){ 16, 0, 0, CSE_BITS_LEAST_NORMAL, 0x7f7f8000u })

/* Branch-free, so that the loops vectorise. */
CSE_VECTOR_INLINE uint32_t choose(uint32_t condition, uint32_t yes, uint32_t no)
{
    const uint32_t mask = 0u - condition;
    return (yes & mask) | (no & ~mask);
}

/* The magnitude's bits, rounded to nearest, ties to even. */
CSE_VECTOR_INLINE uint32_t round_magnitude(uint32_t magnitude, format f)
{
    const uint32_t half = (1u << (f.dropped - 1)) - 1, odd = magnitude >> f.dropped & 1;
    const uint32_t normal = (magnitude + half + odd) & ~((1u << f.dropped) - 1);
    /* The ulp of the sum is the least subnormal, so the addition itself rounds. */
    const float rounding_term = cse_float_from_bits(f.rounding_term);
    const uint32_t small =
        cse_float_bits((cse_float_from_bits(magnitude) + rounding_term) - rounding_term);
    const uint32_t finite = choose(magnitude < f.least_normal, small, normal);
    return choose(magnitude >= f.overflow, CSE_BITS_INFINITE, finite);
}

/* ---- factors of the digest ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Two odd factors for each position in a block. */
typedef struct place_numbers {
    _Alignas(64) uint32_t low[CSE_DIGEST_BLOCK], high[CSE_DIGEST_BLOCK];
} place_numbers;

/* Filled at the first call; concurrent threads write the same values. */
static const place_numbers *places(void)
{
    static place_numbers numbers;
    static _Atomic bool filled;
    if (atomic_load_explicit(&filled, memory_order_acquire))
        return &numbers;
    for (int i = 0; i < CSE_DIGEST_BLOCK; i++) {
        const uint64_t number = mix((uint64_t)i + 0x9e3779b97f4a7c15u);
        numbers.low[i] = (uint32_t)number | 1;
        numbers.high[i] = (uint32_t)(number >> 32) | 1;
    }
    atomic_store_explicit(&filled, true, memory_order_release);
    return &numbers;
}

/* ---- counting ---- */

CSE_VECTOR_INLINE uint32_t round_bits(uint32_t x, format f)
{
    const uint32_t before = x & 0x7fffffffu, sign = x & 0x80000000u;
    return (f.dropped > 0 ? round_magnitude(before, f) : before) | sign;
}

/* The lower half of a rounded value is often zero, and the lower half of a product depends only on
 * the lower halves of its factors; so the halves are swapped before multiplying. */
CSE_VECTOR_INLINE uint32_t swap_halves(uint32_t y)
{
    return y << 16 | y >> 16;
}

/* Counts a block in which a value is not finite or becomes infinite. All NaNs count as one value.
 */
CSE_VECTOR_INLINE cse_block_counts count_with_nonfinite(const uint32_t *restrict x,
                                                        const place_numbers *restrict p, format f)
{
    uint32_t nan = 0, over = 0, nonfinite = 0, low = 0, high = 0;
    for (int i = 0; i < CSE_DIGEST_BLOCK; i++) {
        const uint32_t before = x[i] & 0x7fffffffu;
        const uint32_t y =
            swap_halves(choose(before > CSE_BITS_INFINITE, CANONICAL_NAN, round_bits(x[i], f)));
        nan += before > CSE_BITS_INFINITE;
        over += before >= f.overflow;
        nonfinite += before >= CSE_BITS_INFINITE;
        low += y * p->low[i];
        high += y * p->high[i];
    }
    return (cse_block_counts){
        .nan = nan, .infinite = over - nan, .saturated = over - nonfinite, .low = low, .high = high
    };
}

/* Derives all counts from the magnitudes before rounding. */
CSE_VECTOR_INLINE cse_block_counts count_rounded(const uint32_t *restrict x,
                                                 const place_numbers *restrict p, format f)
{
    uint32_t largest = 0, under = 0, zeros = 0, low = 0, high = 0;
    for (int i = 0; i < CSE_DIGEST_BLOCK; i++) {
        const uint32_t before = x[i] & 0x7fffffffu, y = swap_halves(round_bits(x[i], f));
        largest = before > largest ? before : largest;
        under += before < f.kept;
        zeros += before < CSE_BITS_LEAST_NORMAL;
        low += y * p->low[i];
        high += y * p->high[i];
    }
    cse_block_counts counts = { .low = low, .high = high };
    if (largest >= f.overflow)
        counts = count_with_nonfinite(x, p, f);
    counts.flushed = under - zeros;
    counts.zeros = zeros;
    return counts;
}

CSE_VECTOR_CLONES(cse_block_counts, count_float32,
                  (const uint32_t *restrict x, const place_numbers *restrict p), (x, p))
{
    return count_rounded(x, p, FLOAT32);
}

CSE_VECTOR_CLONES(cse_block_counts, count_bfloat16,
                  (const uint32_t *restrict x, const place_numbers *restrict p), (x, p))
{
    return count_rounded(x, p, BFLOAT16);
}

CSE_VECTOR_CLONES(cse_block_counts, count_float16,
                  (const uint32_t *restrict x, const place_numbers *restrict p), (x, p))
{
    return count_rounded(x, p, FLOAT16);
}

CSE_VECTOR_CLONES(cse_block_counts, count_cbfloat16,
                  (const uint32_t *restrict x, const place_numbers *restrict p), (x, p))
{
    return count_rounded(x, p, CBFLOAT16);
}

cse_block_counts cse_count_block(const uint32_t x[CSE_DIGEST_BLOCK], cse_dtype rounded)
{
    const place_numbers *p = places();
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

/* Each element was multiplied by an odd factor of its position, so that a change of one element
 * always changes the sums; they are mixed with the block's place in the tensor and the microbatch.
 */
uint64_t cse_block_digest(cse_block_counts counts, uint64_t block, uint64_t microbatch)
{
    const uint64_t place = mix(block * 2 + 1) ^ mix(microbatch * 2 + 2);
    return mix(((uint64_t)counts.high << 32 | counts.low) + place);
}
