/* What the arena holds of audits (audit.h). */
#ifndef CSE_WORKERS_ARENA_AUDIT_PLACES_H
#define CSE_WORKERS_ARENA_AUDIT_PLACES_H

#include <stdatomic.h>

#include "workers/arena/audit_verdict.h"

/* A microbatch is audited when its draw of so many bits is below head->audit_limit. */
enum { CSE_AUDIT_DRAW_BITS = 53, CSE_AUDIT_FINDINGS = 64 };

/* The tries of one microbatch in the step `sequence` - 1. */
typedef struct cse_audit_place {
    _Alignas(64) _Atomic int64_t sequence;
    _Atomic int32_t count;
    cse_audit_try tries[CSE_MOST_AUDIT_TRIES];
} cse_audit_place;

/* A process whose gradient of a microbatch differed from that of others. */
typedef struct cse_audit_finding {
    _Atomic int64_t sequence; /* step + 1, stored last; 0: read, or never written */
    int64_t confirmed; /* steps after the last one in which its bits were confirmed; 0: none */
    int32_t microbatch;
    int32_t undecided;  /* boolean: whether it, or the other, is wrong cannot be told */
    cse_audit_try made; /* its own */
    cse_audit_try other;
} cse_audit_finding;

typedef struct cse_arena_audit {
    _Atomic int64_t audited; /* microbatches whose bits were confirmed */
    _Atomic int64_t unequal; /* tries that differed from the bits that were confirmed */
    _Alignas(64) _Atomic uint32_t found;
    cse_audit_finding findings[CSE_AUDIT_FINDINGS];
} cse_arena_audit;

/* The limit for a share of all microbatches, 0 to 1. */
static inline uint64_t cse_audit_limit(double fraction)
{
    return (uint64_t)(fraction * (double)(UINT64_C(1) << CSE_AUDIT_DRAW_BITS));
}

#endif
