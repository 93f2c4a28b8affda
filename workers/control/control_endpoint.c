/* The socket of a job's operators, and the thread that serves it between two executions. */
#include "workers/control/control_endpoint.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "workers/messages/message.h"

enum {
    ADDRESS_BYTES = 128,
    MOST_KEPT = 64, /* commands; those beyond are refused */
};
/* An execution that begins waits at most this long for the thread. */
#define TURN_NS INT64_C(5000000)
#define SEND_NS INT64_C(100000000)

struct cse_control_endpoint {
    const cse_transport *transport;
    cse_socket *socket;
    char address[ADDRESS_BYTES];
    pthread_t thread;
    bool serves; /* the thread has the socket */
    atomic_bool stop;
    cse_kept_command kept[MOST_KEPT];
    int kept_count;
    cse_text received, sent;
};

static void answer(cse_control_endpoint *e, const char *peer, cse_status status, const char *text)
{
    cse_message message = { .kind = CSE_MESSAGE_REPLY };
    message.reply.status = status;
    message.reply.text = text;
    e->sent.size = 0;
    /* A failure is ignored: the operator no longer waits for the reply. */
    if (cse_message_encode(&message, &e->sent) == CSE_OK)
        e->transport->send(e->socket, peer, e->sent.data, e->sent.size, cse_clock_ns() + SEND_NS);
}

static void keep(cse_control_endpoint *e, const char *peer)
{
    cse_kept_command *kept = &e->kept[e->kept_count++];
    *kept = (cse_kept_command){ .bytes = { 0 } };
    snprintf(kept->peer, sizeof kept->peer, "%s", peer);
    cse_text_add_bytes(&kept->bytes, e->received.data, e->received.size);
}

/* Late messages of the workers of the execution before are dropped. */
static void take_command(cse_control_endpoint *e, const char *peer)
{
    cse_message message;
    const char *text = NULL;
    if (strncmp(peer, "operator", strlen("operator")) != 0)
        return;
    if (cse_message_decode(e->received.data, e->received.size, &message) != CSE_OK) {
        cse_log_line(CSE_LOG_WARNING, "from %s: %s", peer, cse_error_message());
        return;
    }
    if (message.kind == CSE_MESSAGE_STATUS) {
        answer(e, peer, CSE_OK, "starting");
        return;
    }
    if (e->kept_count == MOST_KEPT) {
        answer(e, peer, CSE_TEMPORARY, "too many commands wait for the next part of the run");
        return;
    }
    if (message.kind == CSE_MESSAGE_PAUSE)
        text = "pauses before the next step";
    else if (message.kind == CSE_MESSAGE_RESUME)
        text = "goes on";
    else if (message.kind == CSE_MESSAGE_CHECKPOINT && message.checkpoint.directory[0] == '\0')
        text = "a checkpoint follows when the next part of the run has started";
    keep(e, text == NULL ? peer : "");
    if (text != NULL)
        answer(e, peer, CSE_OK, text);
}

static void *serve(void *self)
{
    cse_control_endpoint *e = self;
    char peer[CSE_PEER_BYTES];
    while (!atomic_load(&e->stop)) {
        bool received = false;
        if (e->transport->receive(e->socket, cse_clock_ns() + TURN_NS, peer, &e->received,
                                  &received) != CSE_OK)
            cse_sleep_ns(TURN_NS);
        else if (received)
            take_command(e, peer);
    }
    return NULL;
}

const char *cse_control_endpoint_address(const cse_control_endpoint *endpoint)
{
    return endpoint->address;
}

cse_socket *cse_control_endpoint_take(cse_control_endpoint *endpoint)
{
    if (endpoint->serves) {
        atomic_store(&endpoint->stop, true);
        pthread_join(endpoint->thread, NULL);
        endpoint->serves = false;
    }
    return endpoint->socket;
}

/* Without the thread, commands wait in the socket until the next execution. */
void cse_control_endpoint_return(cse_control_endpoint *endpoint)
{
    assert(!endpoint->serves);
    atomic_store(&endpoint->stop, false);
    endpoint->serves = pthread_create(&endpoint->thread, NULL, serve, endpoint) == 0;
}

bool cse_control_endpoint_next(cse_control_endpoint *endpoint, cse_kept_command *command)
{
    assert(!endpoint->serves);
    if (endpoint->kept_count == 0)
        return false;
    *command = endpoint->kept[0];
    endpoint->kept_count--;
    memmove(endpoint->kept, endpoint->kept + 1,
            (size_t)endpoint->kept_count * sizeof *endpoint->kept);
    return true;
}

void cse_control_endpoint_answer(cse_control_endpoint *endpoint, const char *peer,
                                 cse_status status, const char *text)
{
    assert(!endpoint->serves);
    if (peer[0] != '\0')
        answer(endpoint, peer, status, text);
}

cse_status cse_control_endpoint_open(const char *directory, const char *transport,
                                     cse_control_endpoint **endpoint)
{
    cse_control_endpoint *e = cse_calloc(1, sizeof *e);
    *endpoint = NULL;
    snprintf(e->address, sizeof e->address, "ipc://%s/control", directory);
    cse_status status = cse_transport_select(transport, &e->transport);
    if (status == CSE_OK)
        status = e->transport->bind(e->address, &e->socket);
    if (status != CSE_OK) {
        free(e);
        return status;
    }
    cse_control_endpoint_return(e);
    *endpoint = e;
    return CSE_OK;
}

void cse_control_endpoint_close(cse_control_endpoint **endpoint)
{
    cse_control_endpoint *e = *endpoint;
    cse_kept_command command;
    if (e == NULL)
        return;
    cse_control_endpoint_take(e);
    while (cse_control_endpoint_next(e, &command))
        cse_text_clear(&command.bytes);
    e->transport->close(&e->socket);
    cse_text_clear(&e->received);
    cse_text_clear(&e->sent);
    free(e);
    *endpoint = NULL;
}
