/* One event stream: the next events of its client in the server-sent events format.
 *
 * Text is made when the connection has room, into a buffer of bounded size (READY_BYTES); later
 * events stay in the ring or in the store until then. */
#include "dashboard/data/event_stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"

enum {
    READY_BYTES = 48 << 10,
    STORE_ROWS = 500,
    MAX_LAG_EVENTS = 20000, /* a stream that lags more gets a gap event */
};

typedef struct event_client {
    cse_channel_client base; /* first: what the channel sees of it */
    cse_feed *feed;
    cse_channel *channel;
    int64_t last_id;        /* all events up to this were sent or filtered out */
    int64_t position;       /* in the ring: of the next event */
    int64_t start_position; /* the end of the ring when the stream started */
    bool end_sent, preamble_sent;
    char *role, *level, *host;
    int64_t rank;
    cse_text out;
    size_t sent; /* of `out` */
} event_client;

/* ---- text ---- */

/* Line ends occur in JSON only between tokens, where a blank means the same. */
static void add_event(cse_text *out, const char *type, int64_t id, const char *json)
{
    cse_text_add(out, "id: %lld\nevent: %s\ndata: ", (long long)id, type);
    size_t begin = out->size;
    cse_text_add_bytes(out, json, strlen(json));
    for (size_t i = begin; i < out->size; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r')
            out->data[i] = ' ';
    cse_text_add_bytes(out, "\n\n", 2);
}

static void add_gap(event_client *client, int64_t from, int64_t to, const char *reason)
{
    cse_text json = { 0 };
    cse_text_add(&json,
                 "{\"id\":%lld,\"time_ms\":%lld,\"type\":\"gap\",\"payload\":{\"from\":%lld,"
                 "\"to\":%lld,\"reason\":\"%s\"}}",
                 (long long)to, (long long)cse_unix_ms(), (long long)from, (long long)to, reason);
    add_event(&client->out, "gap", to, json.data);
    cse_text_clear(&json);
    atomic_fetch_add(&client->channel->counters->gaps, 1);
}

static void add_end(event_client *client)
{
    const cse_feed_job *about = &client->channel->about;
    int64_t id = client->last_id > 0 ? client->last_id : 0;
    cse_text json = { 0 };
    cse_text_add(&json, "{\"id\":%lld,\"time_ms\":%lld,\"type\":\"end\",\"payload\":{\"state\":",
                 (long long)id, (long long)cse_unix_ms());
    cse_json_add_string(&json, cse_run_state_name(about->state));
    cse_text_add(&json, ",\"reason\":");
    cse_json_add_string(&json, about->reason[0] != '\0' ? about->reason : NULL);
    cse_text_add(&json, ",\"message\":");
    cse_json_add_string(&json, about->message);
    cse_text_add(&json, "}}");
    add_event(&client->out, "end", id, json.data);
    cse_text_clear(&json);
    client->end_sent = true;
}

/* ---- which events ---- */

static int level_number(const char *level)
{
    static const char *const names[] = { "debug", "info", "warning", "error" };
    for (int i = 0; level != NULL && i < 4; i++)
        if (strcasecmp(names[i], level) == 0)
            return i;
    return -1;
}

/* Whether a log line passes the filter of the request. */
static bool fits_filter(const event_client *client, const char *json)
{
    if (client->role == NULL && client->level == NULL && client->host == NULL && client->rank < 0)
        return true;
    json_t *event = json_loads(json, 0, NULL);
    const json_t *line = json_object_get(event, "payload");
    const char *role = json_string_value(json_object_get(line, "role"));
    const char *level = json_string_value(json_object_get(line, "level"));
    bool fits = client->role == NULL || (role != NULL && strcmp(role, client->role) == 0);
    const char *host = json_string_value(json_object_get(line, "host"));
    if (client->host != NULL)
        fits = fits && host != NULL && strcmp(host, client->host) == 0;
    if (client->rank >= 0)
        fits = fits && json_integer_value(json_object_get(line, "rank")) == client->rank;
    if (client->level != NULL)
        fits = fits && level_number(level) >= level_number(client->level);
    json_decref(event);
    return fits;
}

static bool wants(const event_client *client, unsigned type, const char *json)
{
    return (client->base.types & type) != 0 && (type != CSE_FEED_LOG || fits_filter(client, json));
}

/* ---- from the ring and from the store ---- */

/* With the channel's lock held. */
static void fill_from_ring(event_client *client)
{
    const cse_channel *channel = client->channel;
    if (client->position < channel->ring_first)
        client->position = channel->ring_first;
    while (client->position < channel->ring_end && client->out.size < READY_BYTES) {
        const cse_live_event *event = &channel->ring[client->position % CSE_RING_EVENTS];
        bool news = event->id > client->last_id ||
                    (event->id == 0 && client->position >= client->start_position);
        if (event->id > client->last_id)
            client->last_id = event->id;
        if (news && wants(client, event->type, event->json))
            add_event(&client->out, cse_feed_type_name(event->type), client->last_id, event->json);
        client->position++;
    }
    if (client->position == channel->ring_end)
        client->last_id = channel->last_id;
}

typedef struct store_fill {
    event_client *client;
    int64_t expected; /* the next number; a greater one means that events were deleted */
    int rows;
} store_fill;

static void take_row(void *self, const cse_row *row)
{
    store_fill *fill = self;
    event_client *client = fill->client;
    int64_t id = row->fields[0].integer;
    unsigned type = cse_feed_type(row->fields[2].text != NULL ? row->fields[2].text : "");
    if (fill->rows++ == 0 && id > fill->expected)
        add_gap(client, fill->expected, id - 1, "these events are not kept any more");
    client->last_id = id;
    if (type == 0 || (client->base.types & type) == 0)
        return;
    cse_text json = { 0 };
    cse_row_add_json(&json, row);
    if (wants(client, type, json.data))
        add_event(&client->out, cse_feed_type_name(type), id, json.data);
    cse_text_clear(&json);
}

/* Called with the channel's lock held and releases it while reading the store: the client belongs
 * to this thread. */
static void fill_from_store(event_client *client)
{
    cse_channel *channel = client->channel;
    cse_readers *readers = cse_feed_readers(client->feed);
    int64_t upto = channel->complete_from;
    store_fill fill = { .client = client, .expected = client->last_id + 1 };
    if (upto - client->last_id > MAX_LAG_EVENTS) {
        add_gap(client, client->last_id + 1, upto, "too many events to be told one by one");
        client->last_id = upto;
        return;
    }
    char *model_dir = cse_strdup(channel->about.model_dir);
    pthread_mutex_unlock(&channel->lock);
    cse_store_reader *reader = NULL;
    cse_status status = cse_readers_borrow(readers, model_dir, &reader);
    const cse_store_query query = { .after = client->last_id,
                                    .before = upto + 1,
                                    .limit = STORE_ROWS };
    if (status == CSE_OK)
        status = cse_store_reader_rows(reader, CSE_ROW_EVENT, &query, take_row, &fill);
    cse_readers_give_back(readers, model_dir, &reader);
    free(model_dir);
    if (status != CSE_OK || fill.rows < STORE_ROWS)
        client->last_id = upto > client->last_id ? upto : client->last_id;
    pthread_mutex_lock(&channel->lock);
}

/* With the channel's lock held: appends the available events to `out`. */
static void fill(event_client *client)
{
    cse_channel *channel = client->channel;
    if (!client->preamble_sent) {
        cse_text_add(&client->out, "retry: 2000\n: csengine\n\n");
        client->preamble_sent = true;
    }
    if (client->base.heartbeat_due) {
        cse_text_add(&client->out, ": heartbeat\n\n");
        client->base.heartbeat_due = false;
    }
    if (!channel->store_read || channel->closing)
        return;
    if (client->last_id > channel->last_id)
        client->last_id = channel->last_id; /* a number of an earlier run in the same directory */
    if (client->last_id < channel->complete_from)
        fill_from_store(client);
    else
        fill_from_ring(client);
    bool all = client->last_id >= channel->last_id && client->position == channel->ring_end;
    if (all && channel->ended && !client->end_sent)
        add_end(client);
}

/* ---- the stream ---- */

static int64_t read_events(void *self, char *buffer, size_t room)
{
    event_client *client = self;
    cse_channel *channel = client->channel;
    if (client->sent == client->out.size) {
        client->out.size = client->sent = 0;
        pthread_mutex_lock(&channel->lock);
        bool over = client->end_sent || channel->closing;
        /* Filtered-out events advance last_id without adding text. */
        for (int64_t before = -2; !over && client->out.size == 0 && before != client->last_id;) {
            before = client->last_id;
            fill(client);
        }
        pthread_mutex_unlock(&channel->lock);
        if (over)
            return -1;
    }
    size_t size = client->out.size - client->sent;
    size = size < room ? size : room;
    if (size > 0)
        memcpy(buffer, client->out.data + client->sent, size);
    client->sent += size;
    return (int64_t)size;
}

static void attach(void *self, void (*wake)(void *waker), void *waker)
{
    event_client *client = self;
    cse_channel *channel = client->channel;
    pthread_mutex_lock(&channel->lock);
    client->base.wake = wake;
    client->base.waker = waker;
    client->position = channel->ring_first;
    client->start_position = channel->ring_end;
    client->base.next = channel->clients;
    if (channel->clients != NULL)
        channel->clients->previous = &client->base;
    channel->clients = &client->base;
    pthread_mutex_unlock(&channel->lock);
    cse_feed_wake(client->feed);
}

static void close_events(void *self)
{
    event_client *client = self;
    cse_channel *channel = client->channel;
    pthread_mutex_lock(&channel->lock);
    if (client->base.wake != NULL) {
        if (client->base.previous != NULL)
            client->base.previous->next = client->base.next;
        else
            channel->clients = client->base.next;
        if (client->base.next != NULL)
            client->base.next->previous = client->base.previous;
    }
    assert(channel->client_count > 0);
    channel->client_count--;
    pthread_mutex_unlock(&channel->lock);
    cse_text_clear(&client->out);
    free(client->role);
    free(client->level);
    free(client->host);
    free(client);
}

static const cse_stream event_stream = { .read = read_events,
                                         .attach = attach,
                                         .close = close_events };

/* ---- the answer ---- */

static int64_t newest_event(cse_feed *feed, const cse_feed_job *about)
{
    int64_t newest = 0;
    cse_store_reader *reader = NULL;
    if (cse_readers_borrow(cse_feed_readers(feed), about->model_dir, &reader) == CSE_OK)
        cse_newest_event(reader, &newest);
    cse_readers_give_back(cse_feed_readers(feed), about->model_dir, &reader);
    return newest;
}

static void answer_stream(cse_feed *feed, const cse_feed_request *request,
                          const cse_feed_job *about, cse_answer *answer)
{
    cse_channel *channel = cse_feed_channel(feed, request->job, about);
    if (channel == NULL) {
        cse_answer_problem(answer, CSE_PROBLEM_UNAVAILABLE,
                           "the server is ending, or too many runs have event streams at once");
        return;
    }
    int64_t after = request->after;
    if (after == CSE_FEED_NEW) {
        after = newest_event(feed, about);
        pthread_mutex_lock(&channel->lock);
        if (channel->store_read && channel->last_id > after)
            after = channel->last_id;
        pthread_mutex_unlock(&channel->lock);
    }
    event_client *client = cse_calloc(1, sizeof *client);
    *client = (event_client){ .base.types = request->types | CSE_FEED_GAP,
                              .feed = feed,
                              .channel = channel,
                              .last_id = after,
                              .role = request->role != NULL ? cse_strdup(request->role) : NULL,
                              .level = request->level != NULL ? cse_strdup(request->level) : NULL,
                              .host = request->host != NULL ? cse_strdup(request->host) : NULL,
                              .rank = request->rank };
    cse_answer_empty(answer, 200);
    answer->content_type = "text/event-stream; charset=utf-8";
    cse_answer_header(answer, "X-Accel-Buffering", "no");
    answer->stream = &event_stream;
    answer->stream_self = client;
}

void cse_feed_answer(cse_feed *feed, const cse_feed_request *request, cse_answer *answer)
{
    cse_feed_job *about = cse_calloc(1, sizeof *about);
    if (!cse_feed_find_job(feed, request->job, about))
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "there is no job \"%s\"", request->job);
    else if (about->ended && request->after != CSE_FEED_NEW &&
             request->after >= newest_event(feed, about))
        cse_answer_empty(answer, 204);
    else
        answer_stream(feed, request, about, answer);
    free(about);
}
