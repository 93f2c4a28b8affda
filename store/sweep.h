/* Checkpoints of a run whose file is gone. */
#ifndef CSE_STORE_SWEEP_H
#define CSE_STORE_SWEEP_H

#include "store/shared.h"

/* Adds the rows of checkpoints whose file is gone, now marked as deleted, to those taken from the
 * queue. Of the writer's thread. */
void cse_store_sweep(cse_store *store);

#endif
