/* The folder model_dir/values: whole values of tensors (numerics.values), as workers write them
 * (engine/code/execute/value_log.h), and for each such step which samples it computed with. */
#ifndef CSE_RUN_EXECUTION_KEPT_VALUES_H
#define CSE_RUN_EXECUTION_KEPT_VALUES_H

#include "dataloader/input.h"
#include "run/session/session.h"
#include "workers/control/execution_options.h"

/* Makes the folder, if the session keeps values and trains. *files: of an execution before which so
 * many steps were done, in the session's arena. */
cse_status cse_kept_values_place(const cse_session *session, bool training, int64_t first_step,
                                 cse_value_files *files);

/* After a step that kept values, "step-STEP.json" there: {"step", "micro_batch_size", "samples":
 * [...]}, numbers of the samples in the data, in the order of the batch. `steps` counts from 1. */
cse_status cse_kept_values_note_samples(const cse_session *session, const cse_dataloader *loader,
                                        int64_t steps);

#endif
