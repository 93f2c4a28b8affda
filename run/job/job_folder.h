/* The folder of a run's checkpoints while it runs: it may be removed, renamed, or its file system
 * may go away. What the run needs there is made anew, as long as that can be; its last checkpoint
 * waits. */
#ifndef CSE_RUN_JOB_JOB_FOLDER_H
#define CSE_RUN_JOB_JOB_FOLDER_H

#include "run/job/job_parts.h"

/* Once a second, called as often as one likes: unfinished.json is there. */
void cse_job_guard_folder(cse_job *job);

/* The checkpoint that the coordinator before this one handed on; NULL: none, or it was removed. */
const char *cse_job_handed_on(const cse_job *job);

/* Before a checkpoint is written: makes its folder where that is gone. */
cse_status cse_job_make_place(const cse_job *job, const char *place);

/* Whether the last checkpoint waits after such a failure: for room, or for its folder. */
bool cse_job_waits_after(const cse_job *job, cse_status status);

/* Whether nothing can be written to the folder now. */
bool cse_job_place_is_lost(const cse_job *job);

#endif
