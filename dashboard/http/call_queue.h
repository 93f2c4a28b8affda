/* Calls that wait for a worker thread. Of the calls with one Idempotency-Key of a client one at a
 * time is carried out: those behind it stay in the queue, so that they occupy no thread and hold up
 * no other call. */
#ifndef CSE_DASHBOARD_HTTP_CALL_QUEUE_H
#define CSE_DASHBOARD_HTTP_CALL_QUEUE_H

#include "dashboard/http/exchange.h"

/* Zeroes, but for the two that cse_call_queue_begin makes. */
typedef struct cse_call_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    cse_exchange *first, *last; /* by `next` */
    cse_exchange *carried;      /* calls with a key that are being carried out, by `next_keyed` */
    bool ending;
} cse_call_queue;

void cse_call_queue_begin(cse_call_queue *queue);
/* From here on no call is taken in; those that are in the queue are carried out. */
void cse_call_queue_close(cse_call_queue *queue);
void cse_call_queue_destroy(cse_call_queue *queue);

/* Suspends the call's connection and puts the call into the queue. False: the queue is closed. */
bool cse_call_queue_give(cse_call_queue *queue, cse_exchange *exchange);
/* In a worker: waits for a call that may be carried out. NULL: there will be none any more. */
cse_exchange *cse_call_queue_take(cse_call_queue *queue);
/* For a call that is in no queue, in the calling thread: waits until it may be carried out. */
void cse_call_queue_enter(cse_call_queue *queue, cse_exchange *exchange);
/* It was carried out. */
void cse_call_queue_leave(cse_call_queue *queue, cse_exchange *exchange);

#endif
