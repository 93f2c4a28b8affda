/* A link between hosts that are all in one thread: queues in memory, whose frames arrive late, and
 * whose connections end when a test or the seed says so. */
#ifndef CSE_TESTS_MEMORY_LINK_H
#define CSE_TESTS_MEMORY_LINK_H

#include "workers/links/link.h"

extern const cse_host_link memory_link;

/* Before the first host opens it. `most_queued`: frames that a connection holds. */
void memory_link_reset(int hosts, uint64_t seed, int most_queued);
/* Ends the connection of two hosts; it is made again by itself. */
void memory_link_break(int a, int b);
/* What one host has exchanged with another one since the mesh was reset. */
cse_host_link_counts memory_link_counts(int host, int other);
/* Frames delivered so far. */
long memory_link_delivered(void);

#endif
