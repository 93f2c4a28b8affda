/* A job that is a program of its own instead of a configuration.
 *
 * Running a program is more than loading a library: its code decides what the job does at all. So
 * it has an allowance of its own (--allow_program), and runs with the limits of any job. */
#ifndef CSE_DASHBOARD_CHECKS_JOB_PROGRAM_H
#define CSE_DASHBOARD_CHECKS_JOB_PROGRAM_H

#include <jansson.h>
#include <stdbool.h>

#include "engine/base/confinement.h"

/* Whether a JobSpec without a configuration, or with both, is that of a program which may be run
 * here; else appends what is wrong to `diagnostics`. */
bool cse_job_program_check(const json_t *spec, const cse_confinement *confinement,
                           json_t *diagnostics);

/* Whether a job's record, the JSON of its request, is that of a program. */
bool cse_job_is_program(const char *spec_text);

/* What was asked for as YAML, for the job's folder; free(). */
char *cse_job_program_text(const json_t *spec);

#endif
