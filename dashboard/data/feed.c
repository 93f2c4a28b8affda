/* The thread that fills the channels.
 *
 * It sleeps in one poll over the SUB sockets of all runs that have subscribers. An event whose
 * number follows the last one is appended to the ring at once. One that arrives early is kept
 * pending while the thread reads those before it from the run store, which is written up to a
 * quarter of a second later. Twice a second each channel reads its job and its store anyway, so
 * that a run without a publisher, or one whose messages were lost, is followed as well, only
 * later. */
#include "dashboard/data/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include "dashboard/data/channel.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"

#define MILLISECONDS INT64_C(1000000)

enum {
    POLL_MS = 500,
    CATCH_UP_MS = 40,
    MISSING_MS = 1500, /* until an event that the store lacks too becomes a gap */
    UNUSED_MS = 10000,
    STORE_ROWS = 2000,
    MOST_CHANNELS = 1024,
    HEARTBEAT_MS = 15000,
};

struct cse_feed {
    cse_feed_options options;
    void *context;
    int wake_descriptor;
    pthread_t thread;
    pthread_mutex_t lock; /* of the list of channels; taken before a channel's */
    cse_channel *channels;
    bool stopping, runs;
    cse_feed_counters counters;
    int64_t heartbeat_ns; /* of the thread alone */
};

/* ---- the store ---- */

typedef struct store_scan {
    cse_channel *channel;
    unsigned types;
    int rows;
} store_scan;

static void take_stored(void *self, const cse_row *row)
{
    store_scan *scan = self;
    cse_text json = { 0 };
    scan->rows++;
    if (row->fields[0].integer <= scan->channel->last_id || row->fields[2].text == NULL)
        return;
    cse_row_add_json(&json, row);
    const cse_live_event event = { .id = row->fields[0].integer,
                                   .type = cse_feed_type(row->fields[2].text),
                                   .came_ns = cse_clock_ns(),
                                   .json = json.data,
                                   .size = json.size };
    scan->types |= event.type;
    cse_channel_push(scan->channel, &event);
}

/* Appends the events that the store has after the last one; the first time, only the number of its
 * newest event is read. False when there is more to read. */
static bool read_store(cse_channel *channel, cse_store_reader *reader)
{
    store_scan scan = { .channel = channel };
    int64_t newest = 0;
    pthread_mutex_lock(&channel->lock);
    if (!channel->store_read) {
        if (cse_newest_event(reader, &newest) == CSE_OK) {
            channel->store_read = true;
            channel->complete_from = channel->last_id = newest;
            scan.types = CSE_FEED_ALL; /* streams that want earlier events can read the store now */
        }
    } else {
        const cse_store_query query = { .after = channel->last_id, .limit = STORE_ROWS };
        cse_store_reader_rows(reader, CSE_ROW_EVENT, &query, take_stored, &scan);
    }
    bool impatient = channel->pending_count > 0 &&
                     cse_clock_ns() - channel->pending[0].came_ns > MISSING_MS * MILLISECONDS;
    scan.types |= cse_channel_push_pending(channel, impatient);
    cse_channel_wake(channel, scan.types);
    pthread_mutex_unlock(&channel->lock);
    return scan.rows < STORE_ROWS;
}

/* ---- polling a channel ---- */

