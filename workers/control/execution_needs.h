/* What an execution takes of its host, known when its step is planned and before any of its
 * processes is started.
 *
 * Cores: each replica and each weight server has one. The first input worker of a replica works
 * beside it on the same core, since it reads ahead of it and then waits; each further one is asked
 * for where reading takes the time of a core, and counts as one.
 *
 * Memory: the arena with all that a run without failures touches, once for all processes; what each
 * process has for itself; what the data loader took of the heap when it was opened here, once for
 * each input worker; and what a process takes before it does anything. Not counted: pages of files,
 * which the kernel can take back, and what a user's own functions allocate later. */
#ifndef CSE_WORKERS_CONTROL_EXECUTION_NEEDS_H
#define CSE_WORKERS_CONTROL_EXECUTION_NEEDS_H

#include "workers/control/execution_options.h"

enum {
    /* Private pages of a worker, and of the coordinator with its supervisor, beside the step. */
    CSE_WORKER_BASE_BYTES = 3000000,
    CSE_COORDINATOR_BASE_BYTES = 7750000,
    /* While the step is compiled, in place of the workers: the compiler's processes. */
    CSE_COMPILER_BYTES = 192 << 20,
};

typedef struct cse_execution_needs {
    int replicas, weight_servers, input_workers, movers;
    int cores;
    int64_t arena_bytes;       /* shared */
    int64_t worker_bytes;      /* private to the workers, all together */
    int64_t coordinator_bytes; /* private to it and its supervisor */
    int64_t checkpoint_bytes;  /* a copy of the states, from which a checkpoint is written */
    /* Private to one process of each kind. */
    int64_t replica_bytes, weight_server_bytes, input_worker_bytes, mover_bytes;
    /* Parts of the arena: states, partial sums with what is joined of them, input; of a replica:
     * values of a microbatch. */
    int64_t state_bytes, sum_bytes, input_bytes, workspace_bytes;
    /* Of the states, on one host: what is cut over several (state_ranges.h), in so many copies. */
    int64_t cut_bytes;
    int state_copies;
    /* Sums of gradients on several hosts: bytes of one, of its start that REDUCE joins, and of what
     * is joined; microbatches of a step; and how they are cut over hosts. */
    int64_t sum_stride, common_bytes, reduced_bytes;
    int microbatches, gradient_cut;
} cse_execution_needs;

/* What a new arena's sizes follow from, with the schedule of states in a file. */
cse_cluster_layout cse_execution_layout(const cse_execution *execution);

/* CSE_CONFIG for numbers of processes out of range. */
cse_status cse_execution_needs_find(const cse_execution *execution, cse_execution_needs *needs);

/* The same with an arena of that layout, whatever the execution would choose. */
cse_status cse_execution_needs_for(const cse_execution *execution, const cse_cluster_layout *layout,
                                   cse_execution_needs *needs);

/* The cores of so many processes, by the rule above. */
int64_t cse_cores_of(int64_t replicas, int64_t workers_per_replica, int64_t weight_servers);

/* Of state_bytes, what each of so many hosts has at most where optimizer states are cut over them:
 * all without a cut. */
int64_t cse_execution_states_on(const cse_execution_needs *needs, int hosts);
/* Of sum_bytes, what the one of so many hosts that has most needs, as long as microbatches are cut
 * evenly and no host is lost. */
int64_t cse_execution_sums_on(const cse_execution_needs *needs, int hosts);
/* All memory of the execution at its most. While steps run, and no checkpoint is written, it takes
 * the other one. */
int64_t cse_execution_needs_bytes(const cse_execution_needs *needs);
int64_t cse_execution_steps_bytes(const cse_execution_needs *needs);

/* Makes `needs` those of both, where one is over when the other begins: the greater ones. */
void cse_execution_needs_raise(cse_execution_needs *needs, const cse_execution_needs *other);

#endif
