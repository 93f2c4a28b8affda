/* What a job tells of its progress while it runs. */
#ifndef CSE_RUN_JOB_JOB_EVENT_H
#define CSE_RUN_JOB_JOB_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* What a job is doing. */
typedef enum cse_job_phase {
    CSE_JOB_PREPARING, /* the model is made, a checkpoint is loaded */
    CSE_JOB_COMPILING, /* a step is traced and compiled */
    CSE_JOB_STARTING,  /* the processes of an execution start */
    CSE_JOB_TRAINING,
    CSE_JOB_VALIDATING,
    CSE_JOB_SAVING,
    CSE_JOB_STORAGE,    /* all steps are done, and the last checkpoint waits for room */
    CSE_JOB_RECOVERING, /* a process was lost and is being replaced */
    CSE_JOB_PAUSED,
    CSE_JOB_STOPPING,
} cse_job_phase;

/* Progress to show while the job runs. */
typedef struct cse_job_event {
    enum {
        CSE_JOB_LOG,        /* `text`: a line for people ("loaded checkpoint ...") */
        CSE_JOB_STEP,       /* a training step that is logged */
        CSE_JOB_EVAL_STEP,  /* an evaluation step that is logged */
        CSE_JOB_CHECKPOINT, /* `text`: path of a checkpoint that was written */
        CSE_JOB_PHASE,      /* `phase` has begun */
        CSE_JOB_PROGRESS,   /* a committed step, at most one per interval */
        /* The configuration, the model and the data are accepted, the run store is whole, and
         * there are steps to train; compiling follows. */
        CSE_JOB_ACCEPTED,
        CSE_JOB_WARNING,   /* `warning`, which is logged as well: a setting without effect, ... */
        CSE_JOB_COMPLETE,  /* `text`: no step is left to train, and how to go on */
        CSE_JOB_VALIDATED, /* one of several checkpoints, `text`, with the metrics of `result` */
    } kind;
    cse_job_phase phase;
    int64_t step;              /* steps done: global for training, of the loop for evaluation */
    int64_t last_step;         /* step at which the run ends; for evaluation the loop */
    float loss;                /* mean over the global batch */
    double samples_per_second; /* since the last logged step; of PROGRESS: the last such event */
    double global_samples_per_second; /* since the first step of the loop */
    const char *text;
    const struct cse_error *warning;
    const struct cse_job_result *result;
    /* Of the steps, and of phases of an execution: */
    bool training;                      /* of the training step, not of an evaluation */
    bool more_loops;                    /* `last_step` is not all: validations come in addition */
    int64_t first_step, loop_last_step; /* of this loop, which ends at a validation */
    int64_t batch_size;
    double epoch, last_epoch; /* passes over the data at `step` and at `last_step`; 0: not known */
    double learning_rate;     /* NaN: none */
    int64_t time_ms;          /* Unix time of the commit */
} cse_job_event;

#endif
