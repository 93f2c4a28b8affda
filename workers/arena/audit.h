/* Audits: microbatches whose gradients are computed by more than one replica, so that a processor
 * that computes wrongly without any sign is found before its gradient is in the weights.
 *
 * Which microbatches these are is a pure function of seed, step and microbatch. A gradient is kept
 * as its digest, with who computed it: a try. A node of the reduction tree that has such
 * microbatches is UNCHECKED when it is computed, and no stage or host takes it for done. Replicas
 * without other work claim it (CHECKING) and add one try each, until two processes agree; then the
 * node is DONE, or, where the sum was made from other bits than theirs, is computed again.
 *
 *     CLAIMED -> UNCHECKED -> CHECKING -> UNCHECKED      another try is wanted
 *        ^                        |-----> DONE           its sums are right
 *        '--- DONE of step - 1 <--'                      a gradient in its sum was wrong
 *
 * All tries of a microbatch are written under the claim of its node, so a killed process leaves
 * them as they were, or with one more. Who was wrong is told to the coordinator as a finding; until
 * it is killed, a process that was found wrong claims nothing more. */
#ifndef CSE_WORKERS_ARENA_AUDIT_H
#define CSE_WORKERS_ARENA_AUDIT_H

#include "workers/arena/audit_places.h"
#include "workers/arena/layout.h"

/* Whether microbatch `microbatch` of a step is computed by more than one process. */
bool cse_audit_takes(const cse_arena_head *head, int64_t step, int microbatch);
/* The first one of the node from `from` on; -1: none. */
int cse_audit_next(const cse_arena_head *head, int64_t step, cse_tree_node node, int from);

/* Under the claim of its node: forgets the tries of a microbatch; adds one. */
void cse_audit_clear(cse_cluster *cluster, int64_t sequence, int microbatch);
void cse_audit_add(cse_cluster *cluster, int64_t sequence, int microbatch,
                   const cse_audit_try *made);
/* The tries of the microbatch at `sequence`; returns their number. */
int cse_audit_tries(const cse_cluster *cluster, int64_t sequence, int microbatch,
                    cse_audit_try tries[CSE_MOST_AUDIT_TRIES]);

/* The replicas that may vote now. */
cse_audit_voters cse_audit_voters_of(const cse_cluster *cluster);

/* A microbatch whose tries are decided, or cannot be. */
typedef struct cse_audited {
    int64_t sequence;
    int microbatch, count;
    cse_audit_try tries[CSE_MOST_AUDIT_TRIES];
    cse_audit_verdict verdict;
} cse_audited;

/* Under the claim of its node: notes what the verdict says about each process. */
void cse_audit_tell(cse_cluster *cluster, const cse_audited *audited);

/* Whether the slot's process was found wrong. */
bool cse_audit_suspects(const cse_cluster *cluster, int slot);

/* By the coordinator: the next finding that it has not had yet. */
bool cse_cluster_next_finding(cse_cluster *cluster, cse_audit_finding *finding);
/* No process is started in the slot any more; kept in the arena for a coordinator that takes it
 * over. */
void cse_cluster_bar(cse_cluster *cluster, int slot);
bool cse_cluster_is_barred(const cse_cluster *cluster, int slot);
/* How many microbatches were audited, and tries of them were found wrong. */
void cse_cluster_audit_counts(const cse_cluster *cluster, int64_t *audited, int64_t *unequal);

#endif
