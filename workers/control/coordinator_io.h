/* The coordinator's interface: functions through which it acts, options, and events.
 *
 * The coordinator reaches clock, processes, messages and the arena only through these functions, so
 * that a test can simulate any order of events without a process. */
#ifndef CSE_WORKERS_CONTROL_COORDINATOR_IO_H
#define CSE_WORKERS_CONTROL_COORDINATOR_IO_H

#include "workers/arena/coordinator_side.h"
#include "workers/control/run_events.h"
#include "workers/launchers/launcher.h"
#include "workers/messages/message.h"

/* Clock, processes and messages. Slots are numbered from 0 to slot_count - 1. A worker is known by
 * its slot and its incarnation, which counts the processes the slot has had. */
typedef struct cse_coordinator_io {
    void *self;
    int64_t (*now_ns)(void *self);
    cse_status (*start)(void *self, int slot, int incarnation);
    void (*signal)(void *self, int slot, int number);
    /* The slot's process is gone: frees what it had claimed, then reaps it. */
    void (*reap)(void *self, int slot);
    cse_status (*send)(void *self, int slot, const cse_message *message);
    /* Hands out the states after `steps` steps; `last`: no step will follow. */
    void (*copy_states)(void *self, int64_t steps, bool last);
    /* How many processes the kernel has killed for lack of memory, as cse_memory_kills_look; what
     * the run needs and may have, for people. NULL: not known. */
    int64_t (*memory_kills)(void *self);
    void (*describe_memory)(void *self, char *text, size_t size);
} cse_coordinator_io;

struct cse_audit_finding;

/* The arena, as workers/arena/coordinator_side.h describes it. */
typedef struct cse_coordinator_arena {
    void (*release)(cse_cluster *cluster, int64_t steps);
    int64_t (*hold)(cse_cluster *cluster);
    void (*unhold)(cse_cluster *cluster);
    int64_t (*steps_done)(const cse_cluster *cluster);
    bool (*next_record)(cse_cluster *cluster, cse_record *record);
    void (*close_record)(cse_cluster *cluster);
    void (*free_records)(cse_cluster *cluster, int64_t steps);
    bool (*lacks_places)(const cse_cluster *cluster);
    int64_t (*released)(const cse_cluster *cluster);
    void (*stop)(cse_cluster *cluster);
    cse_status (*plan)(cse_cluster *cluster, int replica_count);
    cse_status (*failure)(const cse_cluster *cluster, int slot, char text[CSE_FAILURE_TEXT_BYTES]);
    cse_process (*process)(const cse_cluster *cluster, int slot);
    void (*count_waits)(cse_cluster *cluster);
    /* See audit.h; next_finding, is_barred may be NULL: nothing is audited. */
    bool (*next_finding)(cse_cluster *cluster, struct cse_audit_finding *finding);
    bool (*suspects)(const cse_cluster *cluster, int slot);
    void (*bar)(cse_cluster *cluster, int slot);
    bool (*is_barred)(const cse_cluster *cluster, int slot);
    /* As cse_cluster_gather; NULL: the states of an arena are whole. */
    cse_status (*gather)(cse_cluster *cluster, int64_t steps, bool over, bool *whole);
} cse_coordinator_arena;

/* All pointers are borrowed. */
typedef struct cse_coordinator_options {
    const cse_coordinator_io *io;
    const cse_coordinator_arena *arena;
    cse_cluster *cluster; /* passed to the arena's functions */
    const cse_run_callbacks *callbacks;
    const cse_run_events *events; /* may be NULL */
    cse_message welcome;          /* the answer to a worker that joins */
    const char *host;             /* the name of this one, for reports */
    int slot_count;
    int most_replicas;             /* that may share a step */
    int64_t first_step, num_steps; /* num_steps at least 1 */
    bool settles;                  /* a failure of the run leaves the states of a whole step */
    bool paused;                   /* stands still before the first step */
    bool inherited;                /* the arena stands within these steps already */
    int steps_ahead;               /* that may be released ahead of the last closed record */
    /* Another bound of what is released, with what it is called with; NULL: none. */
    int64_t (*most_released)(void *self);
    void *most_released_self;
    int restarts; /* of one slot in a row without a step between; see coordinator_losses.c */
    int64_t join_timeout_ns;  /* from the start of a process until it has connected */
    int64_t start_timeout_ns; /* until it is ready */
    int64_t leave_timeout_ns; /* from the request to exit until SIGTERM, and on to SIGKILL */
} cse_coordinator_options;

typedef enum cse_coordinator_event_kind {
    CSE_EVENT_BEGIN,   /* start the workers */
    CSE_EVENT_MESSAGE, /* from the worker in `slot` of `incarnation` */
    /* An operator's message: PAUSE, RESUME, CHECKPOINT, STOP, CANCEL, KILL, SCALE, STATUS */
    CSE_EVENT_OPERATOR,
    CSE_EVENT_GONE,   /* the process in `slot` has ended, `how` */
    CSE_EVENT_FROZEN, /* the process in `slot` has not answered for too long */
    CSE_EVENT_FAILED, /* the run cannot go on: `status`, with the thread's last message */
    CSE_EVENT_TICK,   /* time has passed, or the arena changed */
    CSE_EVENT_COUNT
} cse_coordinator_event_kind;

/* The reply to an operator: what will be done, or why it is rejected. */
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
    cse_status status;
    bool at_once;              /* FAILED: the step in flight cannot end */
    cse_operator_reply *reply; /* to an operator; may be NULL */
} cse_coordinator_event;

typedef enum cse_coordinator_state {
    CSE_COORDINATOR_STARTING,
    CSE_COORDINATOR_RUNNING,
    CSE_COORDINATOR_SETTLING,
    CSE_COORDINATOR_STOPPING,
    CSE_COORDINATOR_ENDED,
    CSE_COORDINATOR_STATE_COUNT
} cse_coordinator_state;

#endif
