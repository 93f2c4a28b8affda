/* The body of `csengine worker`. */
#ifndef CSE_WORKERS_WORKER_WORKER_MAIN_H
#define CSE_WORKERS_WORKER_WORKER_MAIN_H

/* Joins the cluster described by the command line's arguments and serves until told to stop.
 * Returns the process's exit code. */
int cse_worker_main(int argc, char **argv);

#endif
