/* A job while it runs: the struct that the files of run/job share. */
#ifndef CSE_RUN_JOB_JOB_PARTS_H
#define CSE_RUN_JOB_JOB_PARTS_H

#include "engine/nn/objective.h"
#include "run/job/callback_set.h"
#include "run/job/hints.h"
#include "run/job/job.h"
#include "run/job/job_life.h"
#include "run/job/job_start.h"
#include "run/job/job_watch.h"
#include "run/job/past_validations.h"
#include "run/job/run_target.h"
#include "run/job/validated_samples.h"
#include "run/record/logger_set.h"
#include "run/record/recorder.h"
#include "run/saving/retention.h"
#include "run/saving/takeover.h"
#include "workers/messages/run_directory.h"

enum { CSE_DEFAULT_LOG_STEPS = 50 };

/* What validations measure. */
typedef struct cse_job_metric {
    const char *name;                /* "loss" */
    const cse_config_plugin *plugin; /* NULL: loss and accuracy, which each validation has */
    cse_metric *metric;
    bool is_traced; /* the validation step has what it takes */
} cse_job_metric;

typedef struct cse_job {
    cse_job_life life;
    const cse_job_settings *settings;
    const cse_job_environment *environment;
    cse_job_result *result;
    cse_session *session;
    cse_model *model;
    cse_objective *objective; /* that the model has; NULL: its own loss */
    cse_optimizer *optimizer;
    cse_callback_host host;      /* of the callbacks */
    cse_callback_set *callbacks; /* NULL: there are none */
    cse_past_validations *past;  /* of the run, before this start; NULL: nobody asks */
    cse_logger_set *loggers;
    cse_recorder *recorder;      /* NULL: the job has no run store */
    cse_retention *retention;    /* NULL: all checkpoints stay */
    cse_run_directory directory; /* sockets of the recorder and the executions */
    const char *best;            /* the metric of cse_job_prepare_validations; NULL: none */
    cse_job_metric *metrics;     /* [metric_count], loss and accuracy first */
    int metric_count;            /* 0: they have no names yet */
    int loader;                  /* that is evaluated, from 0 */
    int loaders_planned;         /* data loaders of a validation of which a step was planned */
    int64_t saved_step;          /* of the last checkpoint that was written or loaded; else 0 */
    int64_t first_step;          /* where this start of the run began */
    const char *loaded_path;     /* the checkpoint that it began with; NULL: none */
    int64_t replayed_step;       /* of the last validation before it that callbacks were told */
    const char *place;           /* where an operator wants the last one; NULL: model_dir */
    cse_hints hints;             /* settings that describe other hardware */
    cse_previous_run previous;   /* in model_dir */
    const cse_run_target *unfinished; /* the run of model_dir that has not ended; NULL: none */
    int64_t *found_steps;             /* its checkpoints without a row (found_checkpoints.h) */
    int found_count;
    cse_run_target target;          /* the end, once it is written down */
    int64_t guarded_ns;             /* when its folder was last looked at */
    int64_t logged_step, logged_ns; /* of the last logged step */
    int64_t line_ns;                /* when a line about a step was last recorded */
    cse_job_watch watch;
    cse_session_observer handed_on;  /* notes for a successor */
    cse_validated_samples validated; /* of the newest validation */
} cse_job;

/* Whether the job runs steps, and does not compile or check alone. */
bool cse_job_executes(const cse_job *job);

/* Hands an event to those who watch the job. */
void cse_job_emit(const cse_job *job, const cse_job_event *event);

/* The closure that shows a step and passes its values on. */
cse_status cse_job_show_step(void *job, const cse_values *values);

/* Traces, compiles and runs `function` over the data of a loader. */
cse_status cse_job_run_loop(cse_job *job, const cse_config_plugin *loader,
                            const cse_executor_options *options, cse_step_function *function);

void cse_job_emit_text(const cse_job *job, int kind, int64_t step, const char *text);

/* ---- job_save.c ---- */

