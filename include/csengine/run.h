/* A whole run of a configuration, as `csengine start` has it, from a program of one's own: training
 * with its validations, checkpoints and run store, on this host or on all that
 * backend.cluster_config.hosts names. */
#ifndef CSENGINE_RUN_H
#define CSENGINE_RUN_H

#include "csengine/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cse_run_request {
    const char *configuration; /* path of a CONFIG.yaml */
    /* "PATH=VALUE" each, as --set takes them, ended by NULL; later ones win. NULL: none. */
    const char *const *settings;
    /* Called in the calling thread; each may be NULL. */
    void (*on_step)(void *self, int64_t step, double loss); /* a training step that is logged */
    int (*stop_requested)(void *self); /* 0: go on; 1: stop with a checkpoint; 2: stop at once */
    void *self;
} cse_run_request;

typedef struct cse_run_outcome {
    int64_t steps;              /* global step at the end */
    bool stopped;               /* before the last step */
    double train_seconds;       /* of the steps of this call */
    char weights_digest[65];    /* of the last state, as `csengine checkpoint digest` prints it */
    char checkpoint_path[4096]; /* the last one written or loaded; "": none */
} cse_run_outcome;

/* Runs it to its end and returns the first failure; *outcome holds what was reached before it. The
 * process must have no session (cse_configure) of its own meanwhile. It is the coordinator of the
 * run: the program csengine, as installed or by CSENGINE_EXECUTABLE, starts all others here and on
 * the other hosts, and they end with it. A run that was cut off goes on from its newest checkpoint
 * when it is called again. CSE_NO_INPUT, CSE_CONFIG: the configuration, and where in it. */
CSE_API cse_status cse_run_configuration(const cse_run_request *request, cse_run_outcome *outcome);

#ifdef __cplusplus
}
#endif

#endif
