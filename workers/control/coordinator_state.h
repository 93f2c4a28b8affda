/* Internals of the coordinator: its state, and the functions its files share.
 *
 * coordinator.c is the table of handlers; coordinator_phase.c reports phases and ends the run;
 * coordinator_workers.c follows each worker from its start to its end; coordinator_losses.c
 * replaces those that are lost; coordinator_audit.c ends
 * those that compute wrongly; coordinator_memory.c ends a run that the kernel kills for its
 * memory; coordinator_settling.c keeps the last step of a run that failed;
 * coordinator_steps.c releases steps, hands out records and takes snapshots; coordinator_operator.c
 * executes commands. */
#ifndef CSE_WORKERS_CONTROL_COORDINATOR_STATE_H
#define CSE_WORKERS_CONTROL_COORDINATOR_STATE_H

#include "workers/control/coordinator_io.h"

typedef enum cse_worker_state {
    CSE_WORKER_VACANT,
    CSE_WORKER_STARTED,
    CSE_WORKER_JOINED,
    CSE_WORKER_READY
} cse_worker_state;

enum {
    CSE_PROCESS_NAME_BYTES = 64,
    CSE_CAUSE_BYTES = 128,
    REPLY_BYTES = sizeof((cse_operator_reply *)NULL)->text
};

typedef struct cse_worker {
    cse_worker_state state;
    int incarnation;
    int64_t started_ns;
    bool frozen; /* killed for not answering */
    bool late;   /* killed for not being ready in time */
    bool wrong;  /* killed for its bits */
    /* Processes of this slot were found wrong, or nobody could tell; no more are started. */
    bool found_wrong, doubted, barred;
    int found_process; /* the last one of whom that was told */
    int64_t lost_ns;   /* when the last process that was ready was lost; 0: none is missed */
    char lost_cause[CSE_CAUSE_BYTES];
    int64_t ready_ns, ready_steps; /* when the process was ready, and the steps done then; 0: not */
    bool was_ready;                /* a process of this slot was */
    int losses;                    /* close together: the pause before the next process follows */
    int fruitless;                 /* losses in a row without a step between them */
    int64_t pause_ns;              /* the last such pause */
    int64_t restart_ns;            /* VACANT: when the next process is started; 0: never */
    bool helps;                    /* started to end the step in flight of a run that failed */
} cse_worker;

/* Deaths for lack of memory: coordinator_memory.c. */
typedef struct cse_memory_deaths {
    int64_t seen;                    /* the kernel's count; -1: not known */
    int64_t unclaimed, unclaimed_ns; /* kills whose process is not known yet, and since when */
    int64_t steps, window_ns;        /* steps done at the last one; when the window began */
    int without_step, in_window;
} cse_memory_deaths;

typedef struct cse_coordinator {
    cse_coordinator_options options;
    const cse_coordinator_io *io;
    const cse_coordinator_arena *arena;
    cse_cluster *cluster;
    cse_coordinator_state state;
    int64_t end_step;
    int64_t closed;      /* steps whose records were handed out */
    int64_t released;    /* steps that may change the states */
    int64_t barrier;     /* the released step after which they stay constant, or -1 */
    int64_t held_at;     /* steps after which a hold stops changes, or -1 */
    int64_t snapshot_at; /* steps of the last snapshot, or -1 */
    bool paused, checkpoint_wanted, stop_wanted;
    int64_t cancel_ns; /* when a cancelled run ends without a checkpoint; 0: not set */
    cse_phase phase;
    bool phase_told; /* a phase was reported */
    bool stopped;    /* ended by a request before the last step */
    int64_t running_ns, last_commit_ns;
    int64_t settling_ns; /* when the run failed */
    int64_t settled_at;  /* steps after which the states stand although the run failed, or -1 */
    int64_t stopping_ns;
    cse_memory_deaths memory;
    int escalation; /* 0: asked to leave, SIGTERM and SIGKILL follow */
    cse_status status;
    char *message;
    cse_worker workers[];
} cse_coordinator;

/* ---- coordinator_phase.c ---- */

/* "replica 0"; `text` is returned. */
const char *cse_coordinator_name_of(const cse_coordinator *c, int slot,
                                    char text[CSE_PROCESS_NAME_BYTES]);
