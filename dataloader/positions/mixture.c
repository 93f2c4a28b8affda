/* Places are shared out by the largest remainders. */
#include "dataloader/positions/mixture.h"

#include <stdbool.h>
#include <string.h>

#include "dataloader/positions/choice.h"
#include "dataloader/positions/shuffle.h"

/* Separates the numbers that choose sources from those that order their samples. */
enum { SOURCE_KEYS = 0x6d697874 };

void cse_mixture_make(cse_mixture *mixture, const double *weights)
{
    double total = 0, remainder[CSE_MIXTURE_SOURCES];
    int64_t *const places = mixture->places, left = CSE_MIXTURE_BLOCK;
    for (int s = 0; s < mixture->count; s++)
        total += weights[s];
    for (int s = 0; s < mixture->count; s++) {
        const double share =
            weights[s] / total * (double)(CSE_MIXTURE_BLOCK - mixture->count); /* one is sure */
        places[s] = 1 + (int64_t)share;
        remainder[s] = share - (double)(int64_t)share;
        left -= places[s];
    }
    for (; left > 0; left--) {
        int most = 0;
        for (int s = 1; s < mixture->count; s++)
            if (remainder[s] > remainder[most])
                most = s;
        places[most]++;
        remainder[most] = -1;
    }
}

/* Of the places `whole` of each source in a node of the halving of a block, those in its first
 * half: half, and one more for half of the sources that have an odd number. Node 1 is the block, 2n
 * and 2n + 1 are the halves of n. */
static void halve(const cse_mixture *mixture, int64_t block, uint32_t node, const int64_t *whole,
                  int64_t *first)
{
    int64_t odd = 0;
    for (int s = 0; s < mixture->count; s++)
        odd += whole[s] % 2;
    cse_choice choice = { .seed = mixture->seed ^ SOURCE_KEYS,
                          .counter = { 0, (uint32_t)block, (uint32_t)((uint64_t)block >> 32),
                                       node },
                          .left = odd,
                          .wanted = odd / 2 };
    for (int s = 0; s < mixture->count; s++)
        first[s] = whole[s] / 2 + (whole[s] % 2 != 0 && cse_choice_next(&choice));
}

/* The source at a place of a block, and how many of the block's places before are its own. */
static int source_at(const cse_mixture *mixture, int64_t block, int64_t place, int64_t *before)
{
    uint32_t node = 1;
    int64_t whole[CSE_MIXTURE_SOURCES], first[CSE_MIXTURE_SOURCES];
    int64_t drawn[CSE_MIXTURE_SOURCES] = { 0 };
    *before = place;
    if (mixture->count == 1)
        return 0;
    memcpy(whole, mixture->places, (size_t)mixture->count * sizeof *whole);
    for (int64_t half = CSE_MIXTURE_BLOCK / 2; half > 0; half /= 2) {
        const bool is_second = (place & half) != 0;
        halve(mixture, block, node, whole, first);
        for (int s = 0; s < mixture->count; s++) {
            drawn[s] += is_second ? first[s] : 0;
            whole[s] = is_second ? whole[s] - first[s] : first[s];
        }
        node = 2 * node + is_second;
    }
    int source = 0;
    while (whole[source] == 0)
        source++;
    *before = drawn[source];
    return source;
}

cse_mixture_place cse_mixture_at(const cse_mixture *mixture, int64_t place)
{
    const int64_t block = place / CSE_MIXTURE_BLOCK;
    int64_t before;
    const int source = source_at(mixture, block, place % CSE_MIXTURE_BLOCK, &before);
    const int64_t drawn = block * mixture->places[source] + before;
    const int64_t pass = drawn / mixture->samples[source];
    const uint64_t order = cse_shuffle_key(mixture->seed, pass * CSE_MIXTURE_SOURCES + source);
    return (cse_mixture_place){
        .source = source,
        .sample =
            cse_shuffle_sample(order, mixture->samples[source], drawn % mixture->samples[source]),
        .pass = pass,
    };
}
