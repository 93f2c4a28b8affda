/* The process's one session: what all files of run/session share.
 *
 * The session owns every handle (handles.h), the step that is traced (traced_step.h) and the state
 * of the execution that runs; it reports what happens to an observer (observer.h). */
#ifndef CSE_RUN_SESSION_SESSION_H
#define CSE_RUN_SESSION_SESSION_H

#include "engine/checkpoint/checkpoint.h"
#include "engine/config/yaml.h"
#include "engine/passes/pass.h"
#include "engine/precision/graphamp.h"
#include "engine/precision/numerics.h"
#include "run/session/handles.h"
#include "run/session/observer.h"

/* What a job asks of its executions; zeroes ask for nothing. */
typedef struct cse_session_hooks {
    void *self;
    int (*stop_requested)(void *self); /* 0 go on, 1 stop with a checkpoint, 2 stop now */
    void (*on_planned)(void *self);    /* the passes have run; may be NULL */
    const cse_passes_options *passes;
    /* The executions are parts of one run, whose num_steps and num_epochs count from `run_start`;
     * so a run that was stopped ends where it would have ended. */
    bool counts_from_start;
    int64_t run_start;
    /* Training is cut into executions that end at multiples of this many steps; below 1 a fraction
     * of the run; 0: not cut. */
    double segment;
} cse_session_hooks;

struct cse_session {
    cse_arena *arena;
    cse_configuration configuration; /* texts in the arena, defaults filled in */
    cse_cluster_options cluster;
    cse_precision *precision; /* NULL: float32 throughout */
    cse_weight_update weight_update;
    cse_numerics *numerics; /* NULL: no tensor statistics */
    /* The first failure. */
    cse_status error;
    cse_error *failure; /* the first one; NULL while `error` is CSE_OK */
    cse_state **states;
    int state_count, state_capacity;
    cse_model **models;
    int model_count, model_capacity;
    void **libraries;
    int library_count, library_capacity;
    /* Training so far. */
    int64_t global_step, batch_size;
    const char *canonical_configuration; /* saved in checkpoints; may be NULL */
    bool locked; /* the last execution left no checkpoint of its last step */
    /* Tracing. */
    cse_step *traced;     /* while a step is traced; else NULL */
    bool fetches_metrics; /* training steps deliver learning rate, loss scale, gradient norm */
    /* Executing. */
    bool executing;       /* between the start and the end of an execution */
    bool states_standing; /* inside a snapshot: `states` are those of global_step */
    bool ending;          /* the execution was asked to end */
    cse_session_hooks hooks;
    cse_session_observer observer;
    cse_session_report report;
};

/* The open session, or NULL with CSE_USAGE stored ("cse_configure comes first"). */
cse_session *cse_session_open_view(const char *caller);
/* Makes the stored error the session's failure if it is the first. Returns `status`. */
cse_status cse_session_fail(cse_status status);

/* The state's values; made by its initializer if nothing has set them. */
void *cse_state_values(cse_session *session, cse_state *state);
/* CSE_USAGE when states must not be changed now; `caller` begins the message. */
cse_status cse_session_may_change(const cse_session *session, const char *caller);

/* cse_configure with checked settings (tables: precision_settings.h) instead of the texts
 * `precision` and `numerics`, which are not looked at. Both may be NULL, and are needed during the
 * call only. */
cse_status cse_session_configure(const cse_configuration *configuration,
                                 const cse_settings *precision, const cse_settings *numerics);

/* A text as a tree in the session's memory; messages begin with `subject`. */
cse_status cse_session_parse(const char *subject, const char *yaml, cse_yaml_node **tree);
/* The same for a public call; NULL without a session, and after a failure, which the session
 * keeps. */
cse_yaml_node *cse_session_text(const char *caller, const char *subject, const char *yaml);
/* A tree against a table; the result lives as long as the session. */
cse_status cse_session_check(const cse_setting *table, const char *subject, cse_yaml_node *tree,
                             const cse_settings **settings);

/* The session's persistent states as a checkpoint whose tensors borrow their values. Release the
 * array with free. */
void cse_session_checkpoint(cse_session *session, cse_checkpoint *checkpoint);

/* Adds this execution with its labels to run_meta.json; nothing without labels. */
cse_status cse_session_record_job(const cse_session *session);

#endif
