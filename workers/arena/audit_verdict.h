/* Who is right, when replicas have computed other bits of one microbatch: a pure function of their
 * tries.
 *
 * A voter is a slot, which stands for a processor: a process that takes the place of one that died
 * has no vote of its own. Bits are right that two voters have, and more than have any others. Each
 * voter may try twice: where no bits have two voters, those are right that all who gave the same
 * bits both times agree on, since a fault that comes and goes seldom gives the same wrong bits
 * again. A replica that is alone tries up to three times, and the majority is right. What that
 * leaves open is told as open: nothing is guessed. */
#ifndef CSE_WORKERS_ARENA_AUDIT_VERDICT_H
#define CSE_WORKERS_ARENA_AUDIT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "workers/arena/cluster.h"

enum { CSE_MOST_AUDIT_TRIES = 12 };

/* One computation of a microbatch's gradient. */
typedef struct cse_audit_try {
    uint64_t digest;
    int32_t slot, incarnation;
    int32_t process,
        core; /* the number of the process; the processor it ran on at the end, or -1 */
} cse_audit_try;

/* Who can be asked. */
typedef struct cse_audit_voters {
    int count;    /* slots that have a process */
    bool missing; /* another process will come */
    int slots[CSE_MAX_SLOTS];
} cse_audit_voters;

typedef enum cse_audit_state {
    CSE_AUDIT_OPEN,      /* another try is wanted */
    CSE_AUDIT_DECIDED,   /* `right` has the bits */
    CSE_AUDIT_UNDECIDED, /* further tries by these processes would not tell */
} cse_audit_state;

typedef struct cse_audit_verdict {
    cse_audit_state state;
    uint64_t right;
} cse_audit_verdict;

cse_audit_verdict cse_audit_decide(const cse_audit_try *tries, int count,
                                   const cse_audit_voters *voters);
/* Whether the slot's process may add the next try of an open microbatch. */
bool cse_audit_may_try(const cse_audit_try *tries, int count, const cse_audit_voters *voters,
                       int slot);

#endif
