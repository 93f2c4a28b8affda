/* Detects checkpoints whose file was removed. */
#ifndef CSE_STORE_SWEEP_H
#define CSE_STORE_SWEEP_H

#include "store/shared.h"

/* Marks checkpoints whose file is gone as deleted, and adds their rows to those taken from the
 * queue. Called by the writer's thread. */
void cse_store_sweep(cse_store *store);

#endif