int64_t cse_coordinator_now_ns(const cse_coordinator *c);
bool cse_coordinator_all_ready(const cse_coordinator *c);
/* Reports a phase that differs from the last; `message` may be NULL. */
void cse_coordinator_set_phase(cse_coordinator *c, cse_phase phase, const char *message);
/* In state RUNNING: reports the phase that follows from the other members. */
void cse_coordinator_settle_phase(cse_coordinator *c, const char *message);
/* Ends the run with `status` and the thread's last message, unless it is ending already. */
void cse_coordinator_fail(cse_coordinator *c, cse_status status);
void cse_coordinator_enter_stopping(cse_coordinator *c);
/* Ends the run with that failure and leaves the states as they are. */
void cse_coordinator_fail_now(cse_coordinator *c, cse_status status);
void cse_coordinator_tell_to_leave(cse_coordinator *c, int slot);
void cse_coordinator_end_when_all_gone(cse_coordinator *c);
/* Signals workers that have not left in time: SIGTERM, then SIGKILL. */
void cse_coordinator_escalate(cse_coordinator *c);

/* ---- coordinator_workers.c ---- */

void cse_coordinator_kill_late_workers(cse_coordinator *c);
/* From STARTING: all workers are ready, or none has anything to do. */
void cse_coordinator_begin_running(cse_coordinator *c);
void cse_coordinator_start_worker(cse_coordinator *c, int slot);
void cse_coordinator_on_begin(cse_coordinator *c, const cse_coordinator_event *event);
void cse_coordinator_on_message(cse_coordinator *c, const cse_coordinator_event *event);
void cse_coordinator_on_late_message(cse_coordinator *c, const cse_coordinator_event *event);
void cse_coordinator_on_gone(cse_coordinator *c, const cse_coordinator_event *event);
void cse_coordinator_on_gone_stopping(cse_coordinator *c, const cse_coordinator_event *event);
void cse_coordinator_on_frozen(cse_coordinator *c, const cse_coordinator_event *event);

/* ---- coordinator_losses.c ---- */

/* The slot, now VACANT, has lost its process; `ended_itself`: with an exit code of its own. Another
 * one is started after a pause, or the run fails. */
void cse_coordinator_replace(cse_coordinator *c, int slot, const char *cause, bool ended_itself);
/* Starts the processes whose pause is over. */
void cse_coordinator_restart_due(cse_coordinator *c);

/* ---- coordinator_audit.c ---- */

/* Does what follows from the findings that are new. */
void cse_coordinator_take_findings(cse_coordinator *c);
/* The barred slot has lost its process. */
void cse_coordinator_leave_vacant(cse_coordinator *c, int slot, const char *cause);
/* Of an arena that is taken over. */
void cse_coordinator_take_barred(cse_coordinator *c);

/* ---- coordinator_memory.c ---- */

/* At the start: what happened before is not this run's. */
void cse_coordinator_watch_memory(cse_coordinator *c);
/* Whether the kernel killed this process for lack of memory. */
bool cse_coordinator_died_of_memory(cse_coordinator *c, const cse_worker *w, cse_exit how);
/* Counts such a death; true where it was one too many, and the run ends. */
bool cse_coordinator_end_for_memory(cse_coordinator *c);

/* ---- coordinator_settling.c ---- */

void cse_coordinator_on_gone_settling(cse_coordinator *c, const cse_coordinator_event *event);
void cse_coordinator_on_tick_settling(cse_coordinator *c, const cse_coordinator_event *event);

/* ---- coordinator_steps.c ---- */

/* Releases steps up to the next one after which the states must stay constant, at most steps_ahead
 * ahead of the last closed record. */
void cse_coordinator_advance_release(cse_coordinator *c);
/* Goes on with the bounds of the arena's coordinator before. A pause begins at once: workers that
 * are ready would go on up to what was released. */
void cse_coordinator_take_arena(cse_coordinator *c);
/* Frees the places of the records that are kept elsewhere, but for the last of them: a coordinator
 * that takes the run over then has the values of the step after which it stands. */
void cse_coordinator_free_records(cse_coordinator *c);
/* Holds the states after the step in flight while something wants them to stand still. */
void cse_coordinator_update_hold(cse_coordinator *c);
void cse_coordinator_on_tick_starting(cse_coordinator *c, const cse_coordinator_event *event);
void cse_coordinator_on_tick_running(cse_coordinator *c, const cse_coordinator_event *event);
void cse_coordinator_on_tick_stopping(cse_coordinator *c, const cse_coordinator_event *event);

/* ---- coordinator_operator.c ---- */

void cse_coordinator_on_operator(cse_coordinator *c, const cse_coordinator_event *event);
void cse_coordinator_on_operator_stopping(cse_coordinator *c, const cse_coordinator_event *event);

#endif
