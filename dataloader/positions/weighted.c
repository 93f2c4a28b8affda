/* The table of columns, and one call of a counter-based random function for each draw. */
#include "dataloader/positions/weighted.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/random.h"

/* Separates these random numbers from others with the same seed. */
enum { WEIGHTED_STREAM = 0x77656967 };

/* Columns that have less than their share are filled up by those that have more. `small` and
 * `large` are the two stacks, from both ends of one list. */
static void fill_columns(cse_weighted *w, double *shares, int64_t *list)
{
    int64_t small = 0, large = w->count;
    for (int64_t i = 0; i < w->count; i++)
        list[shares[i] < 1 ? small++ : --large] = i;
    while (small > 0 && large < w->count) {
        const int64_t low = list[--small], high = list[large++];
        w->kept[low] = shares[low];
        w->other[low] = high;
        shares[high] -= 1 - shares[low];
        list[shares[high] < 1 ? small++ : --large] = high;
    }
    /* What is left has its share to the last bit of rounding. */
    while (small > 0)
        w->kept[list[--small]] = 1;
    for (; large < w->count; large++)
        w->kept[list[large]] = 1;
}

/* An item of weight 0 must not be drawn, whatever rounding leaves of its column. */
static void give_away_zeros(cse_weighted *w, const double *weights)
{
    int64_t likely = 0;
    for (int64_t i = 1; i < w->count; i++)
        likely = weights[i] > weights[likely] ? i : likely;
    for (int64_t i = 0; i < w->count; i++) {
        if (weights[i] > 0)
            continue;
        w->other[i] = w->kept[i] < 1 ? w->other[i] : likely;
        w->kept[i] = 0;
    }
}

cse_weighted *cse_weighted_new(const double *weights, int64_t count)
{
    double sum = 0;
    cse_weighted *w = cse_calloc(1, sizeof *w);
    w->count = count;
    w->kept = cse_calloc((size_t)count, sizeof *w->kept);
    w->other = cse_calloc((size_t)count, sizeof *w->other);
    double *shares = cse_calloc((size_t)count, sizeof *shares);
    int64_t *list = cse_calloc((size_t)count, sizeof *list);
    for (int64_t i = 0; i < count; i++)
        sum += weights[i];
    for (int64_t i = 0; i < count; i++) {
        shares[i] = weights[i] / sum * (double)count;
        w->other[i] = i;
    }
    fill_columns(w, shares, list);
    give_away_zeros(w, weights);
    free(shares);
    free(list);
    return w;
}

void cse_weighted_destroy(cse_weighted **weighted)
{
    if (*weighted == NULL)
        return;
    free((*weighted)->kept);
    free((*weighted)->other);
    free(*weighted);
    *weighted = NULL;
}

int64_t cse_weighted_draw(const cse_weighted *w, uint64_t seed, int64_t place)
{
    uint32_t words[4];
    const uint32_t counter[4] = { (uint32_t)place, (uint32_t)((uint64_t)place >> 32),
                                  WEIGHTED_STREAM, 0 };
    cse_philox(seed, counter, words);
    const uint64_t column = (uint64_t)words[1] << 32 | words[0];
    const int64_t at = (int64_t)((unsigned __int128)column * (uint64_t)w->count >> 64);
    const double chance = (double)(((uint64_t)words[3] << 32 | words[2]) >> 11) * 0x1p-53;
    return chance < w->kept[at] ? at : w->other[at];
}
