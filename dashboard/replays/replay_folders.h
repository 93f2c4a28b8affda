/* Folders of what replays of jobs in a queue leave for the next ones: the steps that they compiled,
 * so that a second question about a run compiles nothing, and states, from which it goes on.
 *
 * A job has one of each kind of its own, "ID.CREATED" below ".replay_code" and ".replay_states" in
 * the queue's folder. Into the first one its replays alone write, so that no job's process loads
 * code that another job's replay wrote; into the second the server's own processes alone. Neither
 * replays nor the job can put anything in the folders' place, as they could below the job's own. A
 * job of the same id that comes later has another time, hence other folders.
 *
 * What a replay leaves is a stranger's: only what has the form of artefacts or of checkpoints
 * stays, the newest of a job and of all jobs, within so many bytes. */
#ifndef CSE_DASHBOARD_REPLAYS_REPLAY_FOLDERS_H
#define CSE_DASHBOARD_REPLAYS_REPLAY_FOLDERS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_replay_kind {
    const char *name;             /* of the folder for all jobs */
    bool artefacts;               /* else checkpoints */
    int most;                     /* of a job */
    int64_t job_bytes, all_bytes; /* of a job; of all jobs */
} cse_replay_kind;
extern const cse_replay_kind cse_replay_code;   /* 16; 256 MiB, 1 GiB */
extern const cse_replay_kind cse_replay_states; /* CSE_KEPT_STATES; 1 GiB, 2 GiB */

/* Makes the folder of a job, which is the last used one then. */
cse_status cse_replay_folder_make(const cse_replay_kind *kind, const char *root, const char *job,
                                  int64_t created_ms, char folder[PATH_MAX]);
/* Removes what is not to stay, and the folders of jobs that are gone; while no replay runs. */
void cse_replay_folders_bound(const cse_replay_kind *kind, const char *root);
/* Removes those of a job. */
void cse_replay_folders_remove(const cse_replay_kind *kind, const char *root, const char *job);

#endif
