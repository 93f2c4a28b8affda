/* Starting a job's process, and finding it again. */
#ifndef CSE_DASHBOARD_QUEUE_JOBS_LAUNCH_H
#define CSE_DASHBOARD_QUEUE_JOBS_LAUNCH_H

#include "dashboard/jobs/job_table.h"

/* Starts it, with the lock held; the entry is alive then. CSE_TEMPORARY, or CSE_NO_INPUT when what
 * it is to go on from is not there. */
cse_status cse_job_launch(cse_jobs *jobs, cse_job_entry *entry);
/* The process that was started for the job, by a server that was killed before it could note its
 * number; 0: there is none. */
int64_t cse_job_process_find(const cse_job_entry *entry);
/* Where the system tells of processes: /proc, and another folder in a test. */
extern const char *cse_process_folder;
/* Start of a process in clock ticks since boot; 0: there is none. */
int64_t cse_process_start(int64_t pid);
/* 0: there is no such process. */
int64_t cse_process_parent(int64_t pid);
/* A pidfd, -1: there is none. */
int cse_process_descriptor(int64_t pid);
/* The last line about an error in what the job printed, "" when there is none. */
void cse_job_last_error(const cse_job_entry *entry, char *text, size_t size);

#endif
