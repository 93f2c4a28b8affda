/* Limits on a client: its connections, the time for its headers and its body, and its requests per
 * second.
 *
 * The HTTP library closes idle connections, but a client that sends one byte at a time would hold
 * one for ever. So each connection has a deadline for the present part of its request, and a thread
 * closes those that miss it. */
#ifndef CSE_DASHBOARD_ACCESS_GUARD_H
#define CSE_DASHBOARD_ACCESS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cse_guard cse_guard;
typedef struct cse_guarded cse_guarded;

typedef struct cse_guard_options {
    int most_waiting; /* connections of one address that wait for their client; 0: any number */
    int most_open;    /* of all together, while some wait; 0: any number */
    double requests_per_second; /* of one address, on the average; 0: any number */
    double burst;               /* at once */
} cse_guard_options;

cse_guard *cse_guard_new(const cse_guard_options *options);
/* After the last connection. */
void cse_guard_destroy(cse_guard **guard);

/* Adds a connection when it is opened, and removes it when it is closed. One more than the limits
 * closes the connection that has waited longest for its client's next bytes, first among those that
 * have never shown that they may be here: whoever comes always gets in. */
cse_guarded *cse_guard_add(cse_guard *guard, int socket);
void cse_guard_remove(cse_guard *guard, cse_guarded **guarded);
/* The client has shown that it is let in. */
void cse_guard_know(cse_guard *guard, cse_guarded *guarded);
/* Waits for the client, until a deadline from now on; 0: does not wait for it any more. */
void cse_guard_expect(cse_guard *guard, cse_guarded *guarded, int64_t limit_ns);

/* Whether `address` may make one more request now; otherwise *wait_seconds says when. */
bool cse_guard_admits(cse_guard *guard, const char *address, double *wait_seconds);

/* Open connections, and those closed so far for missing a deadline. */
int cse_guard_count(cse_guard *guard);
int64_t cse_guard_dropped(cse_guard *guard);

#endif
