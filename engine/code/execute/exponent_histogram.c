/* Histograms of exponents; see exponent_histogram.h. */
#include "engine/code/execute/exponent_histogram.h"

#include <string.h>

#include "engine/base/vector_clones.h"

/* Exponents of a block that lie in a range of this width are counted in vectors. */
enum { NEAR = 24 };

/* The exponents of a block, and the range of those of its finite normal numbers. */
CSE_VECTOR_CLONES(cse_exponent_range, find_exponents,
                  (uint8_t *restrict exponents, const uint32_t *restrict x), (exponents, x))
{
    uint8_t below = UINT8_MAX, above = 0; /* of exponent - 1, of exponent + 1: 0 and 255 wrap */
    for (int i = 0; i < CSE_DIGEST_BLOCK; i++)
        exponents[i] = (uint8_t)(x[i] >> 23);
    for (int i = 0; i < CSE_DIGEST_BLOCK; i++) {
        const uint8_t less = (uint8_t)(exponents[i] - 1), more = (uint8_t)(exponents[i] + 1);
        below = less < below ? less : below;
        above = more > above ? more : above;
    }
    return (cse_exponent_range){ (uint8_t)(below + 1), (uint8_t)(above - 1) };
}

/* Sums the parts of `near` into the first table. */
static void add_up(cse_exponent_histogram *h)
{
    for (int exponent = h->range.least; exponent <= h->range.greatest; exponent++) {
        uint32_t sum = 0;
        for (int j = 0; j < CSE_HISTOGRAM_LANES; j++)
            sum += h->near[exponent][j];
        h->tables[0][exponent] += sum;
        h->near[exponent] = (cse_byte_lanes){ 0 };
    }
    h->range = (cse_exponent_range){ UINT8_MAX, 0 };
    h->blocks = 0;
}

CSE_VECTOR_CLONES(void, count_near,
                  (cse_byte_lanes *restrict near, const cse_byte_lanes *restrict exponents,
                   cse_exponent_range range),
                  (near, exponents, range))
{
    for (int exponent = range.least; exponent <= range.greatest; exponent++) {
        const cse_byte_lanes wanted = (uint8_t)exponent - (cse_byte_lanes){ 0 };
        cse_byte_lanes n = near[exponent];
        for (int i = 0; i < CSE_DIGEST_BLOCK / CSE_HISTOGRAM_LANES; i++)
            n -= (cse_byte_lanes)(exponents[i] == wanted); /* true is -1 */
        near[exponent] = n;
    }
}

void cse_exponent_histogram_count(cse_exponent_histogram *h, const uint32_t x[CSE_DIGEST_BLOCK],
                                  cse_block_counts counts)
{
    cse_byte_lanes lanes[CSE_DIGEST_BLOCK / CSE_HISTOGRAM_LANES];
    const uint8_t *exponents = (const uint8_t *)lanes;
    const cse_exponent_range range = find_exponents((uint8_t *)lanes, x);
    if (range.greatest - range.least >= NEAR) {
        for (int i = 0; i < CSE_DIGEST_BLOCK; i += CSE_HISTOGRAM_TABLES)
            for (int t = 0; t < CSE_HISTOGRAM_TABLES; t++)
                h->tables[t][exponents[i + t]]++;
        return;
    }
    h->tables[0][0] += counts.zeros;
    h->tables[0][CSE_EXPONENT_BINS - 1] += counts.nan + counts.infinite - counts.saturated;
    if (range.greatest < range.least)
        return;
    if (h->blocks == UINT8_MAX / (CSE_DIGEST_BLOCK / CSE_HISTOGRAM_LANES))
        add_up(h);
    count_near(h->near, lanes, range);
    h->range.least = range.least < h->range.least ? range.least : h->range.least;
    h->range.greatest = range.greatest > h->range.greatest ? range.greatest : h->range.greatest;
    h->blocks++;
}

void cse_exponent_histogram_start(cse_exponent_histogram *h)
{
    memset(h, 0, sizeof *h);
    h->range = (cse_exponent_range){ UINT8_MAX, 0 };
}

void cse_exponent_histogram_add_to(cse_exponent_histogram *h, uint64_t bins[CSE_EXPONENT_BINS])
{
    add_up(h);
    for (int bin = 0; bin < CSE_EXPONENT_BINS; bin++)
        for (int t = 0; t < CSE_HISTOGRAM_TABLES; t++)
            bins[bin] += h->tables[t][bin];
}
