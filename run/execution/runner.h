/* One execution of a session, from the trace of its step to its end, for the two that drive it:
 * cse_run, which calls closures as values arrive, and a caller's own loop (loop.c), for which
 * steps wait in a queue. Where batches have several sizes (batch_kinds.h) it is several in a row,
 * which callers see as one. */
#ifndef CSE_RUN_EXECUTION_RUNNER_H
#define CSE_RUN_EXECUTION_RUNNER_H

#include "run/execution/nan_monitor.h"
#include "run/session/session.h"
#include "workers/arena/inherit.h"

/* A step that waits until the caller's loop asks for it. */
typedef struct cse_waiting_step {
    struct cse_waiting_step *next;
    cse_record record;           /* its values are a copy: `values` */
    bool activation, checkpoint; /* why it is handed out */
    unsigned char *values;
} cse_waiting_step;

typedef struct cse_runner {
    cse_session *session;
    cse_step *step;
    const cse_executor_options *options;
    const cse_settings *input;
    cse_step_function *function;
    void *self; /* of the function */
    cse_dataloader *loader;
    int64_t loader_bytes; /* of the heap, that opening it took */
    cse_text dataloader;  /* the settings in `input`, for the workers */
    bool drops_last;      /* samples that fill no batch are left out */
    bool trains;          /* as the step that was traced first says */
    int64_t first_step, last_step;
    /* Of all executions in a row: the step that limits count from, the first step, the last. */
    int64_t origin, begin_step, end_step;
    cse_session_report *first; /* what was reported of the first of them, once it has ended */
    bool follows;              /* this is not the first of them */
    int64_t at;                /* where it begins, then */
    double seconds;            /* of those that have ended, and their samples */
    cse_disk_load disk;        /* likewise */
    cse_audit_counts audits;   /* likewise */
    int64_t samples;
    bool has_ended;        /* on_start was told, and the execution is over */
    bool found;            /* a coordinator before left its arena, which is taken */
    cse_arena_facts facts; /* then: of that */
    bool goes_on;          /* in an arena that stands already */
    cse_cluster *left;
    const cse_execution_hosts *hosts; /* NULL: this host alone */
    unsigned char *fetched;           /* of the last record; checkpoint closures see it */
    int64_t fetched_step;             /* steps done after that record */
    int64_t checkpointed_step;
    cse_nan_monitor *monitor; /* NULL: no tensor statistics */
    cse_value_files values;   /* as of cse_execution */
    cse_running *running;     /* NULL: no step is to be run, or it has ended */
    bool has_begun;           /* on_start was told */
    cse_stop_request stop;    /* of the caller's loop */
    bool queues;              /* steps wait in the queue */
    cse_waiting_step *first_waiting, *last_waiting;
} cse_runner;

/* Traces, plans and compiles the step and begins to run it, unless there is nothing to run. Closed
 * by cse_runner_close in every case. `caller` begins messages. */
cse_status cse_runner_open(cse_runner *runner, const char *caller, cse_executor *executor,
                           cse_step_function *function, void *self);
/* One turn of the coordinator; true: the execution has ended. */
bool cse_runner_turn(cse_runner *runner, int64_t most_ns);
/* After its end, where nothing waits in the queue: begins the next execution of the row. False:
 * there is none. *status is what opening failed with, and becomes what ending this one or opening
 * the next one fails with, which cse_runner_close takes. */
bool cse_runner_goes_on(cse_runner *runner, cse_status *status);
/* Ends what was opened. `status` is what opening failed with; returns that or what the execution
 * failed with. */
cse_status cse_runner_close(cse_runner *runner, cse_status status);

/* Calls the step closures, or the checkpoint closures, for a record. */
cse_status cse_runner_call(cse_runner *runner, bool on_checkpoint, const cse_record *record);
/* The states of a checkpoint step may be read from here on; and no longer. */
void cse_runner_enter_checkpoint(cse_runner *runner);
void cse_runner_leave_checkpoint(cse_runner *runner);

/* step_plan.c: the steps of this execution, and those of the run in the session's report. */
cse_status cse_runner_plan_steps(cse_runner *runner);

/* loop.c: puts a step, or the checkpoint of one, at the end of the queue. */
void cse_runner_queue(cse_runner *runner, const cse_record *record, bool checkpoint);
/* Ends the loop that a session still has when it is finished. */
void cse_session_abandon_loop(cse_session *session);

#endif
