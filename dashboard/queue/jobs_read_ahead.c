/* Looks at the table twice a second: a job settles in several places. */
#include "dashboard/queue/jobs_read_ahead.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "dashboard/queue/job_json.h"
#include "dashboard/queue/job_values.h"
#include "engine/base/arena.h"

enum { PAUSE_MS = 500, LOWEST = 19 };

/* True: the server ends. */
static bool pause_reading(cse_jobs *jobs, int milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&jobs->lock);
    if (!jobs->ending && milliseconds > 0)
        pthread_cond_timedwait(&jobs->reading_wake, &jobs->lock, &until);
    const bool ends = jobs->ending;
    pthread_mutex_unlock(&jobs->lock);
    return ends;
}

/* Reading them keeps them. */
static void read_job(cse_jobs *jobs, const cse_job *job)
{
    json_t *shown = cse_job_json(jobs, job), *values = cse_job_values(jobs, job);
    json_decref(shown);
    json_decref(values);
}

void *cse_jobs_read_ahead(void *self)
{
    cse_jobs *jobs = self;
    cse_job *job = cse_calloc(1, sizeof *job);
    bool ends = false;
    (void)setpriority(PRIO_PROCESS, 0, LOWEST); /* of this thread, on Linux */
    while (!ends) {
        for (int at = 0; !ends && cse_jobs_next_unread(jobs, &at, job);) {
            read_job(jobs, job);
            cse_job_release(job);
            ends = pause_reading(jobs, 0);
        }
        ends = ends || pause_reading(jobs, PAUSE_MS);
    }
    free(job);
    return NULL;
}