/* Writes the checkpoint of a step, and returns when it stands. */
cse_status cse_job_save(cse_job *job, int64_t step);
/* The checkpoint closure of training; `self` is the job. */
cse_status cse_job_save_step(void *self, const cse_values *values);
/* After training that was stopped: where it has no checkpoint of its last step, that is written. */
cse_status cse_job_keep_stopped(cse_job *job);
/* During a validation: the states are those of the last step of training. */
cse_status cse_job_save_between(void *self);

/* ---- job_target.c ---- */

/* Decides from which step the limits count, and where they end if that was decided before. */
void cse_job_count_steps(cse_job *job);
/* The training is planned, so that its end is known: tells of the unfinished run and writes the end
 * down, before the first step, as `actions` (job_life.h) say. */
void cse_job_keep_target(cse_job *job, unsigned actions);
/* The run is over: the next start decides anew. */
void cse_job_forget_target(const cse_job *job);

/* ---- job_metrics.c ---- */

/* Gives job->metrics their names, of the settings alone. */
void cse_job_name_metrics(cse_job *job);
cse_status cse_job_make_metrics(cse_job *job);
cse_status cse_job_reset_metrics(const cse_job *job);

/* Integer labels that have one row of `predictions` each, of the objective or of the data; NULL
 * when there are none. */
cse_tensor *cse_job_labels_of(const cse_step *step, const cse_tensor *predictions);

/* Traces the update of each metric that the step has arguments for. */
void cse_job_trace_metrics(cse_job *job, const cse_step *step, cse_tensor *loss,
                           cse_tensor *predictions);

/* ---- job_validate.c ---- */

/* One validation: the model's weights over the data of each val_dataloader. */
cse_status cse_job_validate(cse_job *job);

/* A validation of each checkpoint that the settings name, with `load`. */
cse_status cse_job_validate_all(cse_job *job, cse_status (*load)(cse_job *job, const char *path));

/* The names of the metrics that validations of a training record; ended by NULL. */
const char *const *cse_job_validation_names(cse_job *job);
/* What is known of the validations before the first step: job->best becomes the name of the metric
 * by which the best checkpoint is chosen, as validations record it (NULL: none is chosen), and
 * their data are opened once with those of the training. CSE_CONFIG where keep_best, or a callback
 * of ours (monitor), waits for a metric that no validation has. */
cse_status cse_job_prepare_validations(cse_job *job);

/* Gives the callbacks the validations that the run did before the step that it goes on from. */
cse_status cse_job_replay(cse_job *job);
/* Notes where this start begins, also for the loggers. */
void cse_job_begin(cse_job *job);

/* ---- job_end.c ---- */

/* What the losses of the training say up to now. */
cse_loss_verdict cse_job_trend(cse_job *job);
/* Whether a job that did its steps has done what it was for: CSE_PREEMPTED, CSE_DIVERGED. */
cse_status cse_job_check_end(cse_job *job);

/* Whether the run was to validate the weights that were loaded, and did not come to it. */
bool cse_job_owes_validation(const cse_job *job);

/* ---- job_look.c ---- */

/* Between two executions; `seconds`: of the validation, if it was one. */
void cse_job_look_at(const cse_job *job, bool validated, double seconds);
cse_status cse_job_validate_and_look(cse_job *job);

/* ---- weights of other programs ---- */

/* Whether the checkpoint may be missing: the file names it, not the command line, and the
 * configuration is validated alone. */
bool cse_job_may_miss_checkpoint(const cse_job *j);
/* Begins with them: those that are there, at step 0. */
cse_status cse_job_load_weights(cse_job *j, const char *path);

/* Gives the model the objective of the settings, and makes its reference or its teacher; the latter
 * gets its weights from its own file before each execution. */
cse_status cse_job_make_objective(cse_job *j);
cse_status cse_job_load_teacher(cse_job *j);
/* When the weights that the run begins with are loaded. CSE_CONFIG. */
cse_status cse_job_check_reference(cse_job *j);
/* Of an evaluation; for training it fails and says how to begin with them. */
cse_status cse_job_load_foreign(cse_job *j, const char *path);

/* Logs a warning, which the run store keeps as well. */
void cse_job_warn(const cse_job *j, const cse_error *warning);

/* Adds what an execution takes to what the job is told to take. */
void cse_job_take_needs(cse_job *job, bool training, const cse_execution_needs *needs);

#endif
