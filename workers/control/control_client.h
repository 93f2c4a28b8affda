/* Operator commands to a live run: pause, resume, checkpoint, cancel, kill, scale, status.
 *
 * The endpoint is in the run store, key control_endpoint; it is a socket that only the run's user
 * can reach. The coordinator replies at once with what it will do; the run's state shows when it
 * is done. */
#ifndef CSE_WORKERS_CONTROL_CONTROL_CLIENT_H
#define CSE_WORKERS_CONTROL_CONTROL_CLIENT_H

#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_control_request {
    const char *endpoint;
    const char *command; /* "pause", "resume", "checkpoint", "cancel", "kill", "scale", "status" */
    const char *reason;  /* recorded with the state transition; NULL: none */
    bool save;           /* cancel: with a checkpoint after the step in flight */
    int64_t grace_ms;    /* cancel with save: time limit of the checkpoint; 0: none */
    int64_t num_csx;     /* scale */
    const char *hosts;   /* scale: other hosts instead: a list, "+NAME" or "-NAME"; NULL: none */
    const char *directory; /* checkpoint: of the last one, which waits for room; NULL: as before */
    int64_t timeout_ms;    /* for the answer; 0: 5000 */
} cse_control_request;

typedef struct cse_control_reply {
    cse_status status; /* of the coordinator */
    cse_error_reason reason;
    int64_t step;   /* steps done */
    char text[256]; /* message; of "status": starting, running, pausing, paused, recovering,
                        * cancelling */
} cse_control_reply;

/* Sends and waits for the answer. The status is the coordinator's, with its text as the message;
 * CSE_USAGE for a command that does not exist, CSE_UNAVAILABLE when the run cannot be reached or
 * rejects the request, CSE_TEMPORARY when no answer came in time. */
cse_status cse_control_send(const cse_control_request *request, cse_control_reply *reply);

/* The commands, ended by NULL. */
extern const char *const cse_control_commands[];

#endif
