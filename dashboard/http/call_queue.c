/* A worker passes over calls whose key is in use. The queue is short, since a client has few
 * connections, so that it is searched from its beginning. */
#include "dashboard/http/call_queue.h"

#include <string.h>

void cse_call_queue_begin(cse_call_queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
}

void cse_call_queue_close(cse_call_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->ending = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

void cse_call_queue_destroy(cse_call_queue *queue)
{
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->changed);
}

/* ---- keys ---- */

/* Keys are the client's to choose: those of two tokens have nothing to do with each other. */
static const char *client_of(const cse_exchange *exchange)
{
    return exchange->request.grant != NULL ? exchange->request.grant->name : "";
}

static bool is_held(const cse_call_queue *queue, const cse_exchange *exchange)
{
    const char *key = cse_exchange_key_view(exchange);
    if (key == NULL)
        return false;
    for (const cse_exchange *other = queue->carried; other != NULL; other = other->next_keyed)
        if (strcmp(cse_exchange_key_view(other), key) == 0 &&
            strcmp(client_of(other), client_of(exchange)) == 0)
            return true;
    return false;
}

static void carry(cse_call_queue *queue, cse_exchange *exchange)
{
    if (cse_exchange_key_view(exchange) == NULL)
        return;
    exchange->next_keyed = queue->carried;
    queue->carried = exchange;
}

void cse_call_queue_leave(cse_call_queue *queue, cse_exchange *exchange)
{
    if (cse_exchange_key_view(exchange) == NULL)
        return;
    pthread_mutex_lock(&queue->lock);
    cse_exchange **at = &queue->carried;
    while (*at != exchange)
        at = &(*at)->next_keyed;
    *at = exchange->next_keyed;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

void cse_call_queue_enter(cse_call_queue *queue, cse_exchange *exchange)
{
    pthread_mutex_lock(&queue->lock);
    while (is_held(queue, exchange))
        pthread_cond_wait(&queue->changed, &queue->lock);
    carry(queue, exchange);
    pthread_mutex_unlock(&queue->lock);
}

/* ---- the queue ---- */

bool cse_call_queue_give(cse_call_queue *queue, cse_exchange *exchange)
{
    pthread_mutex_lock(&queue->lock);
    const bool given = !queue->ending;
    if (given) {
        exchange->state = CSE_EXCHANGE_WAITS;
        exchange->next = NULL;
        MHD_suspend_connection(exchange->connection);
        if (queue->last != NULL)
            queue->last->next = exchange;
        else
            queue->first = exchange;
        queue->last = exchange;
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return given;
}

/* Takes the first call out that may be carried out; NULL: there is none. */
static cse_exchange *take_out(cse_call_queue *queue)
{
    cse_exchange *before = NULL, *exchange = queue->first;
    while (exchange != NULL && is_held(queue, exchange)) {
        before = exchange;
        exchange = exchange->next;
    }
    if (exchange == NULL)
        return NULL;
    if (before != NULL)
        before->next = exchange->next;
    else
        queue->first = exchange->next;
    if (queue->last == exchange)
        queue->last = before;
    carry(queue, exchange);
    return exchange;
}

cse_exchange *cse_call_queue_take(cse_call_queue *queue)
{
    cse_exchange *exchange;
    pthread_mutex_lock(&queue->lock);
    while ((exchange = take_out(queue)) == NULL && !(queue->ending && queue->first == NULL))
        pthread_cond_wait(&queue->changed, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
    return exchange;
}
