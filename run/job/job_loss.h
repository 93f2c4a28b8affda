/* The section `loss` of a job, before its model is traced. */
#ifndef CSE_RUN_JOB_JOB_LOSS_H
#define CSE_RUN_JOB_JOB_LOSS_H

#include "run/job/job_parts.h"

/* Gives the network what the configuration asks of losses of classes. Balanced weights are those of
 * the training data, which are opened for them. */
cse_status cse_job_make_loss(cse_job *job);

#endif
