/* A fork copies the session's memory, but neither its threads nor its workers, which are children
 * of the parent; its sockets and its lock on the folder of the run would be two processes'. A
 * second thread would meet a session that changes under it, and workers end with the thread that
 * started them. */
#include "engine/nn/owner.h"

#include <pthread.h>
#include <stdbool.h>

static bool owned, forked;
static pthread_t owner;

static void note_fork(void)
{
    forked = forked || owned;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, note_fork);
}

void cse_network_take(void)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    pthread_once(&watched, watch_forks);
    owner = pthread_self();
    owned = true;
}

void cse_network_let_go(void)
{
    owned = false;
}

cse_status cse_network_check_owner(const char *caller)
{
    if (forked)
        return cse_fail(CSE_USAGE,
                        "%s: this process was forked from one with an open session, and has "
                        "neither its threads nor its workers: use the session there, and start a "
                        "process that needs one of its own anew (in Python: "
                        "multiprocessing.get_context(\"spawn\"), or subprocess)",
                        caller);
    if (owned && !pthread_equal(owner, pthread_self()))
        return cse_fail(CSE_USAGE,
                        "%s: the session belongs to the thread that opened it: make this call "
                        "there, with what the other thread has computed",
                        caller);
    return CSE_OK;
}
