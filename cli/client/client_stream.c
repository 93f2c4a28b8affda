/* A stream of events that reconnects with Last-Event-ID after a restart of the server, which then
 * sends the missed events and none twice. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client/client_connection.h"
#include "cli/client/event_stream.h"
#include "cli/terminal/json_values.h"
#include "engine/base/clock.h"

enum { PATIENCE_MS = 30000, FIRST_PAUSE_MS = 250, SILENCE_S = 60 };

typedef struct following {
    const cse_client_stream *stream;
    cse_event_stream parser;
    cse_client_answer answer; /* the body of an error response */
    cse_client *api;
    bool over;
} following;

static void deliver(void *self, const char *type, const char *id, const char *data)
{
    following *f = self;
    if (f->over)
        return;
    json_t *json = cse_json_from_others(data, strlen(data));
    const cse_client_event event = { .type = type, .id = id, .data = json };
    if (!f->stream->on_event(f->stream->self, &event))
        f->over = true;
    json_decref(json);
}

static size_t take_bytes(char *bytes, size_t one, size_t size, void *self)
{
    following *f = self;
    long status = 0;
    (void)one;
    curl_easy_getinfo(f->api->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        if (f->answer.body.size + size < 1 << 20)
            cse_text_add_bytes(&f->answer.body, bytes, size);
        return size;
    }
    bool taken = cse_event_stream_feed(&f->parser, bytes, size);
    return taken && !f->over ? size : 0;
}

static int poll_end(void *self, curl_off_t total, curl_off_t now, curl_off_t up_total,
                    curl_off_t up_now)
{
    following *f = self;
    (void)total, (void)now, (void)up_total, (void)up_now;
    if (!f->over && f->stream->is_over != NULL)
        f->over = f->stream->is_over(f->stream->self);
    return f->over;
}

static CURLcode connect_once(following *f, int *status)
{
    CURL *curl = f->api->curl;
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: text/event-stream");
    if (f->parser.id.size > 0)
        headers = cse_client_add_header(headers, "Last-Event-ID", f->parser.id.data);
    cse_client_answer_clear(&f->answer);
    cse_event_stream_reset(&f->parser);
    headers = cse_client_prepare(f->api, f->stream->path, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, poll_end);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, f);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    /* The server sends a heartbeat each 15 s: a minute without one means it is gone. */
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
    CURLcode code = curl_easy_perform(curl);
    long http = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http);
    *status = (int)http;
    curl_slist_free_all(headers);
    return code;
}

static cse_status refused(following *f, int status)
{
    f->answer.status = status;
    if (f->answer.body.size > 0)
        f->answer.json = cse_json_from_others(f->answer.body.data, f->answer.body.size);
    return cse_client_problem(f->api, &f->answer);
}

static cse_status follow(following *f)
{
    int64_t lost_ns = cse_clock_ns();
    int pause_ms = FIRST_PAUSE_MS;
    bool reached = false;
    for (;;) {
        int status = 0;
        CURLcode code = connect_once(f, &status);
        if (f->over || (code == CURLE_OK && status == 204))
            return CSE_OK;
        if (status != 0 && status != 200 && status != 429 && status != 503)
            return refused(f, status);
        if (status == 0 && !reached)
            return cse_client_lost(f->api, code);
        reached = true;
        if (status == 200) {
            lost_ns = cse_clock_ns();
            pause_ms = f->parser.retry_ms > 0 ? f->parser.retry_ms : FIRST_PAUSE_MS;
        } else if (cse_clock_ns() - lost_ns > PATIENCE_MS * (int64_t)1000000) {
            return status == 0 ? cse_client_lost(f->api, code) : refused(f, status);
        }
        for (int waited_ms = 0; waited_ms < pause_ms; waited_ms += 50) {
            usleep(50000);
            if (poll_end(f, 0, 0, 0, 0))
                return CSE_OK;
        }
        pause_ms = pause_ms < 2000 ? pause_ms * 2 : pause_ms;
    }
}

cse_status cse_client_follow(cse_client *api, const cse_client_stream *stream)
{
    following f = { .stream = stream, .api = api };
    f.parser.self = &f;
    f.parser.on_event = deliver;
    cse_status status = follow(&f);
    cse_event_stream_clear(&f.parser);
    cse_client_answer_clear(&f.answer);
    return status;
}
