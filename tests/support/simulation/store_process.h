/* The run store of a simulated run: the real one, as the coordinator's process opens, fills and
 * leaves it. Its writer is a fiber beside the others; it stops before each change of a file, where
 * the process can be killed, and its disk fails now and then.
 *
 * A process that is killed cannot leave SQLite in the middle of a call, in a process that goes on.
 * Instead nothing that it calls changes a file any more, and it runs on to its end. */
#ifndef CSE_TESTS_SIMULATION_STORE_PROCESS_H
#define CSE_TESTS_SIMULATION_STORE_PROCESS_H

#include <pthread.h>

#include "tests/support/simulation/world.h"

/* NULL: there is none. */
process *store_writer(world *w);

/* All do nothing in a run without a store. In the coordinator's fiber: */
void store_begin(world *w);
void store_record(world *w, const cse_record *record);
void store_phase(world *w, cse_phase phase);
void store_saving(world *w);
void store_saved(world *w, int64_t steps);
/* -1: there is no store. */
int64_t store_kept(world *w, int64_t mark, bool hurry);
/* Outside of fibers: the process is killed; the run has ended; what the store holds is checked. */
void store_kill(world *w);
void store_end(world *w, cse_status status, const cse_run_result *result);
void store_check(world *w, bool ended);
void store_clear(world *w);

/* ---- for world_calls.h ---- */

extern const int64_t *simulated_clock_ns; /* NULL: the real clock */
int simulated_thread_create(void *(*start)(void *), void *argument);
int simulated_thread_join(void);
/* `until` NULL: without a limit. */
int simulated_thread_wait(pthread_mutex_t *mutex, const struct timespec *until);
int simulated_thread_wake(void);

#endif
