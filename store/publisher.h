/* Live events for subscribers: a ZeroMQ PUB socket that never makes the writer wait. A subscriber
 * that is slow or late reads what it missed from the store. */
#ifndef CSE_STORE_PUBLISHER_H
#define CSE_STORE_PUBLISHER_H

#include <stddef.h>

#include "csengine/status.h"

typedef struct cse_publisher cse_publisher;

/* CSE_UNAVAILABLE when the endpoint is taken or cannot be made. Used by one thread at a time. */
cse_status cse_publisher_open(const char *endpoint, cse_publisher **publisher);
void cse_publisher_close(cse_publisher **publisher);
/* Sends two frames; they are dropped for subscribers that do not keep up. */
void cse_publisher_send(cse_publisher *publisher, const char *type, const char *json, size_t size);

#endif
