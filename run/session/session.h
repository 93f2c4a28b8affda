/* The process's one session: what all files of engine/session share.
 *
 * The session owns every handle and, between executions, the value of every state. Nothing of a
 * state's value is in a graph: each execution traces its own graph, which binds the states that the
 * step uses, and values are copied in before the execution and out after it. */
#ifndef CSE_RUN_SESSION_SESSION_H
#define CSE_RUN_SESSION_SESSION_H

#include "engine/checkpoint/checkpoint.h"
#include "engine/metrics/metric.h"
#include "engine/models/models.h"
#include "engine/optimizers/optimizer.h"
#include "engine/passes/pass.h"
#include "engine/precision/graphamp.h"
#include "engine/precision/numerics.h"
#include "engine/schedules/schedule.h"
#include "engine/types/weight_update.h"
#include "workers/control/execution.h"

struct cse_state {
    const char *name;
    cse_shape shape;
    cse_dtype dtype;
    cse_initializer initializer;
    bool trainable;
    bool persistent; /* in checkpoints; a metric's states are not */
    void *values;    /* NULL until somebody needs them */
    int index;       /* in the graph that is traced; -1 */
    bool bfloat16;   /* float32 words that hold values of bfloat16 alone */
};

struct cse_model {
    const cse_model_descriptor *descriptor;
    const cse_settings *settings;
    void *self;
    cse_state **parameters;
    int parameter_count, parameter_capacity;
    bool building, compiled, training;
};

struct cse_optimizer {
    const cse_optimizer_descriptor *descriptor;
    const cse_settings *settings;
    cse_model *model;
    cse_schedule *schedule;
    int state_count;           /* for each parameter */
    cse_state **states;        /* [parameter][state] */
    cse_state **compensations; /* [parameter], with CSE_WEIGHT_BF16_KAHAN; else NULL */
};

struct cse_schedule {
    cse_schedule_part *part;
    cse_state *last_epoch;
};

struct cse_metric {
    const cse_metric_descriptor *descriptor;
    const char *label;
    cse_state *states[CSE_MAX_DECLARED_STATES];
    cse_state *value, *updates;
};

struct cse_executor {
    cse_executor_options options;
    const cse_settings *input; /* the data loader's */
};

/* Hooks of a whole job into each execution; all may be NULL. */
typedef struct cse_session_hooks {
    void *self;
    int (*stop_requested)(void *self); /* 0 go on, 1 stop with a checkpoint, 2 stop now */
    void (*on_graph)(void *self, const cse_graph *graph);
    const cse_passes_options *passes;
    /* The executions are parts of one run, whose num_steps and num_epochs count from `run_start`;
     * so a run that was stopped ends where it would have ended. */
    bool counts_from_start;
    int64_t run_start;
    /* Training is cut into executions that end at multiples of this many steps; below 1 a fraction
     * of the run; 0: not cut. */
    double segment;
} cse_session_hooks;

/* What the last execution did, for a job's result. */
typedef struct cse_session_report {
    int64_t first_step, last_step; /* of this execution */
    int64_t run_last_step;         /* of the run that it is a segment of */
    int64_t batch_size;
    /* Clock and number of the first step that was committed and of the last so far. */
    int64_t first_commit_ns, first_commit_step, commit_ns;
    cse_run_result execution;
    double compile_seconds;
    bool compile_cached;
    char artefact_directory[4096];
} cse_session_report;

typedef struct cse_session {
    cse_arena *arena;
    cse_configuration configuration; /* texts in the arena, defaults filled in */
    cse_cluster_options cluster;
    cse_precision *precision; /* NULL: float32 throughout */
    cse_weight_update weight_update;
    cse_numerics *numerics; /* NULL: nothing is observed */
    cse_status error;
    cse_error *failure; /* the first one; NULL while `error` is CSE_OK */
    cse_state **states;
    int state_count, state_capacity;
    cse_model **models;
    int model_count, model_capacity;
    cse_schedule *schedules;
    void **libraries;
    int library_count, library_capacity;
    int64_t global_step, batch_size;
    const char *canonical_configuration; /* kept in checkpoints; may be NULL */
    bool locked;                     /* the last execution left no checkpoint of its last step */
    cse_step *traced;                /* while a step is traced */
    bool executing, states_standing; /* between cse_run's start and end; inside a snapshot */
    bool ending;                     /* the execution was asked to end */
    cse_session_hooks hooks;
    cse_session_report report;
    struct cse_recorder *recorder; /* of a job with a run store; NULL otherwise */
    bool fetches_metrics; /* training steps deliver learning rate, loss scale, gradient norm */
} cse_session;

