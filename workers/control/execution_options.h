/* What one execution is to do: a compiled step, the steps to run, the processes to run them. */
#ifndef CSE_WORKERS_CONTROL_EXECUTION_OPTIONS_H
#define CSE_WORKERS_CONTROL_EXECUTION_OPTIONS_H

#include "dataloader/input.h"
#include "engine/base/types/binding.h"
#include "engine/base/types/rounding.h"
#include "engine/graph/graph.h"
#include "workers/arena/cluster.h"
#include "workers/control/control_endpoint.h"
#include "workers/control/run_events.h"
#include "workers/hosts/host_cut.h"

typedef struct cse_cluster_options {
    int num_csx;                      /* replicas; 1 to the number of microbatches of a step */
    int num_workers_per_csx;          /* input workers for each replica; 1 or more */
    int max_wgt_servers;              /* 0: the replicas reduce and update */
    cse_rounding weight_grad_reduce;  /* format of partial sums; see reduce.h */
    const char *launcher, *transport; /* names in their registries; NULL: the defaults */
    const char *worker_executable;    /* NULL: found beside this process, or as installed */
    cse_binding binding;              /* of replicas and weight servers to processors */
    int restarts;                     /* coordinator_io.h; 0: the default */
    const char *library;              /* shared object with the model's plugins, or NULL */
    /* An existing directory for the file of states, of which at most so many bytes are in memory;
     * NULL: they are in memory. */
    const char *states_directory;
    int64_t states_memory_bytes;
    /* Whether microbatches go through such a file by layers; where there is room: if what they keep
     * fits into the limit, or half of this host's memory where that is 0. */
    bool states_by_layers, states_by_layers_with_room;
    int64_t memory_limit_bytes;
    double audit_fraction; /* of microbatches that are computed twice: workers/arena/audit.h */
    /* On several hosts: optimizer states are cut over them, and each part is on so many; 0: each
     * host has all. For checkpoints they are gathered in a file without a name in that directory;
     * NULL: in memory. */
    int state_copies;
    bool cuts_gradients; /* and so are the sums of gradients */
    const char *gather_directory;
} cse_cluster_options;

struct cse_running;
struct json_t;

/* The other hosts of an execution; see arena_hosts.h. What it points to is borrowed. */
typedef struct cse_execution_hosts {
    int host, host_count; /* its own number, and how many places there are; at least 2 */
    int leader;
    const cse_host_cut *cut;
    cse_host_set lost;                          /* places without a host */
    cse_host_set data_hosts;                    /* that have the data; none: all have */
    const char *link;                           /* name in its registry; NULL: the default */
    const char *const *addresses;               /* of the movers, by host; see link.h */
    unsigned char key[CSE_HOST_LINK_KEY_BYTES]; /* of the movers' link */
    uint64_t session;                           /* of this execution */
    bool plain;                                 /* of link.h */
    /* Called in each turn of the execution's loop: exchanges messages with other hosts, and tells
     * the arena what follows (arena_hosts.h). Its failure ends the run. May be NULL. */
    cse_status (*on_turn)(void *self, struct cse_running *running, cse_cluster *cluster);
    /* Steps that may be released now: a bound beside that of the records. May be NULL. */
    int64_t (*most_released)(void *self);
    void *self;
    /* Replaces "host" of a report (topology_hosts.h) by what is known of all hosts. May be NULL. */
    void (*describe)(void *describer, struct json_t *report);
    void *describer;
} cse_execution_hosts;

/* Files of values of tensors (engine/code/execute/value_log.h). */
typedef struct cse_value_files {
    const char *prefix;       /* of their paths; NULL: none are kept */
    const char *microbatches; /* "3,17": of these alone; NULL: of all */
} cse_value_files;

typedef struct cse_execution {
    const char *artefact_directory; /* as cse_executable_open reads it */
    const char *artefact_digest;    /* of its manifest; workers load no other; NULL: any */
    const char *data_identity;      /* dataloader/identity/data_identity.h; NULL: not known */
    const cse_graph *graph;         /* the same graph, in memory */
    const char *dataloader;         /* as cse_dataloader_settings_encode writes it */
    const cse_dataloader *loader;   /* the same, for reports; borrowed; NULL: they lack its file */
    int64_t loader_bytes; /* of the heap, that opening it took: each input worker opens one */
    uint64_t seed;
    int64_t first_step; /* steps already done: position of the data, schedules and random numbers */
    int64_t num_steps;  /* steps to run now */
    bool settles;       /* see coordinator_io.h */
    int64_t scratch_bytes;    /* that kernels share in each replica; 0: nobody has asked them */
    bool copies_states;       /* a checkpoint may be written while steps run */
    bool paused;              /* stands still before its first step, until an operator resumes it */
    int64_t statistics_every; /* every so many steps take tensor statistics; 0: none */
    bool state_digests;       /* each step has the digests of its states */
    /* "STEP DIGEST": of the states, where first_step is STEP, as steps have it (state_digests.h);
     * it fails with CSE_DATA where they have another one. NULL: any. */
    const char *begins_with;
    cse_value_files values;
    cse_cluster_options cluster;
    /* An existing directory for its sockets, of mode 0700, short path; NULL: makes its own. */
    const char *run_directory;
    /* Where operators and workers connect; borrowed; NULL: one in run_directory, for this execution
     * alone. */
    cse_control_endpoint *endpoint;
    /* Of execution_arena.h: goes on where it stands; taken by the execution. NULL: a new one. */
    cse_cluster *inherited;
    /* The standing arena from which a new one is filled; NULL: none. Borrowed, until it is. */
    const cse_cluster *before;
    /* Gets the arena, with the final states in their place, where the execution ends with those of
     * a step; else NULL. The caller destroys it. NULL: it is destroyed. */
    cse_cluster **left;
    const cse_execution_hosts *hosts; /* NULL: this host alone */
    cse_run_callbacks callbacks;
    const cse_run_events *events; /* borrowed; may be NULL */
} cse_execution;

#endif
