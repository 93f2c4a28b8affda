/* States that replays of a run leave, so that a later one begins with the nearest of them: the
 * checkpoints of the last steps of the last used replays, in a folder of their own.
 *
 * None is believed: one whose seal is not whole, or has not the chain that the run's store has
 * after its step, is removed; and a training that begins with it compares the digest of its states
 * with the store's first (checkpoint.begins_with). */
#ifndef CSE_RUN_TRAVEL_KEPT_STATES_H
#define CSE_RUN_TRAVEL_KEPT_STATES_H

#include "engine/base/text.h"
#include "run/travel/run_chain.h"

enum { CSE_KEPT_STATES = 4 };                    /* usually, and */
#define CSE_KEPT_STATES_BYTES (INT64_C(1) << 30) /* no more than these together */

typedef struct cse_kept_states {
    const char *folder; /* made when it is needed */
    int most;           /* that stay, the last used; 0: none is used or left */
    int64_t most_bytes; /* of all that stay; 0: any */
} cse_kept_states;

/* The step of the newest after more than `after` and fewer than `before` steps; -1: there is none.
 * What is refused and removed is told in *words, which it begins with "; ". */
int64_t cse_kept_states_find(const cse_kept_states *kept, const cse_run_chain *run, int64_t after,
                             int64_t before, cse_text *words);
/* It counts as used now. */
void cse_kept_states_touch(const cse_kept_states *kept, int64_t step);
void cse_kept_states_remove(const cse_kept_states *kept, int64_t step);
/* Adds a checkpoint of that step; the least lately used of more than `most` go. Where it cannot be
 * written there is one less. */
void cse_kept_states_add(const cse_kept_states *kept, const char *checkpoint, int64_t step);

#endif
