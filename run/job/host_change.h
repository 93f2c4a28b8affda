/* Other hosts for a run that goes on.
 *
 * The hosts of an execution are fixed, but a checkpoint gives the same bits on any hosts. So a run
 * whose hosts are to change stops after a step, as early as it can, saves it, and goes on from
 * there with the new ones, in the same process and as the same run: to its store and to those who
 * watch it this is a recovery. Asked for by an operator, in the job's thread, or, when a lost host
 * is back, by the thread that looks after the hosts.
 *
 * Where the states of the run are cut over its hosts, the loss of one asks for a change by itself,
 * so that each part has as many copies again as it is to have.
 *
 * It outlives the group of hosts that runs: it keeps the whole list, and which of them are lost. A
 * lost host is left out of the next group, and may come back after a delay that doubles with each
 * loss, so that one that fails again and again costs less and less. */
#ifndef CSE_RUN_JOB_HOST_CHANGE_H
#define CSE_RUN_JOB_HOST_CHANGE_H

#include "run/job/job.h"
#include "workers/hosts/host_list.h"

typedef struct cse_host_change cse_host_change;

/* `settings`: borrowed, of the job. */
cse_host_change *cse_host_change_new(const cse_job_settings *settings);
void cse_host_change_destroy(cse_host_change **change);

/* ---- of who has the hosts; `change` may be NULL ---- */

/* The hosts of the group as it is opened; `leader`: which of them is this one. */
void cse_host_change_set_hosts(cse_host_change *change, const cse_host_list *hosts, int leader);
/* The host is lost. Returns the seconds until it may come back; negative: never, or it is lost
 * already. */
double cse_host_change_lose(cse_host_change *change, const char *name, int64_t now_ns);
/* The name of a lost host that may come back now; false: there is none. Each is told once until it
 * is put off. */
bool cse_host_change_returning(cse_host_change *change, int64_t now_ns,
                               char name[CSE_HOST_NAME_BYTES]);
/* It cannot be reached: it may come back after twice the delay. */
void cse_host_change_put_off(cse_host_change *change, const char *name, int64_t now_ns);

/* ---- of who shows it ---- */

typedef struct cse_host_known {
    char name[CSE_HOST_NAME_BYTES];
    bool is_lost;
    int losses;
    int64_t return_ns; /* when it is tried again (cse_clock_ns); 0: never by itself */
} cse_host_known;

/* Of the whole list, those that are lost too; false: there are not so many. */
bool cse_host_change_look(cse_host_change *change, int index, cse_host_known *known);

/* ---- changes ---- */

/* Asks for a change: a list, "+NAME" or "-NAME". Fails with CSE_UNAVAILABLE where that cannot be,
 * and says why. "+NAME" of a lost host lets it come back at once. */
cse_status cse_host_change_ask(cse_host_change *change, const char *hosts);
bool cse_host_change_is_asked(cse_host_change *change);

/* When the job has stopped for it: puts the new list into its environment. */
void cse_host_change_take(cse_host_change *change, cse_job_environment *environment);
/* The new hosts could not be opened: puts the list before that back. */
void cse_host_change_take_back(cse_host_change *change, cse_job_environment *environment);

#endif
