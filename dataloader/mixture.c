/* Places are shared out by the largest remainders. */
#include "dataloader/mixture.h"

#include "dataloader/shuffle.h"
#include "engine/base/random.h"

/* Separates the keys of sources from those of blocks. */
enum { SOURCE_KEYS = 0x6d697874 };

void cse_mixture_make(cse_mixture *mixture, const double *weights)
{
    double total = 0, remainder[CSE_MIXTURE_SOURCES];
    int64_t places[CSE_MIXTURE_SOURCES], left = CSE_MIXTURE_BLOCK;
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
    mixture->first[0] = 0;
    for (int s = 0; s < mixture->count; s++)
        mixture->first[s + 1] = mixture->first[s] + places[s];
}

cse_mixture_place cse_mixture_at(const cse_mixture *mixture, int64_t index)
{
    const int64_t block = index / CSE_MIXTURE_BLOCK;
    const uint64_t key = cse_shuffle_key(mixture->seed ^ SOURCE_KEYS, block);
    const int64_t place =
        (int64_t)cse_permute(key, CSE_MIXTURE_BLOCK, (uint64_t)(index % CSE_MIXTURE_BLOCK));
    int source = 0;
    while (place >= mixture->first[source + 1])
        source++;
    const int64_t quota = mixture->first[source + 1] - mixture->first[source];
    const int64_t drawn = block * quota + place - mixture->first[source];
    const int64_t pass = drawn / mixture->samples[source];
    const uint64_t order = cse_shuffle_key(mixture->seed, pass * CSE_MIXTURE_SOURCES + source);
    return (cse_mixture_place){
        .source = source,
        .sample = (int64_t)cse_permute(order, (uint64_t)mixture->samples[source],
                                       (uint64_t)(drawn % mixture->samples[source])),
    };
}
