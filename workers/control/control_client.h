/* Operator commands to a live run: pause, resume, checkpoint, cancel, kill, scale, status.
 *
 * The endpoint is in the run store, key control_endpoint; it is a socket that only the run's user
 * can reach. The coordinator replies at once with what it will do; the run's state shows when it
 * is done. */
#ifndef CSE_WORKERS_CONTROL_CONTROL_CLIENT_H
#define CSE_WORKERS_CONTROL_CONTROL_CLIENT_H

#include <stdint.h>

#include "csengine/status.h"
#include "engine/base/text.h"

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

/* The parts of cse_control_send, for a run whose socket is on another host. The request as bytes,
 * without its endpoint; CSE_USAGE for a command that does not exist. */
cse_status cse_control_encode(const cse_control_request *request, cse_text *bytes);
/* Sends these bytes to the socket on this host; `answer` is what comes back within the time, not
 * looked at. Fails as cse_control_send when the run cannot be reached or does not answer. */
cse_status cse_control_exchange(const char *endpoint, const cse_text *bytes, int64_t timeout_ms,
                                cse_text *answer);
/* Reads an answer, which may be anything, and returns as cse_control_send does. */
cse_status cse_control_decode(const void *bytes, size_t size, cse_control_reply *reply);
/* The bytes of an answer with this status and text, in place of one of the coordinator. */
cse_status cse_control_encode_reply(cse_status status, const char *text, cse_text *bytes);

/* The commands, ended by NULL. */
extern const char *const cse_control_commands[];

#endif
