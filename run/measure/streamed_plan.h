/* What a step of a run takes whose states are in a file (section `states`), before the run: the
 * bytes that it reads and writes, its time, and what that time is bound by.
 *
 * The arithmetic is measured here on one core, over states that are zeros, and the disk of
 * states.directory by a small file; both go into an imagined run of all processes. */
#ifndef CSE_RUN_MEASURE_STREAMED_PLAN_H
#define CSE_RUN_MEASURE_STREAMED_PLAN_H

#include <jansson.h>

#include "run/job/job.h"
#include "run/measure/disk_rates.h"

typedef struct cse_streamed_plan {
    int64_t memory_bytes, least_bytes; /* states.memory, and the least that runs */
    int64_t file_bytes;                /* room that the run needs in states.directory */
    bool is_measured;                  /* the arithmetic; else only bytes and disk_s are known */
    bool by_layers;                    /* states.schedule, or what it chose */
    double read_bytes, written_bytes;  /* a step, of all processes */
    cse_disk_rates disk;
    double arithmetic_s; /* of a step, if the disk took no time */
    double disk_s;       /* if all else took none */
    double step_s, waited_s;
    const char *bound; /* "arithmetic", "disk", or "memory": too little of it to read ahead */
} cse_streamed_plan;

/* `disk` with a rate above 0: in place of that of states.directory. Of `steps` measured steps the
 * fastest one counts; with 0 nothing is computed. CSE_CONFIG where the job keeps its states in
 * memory, or states.memory is less than the least. */
cse_status cse_streamed_plan_make(const cse_job_settings *settings, int64_t steps,
                                  const cse_disk_rates *disk, cse_streamed_plan *plan);

json_t *cse_streamed_plan_json(const cse_streamed_plan *plan);
void cse_streamed_plan_print(const cse_streamed_plan *plan);

#endif
