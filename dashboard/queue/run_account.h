/* How long a run ran, and how fast, over all its attempts: by its own account of its time. */
#ifndef CSE_DASHBOARD_QUEUE_RUN_ACCOUNT_H
#define CSE_DASHBOARD_QUEUE_RUN_ACCOUNT_H

#include "store/reader.h"

typedef struct cse_run_account {
    int64_t ran_ms;   /* of all attempts, from each one's start to its end or to now; -1: unknown */
    int64_t steps_ms; /* of it, without starting, validation, recovery and pause */
} cse_run_account;

cse_run_account cse_run_account_read(cse_store_reader *reader);

/* Samples per second over the steps from the first that was recorded to `last_step`, by the time in
 * which steps were taken; NaN: not known, or too short to say. */
double cse_run_account_mean_rate(const cse_run_account *account, cse_store_reader *reader,
                                 int64_t last_step, int64_t batch_size);

#endif
