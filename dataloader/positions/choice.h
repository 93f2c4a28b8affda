/* Chooses some of a number of items that are gone through one by one, all subsets of that size as
 * likely as each other (selection sampling, Knuth 3.4.2 S): a permutation that is fast, as that of
 * epochs, is not as even over a handful of items. */
#ifndef CSE_DATALOADER_POSITIONS_CHOICE_H
#define CSE_DATALOADER_POSITIONS_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

/* Start from {.seed, .counter, .left, .wanted}. Chance is a function of the seed and the last three
 * words of the counter; the first one counts calls of the generator. */
typedef struct cse_choice {
    uint64_t seed;
    uint32_t counter[4];
    int64_t left, wanted; /* items that are still to come, below 2^31; those to be chosen of them */
    uint32_t words[4];
    int unused; /* of the words */
} cse_choice;

/* Whether the next item is chosen. */
bool cse_choice_next(cse_choice *choice);

#endif
