/* The most memory that a run takes of this host, told from its plan before anything runs. */
#ifndef CSE_CLI_RUNS_PLANNED_MEMORY_H
#define CSE_CLI_RUNS_PLANNED_MEMORY_H

#include <jansson.h>

#include "run/job/job_settings.h"
#include "workers/control/execution_needs.h"

/* Of the two kinds of executions of a job; cores 0: it has none of that kind. */
typedef struct cse_planned_memory {
    cse_execution_needs training, validation;
} cse_planned_memory;

/* Traces the job's steps and plans them; compiles and starts nothing. */
cse_status cse_planned_memory_find(const cse_job_settings *job, cse_planned_memory *planned);

/* By kind of process, with the sums; in bytes. */
json_t *cse_planned_memory_json(const cse_planned_memory *planned);
void cse_planned_memory_print(const cse_planned_memory *planned);

#endif
