/* A job on several hosts: each host runs the whole job, one of them leads.
 *
 * The leader finds out where training begins, tells the others, and writes all that a run leaves.
 * A follower does the same steps, phases and callbacks, and writes nothing but compiled steps: what
 * else it would write goes to a directory of its own, which is removed at its end. All hosts have
 * the same records, so each takes the same decisions by itself; those that depend on the time are
 * the leader's. */
#ifndef CSE_RUN_JOB_JOB_HOSTS_H
#define CSE_RUN_JOB_JOB_HOSTS_H

#include "run/job/job_parts.h"
#include "workers/group/host_group.h"

/* How a follower takes the checkpoint that it gets. */
typedef enum cse_job_loading {
    CSE_LOADS_NOTHING, /* states are those of the seed */
    CSE_LOADS_NEWEST,  /* of the same run, which goes on */
    CSE_LOADS_NAMED,   /* one that was named: a run of its own begins there */
} cse_job_loading;

struct cse_job_hosts {
    cse_host_group *group;     /* borrowed */
    const cse_host_job *given; /* of a follower; NULL: this host leads */
    /* ---- of the job ---- */
    int64_t executions; /* begun so far; all hosts count alike */
    cse_execution_hosts execution;
    size_t record_bytes;
    bool training;
    struct cse_record_tail *tail; /* of a follower: gets the records of training; may be NULL */
    cse_session_observer observer;
    /* Of a follower without its leader: whether it is to end with a checkpoint in the run's own
     * model_dir, from which it leads the others; asked when it stops. May be NULL. */
    bool (*takes_lead)(void *self);
    void *self;
};

/* Makes the settings of a job those of a follower; `directory` gets what it would write. */
void cse_job_follow(cse_job_settings *settings, struct cse_job_hosts *hosts, const char *directory);
bool cse_job_follows(const cse_job *job);
/* Where the job's checkpoints go; NULL: nowhere, it follows. */
const char *cse_job_checkpoint_directory(const cse_job *job);

/* Adds what is done at executions to the session; nothing for a job of one host. */
void cse_job_hosts_attach(cse_job *job);
/* A callback ends the training: after the step in flight; where there are other hosts, after one
 * that all of them end with. */
void cse_job_stop(const cse_job *job);
bool cse_job_stops_here(const cse_job *job);
/* Whether a host is lost, and with it a part of the states that it alone had. */
bool cse_job_lost_part(const cse_job *job);
/* Whether the hosts do not agree on what was trained, which is not to be saved then. */
bool cse_job_doubts_states(const cse_job *job);
/* The leader tells the others where training begins: steps count from hooks.run_start
 * to run_end. */
cse_status cse_job_hosts_give(cse_job *job, bool owes_validation);

#endif
