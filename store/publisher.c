/* The PUB socket; its queue limits bound the memory that a stuck subscriber costs. */
#include "store/publisher.h"

#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "engine/base/arena.h"

struct cse_publisher {
    void *context, *socket;
};

enum { QUEUED_MESSAGES = 2000, LINGER_MS = 200 };

cse_status cse_publisher_open(const char *endpoint, cse_publisher **result)
{
    cse_publisher *publisher = cse_calloc(1, sizeof *publisher);
    int most = QUEUED_MESSAGES, linger_ms = LINGER_MS;
    *result = NULL;
    publisher->context = zmq_ctx_new();
    if (publisher->context != NULL)
        publisher->socket = zmq_socket(publisher->context, ZMQ_PUB);
    if (publisher->socket != NULL &&
        zmq_setsockopt(publisher->socket, ZMQ_SNDHWM, &most, sizeof most) == 0 &&
        zmq_setsockopt(publisher->socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms) == 0 &&
        zmq_bind(publisher->socket, endpoint) == 0) {
        *result = publisher;
        return CSE_OK;
    }
    cse_status status =
        cse_fail(CSE_UNAVAILABLE, "events endpoint %s: %s", endpoint, zmq_strerror(zmq_errno()));
    cse_publisher_close(&publisher);
    return status;
}

void cse_publisher_close(cse_publisher **publisher)
{
    if (*publisher == NULL)
        return;
    if ((*publisher)->socket != NULL)
        zmq_close((*publisher)->socket);
    if ((*publisher)->context != NULL)
        zmq_ctx_term((*publisher)->context);
    free(*publisher);
    *publisher = NULL;
}

void cse_publisher_send(cse_publisher *publisher, const char *type, const char *json, size_t size)
{
    if (publisher == NULL)
        return;
    zmq_send(publisher->socket, type, strlen(type), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(publisher->socket, json, size, ZMQ_DONTWAIT);
}
