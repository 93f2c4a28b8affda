/* The rates of this machine, from steps of a job on one core and from all cores at once. */
#ifndef CSE_RUN_MEASURE_MACHINE_MEASURE_H
#define CSE_RUN_MEASURE_MACHINE_MEASURE_H

#include "run/job/job_settings.h"
#include "run/measure/machine_rates.h"

/* Compiles and runs `steps` steps twice over. Rates of kinds of work that the step has not
 * stay 0. Binds the process to one core. */
cse_status cse_machine_measure(const cse_job_settings *job, int64_t steps,
                               cse_machine_rates *rates);

#endif
