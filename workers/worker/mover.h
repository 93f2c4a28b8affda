/* The loop of a mover: exchanges the pieces of each step with the movers of other hosts.
 *
 * A piece is a node of the reduction tree in one host's range of microbatches. The mover sends
 * those of its own host as soon as they can be joined, and writes those that arrive into the arena,
 * under a claim of their node's word, as a replica does with what it computes. It holds nothing
 * that is lost with it: after its death the claims are freed, and the next mover is sent again all
 * that its host has not confirmed.
 *
 * A host confirms that it has all pieces of another one for the steps below s (HAVE). Only then may
 * the other one overwrite them, so that hosts are at most one step apart. A frame of the next step
 * that comes early stays where it is, and stops all later ones of that host, until this host is
 * there.
 *
 * On a host without data the mover fills the input ring, with what it gets from hosts that have
 * them; see mover_input.c. */
#ifndef CSE_WORKERS_WORKER_MOVER_H
#define CSE_WORKERS_WORKER_MOVER_H

#include "workers/hosts/mover_place.h"
#include "workers/worker/work.h"

typedef struct cse_mover cse_mover;

/* For a slot of that role; `link`: NULL for the one that `place` names. CSE_UNAVAILABLE when its
 * address is taken. */
cse_status cse_mover_new(cse_cluster *cluster, int slot, const cse_host_link *link,
                         const cse_mover_place *place, cse_mover **mover);
/* Sends and receives what there is, then waits for more, at most until the deadline. */
cse_work_result cse_mover_once(cse_mover *mover, int64_t deadline_ns);
/* On a host without data: what it gets is checked as `graph` (borrowed) asks for. */
void cse_mover_check_inputs(cse_mover *mover, const cse_graph *graph);
cse_status cse_mover_status(const cse_mover *mover);
void cse_mover_destroy(cse_mover **mover);

#endif
