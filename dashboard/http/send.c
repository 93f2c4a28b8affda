/* A stream that has nothing to send suspends its connection inside the library's call for more
 * data; its producer resumes it. Both may happen at once: `pending` and `asleep`, under the lock,
 * show each of them what the other has done. */
#include "dashboard/http/send.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dashboard/http/encoding.h"
#include "engine/base/arena.h"
#include "engine/base/json.h"

enum { TAG_BYTES = 128 };

/* ---- streams ---- */

typedef struct sleeper {
    struct MHD_Connection *connection;
    const cse_stream *stream;
    void *self;
    pthread_mutex_t lock;
    bool asleep, pending;
    cse_exchange_context *context;
} sleeper;

static void wake(void *waker)
{
    sleeper *s = waker;
    pthread_mutex_lock(&s->lock);
    s->pending = true;
    if (s->asleep) {
        s->asleep = false;
        MHD_resume_connection(s->connection);
    }
    pthread_mutex_unlock(&s->lock);
}

static ssize_t read_stream(void *self, uint64_t position, char *buffer, size_t room)
{
    sleeper *s = self;
    (void)position;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        s->pending = false;
        pthread_mutex_unlock(&s->lock);
        int64_t size = s->stream->read(s->self, buffer, room);
        if (size < 0)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (size > 0) {
            atomic_fetch_add(&s->context->bytes_sent, size);
            return (ssize_t)size;
        }
        pthread_mutex_lock(&s->lock);
        if (!s->pending) {
            s->asleep = true;
            MHD_suspend_connection(s->connection);
            pthread_mutex_unlock(&s->lock);
            return 0;
        }
        pthread_mutex_unlock(&s->lock);
    }
}

static void close_stream(void *self)
{
    sleeper *s = self;
    s->stream->close(s->self);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static struct MHD_Response *stream_response(cse_exchange *exchange)
{
    cse_answer *answer = &exchange->answer;
    sleeper *s = cse_calloc(1, sizeof *s);
    *s = (sleeper){ .connection = exchange->connection,
                    .stream = answer->stream,
                    .self = answer->stream_self,
                    .context = exchange->context };
    pthread_mutex_init(&s->lock, NULL);
    answer->stream = NULL; /* the response owns it */
    s->stream->attach(s->self, wake, s);
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, read_stream, s, close_stream);
}

/* ---- entity tags ---- */

/* A packed answer has other bytes than a plain one, so that it has a strong tag of its own:
 * "x-gzip" for "x". */
static void packed_tag(const char *tag, char packed[TAG_BYTES])
{
    const size_t length = strlen(tag);
    snprintf(packed, TAG_BYTES, "%.*s-gzip\"", (int)(length > 0 ? length - 1 : 0), tag);
}

static void set_tag(cse_answer *answer, const char *tag)
{
    for (int i = 0; i < answer->header_count; i++)
        if (strcmp(answer->headers[i].name, "ETag") == 0) {
            free(answer->headers[i].value);
            answer->headers[i].value = cse_strdup(tag);
        }
}

/* Whether a list of entity tags holds this one; weak and strong tags compare equal here. */
static bool names_tag(const char *list, const char *tag)
{
    size_t length = strlen(tag);
    if (strcmp(list, "*") == 0)
        return true;
    for (const char *at = strstr(list, tag); at != NULL; at = strstr(at + 1, tag))
        if (at[length] == '\0' || at[length] == ',' || at[length] == ' ')
            return true;
    return false;
}

