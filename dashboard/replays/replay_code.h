/* Folders of compiled steps for the replays of jobs in a queue, so that a second question about a
 * run compiles nothing.
 *
 * A job has one of its own, "ID.CREATED" below ".replay_code" in the queue's folder. Its replays
 * alone may write there, so that no job's process loads code that another job's replay wrote; and
 * neither they nor the job can put anything in the folder's place, as they could below the job's
 * own. A job of the same id that comes later has another time, hence another folder.
 *
 * What a replay leaves is a stranger's: only folders of files whose names are keys of artefacts
 * stay, the newest of a job and of all jobs, within so many bytes. */
#ifndef CSE_DASHBOARD_REPLAYS_REPLAY_CODE_H
#define CSE_DASHBOARD_REPLAYS_REPLAY_CODE_H

#include <limits.h>
#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_replay_code_limits {
    int steps;                    /* of a job */
    int64_t job_bytes, all_bytes; /* of a job; of all jobs */
} cse_replay_code_limits;
extern const cse_replay_code_limits cse_replay_code_usual; /* 16, 256 MiB, 1 GiB */

/* Makes the folder of a job, which is the last used one then. */
cse_status cse_replay_code_make(const char *root, const char *job, int64_t created_ms,
                                char folder[PATH_MAX]);
/* Removes what is not to stay, and the folders of jobs that are gone; while no replay runs. */
void cse_replay_code_bound(const char *root, const cse_replay_code_limits *limits);
/* Removes those of a job. */
void cse_replay_code_remove(const char *root, const char *job);

#endif
