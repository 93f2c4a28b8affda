/* Checkpoints of an unfinished run that its store does not know of: whoever wrote them was killed
 * before the store had their rows. The next process of the run writes those. */
#ifndef CSE_RUN_JOB_FOUND_CHECKPOINTS_H
#define CSE_RUN_JOB_FOUND_CHECKPOINTS_H

#include "run/job/job_parts.h"

/* Looks for them, before the store is opened for writing. */
void cse_found_checkpoints_look(cse_job *job);
/* Has those written down that are whole. */
void cse_found_checkpoints_record(cse_job *job);

#endif