static void connect_channel(cse_feed *feed, cse_channel *channel, const char *endpoint)
{
    int linger = 0, most = 10000;
    if (channel->socket != NULL)
        zmq_close(channel->socket);
    snprintf(channel->endpoint, sizeof channel->endpoint, "%s", endpoint);
    channel->socket = *endpoint != '\0' ? zmq_socket(feed->context, ZMQ_SUB) : NULL;
    if (channel->socket == NULL)
        return;
    zmq_setsockopt(channel->socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(channel->socket, ZMQ_RCVHWM, &most, sizeof most);
    zmq_setsockopt(channel->socket, ZMQ_SUBSCRIBE, "", 0);
    if (zmq_connect(channel->socket, endpoint) != 0) {
        zmq_close(channel->socket);
        channel->socket = NULL;
        channel->endpoint[0] = '\0';
    }
}

/* Reads the state of the channel's job and what its run store has that the ring lacks. */
static void poll_channel(cse_feed *feed, cse_channel *channel)
{
    cse_store_reader *reader = NULL;
    cse_feed_job *about = cse_calloc(1, sizeof *about);
    cse_text endpoint = { 0 };
    bool known = feed->options.find_job(feed->options.self, channel->job, about);
    bool ended = !known || about->ended, drained = true;
    if (known && cse_readers_borrow(feed->options.readers, about->model_dir, &reader) == CSE_OK) {
        cse_store_reader_key(reader, "events_endpoint", &endpoint);
        if (ended)
            cse_text_clear(&endpoint);
        if (strcmp(channel->endpoint, endpoint.data != NULL ? endpoint.data : "") != 0)
            connect_channel(feed, channel, endpoint.data != NULL ? endpoint.data : "");
        drained = read_store(channel, reader);
        cse_readers_give_back(feed->options.readers, about->model_dir, &reader);
    }
    pthread_mutex_lock(&channel->lock);
    if (known)
        channel->about = *about;
    channel->store_read = true; /* without a store there are no earlier events */
    if (ended != channel->ended && drained) {
        channel->ended = ended;
        cse_channel_wake(channel, CSE_FEED_ALL);
    }
    pthread_mutex_unlock(&channel->lock);
    cse_text_clear(&endpoint);
    free(about);
    channel->polled_ns = drained ? cse_clock_ns() : 0;
}

static void drain_socket(cse_channel *channel)
{
    zmq_msg_t type, json;
    char name[32];
    pthread_mutex_lock(&channel->lock);
    for (int i = 0; i < STORE_ROWS; i++) {
        zmq_msg_init(&type);
        zmq_msg_init(&json);
        int size = zmq_msg_recv(&type, channel->socket, ZMQ_DONTWAIT);
        bool whole = size >= 0 && zmq_msg_more(&type) &&
                     zmq_msg_recv(&json, channel->socket, ZMQ_DONTWAIT) >= 0;
        if (whole) {
            cse_text text = { 0 };
            snprintf(name, sizeof name, "%.*s", size, (const char *)zmq_msg_data(&type));
            cse_text_add_bytes(&text, zmq_msg_data(&json), zmq_msg_size(&json));
            cse_channel_take(channel, name, text.data, text.size);
            cse_text_clear(&text);
        }
        zmq_msg_close(&type);
        zmq_msg_close(&json);
        if (!whole)
            break;
    }
    pthread_mutex_unlock(&channel->lock);
}

/* ---- the list of channels ---- */

static void close_channel(cse_channel **channel)
{
    if ((*channel)->socket != NULL)
        zmq_close((*channel)->socket);
    cse_channel_destroy(channel);
}

cse_channel *cse_feed_channel(cse_feed *feed, const char *job, const cse_feed_job *about)
{
    pthread_mutex_lock(&feed->lock);
    cse_channel *c = feed->stopping ? NULL : feed->channels;
    int count = 0;
    for (; c != NULL && strcmp(c->job, job) != 0; c = c->next)
        count++;
    if (c == NULL && !feed->stopping && count < MOST_CHANNELS) {
        c = cse_channel_new(job, about, &feed->counters);
        c->next = feed->channels;
        feed->channels = c;
    }
    if (c != NULL) {
        pthread_mutex_lock(&c->lock);
        c->client_count++;
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&feed->lock);
    return c;
}

void cse_feed_wake(cse_feed *feed)
{
    const uint64_t one = 1;
    ssize_t written = write(feed->wake_descriptor, &one, sizeof one);
    (void)written;
}

/* Destroys channels that have had no subscriber for a while. */
static void drop_unused(cse_feed *feed, int64_t now_ns)
{
    pthread_mutex_lock(&feed->lock);
    for (cse_channel **at = &feed->channels; *at != NULL;) {
        cse_channel *c = *at;
        pthread_mutex_lock(&c->lock);
        if (c->client_count > 0)
            c->unused_ns = now_ns;
        bool unused = c->client_count == 0 && now_ns - c->unused_ns > UNUSED_MS * MILLISECONDS;
        pthread_mutex_unlock(&c->lock);
        if (unused) {
            *at = c->next;
            close_channel(&c);
        } else {
            at = &c->next;
        }
    }
    pthread_mutex_unlock(&feed->lock);
}

static void send_heartbeats(cse_feed *feed, int64_t now_ns)
{
    int64_t every_ms = feed->options.heartbeat_ms > 0 ? feed->options.heartbeat_ms : HEARTBEAT_MS;
    if (now_ns - feed->heartbeat_ns < every_ms * MILLISECONDS)
        return;
    feed->heartbeat_ns = now_ns;
    pthread_mutex_lock(&feed->lock);
    for (cse_channel *c = feed->channels; c != NULL; c = c->next) {
        pthread_mutex_lock(&c->lock);
        for (cse_channel_client *client = c->clients; client != NULL; client = client->next)
            client->heartbeat_due = true;
        cse_channel_wake(c, CSE_FEED_ALL);
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&feed->lock);
}

/* The channels as they are now; only this thread removes any. */
static int list_channels(cse_feed *feed, cse_channel **list)
{
    int count = 0;
    pthread_mutex_lock(&feed->lock);
    for (cse_channel *c = feed->channels; c != NULL && count < MOST_CHANNELS; c = c->next)
        list[count++] = c;
    pthread_mutex_unlock(&feed->lock);
    return count;
}

static bool is_due(const cse_channel *channel, int64_t now_ns)
{
    int64_t every_ms = channel->pending_count > 0 || !channel->store_read ? CATCH_UP_MS : POLL_MS;
    return now_ns - channel->polled_ns >= every_ms * MILLISECONDS;
}

/* Waits for messages of any channel, a wake-up, or the time of the next poll. */
static void wait_for_messages(cse_feed *feed, cse_channel **list, int count, zmq_pollitem_t *items)
{
    uint64_t wakes;
    int used = 1;
    long timeout_ms = count > 0 ? POLL_MS / 2 : POLL_MS;
    items[0] = (zmq_pollitem_t){ .fd = feed->wake_descriptor, .events = ZMQ_POLLIN };
    for (int i = 0; i < count; i++) {
        if (list[i]->pending_count > 0 || !list[i]->store_read)
            timeout_ms = CATCH_UP_MS;
        if (list[i]->socket != NULL)
            items[used++] = (zmq_pollitem_t){ .socket = list[i]->socket, .events = ZMQ_POLLIN };
    }
    if (zmq_poll(items, used, timeout_ms) <= 0)
        return;
    if ((items[0].revents & ZMQ_POLLIN) != 0 &&
        read(feed->wake_descriptor, &wakes, sizeof wakes) < 0 && errno != EAGAIN)
        return;
    used = 1;
    for (int i = 0; i < count; i++)
        if (list[i]->socket != NULL && (items[used++].revents & ZMQ_POLLIN) != 0)
            drain_socket(list[i]);
}

static void *run_feed(void *self)
{
    cse_feed *feed = self;
    cse_channel **list = cse_calloc(MOST_CHANNELS, sizeof *list);
    zmq_pollitem_t *items = cse_calloc(MOST_CHANNELS + 1, sizeof *items);
    for (;;) {
        pthread_mutex_lock(&feed->lock);
        bool stopping = feed->stopping;
        pthread_mutex_unlock(&feed->lock);
        if (stopping)
            break;
        int count = list_channels(feed, list);
        wait_for_messages(feed, list, count, items);
        int64_t now_ns = cse_clock_ns();
        for (int i = 0; i < count; i++)
            if (is_due(list[i], now_ns))
                poll_channel(feed, list[i]);
        send_heartbeats(feed, now_ns);
        drop_unused(feed, now_ns);
    }
    free(list);
    free(items);
    return NULL;
}

/* ---- beginning and end ---- */

cse_status cse_feed_new(const cse_feed_options *options, cse_feed **result)
{
    cse_feed *feed = cse_calloc(1, sizeof *feed);
    feed->options = *options;
    feed->context = zmq_ctx_new();
    feed->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    feed->heartbeat_ns = cse_clock_ns();
    pthread_mutex_init(&feed->lock, NULL);
    *result = feed;
    feed->runs = feed->context != NULL && feed->wake_descriptor >= 0 &&
                 pthread_create(&feed->thread, NULL, run_feed, feed) == 0;
    return feed->runs ? CSE_OK : cse_fail(CSE_TEMPORARY, "live events: %s", strerror(errno));
}

void cse_feed_stop(cse_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->stopping = true;
    for (cse_channel *c = feed->channels; c != NULL; c = c->next) {
        pthread_mutex_lock(&c->lock);
        c->closing = true;
        cse_channel_wake(c, CSE_FEED_ALL);
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&feed->lock);
    cse_feed_wake(feed);
    if (feed->runs)
        pthread_join(feed->thread, NULL);
}

void cse_feed_destroy(cse_feed **feed)
{
    if (*feed == NULL)
        return;
    while ((*feed)->channels != NULL) {
        cse_channel *channel = (*feed)->channels;
        (*feed)->channels = channel->next;
        close_channel(&channel);
    }
    zmq_ctx_term((*feed)->context);
    close((*feed)->wake_descriptor);
    pthread_mutex_destroy(&(*feed)->lock);
    free(*feed);
    *feed = NULL;
}

void cse_feed_post_state(cse_feed *feed, const char *job, const char *payload)
{
    pthread_mutex_lock(&feed->lock);
    cse_channel *c = feed->channels;
    while (c != NULL && strcmp(c->job, job) != 0)
        c = c->next;
    if (c != NULL) {
        cse_text json = { 0 };
        pthread_mutex_lock(&c->lock);
        cse_text_add(&json, "{\"id\":%lld,\"time_ms\":%lld,\"type\":\"state\",\"payload\":%s}",
                     (long long)c->last_id, (long long)cse_unix_ms(), payload);
        cse_channel_push(c, &(cse_live_event){ .type = CSE_FEED_STATE,
                                               .came_ns = cse_clock_ns(),
                                               .json = json.data,
                                               .size = json.size });
        cse_channel_wake(c, CSE_FEED_STATE);
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&feed->lock);
    cse_feed_wake(feed);
}

cse_readers *cse_feed_readers(const cse_feed *feed)
{
    return feed->options.readers;
}

bool cse_feed_find_job(const cse_feed *feed, const char *id, cse_feed_job *job)
{
    return feed->options.find_job(feed->options.self, id, job);
}

cse_feed_figures cse_feed_figures_now(cse_feed *feed)
{
    cse_feed_figures figures = { 0 };
    pthread_mutex_lock(&feed->lock);
    for (cse_channel *c = feed->channels; c != NULL; c = c->next) {
        figures.channels++;
        figures.streams += c->client_count;
    }
    figures.events = atomic_load(&feed->counters.events);
    figures.gaps = atomic_load(&feed->counters.gaps);
    pthread_mutex_unlock(&feed->lock);
    return figures;
}
