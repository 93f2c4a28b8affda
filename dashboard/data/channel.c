/* The ring of a channel: events are appended in the order of their numbers; one that arrives early
 * is pending until those before it are there. */
#include "dashboard/data/channel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "store/store.h"

cse_channel *cse_channel_new(const char *job, const cse_feed_job *about,
                             cse_feed_counters *counters)
{
    cse_channel *c = cse_calloc(1, sizeof *c);
    c->counters = counters;
    snprintf(c->job, sizeof c->job, "%s", job);
    pthread_mutex_init(&c->lock, NULL);
    c->about = *about;
    return c;
}

static void drop_oldest(cse_channel *channel)
{
    assert(channel->ring_first < channel->ring_end);
    cse_live_event *oldest = &channel->ring[channel->ring_first++ % CSE_RING_EVENTS];
    if (oldest->id > channel->complete_from)
        channel->complete_from = oldest->id;
    channel->ring_bytes -= oldest->size;
    free(oldest->json);
    oldest->json = NULL;
}

void cse_channel_push(cse_channel *channel, const cse_live_event *event)
{
    assert(event->json != NULL && event->size <= CSE_RING_BYTES);
    while (channel->ring_end > channel->ring_first &&
           (channel->ring_end - channel->ring_first == CSE_RING_EVENTS ||
            channel->ring_bytes + event->size > CSE_RING_BYTES))
        drop_oldest(channel);
    channel->ring[channel->ring_end++ % CSE_RING_EVENTS] = *event;
    channel->ring_bytes += event->size;
    if (event->id > channel->last_id)
        channel->last_id = event->id;
    atomic_fetch_add(&channel->counters->events, 1);
}

void cse_channel_wake(cse_channel *channel, unsigned types)
{
    for (cse_channel_client *c = channel->clients; c != NULL; c = c->next)
        if ((c->types & types) != 0 && c->wake != NULL)
            c->wake(c->waker);
}

/* Events that were neither received nor found in the store, which may still get them. */
static unsigned push_gap(cse_channel *channel, int64_t from, int64_t to)
{
    cse_text json = { 0 };
    const unsigned type = cse_feed_type("gap");
    cse_text_add(&json,
                 "{\"id\":%lld,\"time_ms\":%lld,\"type\":\"gap\",\"payload\":{\"from\":%lld,"
                 "\"to\":%lld,\"reason\":\"the run store lacks these events: it is behind the "
                 "run\"}}",
                 (long long)channel->last_id, (long long)cse_unix_ms(), (long long)from,
                 (long long)to);
    cse_channel_push(channel, &(cse_live_event){ .type = type,
                                                 .came_ns = cse_clock_ns(),
                                                 .json = json.data,
                                                 .size = json.size });
    atomic_fetch_add(&channel->counters->gaps, 1);
    return type;
}

unsigned cse_channel_push_pending(cse_channel *channel, bool impatient)
{
    unsigned types = 0;
    int taken = 0;
    for (; taken < channel->pending_count; taken++) {
        cse_live_event *event = &channel->pending[taken];
        if (event->id <= channel->last_id) {
            free(event->json);
            continue;
        }
        if (event->id != channel->last_id + 1 && !impatient)
            break;
        if (event->id != channel->last_id + 1)
            types |= push_gap(channel, channel->last_id + 1, event->id - 1);
        types |= event->type;
        cse_channel_push(channel, event);
    }
    channel->pending_count -= taken;
    memmove(channel->pending, channel->pending + taken,
            (size_t)channel->pending_count * sizeof channel->pending[0]);
    return types;
}

void cse_channel_take(cse_channel *channel, const char *type, const char *json, size_t size)
{
    const char *number = strstr(json, "\"id\":");
    cse_live_event event = { .id = number != NULL ? strtoll(number + 5, NULL, 10) : 0,
                             .type = cse_feed_type(type),
                             .came_ns = cse_clock_ns(),
                             .size = size };
    if (event.id <= channel->last_id || event.type == 0) {
        if (event.type == 0 && event.id == channel->last_id + 1)
            channel->last_id = event.id;
        return;
    }
    event.json = strndup(json, size);
    unsigned types = 0;
    if (channel->store_read && event.id == channel->last_id + 1 && channel->pending_count == 0) {
        types = event.type;
        cse_channel_push(channel, &event);
    } else if (channel->pending_count < CSE_PENDING_EVENTS) {
        channel->pending[channel->pending_count++] = event;
        types = cse_channel_push_pending(channel, false);
    } else {
        free(event.json);
    }
    cse_channel_wake(channel, types);
}

void cse_channel_destroy(cse_channel **channel)
{
    cse_channel *c = *channel;
    while (c->ring_first < c->ring_end)
        drop_oldest(c);
    for (int i = 0; i < c->pending_count; i++)
        free(c->pending[i].json);
    pthread_mutex_destroy(&c->lock);
    free(c);
    *channel = NULL;
}
