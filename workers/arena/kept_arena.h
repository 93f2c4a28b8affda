/* Keeps an arena alive beyond the process that made it, for the next one that the same parent
 * starts.
 *
 * The descriptor waits in a socket of which the parent, and each process that it forks, has both
 * ends. There are two such sockets and one word that names the one that counts, so that at every
 * instant at which a process may be killed, one whole arena is kept: the one before, or the new
 * one. The struct lies in memory that these processes share. */
#ifndef CSE_WORKERS_ARENA_KEPT_ARENA_H
#define CSE_WORKERS_ARENA_KEPT_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct cse_kept_arena {
    int sockets[2][2]; /* both ends */
    atomic_int kept;   /* 1 + index in `sockets`; 0: none */
} cse_kept_arena;

/* In the parent, before it forks. False when there are no sockets: then nothing is ever kept. */
bool cse_kept_arena_open(cse_kept_arena *kept);
void cse_kept_arena_close(cse_kept_arena *kept);

/* Keeps the arena of `descriptor`, which stays the caller's, in the place of the one before. False
 * when it cannot be kept: then none is. */
bool cse_kept_arena_put(cse_kept_arena *kept, int descriptor);
/* A descriptor of its own for the arena that is kept, which stays so; -1: there is none. */
int cse_kept_arena_get(cse_kept_arena *kept);
/* Keeps it no longer. */
void cse_kept_arena_drop(cse_kept_arena *kept);

#endif
