/* Where the file of a checkpoint is. */
#ifndef CSE_DASHBOARD_JOBS_SAVED_FILE_H
#define CSE_DASHBOARD_JOBS_SAVED_FILE_H

#include "dashboard/jobs/jobs_db.h"

/* From the run's directory and the path in its store. False when there is no such file, or
 * when it would lie outside of the directory. */
bool cse_saved_file(const char *model_dir, const char *name, char path[CSE_JOB_PATH_BYTES]);

#endif
