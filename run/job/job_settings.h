/* Makes a job's settings from a configuration. */
#ifndef CSE_RUN_JOB_JOB_SETTINGS_H
#define CSE_RUN_JOB_JOB_SETTINGS_H

#include "run/job/job.h"

/* Fills `settings` for `mode`. They borrow from `config`, whose plugins were checked against their
 * kinds, and from `arena`. CSE_CONFIG where the configuration lacks what the mode needs. */
cse_status cse_job_settings_read(const cse_config *config, cse_job_mode mode, cse_arena *arena,
                                 cse_job_settings *settings);

/* With the hosts of the settings, which it borrows, and nobody who watches. */
cse_job_environment cse_job_environment_of(const cse_job_settings *settings);

/* Samples of a batch of train_dataloader; 0: it cannot be read there. */
int64_t cse_job_batch_size(const cse_job_settings *settings);

#endif
