/* One execution: a compiled step, run for a number of steps by a cluster of processes on this host.
 *
 * The caller's process is the coordinator. It owns the arena, starts replicas, weight servers and
 * input workers (each a fresh `csengine worker` process that loads the artefact and maps the
 * arena), releases steps, delivers records in order, takes state snapshots at the asked-for steps,
 * and leaves nothing behind when it returns: no process, no shared-memory object, no socket. */
#ifndef CSE_WORKERS_CONTROL_EXECUTION_H
#define CSE_WORKERS_CONTROL_EXECUTION_H

#include "engine/graph/graph.h"
#include "engine/types/rounding.h"

typedef struct cse_cluster_options {
    int num_csx;             /* replicas; 1 or more, at most the number of microbatches counts */
    int num_workers_per_csx; /* input workers for each replica; 1 or more */
    int max_wgt_servers;     /* 0: the replicas reduce and update by themselves */
    cse_rounding weight_grad_reduce; /* payload of the tree; see reduce.h */
    const char *worker_executable;   /* NULL: found beside this process, or as installed */
    const char *library;             /* shared object with the model's plugins, or NULL */
} cse_cluster_options;

/* What a step leaves for the coordinator. */
typedef struct cse_record {
    int64_t step;                 /* 0-based number of the step that was committed */
    const unsigned char *fetched; /* CSE_SPACE_FETCH of that step; valid during the call */
    int64_t committed_ns;         /* clock when the step was committed */
    /* One for each of graph->tracked, when the step was observed; else NULL. */
    const struct cse_tensor_statistics *observed;
    int64_t steps_done; /* committed when the record is handed out */
} cse_record;

typedef enum cse_stop_request { CSE_STOP_NONE, CSE_STOP_CHECKPOINT, CSE_STOP_NOW } cse_stop_request;

/* What an execution is doing, for those who watch. */
typedef enum cse_phase {
    CSE_PHASE_STARTING, /* processes start and load */
    CSE_PHASE_RUNNING,
    CSE_PHASE_PAUSING, /* an operator asked for a pause: the step in flight is finished */
    CSE_PHASE_PAUSED,
    CSE_PHASE_RECOVERING, /* a process was lost, another takes its place */
    CSE_PHASE_CANCELLING, /* ends on request */
} cse_phase;

/* What a process did, in sampled steps. */
typedef enum cse_span_kind {
    CSE_SPAN_WAIT,
    CSE_SPAN_COMPUTE,
    CSE_SPAN_REDUCE,
    CSE_SPAN_WEIGHTS,
    CSE_SPAN_UPDATE,
    CSE_SPAN_FILL,
    CSE_SPAN_KIND_COUNT
} cse_span_kind;

typedef struct cse_process_span {
    int64_t step;     /* steps done when it is over */
    char process[32]; /* "replica 0" */
    cse_span_kind kind;
    int64_t start_ns, end_ns;
} cse_process_span;

/* How long the runs of one kernel (a group of the graph) took a process in a sampled step. A run is
 * a microbatch, the step, or for a kernel of the update a stretch of its lines. */
typedef struct cse_kernel_time {
    int64_t step;     /* steps done when it is over */
    char process[32]; /* "replica 0" */
    int kernel;       /* index in graph->groups */
    int64_t calls, total_ns, min_ns;
    int64_t median_ns; /* of the last 26 */
} cse_kernel_time;

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
    /* The phase changed; `message` says why, "" where there is nothing to say. May be NULL. */
    void (*on_phase)(void *self, cse_phase phase, const char *message);
    /* An operator changed how many replicas share a step. May be NULL. */
    void (*on_scale)(void *self, int num_csx);
    /* Where operators can reach the coordinator from now on; NULL: nowhere any more. May be NULL.
     */
    void (*on_endpoint)(void *self, const char *endpoint);
    /* How busy processes and streams were since the last call, about twice a second, as JSON:
     *     {"step":..,"steps_per_second":..,
     *      "processes":[{"name","role","rank","pid","incarnation","busy","idle","back_pressured",
     *                    "input_wait"}, ...],
     *      "streams":[{"name","from","to","depth","capacity","credits","mb_per_second"}, ...]}
     * May be NULL. */
    void (*on_topology)(void *self, const char *json);
    /* The spans of a sampled step: of about every 100th, at most one a second, and one in five
     * seconds where steps are slow; not of an observed one when there are others. May be NULL. */
    void (*on_spans)(void *self, const cse_process_span *spans, int count);
    /* The kernels of the same step, process by process. May be NULL. */
    void (*on_kernels)(void *self, const cse_kernel_time *times, int count);
} cse_execution_callbacks;

typedef struct cse_execution {
    const char *artefact_directory; /* as cse_executable_open reads it */
    const cse_graph *graph;         /* the same graph, in memory */
    const char *dataloader_yaml;    /* as cse_dataloader_open reads it */
    uint64_t seed;
    int64_t first_step; /* steps already done: the position in the data, the schedule, the RNG */
    int64_t num_steps;  /* steps to run now */
    int64_t statistics_every; /* counted from 1, multiples of it are observed; 0: none */
    unsigned char *states;    /* in: initial, out: final contents of CSE_SPACE_STATE */
    cse_cluster_options cluster;
    /* An existing directory for its sockets, of mode 0700 and short; NULL: one of its own. */
    const char *run_directory;
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
