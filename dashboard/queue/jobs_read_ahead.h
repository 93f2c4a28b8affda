/* The thread that reads the run stores of settled jobs before somebody asks: all that derived.db
 * does not have when the server starts, and each job's when it has ended. Other answers do not wait
 * for it: it holds no lock while it reads, and runs at the lowest priority. */
#ifndef CSE_DASHBOARD_QUEUE_JOBS_READ_AHEAD_H
#define CSE_DASHBOARD_QUEUE_JOBS_READ_AHEAD_H

/* Of a thread; `self` is the cse_jobs. Ends when they end. */
void *cse_jobs_read_ahead(void *self);

#endif
