/* Commands to a job, changes of its record, its removal. */
#ifndef CSE_DASHBOARD_QUEUE_JOBS_COMMANDS_H
#define CSE_DASHBOARD_QUEUE_JOBS_COMMANDS_H

#include "dashboard/jobs/job_table.h"

/* Name, labels, priority as a merge patch. CSE_NO_INPUT: no such job; CSE_DATA: it has another
 * revision than `revision` (-1: any). */
cse_status cse_jobs_patch(cse_jobs *jobs, const char *id, int64_t revision, const json_t *patch);
/* With all files. CSE_USAGE while it has not ended. */
cse_status cse_jobs_remove(cse_jobs *jobs, const char *id, int64_t revision);

/* Commands to batch jobs that are on their way at one time; the next is refused. */
enum { CSE_MOST_BATCH_COMMANDS = 2 };

typedef struct cse_job_command {
    const char *command; /* "pause", "resume", "checkpoint", "cancel", "kill", "scale" */
    const char *message;
    bool save;
    double grace_s;    /* negative: none was given */
    const char *hosts; /* scale: instead of num_csx; NULL: none */
    int64_t num_csx;
} cse_job_command;
/* CSE_NO_INPUT: no such job; CSE_USAGE: not possible in its state; else as the run answers.
 * `detail` says what happens. A command without effect, since the job is already so, succeeds. */
cse_status cse_jobs_do(cse_jobs *jobs, const char *id, const cse_job_command *command,
                       char detail[256]);
/* Whether the command is possible now. */
bool cse_job_can(const cse_jobs *jobs, const cse_job *job, const char *command);
extern const char *const cse_job_commands[];

/* With the lock held: kills the run's processes, the coordinator and then its supervisor. */
void cse_job_entry_kill(cse_jobs *jobs, const cse_job_entry *entry);

#endif
