/* The threads of parallel.h. */
#include "engine/formats/checkpoint/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum { MOST_HELPERS = 7 };

typedef struct pieces {
    void (*piece)(void *self, int index);
    void *self;
    int count;
    atomic_int next;
} pieces;

static void *take_pieces(void *argument)
{
    pieces *work = argument;
    for (int i; (i = atomic_fetch_add(&work->next, 1)) < work->count;)
        work->piece(work->self, i);
    return NULL;
}

static int helpers_for(int count)
{
    cpu_set_t processors;
    int helpers =
        sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) - 1 : 1;
    helpers = helpers < count - 1 ? helpers : count - 1;
    return helpers < MOST_HELPERS ? helpers : MOST_HELPERS;
}

void cse_parallel_for(int count, void (*piece)(void *self, int index), void *self)
{
    pieces work = { .piece = piece, .self = self, .count = count };
    pthread_t helpers[MOST_HELPERS];
    int wanted = helpers_for(count), started = 0;
    /* The program's handlers run on its own threads only. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < wanted && pthread_create(&helpers[started], NULL, take_pieces, &work) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    take_pieces(&work);
    for (int i = 0; i < started; i++)
        pthread_join(helpers[i], NULL);
}
