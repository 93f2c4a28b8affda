/* A confined job in name spaces of its own, where the machine has them: a first process in them,
 * which ends with the job and all that the job has started, and outside of them this one, whose
 * number the job is known by. */
#ifndef CSE_WORKERS_CONTROL_CONTAINED_H
#define CSE_WORKERS_CONTROL_CONTAINED_H

#include "engine/base/confinement.h"

/* Calls `run` with `self` in that first process, or, without name spaces, in this one; returns the
 * program's exit code, which is run's. *killed_by: the signal that killed that process, 0 when it
 * ended by itself. Signals reach it as those of a supervisor reach its body. Before there are
 * threads. */
int cse_contained_run(const cse_confinement *confinement, const char *private_folder,
                      int (*run)(void *self), void *self, int *killed_by);

#endif
