/* The carriers of some hosts in a thread of this process, with queues in memory as their wire: what
 * the link mpi needs in tests, without MPI. */
#ifndef CSE_TESTS_WORKERS_CARRIER_STAGE_H
#define CSE_TESTS_WORKERS_CARRIER_STAGE_H

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "engine/base/arena.h"
#include "workers/carrier/carrier.h"
#include "workers/links/carrier_names.h"

enum { CARRIED_HOSTS = 5, CARRIED_MESSAGES = 4 };

typedef struct carried_queue {
    unsigned char *bytes[CARRIED_MESSAGES];
    size_t sizes[CARRIED_MESSAGES];
    int first, count;
} carried_queue;

typedef struct carried_host {
    struct carrier_stage *stage;
    int host;
    bool taken[CARRIED_HOSTS]; /* the first of the queue of that host is in use */
    cse_carrier *carrier;
} carried_host;

typedef struct carrier_stage {
    char token[CSE_CARRIER_TOKEN_BYTES];
    int count;
    carried_host hosts[CARRIED_HOSTS];
    carried_queue queues[CARRIED_HOSTS][CARRIED_HOSTS]; /* from, to */
    pthread_t thread;
    atomic_bool ends;
} carrier_stage;

static inline unsigned char *carried_room(void *self, int host)
{
    carried_host *own = self;
    carried_queue *q = &own->stage->queues[own->host][host];
    const int place = (q->first + q->count) % CARRIED_MESSAGES;
    if (q->count == CARRIED_MESSAGES)
        return NULL;
    if (q->bytes[place] == NULL)
        q->bytes[place] = cse_malloc(CSE_CARRIER_MESSAGE_BYTES);
    return q->bytes[place];
}

static inline void carried_send(void *self, int host, size_t size)
{
    carried_host *own = self;
    carried_queue *q = &own->stage->queues[own->host][host];
    ck_assert_uint_le(size, CSE_CARRIER_MESSAGE_BYTES);
    q->sizes[(q->first + q->count++) % CARRIED_MESSAGES] = size;
}

static inline const unsigned char *carried_take(void *self, int *host, size_t *size)
{
    carried_host *own = self;
    for (int from = 0; from < own->stage->count; from++) {
        carried_queue *q = &own->stage->queues[from][own->host];
        if (own->taken[from]) {
            q->first = (q->first + 1) % CARRIED_MESSAGES;
            q->count--;
            own->taken[from] = false;
        }
        if (q->count == 0)
            continue;
        own->taken[from] = true;
        *host = from;
        *size = q->sizes[q->first];
        return q->bytes[q->first];
    }
    return NULL;
}

static inline void *carry(void *self)
{
    carrier_stage *s = self;
    int64_t wait_ns = 20000;
    while (!atomic_load(&s->ends)) {
        bool moved = false;
        for (int h = 0; h < s->count; h++)
            moved |= cse_carrier_turn(s->hosts[h].carrier, moved ? 0 : wait_ns / s->count);
        wait_ns = moved ? 20000 : 500000;
    }
    return NULL;
}

static inline void carrier_stage_open(carrier_stage *s)
{
    for (int h = 0; h < s->count; h++) {
        cse_carrier_options options = { .token = s->token, .host = h };
        options.wire = (cse_carrier_wire){
            .self = &s->hosts[h], .room = carried_room, .send = carried_send, .take = carried_take
        };
        for (int other = 0; other < s->count; other++)
            options.others[other] = other != h;
        s->hosts[h].stage = s;
        s->hosts[h].host = h;
        ck_assert_int_eq(cse_carrier_open(&options, &s->hosts[h].carrier), CSE_OK);
    }
    atomic_store(&s->ends, false);
    ck_assert_int_eq(pthread_create(&s->thread, NULL, carry, s), 0);
}

/* As when the carriers are killed: what was on its way is lost. */
static inline void carrier_stage_close(carrier_stage *s)
{
    atomic_store(&s->ends, true);
    pthread_join(s->thread, NULL);
    for (int h = 0; h < s->count; h++) {
        cse_carrier_close(&s->hosts[h].carrier);
        for (int to = 0; to < s->count; to++) {
            for (int i = 0; i < CARRIED_MESSAGES; i++)
                free(s->queues[h][to].bytes[i]);
            s->queues[h][to] = (carried_queue){ 0 };
            s->hosts[h].taken[to] = false;
        }
    }
}

static inline carrier_stage *carrier_stage_new(int count)
{
    carrier_stage *s = cse_calloc(1, sizeof *s);
    uint64_t random;
    ck_assert_int_eq(getrandom(&random, sizeof random, 0), sizeof random);
    snprintf(s->token, sizeof s->token, "test-%016llx", (unsigned long long)random);
    s->count = count;
    carrier_stage_open(s);
    return s;
}

static inline void carrier_stage_destroy(carrier_stage **stage)
{
    carrier_stage_close(*stage);
    free(*stage);
    *stage = NULL;
}

#endif
