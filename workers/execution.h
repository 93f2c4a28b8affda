/* One execution: a compiled step, run for a number of steps by a cluster of processes on this host.
 *
 * The caller's process is the coordinator. It owns the arena, starts replicas, weight servers and
 * input workers (each a fresh `csengine worker` process that loads the artefact and maps the
 * arena), releases steps, delivers records in order, takes state snapshots at the asked-for steps,
 * and leaves nothing behind when it returns: no process, no shared-memory object, no socket. */
#ifndef CSE_WORKERS_EXECUTION_H
#define CSE_WORKERS_EXECUTION_H

#include "engine/graph/graph.h"
#include "engine/types/rounding.h"

typedef struct cse_cluster_options {
    int num_csx;             /* replicas; 1 or more, at most the number of microbatches counts */
    int num_workers_per_csx; /* input workers for each replica; 1 or more */
    int max_wgt_servers;     /* 0: the replicas reduce and update by themselves */
    cse_rounding weight_grad_reduce; /* payload of the tree; see reduce.h */
    const char *worker_executable;   /* NULL: found beside this process, or as installed */
    const char *library;             /* shared object with the model's drop-ins, or NULL */
} cse_cluster_options;

/* What a step leaves for the coordinator. */
typedef struct cse_record {
    int64_t step;                 /* 0-based number of the step that was committed */
    const unsigned char *fetched; /* CSE_SPACE_FETCH of that step; valid during the call */
    int64_t committed_ns;         /* clock when the step was committed */
} cse_record;

typedef enum cse_stop_request { CSE_STOP_NONE, CSE_STOP_CHECKPOINT, CSE_STOP_NOW } cse_stop_request;

typedef struct cse_execution_callbacks {
    void *self;
    /* In step order, in the coordinator's thread, while training goes on. A failure ends the run
     * with that status (NaN loss). */
    cse_status (*on_record)(void *self, const cse_record *record);
    /* State as it stands after `steps_done` steps, consistent, before any later update; called for
     * each step for which `wants_snapshot` was true, and at the last one. The bytes are borrowed;
     * training waits only for the copy that precedes the call. */
    cse_status (*on_snapshot)(void *self, int64_t steps_done, const unsigned char *states);
    bool (*wants_snapshot)(void *self, int64_t steps_done);
    /* Polled between events: what a signal or a user asked for. May be NULL. */
    cse_stop_request (*stop_requested)(void *self);
} cse_execution_callbacks;

typedef struct cse_execution {
    const char *artefact_directory; /* as cse_executable_open reads it */
    const cse_graph *graph;         /* the same graph, in memory */
    const char *dataloader_yaml;    /* as cse_dataloader_open reads it */
    uint64_t seed;
    int64_t first_step;    /* steps already done: the position in the data, the schedule, the RNG */
    int64_t num_steps;     /* steps to run now */
    unsigned char *states; /* in: initial, out: final contents of CSE_SPACE_STATE */
    cse_cluster_options cluster;
    cse_execution_callbacks callbacks;
} cse_execution;

typedef struct cse_execution_result {
    int64_t steps_done;        /* first_step + steps that were committed */
    bool stopped;              /* by stop_requested, before num_steps */
    double train_seconds;      /* from the first step's start to the last commit */
    double input_wait_seconds; /* summed over replicas: time without a filled ring slot */
} cse_execution_result;

/* Runs it. CSE_INTERRUPTED when stopped NOW; CSE_UNAVAILABLE when a worker cannot start or died;
 * else what a callback or a worker reported. Every end cleans up. */
cse_status cse_execution_run(const cse_execution *execution, cse_execution_result *result);

/* Body of `csengine worker`: joins the cluster described by the command line's arguments and serves
 * until told to stop. Returns the process's exit code. */
int cse_worker_main(int argc, char **argv);

#endif
