/* Where a job's operators reach it, over all its executions.
 *
 * While an execution runs, its coordinator serves the socket. Between two of them (a validation or
 * the next segment of training is traced, compiled and started) a thread does, so that no operator
 * waits for a compiler: PAUSE, RESUME and CHECKPOINT are answered at once and kept for the next
 * coordinator; STATUS is answered; whatever can be refused or ends the run is kept unanswered, and
 * the next coordinator answers it. */
#ifndef CSE_WORKERS_CONTROL_CONTROL_ENDPOINT_H
#define CSE_WORKERS_CONTROL_CONTROL_ENDPOINT_H

#include "workers/transports/transport.h"

typedef struct cse_control_endpoint cse_control_endpoint;

/* A command that came between two executions. */
typedef struct cse_kept_command {
    char peer[CSE_PEER_BYTES]; /* who waits for the answer; "" when it was given */
    cse_text bytes;            /* the message, as cse_message_decode reads it */
} cse_kept_command;

/* Binds "control" in `directory`, which must exist, and begins to serve it. `transport`: its name,
 * or NULL for the default. The caller closes it after the last execution. */
cse_status cse_control_endpoint_open(const char *directory, const char *transport,
                                     cse_control_endpoint **endpoint);
void cse_control_endpoint_close(cse_control_endpoint **endpoint);

/* As operators and workers connect to it; valid until it is closed. */
const char *cse_control_endpoint_address(const cse_control_endpoint *endpoint);

/* The socket, for the calling thread alone until it is returned. */
cse_socket *cse_control_endpoint_take(cse_control_endpoint *endpoint);
void cse_control_endpoint_return(cse_control_endpoint *endpoint);

/* The oldest kept command, while the socket is taken; false when there is none. The caller clears
 * its bytes. */
bool cse_control_endpoint_next(cse_control_endpoint *endpoint, cse_kept_command *command);
/* Answers a kept command, while the socket is taken; nothing where `peer` is "". */
void cse_control_endpoint_answer(cse_control_endpoint *endpoint, const char *peer,
                                 cse_status status, const char *text);

#endif
