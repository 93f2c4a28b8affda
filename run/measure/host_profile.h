/* The profile of one host, for the model of several: measured by steps of the compiled program on
 * one core, or read from the file that an earlier measurement wrote. */
#ifndef CSE_RUN_MEASURE_HOST_PROFILE_H
#define CSE_RUN_MEASURE_HOST_PROFILE_H

#include <jansson.h>

#include "run/measure/host_model.h"

struct cse_step_runner;

/* Runs `steps` steps, two before them that are not counted, and one behind them whose kernels are
 * timed, for which the runner was opened. Where `most_ns` have passed since the first of them, no
 * other one is begun but the one whose kernels are timed: one at least is counted. 0: all are run.
 * The steps between two saves are not known to it. */
cse_status cse_host_profile_measure(struct cse_step_runner *runner, int64_t steps, int64_t most_ns,
                                    cse_host_profile *profile);

/* One number a member, in SI units, and the array `early`; all but save_steps. */
json_t *cse_host_profile_json(const cse_host_profile *profile);
cse_status cse_host_profile_write(const cse_host_profile *profile, const char *path);
/* CSE_DATA with the member that is missing or out of range. `early` may be missing. */
cse_status cse_host_profile_take(const json_t *object, const char *source,
                                 cse_host_profile *profile);
cse_status cse_host_profile_read(const char *path, cse_host_profile *profile);

#endif
