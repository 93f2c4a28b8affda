/* The checkpoints of a run that its chain of digests (run_chain.h) knows. */
#ifndef CSE_RUN_TRAVEL_RUN_CHECKPOINTS_H
#define CSE_RUN_TRAVEL_RUN_CHECKPOINTS_H

#include "run/travel/run_chain.h"

/* The newest checkpoint of the run at or before a step whose chain, where it has one, is that of
 * the run; false: there is none. */
bool cse_run_checkpoint_before(const char *model_dir, const cse_run_chain *chain, int64_t step,
                               int64_t *found);

/* Whether the checkpoint says what the chain is after its step. */
bool cse_checkpoint_has_chain(const char *path);
/* Whether it is whole and says that the chain after the row's step is that of the row. */
bool cse_checkpoint_is_of_step(const char *path, const cse_chain_step *row);

#endif
