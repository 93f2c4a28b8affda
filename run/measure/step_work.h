/* What a step has to do, counted from its plan: nothing is run or measured for it. */
#ifndef CSE_RUN_MEASURE_STEP_WORK_H
#define CSE_RUN_MEASURE_STEP_WORK_H

#include "run/job/job_settings.h"
#include "run/measure/group_work.h"
#include "run/measure/machine_rates.h"

/* A group of the REPLICA program. */
typedef struct cse_unit_work {
    cse_rate rate;
    double amount;      /* in what the rate counts */
    double bytes;       /* that it reads and writes, each once */
    double state_bytes; /* of them, weights and other states, which lie in shared memory */
    bool per_step;      /* once a step in each replica, not for each microbatch */
} cse_unit_work;

typedef struct cse_step_work {
    int64_t microbatches, micro_batch_size;
    cse_unit_work *units; /* to be freed: cse_step_work_clear */
    int unit_count;
    double input_bytes;   /* of a microbatch */
    double sum_bytes;     /* of a partial sum */
    double joined_bytes;  /* of them, those that REDUCE joins; the others UPDATE joins */
    double reduced_bytes; /* that REDUCE writes */
    double serial_bytes, update_bytes;
    int reduce_chunks, update_chunks;
    bool exact; /* no sum is rounded: a single partial sum needs no REDUCE */
} cse_step_work;

/* Which rate a unit of work goes by, and how much of it there is. */
cse_rate cse_rate_of(const cse_group_work *work, double *amount);

/* Of a planned step, with sums of this format. */
cse_status cse_step_work_count(const cse_graph *graph, cse_rounding weight_grad_reduce,
                               cse_step_work *work);
/* Compiles the job's training step, or takes the compiled one of its compile_dir. */
cse_status cse_step_work_of_job(const cse_job_settings *job, cse_step_work *work);
void cse_step_work_clear(cse_step_work *work);

#endif
