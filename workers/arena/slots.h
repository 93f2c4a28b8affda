/* Slots of the arena: which process is attached to each, what it may claim, what it is called. */
#ifndef CSE_WORKERS_ARENA_SLOTS_H
#define CSE_WORKERS_ARENA_SLOTS_H

#include <sys/types.h>

#include "workers/arena/cluster.h"

int cse_cluster_slot_count(const cse_cluster *cluster);
/* The slot's main role, for which its process is started. */
cse_role cse_cluster_slot_kind(const cse_cluster *cluster, int slot);
/* Its rank in its kind: with 2 replicas and 4 input workers, slot 3 is input worker 1. */
int cse_cluster_slot_index(const cse_cluster *cluster, int slot);
/* Kind and rank together. */
cse_process cse_cluster_slot_process(const cse_cluster *cluster, int slot);
/* "replica 0", "weight server 1", "input worker 3"; `text` is returned. */
const char *cse_cluster_slot_name(const cse_cluster *cluster, int slot, char *text, size_t size);

/* Mask of the roles (cse_role) that the slot has now. */
int cse_cluster_slot_roles(const cse_cluster *cluster, int slot);
/* Changes the slot's roles (one that fills the input ring must have a data loader). */
void cse_cluster_set_roles(cse_cluster *cluster, int slot, int roles);

/* Registers process `pid` as the occupant of a vacant slot (new incarnation). The slot's worker may
 * start working before or after. */
void cse_cluster_attach(cse_cluster *cluster, int slot, pid_t pid);
/* The attached process; 0 when vacant. */
pid_t cse_cluster_occupant(const cse_cluster *cluster, int slot);
/* Notes the occupant's number outside of its name space of processes. */
void cse_cluster_note_number(cse_cluster *cluster, int slot, int64_t number);
/* That number, or the attached process's where none was noted; 0 when vacant. */
int64_t cse_cluster_number(const cse_cluster *cluster, int slot);
/* Counts the processes the slot has had, modulo 256. */
int cse_cluster_incarnation(const cse_cluster *cluster, int slot);
/* Position in the input stream (ring.h) of the microbatch that the process filled or computed last;
 * -1: none yet. No result depends on it. */
int64_t cse_cluster_slot_position(const cse_cluster *cluster, int slot);
/* Samples that could not be read, and were replaced, by all processes that the slot has had. */
int64_t cse_cluster_slot_bad_records(const cse_cluster *cluster, int slot);

#endif
