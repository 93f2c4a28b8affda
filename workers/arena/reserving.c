/* The thread keeps the error as a text, since errors are of the thread that they happen in. */
#include "workers/arena/reserving.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/pages.h"

typedef struct cse_arena_reserving {
    cse_cluster *cluster;
    cse_status (*reserve)(cse_cluster *cluster);
    pthread_t thread;
    cse_error *failure; /* NULL: all is reserved */
} reserving;

static void *run(void *argument)
{
    reserving *r = argument;
    if (r->reserve(r->cluster) != CSE_OK)
        r->failure = cse_error_copy(cse_error_last());
    return NULL;
}

/* Signals are for the program's own threads. */
static bool start(reserving *r)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&r->thread, NULL, run, r) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

cse_status cse_arena_begin_reserving(cse_cluster *cluster,
                                     cse_status (*reserve)(cse_cluster *cluster))
{
    reserving *r = cse_calloc(1, sizeof *r);
    r->cluster = cluster;
    r->reserve = reserve;
    if (cse_pages_can_make() && start(r)) {
        cluster->reserving = r;
        return CSE_OK;
    }
    free(r);
    return reserve(cluster);
}

cse_status cse_arena_end_reserving(cse_cluster *cluster)
{
    reserving *r = cluster->reserving;
    if (r == NULL)
        return CSE_OK;
    pthread_join(r->thread, NULL);
    cluster->reserving = NULL;
    const cse_status status = r->failure != NULL ? cse_fail_again(r->failure) : CSE_OK;
    free(r->failure);
    free(r);
    return status;
}
