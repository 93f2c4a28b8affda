/* Which hosts have which update chunks, where the states of a run are cut over its hosts.
 *
 * Each host has one run of chunks, as equal as chunks allow, in the order of the hosts; with two
 * copies of each part also the run of the host before it. The cut follows from the hosts that the
 * run begins with alone: who computes which microbatches, and who is lost meanwhile, changes
 * nothing. */
#ifndef CSE_WORKERS_HOSTS_STATE_CUT_H
#define CSE_WORKERS_HOSTS_STATE_CUT_H

#include "workers/hosts/host_set.h"

enum { CSE_MOST_STATE_COPIES = 2 };

/* How many copies of each part so many hosts have, of `wanted`. */
int cse_state_copies(const cse_host_set *hosts, int wanted);

/* The host with copy `copy` (from 0) of chunk `chunk` of `chunks`. */
int cse_state_owner(const cse_host_set *hosts, int chunks, int chunk, int copy);

#endif
