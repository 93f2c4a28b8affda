/* The callbacks by which a session reports the executions that it runs.
 *
 * They keep the session independent of the run store: the recorder implements this struct, and so
 * does a test. */
#ifndef CSE_RUN_SESSION_OBSERVER_H
#define CSE_RUN_SESSION_OBSERVER_H

#include "engine/code/codegen/codegen.h"
#include "engine/code/codegen/kept_artefact.h"
#include "engine/graph/passes/memory_plan.h"
#include "run/session/traced_step.h"
#include "workers/arena/record.h"
#include "workers/control/execution.h"
#include "workers/control/execution_needs.h"

/* The result of the last execution. */
typedef struct cse_session_report {
    int64_t first_step, last_step; /* of this execution */
    /* Of the run that it is a segment of: the step that its limits count from, the step that it
     * ends at, and the one that the limits say, which may be before `first_step`. */
    int64_t run_first_step, run_last_step, asked_last_step;
    int64_t batch_size;
    int64_t samples;         /* of the steps that were done, when it has ended */
    int64_t numerics_every;  /* tensor statistics are taken on every so many steps; 0: on none */
    int64_t steps_per_epoch; /* 0: the data has no known length */
    /* Clock and number of the first step that was committed and of the last so far. */
    int64_t first_commit_ns, first_commit_step, commit_ns;
    cse_run_result execution;
    const char *data;  /* the data files as text (data_identity.h) */
    const char *links; /* as a checkpoint would hold them (links.h); NULL: nothing was trained */
    double compile_seconds;
    bool compile_cached;
    char artefact_directory[4096];
    char artefact_digest[CSE_ARTEFACT_DIGITS + 1]; /* of its manifest */
    char kernels[CSE_KERNELS_BYTES];               /* the record of its kernels */
    cse_memory_figures memory;                     /* of the compiled step */
    cse_execution_needs needs;                     /* of its execution */
} cse_session_report;

/* One call of a closure. */
typedef struct cse_closure_call {
    int index; /* in step->closures */
    const cse_record *record;
    int64_t called_ns; /* when it was called (cse_clock_ns) */
    cse_status status; /* what it returned */
} cse_closure_call;

enum { CSE_CHAIN_PART_BYTES = 16 };

/* The digests of a step of training, and its place in the chain (run/session/step_chain.h). */
typedef struct cse_chain_step {
    int64_t steps; /* that are done after it */
    unsigned char states[CSE_CHAIN_PART_BYTES], samples[CSE_CHAIN_PART_BYTES];
    unsigned char before[CSE_CHAIN_BYTES], chain[CSE_CHAIN_BYTES];
    const char *links; /* what the step follows from, as it enters the chain */
} cse_chain_step;

/* A number that the program reports. */
typedef struct cse_named_scalar {
    const char *name;
    int64_t step;
    double value;
} cse_named_scalar;

/* A checkpoint that cse_save has written; times are of cse_clock_ns. */
typedef struct cse_saved_checkpoint {
    const char *path, *digest, *identity; /* identity: "", or as in links.h */
    int64_t step, start_ns, end_ns;
} cse_saved_checkpoint;

/* Called in the session's thread, in the order of these members. Any callback may be NULL; none may
 * change the session. Pointers are valid during the call, `step` until the execution has ended. */
typedef struct cse_session_observer {
    void *self;
    const char *run_directory; /* for the sockets of executions, as in cse_execution; or NULL */
    void (*on_planned)(void *self, const cse_step *step); /* not yet compiled */
    /* Likewise; where it had been compiled before, once its first step is done. */
    void (*on_graph)(void *self, const cse_step *step);
    void (*on_compiled)(void *self, const cse_session_report *report);
    void (*on_start)(void *self, const cse_step *step, const cse_session_report *report);
    void (*on_links)(void *self, const char *links); /* which are whole now; those on_start told */
    /* A step was committed: its tensor statistics, and then, if its values are finite, the values.
     */
    void (*on_statistics)(void *self, const cse_record *record);
    void (*on_step)(void *self, const cse_record *record);
    void (*on_chain)(void *self, const cse_chain_step *step); /* after on_step; of training */
    /* A closure is about to be called, and has returned. */
    void (*on_calling)(void *self, int index);
    void (*on_closure)(void *self, const cse_closure_call *call);
    void (*on_scalar)(void *self, const cse_named_scalar *scalar);
    /* A checkpoint is about to be written. What was reported of its steps has to be durable before
     * it: a run that begins there never reports them again. */
    void (*on_save)(void *self);
    void (*on_saved)(void *self, const cse_saved_checkpoint *saved);
    /* All steps below `handed` were reported: of how many of these is everything durable? `hurry`:
     * training will soon wait for it. */
    int64_t (*kept_steps)(void *self, int64_t handed, bool hurry);
    cse_run_events events; /* of the execution; with a `self` of its own */
    /* A further observer, called after this one, or NULL; its events are reached by events.next. */
    const struct cse_session_observer *next;
} cse_session_observer;

#endif
