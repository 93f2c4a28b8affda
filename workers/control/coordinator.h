/* The coordinator's decisions: a state machine over (state, event).
 *
 * It decides when workers start, when the states may change, when they stand still for a snapshot,
 * what a death means and when the run is over. It touches nothing itself: clock, processes,
 * messages and the arena come through one struct, so that a test can play any order of events
 * without a process. Events are handled one at a time by one thread.
 *
 *     STARTING -- all workers ready --> RUNNING -- all steps done, stop or failure --> STOPPING
 *         `------------ stop or failure ------------------------------------------------>
 *     STOPPING -- all processes gone --> ENDED
 */
#ifndef CSE_WORKERS_CONTROL_COORDINATOR_H
#define CSE_WORKERS_CONTROL_COORDINATOR_H

#include "workers/control/run_events.h"
#include "workers/launchers/launcher.h"
#include "workers/messages/message.h"

typedef struct cse_coordinator cse_coordinator;

/* What the coordinator acts through. Slots are numbered from 0 to slot_count - 1. */
typedef struct cse_coordinator_io {
    void *self;
    int64_t (*now_ns)(void *self);

    /* Processes and messages. A worker is known by its slot and its incarnation, which counts the
     * processes the slot has had. */
    cse_status (*start)(void *self, int slot, int incarnation);
    void (*signal)(void *self, int slot, int number);
    /* The slot's process is gone: frees what it had claimed, then lets go of it. */
    void (*reap)(void *self, int slot);
    cse_status (*send)(void *self, int slot, const cse_message *message);
    cse_process (*process)(void *self, int slot);

    /* The arena, as in workers/arena/cluster.h. */
    void (*release)(void *self, int64_t steps);
    int64_t (*hold)(void *self);
    void (*unhold)(void *self);
    int64_t (*steps_done)(void *self);
    bool (*next_record)(void *self, cse_record *record);
    void (*close_record)(void *self);
    void (*stop)(void *self);
    /* Copies the states to where `states` of the options points. */
    void (*copy_states)(void *self);
    cse_status (*failure)(void *self, int slot, char *text, size_t size);
    /* As cse_cluster_plan; the most it accepts is *most. NULL: cannot be changed. */
    cse_status (*plan)(void *self, int replica_count, int *most);
} cse_coordinator_io;

typedef struct cse_coordinator_options {
    const cse_coordinator_io *io; /* borrowed, as are all members */
    const cse_run_callbacks *callbacks;
    const cse_run_events *events; /* NULL: nobody listens */
    const unsigned char *states;  /* handed to on_snapshot */
    cse_message welcome;          /* what a worker that joins is told */
    int slot_count;
    int64_t first_step, num_steps; /* num_steps at least 1 */
    int record_count;              /* steps that may be released ahead of the last closed record */
    int restarts_per_minute;       /* deaths that are made good by a new process; 0: none */
    int64_t start_timeout_ns;      /* from the start of a process until it is ready */
    int64_t leave_timeout_ns; /* from the order to leave until SIGTERM, from that until SIGKILL */
} cse_coordinator_options;

typedef enum cse_coordinator_event_kind {
    CSE_EVENT_BEGIN,   /* start the workers */
    CSE_EVENT_MESSAGE, /* from the worker in `slot` of `incarnation` */
    /* A message from the outside: PAUSE, RESUME, CHECKPOINT, STOP, CANCEL, KILL, SCALE, STATUS */
    CSE_EVENT_OPERATOR,
    CSE_EVENT_GONE,   /* the process in `slot` has ended, `how` */
    CSE_EVENT_FROZEN, /* the process in `slot` has not answered for too long */
    CSE_EVENT_TICK,   /* time went by, or something in the arena changed */
    CSE_EVENT_COUNT
} cse_coordinator_event_kind;

/* What an operator is told: what will be done, or why it will not. */
typedef struct cse_operator_reply {
    cse_status status;
    cse_error_reason reason;
    int64_t step; /* steps done */
    char text[256];
} cse_operator_reply;

typedef struct cse_coordinator_event {
    cse_coordinator_event_kind kind;
    int slot, incarnation;
    const cse_message *message;
    cse_exit how;
    cse_operator_reply *reply; /* to an operator; may be NULL */
} cse_coordinator_event;

typedef enum cse_coordinator_state {
    CSE_COORDINATOR_STARTING,
    CSE_COORDINATOR_RUNNING,
    CSE_COORDINATOR_STOPPING,
    CSE_COORDINATOR_ENDED,
    CSE_COORDINATOR_STATE_COUNT
} cse_coordinator_state;

cse_coordinator *cse_coordinator_new(const cse_coordinator_options *options);
void cse_coordinator_destroy(cse_coordinator **coordinator);

void cse_coordinator_handle(cse_coordinator *coordinator, const cse_coordinator_event *event);

cse_coordinator_state cse_coordinator_state_now(const cse_coordinator *coordinator);
/* Whether the next commit is awaited: the states will stand still for it. */
bool cse_coordinator_awaits_commit(const cse_coordinator *coordinator);
/* Incarnation of the slot's process, -1 when the slot is vacant. */
int cse_coordinator_incarnation(const cse_coordinator *coordinator, int slot);

/* How the run went, once ENDED: the first failure with its message (cse_error_message), or CSE_OK.
 * Sets the members of `result` the coordinator knows; input_wait_seconds is not among them. */
cse_status cse_coordinator_result(const cse_coordinator *coordinator, cse_run_result *result);

#endif
