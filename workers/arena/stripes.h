/* Stripes: the elements of a gradient in runs, dealt out to several owners in turn.
 *
 * Gradients are completed in the order of their elements (final_elements.h), so that each owner has
 * something to join and to send from the beginning of the backward pass to its end. Stripes begin
 * at whole blocks of a join, so that no block is joined twice. */
#ifndef CSE_WORKERS_ARENA_STRIPES_H
#define CSE_WORKERS_ARENA_STRIPES_H

#include <stdint.h>

#include "workers/arena/reduce.h"

/* Elements [first, end). */
typedef struct cse_element_range {
    int64_t first, end;
} cse_element_range;

/* Those of one owner: number `place` of each round, or `items`. */
typedef struct cse_stripes {
    int64_t elements; /* of the gradient */
    int place, of;    /* of so many owners; 0: no elements */
    int rounds;
    const cse_element_range *items; /* the stripes themselves, one a round; NULL: as dealt out */
} cse_stripes;

/* All elements, in one stripe. */
static inline cse_stripes cse_stripes_whole(int64_t elements)
{
    return (cse_stripes){ .elements = elements, .of = 1, .rounds = 1 };
}

/* Equal parts, as far as blocks allow; some are empty where there are fewer blocks than owners. */
static inline cse_stripes cse_stripes_dealt(int64_t elements, int place, int of)
{
    enum { MOST_ELEMENTS = 64 * 1024, LEAST_ROUNDS = 16 };
    const int64_t blocks = (elements + CSE_JOIN_BLOCK - 1) / CSE_JOIN_BLOCK;
    int64_t rounds = (elements - 1) / ((int64_t)of * MOST_ELEMENTS) + 1;
    rounds = rounds > LEAST_ROUNDS ? rounds : LEAST_ROUNDS;
    rounds = rounds < blocks / of ? rounds : blocks / of;
    return (cse_stripes){ elements, place, of, rounds > 0 ? (int)rounds : 1, NULL };
}

/* Elements [range[0], range[1]) of the owner's stripe in a round. */
static inline void cse_stripe_of(const cse_stripes *stripes, int round, int64_t range[2])
{
    const int64_t blocks = (stripes->elements + CSE_JOIN_BLOCK - 1) / CSE_JOIN_BLOCK;
    range[0] = range[1] = 0;
    if (stripes->items != NULL) {
        range[0] = stripes->items[round].first;
        range[1] = stripes->items[round].end;
    }
    for (int i = 0; i < 2 && stripes->of > 0; i++) {
        const int64_t number = (int64_t)round * stripes->of + stripes->place + i;
        const int64_t at =
            blocks * number / ((int64_t)stripes->rounds * stripes->of) * CSE_JOIN_BLOCK;
        range[i] = at < stripes->elements ? at : stripes->elements;
    }
}

#endif