static void add_tag(cse_answer *answer)
{
    unsigned char digest[16];
    char text[sodium_base64_ENCODED_LEN(sizeof digest, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)answer->body.data,
                       answer->body.size, NULL, 0);
    sodium_bin2base64(text, sizeof text, digest, sizeof digest,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    cse_answer_header(answer, "ETag", "\"%s\"", text);
}

/* Adds the tag of the plain body, and answers 304 to a client that has the content in either form:
 * before it is packed, which costs more. */
static void apply_tag(cse_exchange *exchange)
{
    cse_answer *answer = &exchange->answer;
    char packed[TAG_BYTES];
    if (answer->status != 200 || strcmp(exchange->request.method, "GET") != 0 ||
        answer->stream != NULL)
        return;
    if (!answer->has_etag && answer->file < 0 && answer->fixed_body == NULL &&
        answer->body.data != NULL)
        add_tag(answer);
    const char *known = cse_exchange_header(exchange, "If-None-Match");
    const char *tag = cse_answer_header_view(answer, "ETag");
    if (known == NULL || tag == NULL)
        return;
    packed_tag(tag, packed);
    if (!names_tag(known, tag)) {
        if (!names_tag(known, packed))
            return;
        set_tag(answer, packed);
    }
    answer->status = 304;
    cse_text_clear(&answer->body);
    answer->fixed_body = NULL;
    if (answer->file >= 0)
        close(answer->file);
    answer->file = -1;
}

static void pack(cse_exchange *exchange)
{
    cse_answer *answer = &exchange->answer;
    const char *tag = cse_answer_header_view(answer, "ETag");
    char packed[TAG_BYTES];
    cse_answer_pack(answer, exchange->request.takes_gzip);
    if (tag == NULL || answer->status == 304 || !cse_answer_is_packed(answer))
        return;
    packed_tag(tag, packed);
    set_tag(answer, packed);
}

/* ---- ranges ---- */

/* Serves one range of a file; for several ranges, or another unit, the whole file. */
static void apply_range(cse_exchange *exchange)
{
    cse_answer *answer = &exchange->answer;
    const char *range = cse_exchange_header(exchange, "Range");
    const char *condition = cse_exchange_header(exchange, "If-Range");
    const char *tag = cse_answer_header_view(answer, "ETag");
    if (answer->file < 0 || answer->status != 200)
        return;
    cse_answer_header(answer, "Accept-Ranges", "bytes");
    if (range == NULL || strncmp(range, "bytes=", 6) != 0 || strchr(range, ',') != NULL ||
        (condition != NULL && (tag == NULL || strcmp(condition, tag) != 0)))
        return;
    const char *text = range + 6;
    char *end = NULL;
    int64_t size = answer->file_size, first = 0, last = size - 1;
    if (strspn(text, "0123456789-") != strlen(text) || strchr(text, '-') == NULL)
        return;
    if (*text == '-') {
        int64_t length = strtoll(text + 1, &end, 10);
        first = length > size ? 0 : size - length;
        last = length == 0 ? -1 : last;
    } else {
        first = strtoll(text, &end, 10);
        if (*end == '-' && end[1] != '\0')
            last = strtoll(end + 1, &end, 10);
    }
    last = last >= size ? size - 1 : last;
    if (first > last) {
        cse_answer_problem(answer, CSE_PROBLEM_RANGE, "the file has %lld bytes", (long long)size);
        cse_answer_header(answer, "Content-Range", "bytes */%lld", (long long)size);
        return;
    }
    answer->status = 206;
    answer->file_offset = first;
    answer->file_size = last - first + 1;
    cse_answer_header(answer, "Content-Range", "bytes %lld-%lld/%lld", (long long)first,
                      (long long)last, (long long)size);
}

/* ---- the response ---- */

static struct MHD_Response *make_response(cse_exchange *exchange)
{
    cse_answer *answer = &exchange->answer;
    if (answer->stream != NULL)
        return stream_response(exchange);
    if (answer->file >= 0) {
        int file = answer->file;
        answer->file = -1; /* the response closes it */
        return MHD_create_response_from_fd_at_offset64((uint64_t)answer->file_size, file,
                                                       (uint64_t)answer->file_offset);
    }
    if (answer->fixed_body != NULL)
        return MHD_create_response_from_buffer(
            answer->fixed_size, (void *)(uintptr_t)answer->fixed_body, MHD_RESPMEM_PERSISTENT);
    cse_text body = answer->body;
    answer->body = (cse_text){ 0 };
    if (body.data == NULL)
        return MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_buffer(body.size, body.data, MHD_RESPMEM_MUST_FREE);
}

static void add_headers(const cse_answer *answer, struct MHD_Response *response)
{
    static const char *const always[][2] = {
        { "Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'self'; "
                                     "frame-ancestors 'none'; object-src 'none'" },
        { "X-Content-Type-Options", "nosniff" },
        { "X-Frame-Options", "DENY" },
        { "Referrer-Policy", "no-referrer" },
        { "Cross-Origin-Opener-Policy", "same-origin" },
        { "Cross-Origin-Resource-Policy", "same-origin" },
    };
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        MHD_add_response_header(response, always[i][0], always[i][1]);
    MHD_add_response_header(response, "Cache-Control",
                            answer->may_cache ? "public, max-age=31536000, immutable"
                                              : "private, no-cache");
    MHD_add_response_header(response, "Vary", "Accept, Accept-Encoding, Authorization, Cookie");
    if (answer->content_type != NULL)
        MHD_add_response_header(response, "Content-Type", answer->content_type);
    for (int i = 0; i < answer->header_count; i++)
        MHD_add_response_header(response, answer->headers[i].name, answer->headers[i].value);
}

/* Adds the path to a problem: as it was sent, since a URI reference is percent-encoded. */
static void add_instance(cse_exchange *exchange)
{
    cse_text *body = &exchange->answer.body;
    const char *type = exchange->answer.content_type;
    bool problem = type != NULL && strcmp(type, "application/problem+json") == 0;
    if (!problem || body->size < 2 || body->data[body->size - 1] != '}' ||
        exchange->target.path[0] == '\0')
        return;
    char *path = cse_strdup(exchange->target_text);
    path[strcspn(path, "?")] = '\0';
    body->size--;
    cse_text_add(body, ",\"instance\":");
    cse_json_add_string(body, path);
    cse_text_add(body, "}");
    free(path);
}

void cse_exchange_prepare(cse_exchange *exchange)
{
    if (exchange->prepared)
        return;
    exchange->prepared = true;
    apply_tag(exchange);
    apply_range(exchange);
    add_instance(exchange);
    pack(exchange);
}

enum MHD_Result cse_exchange_send(cse_exchange *exchange)
{
    cse_exchange_context *context = exchange->context;
    cse_answer *answer = &exchange->answer;
    assert(exchange->state != CSE_EXCHANGE_QUEUED && answer->status != 0);
    cse_exchange_prepare(exchange);
    int status = answer->status;
    atomic_fetch_add(&context->requests, 1);
    if (status >= 500)
        atomic_fetch_add(&context->errors, 1);
    if (status == 401 || status == 403 || status == 429)
        atomic_fetch_add(&context->refused, 1);
    atomic_fetch_add(&context->bytes_sent, (long long)answer->body.size);
    struct MHD_Response *response = make_response(exchange);
    if (response == NULL)
        return MHD_NO;
    add_headers(answer, response);
    if (exchange->closes)
        MHD_add_response_header(response, "Connection", "close");
    exchange->state = CSE_EXCHANGE_QUEUED;
    enum MHD_Result result = MHD_queue_response(exchange->connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result;
}
