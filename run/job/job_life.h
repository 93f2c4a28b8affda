/* The life of a job as a table: state x event -> state, actions.
 *
 * A state has two parts, each with a table of its own, since neither asks for the other: the stage
 * that the job is in, and who decided where its run ends. An event is looked up in both. There are
 * no side effects here: the job hands in what happened (job_run.c, job_save.c, job_target.c) and
 * does what is asked for in return.
 *
 *     PREPARING -> OWED -> TRAINING <-> VALIDATING         -> FINISHED, STOPPED, HANDED_ON, FAILED
 *         |          `---> COMPLETE
 *         `-- a training begins with steps (TRAINING), or without any left (COMPLETE)
 *     TRAINING <-> WAITING      its last checkpoint finds no room
 *     any      --> FAILING <-> FAILING_WAITING   its last step is being saved
 *     any      --> UNSAVED      a checkpoint that had to be written was not: nothing more is saved
 *
 * What an execution does (starting, pausing, recovering) is the coordinator's life
 * (workers/control/coordinator.h) and changes nothing here. */
#ifndef CSE_RUN_JOB_JOB_LIFE_H
#define CSE_RUN_JOB_JOB_LIFE_H

#include <stdbool.h>

typedef enum cse_job_stage {
    CSE_LIFE_NONE,
    CSE_LIFE_PREPARING, /* no step is planned */
    CSE_LIFE_OWED,      /* a validation is planned, and no training before it */
    CSE_LIFE_TRAINING,
    CSE_LIFE_VALIDATING, /* between two segments of training, or after the last */
    CSE_LIFE_COMPLETE,   /* there was no step left to train */
    CSE_LIFE_WAITING,    /* all steps are done, and the last checkpoint waits for room */
    CSE_LIFE_FAILING,    /* a failure ends it, and its last step is being saved */
    CSE_LIFE_FAILING_WAITING,
    CSE_LIFE_UNSAVED, /* a checkpoint that had to be written was not */
    CSE_LIFE_FINISHED,
    CSE_LIFE_STOPPED, /* before its last step */
    CSE_LIFE_HANDED_ON,
    CSE_LIFE_FAILED,
    CSE_LIFE_COUNT
} cse_job_stage;

/* Where the run ends. */
typedef enum cse_job_end {
    CSE_END_NONE,
    CSE_END_OPEN,       /* not decided yet, or not by this job: nothing is written down */
    CSE_END_ANEW,       /* as the given limits say */
    CSE_END_UNFINISHED, /* as the unfinished run of model_dir had it */
    CSE_END_TAKEN,      /* as the coordinator before this one had it, which wrote it down */
    CSE_END_KEPT,       /* written down */
    CSE_END_FORGOTTEN,  /* the run is over: the next start decides anew */
    CSE_END_COUNT
} cse_job_end;

typedef struct cse_job_life {
    cse_job_stage stage;
    cse_job_end end;
} cse_job_life;

#define CSE_JOB_LIFE_BEGIN ((cse_job_life){ CSE_LIFE_PREPARING, CSE_END_OPEN })

typedef enum cse_job_life_event {
    /* From which step the limits count is decided. */
    CSE_ON_COUNTED_ANEW,
    CSE_ON_COUNTED_UNFINISHED,
    CSE_ON_COUNTED_TAKEN,
    /* The passes have run over a step that is about to be executed. */
    CSE_ON_VALIDATION_PLANNED,
    CSE_ON_STEPS_PLANNED,
    CSE_ON_NOTHING_PLANNED, /* a training without a step left */
    /* Checkpoints of training. */
    CSE_ON_SAVED,         /* one was written, or may be missing */
    CSE_ON_NOT_SAVED,     /* one that had to be written was not */
    CSE_ON_NO_ROOM,       /* the last one found none */
    CSE_ON_WAIT_OVER,     /* it was written, or failed for something else */
    CSE_ON_WAIT_GIVEN_UP, /* the run is to end without it */
    /* The training failed, and its last step is in no checkpoint. */
    CSE_ON_UNSAVED_FAILURE,
    /* The job is over. */
    CSE_ON_FINISHED,
    CSE_ON_STOPPED,
    CSE_ON_HANDED_ON,
    CSE_ON_FAILED,
    CSE_ON_COUNT
} cse_job_life_event;

/* What the job is to do, in this order. */
enum {
    CSE_DO_TELL_FORMAT = 1 << 0, /* what the run computes in */
    CSE_DO_TELL_END = 1 << 1,    /* that the unfinished run was to end elsewhere */
    CSE_DO_TELL_CHANGES = 1 << 2,
    CSE_DO_KEEP_END = 1 << 3,
    CSE_DO_ACCEPT = 1 << 4,
    CSE_DO_TELL_COMPLETE = 1 << 5,
    CSE_DO_SAVE_LAST = 1 << 6,
    CSE_DO_FORGET_END = 1 << 7,
    CSE_DO_REFUSE = 1 << 8, /* neither part of the state has such an event: it stays */
};

/* The actions that follow from what happened; *life becomes the next state. */
unsigned cse_job_life_next(cse_job_life *life, cse_job_life_event event);
/* The same for a job that runs: a refusal, which is a fault of the engine, is logged. */
unsigned cse_job_live(cse_job_life *life, cse_job_life_event event);

/* Whether the run's end is that of a start before it. Before the training is planned. */
bool cse_job_life_goes_on(cse_job_life life);
/* Whether the run's end is written down. */
bool cse_job_life_keeps_end(cse_job_life life);
/* Whether the last checkpoint waits for room. */
bool cse_job_life_waits(cse_job_life life);
/* Whether a failure ends the job, and its last step is being saved. */
bool cse_job_life_fails(cse_job_life life);

#endif