/* The open session, or NULL with CSE_USAGE stored ("cse_configure comes first"). */
cse_session *cse_session_open_view(const char *caller);
/* Keeps the stored message as the session's failure if it is the first. Returns `status`. */
cse_status cse_session_fail(cse_status status);

/* Declares a state; NULL after a failure, which is kept. */
typedef struct cse_state_options {
    cse_shape shape;
    cse_dtype dtype;
    cse_initializer initializer;
    bool trainable, transient;
} cse_state_options;
cse_state *cse_session_state(const cse_state_options *options, const char *name_format, ...)
    CSE_PRINTF(2, 3);
size_t cse_state_bytes(const cse_state *state);
/* The state's values, made from its initializer where nothing set them. */
void *cse_state_values(cse_session *session, cse_state *state);
/* The state's values are rounded to bfloat16, now and whenever they are set from outside. */
void cse_state_hold_bfloat16(cse_state *state);
/* To be called where values were set. */
void cse_state_round_held(cse_state *state);
/* Index of the state in the graph that is traced; declared there at the first call. */
int cse_state_bind(cse_graph *graph, cse_state *state);
/* CSE_USAGE where states may not be changed now; `caller` begins the message. */
cse_status cse_session_may_change(const cse_session *session, const char *caller);

/* The session's persistent states as a checkpoint whose tensors borrow their values. Release the
 * array with free. */
void cse_session_checkpoint(cse_session *session, cse_checkpoint *checkpoint);

/* Adds this execution with its labels to run_meta.json; nothing without labels. */
cse_status cse_session_record_job(const cse_session *session);

/* ---- the step that is traced ---- */

typedef struct cse_step_closure_entry {
    cse_closure *closure;
    void *self;
    int *fetches; /* indices in graph->fetches */
    int count;
    bool on_checkpoint;
    const char *name; /* for those who watch; NULL: by its number */
} cse_step_closure_entry;

struct cse_step {
    cse_session *session;
    cse_graph *graph;
    cse_step_closure_entry *closures;
    int closure_count, closure_capacity;
    int loss_fetch, exhausted_fetch; /* -1: none */
    /* With exhausted_fetch: each parameter's sum of squares of its gradient. */
    int *gradient_fetches;
    const char **gradient_names;
    int gradient_count;
    double least_loss_scale;
    bool training;     /* an optimizer step was traced */
    cse_state **bound; /* by index in graph->states */
};

/* Has `value` delivered after each step; returns its index in graph->fetches, or -1 after a failure
 * that is kept in the graph. */
int cse_step_fetch(cse_step *step, const char *name, cse_tensor *value);

/* cse_batch_mean of a sum with a name, which its stochastic rounding goes by. */
cse_tensor *cse_batch_mean_named(cse_tensor *x, const char *name);

/* The next scalar of a committed step that has a name of its own ("loss", "lr/0", "grad_norm"),
 * from *index on, which is moved behind it; false at the end. Names live as long as the step. */
bool cse_values_named(const cse_values *values, int *index, const char **name, double *value);

/* Whether it is a curve that people look at: a float scalar with a name of its own, and not one of
 * the many that a failure is explained by. */
bool cse_fetch_is_metric(const cse_fetch_entry *fetch);

/* Gives the closure that was asked for last a name (static text). */
void cse_step_name_closure(cse_step *step, const char *name);

/* Traces `function` for microbatches of what `loader` delivers. The caller releases both. */
struct cse_dataloader;
cse_status cse_step_trace(cse_session *session, const struct cse_dataloader *loader,
                          cse_step_function *function, void *self, cse_step **step);
void cse_step_destroy(cse_step **step);

#endif
