/* The callbacks of the HTTP library (libmicrohttpd), and the worker threads. */
#include "dashboard/http/http.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dashboard/access/peer.h"
#include "dashboard/http/call_queue.h"
#include "dashboard/http/send.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

#define SECONDS INT64_C(1000000000)

enum {
    POOL_THREADS = 2,
    WORKERS = 5,       /* threads for routes that may block; more than there may be slow calls */
    SLOW_WORKERS = 40, /* threads for calls that wait for a model; more than may wait */
    CONNECTION_BYTES = 16384, /* of which the headers of a request must fit into a half */
    CONNECTION_LIMIT = 4096,
    IDLE_TIMES = 2, /* a client may leave an answer unread for so many times client_seconds */
    SEND_BYTES = 128 << 10, /* what the kernel keeps for a client that does not read */
    HEADER_SECONDS = 15,
    BODY_TIMES = 2, /* as long for a body */
    SHUTDOWN_POLLS = 200,
    SHUTDOWN_POLL_MS = 5,
    MAX_DRAINED = 4, /* times the body's limit that are read before the connection is cut */
};

struct cse_http {
    cse_http_options options;
    struct MHD_Daemon *daemons[2]; /* of the address, and of the directory's unix socket */
    cse_exchange_context context;
    cse_entry entry;
    atomic_int under_way; /* requests whose answer is not sent */

    cse_call_queue queue; /* of the worker threads */
    pthread_t workers[WORKERS];
    cse_call_queue slow_queue; /* of the threads for calls that may wait for long */
    pthread_t slow_workers[SLOW_WORKERS];
};

/* What is kept with a connection as long as it is open. */
typedef struct accepted {
    cse_guarded *guarded;
    bool from_owner; /* as it was when the connection was accepted */
} accepted;

static const accepted *accepted_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

static cse_guarded *guarded_of(struct MHD_Connection *connection)
{
    const accepted *kept = accepted_of(connection);
    return kept != NULL ? kept->guarded : NULL;
}

static int socket_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info != NULL ? info->connect_fd : -1;
}

/* How long a request's headers may take. */
static int64_t header_ns(const cse_http *http)
{
    double seconds = http->options.client_seconds;
    return seconds > 0 ? (int64_t)(seconds * 1e9) : HEADER_SECONDS * SECONDS;
}

/* How long a connection may be idle between requests. */
static int64_t idle_ns(const cse_http *http)
{
    return (IDLE_TIMES + 1) * header_ns(http);
}

static void note_connection(void *self, struct MHD_Connection *connection, void **context,
                            enum MHD_ConnectionNotificationCode code)
{
    cse_http *http = self;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        accepted *left = *context;
        *context = NULL;
        if (left != NULL)
            cse_guard_remove(http->context.guard, &left->guarded);
        free(left);
        return;
    }
    int socket = socket_of(connection), room = SEND_BYTES;
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    accepted *kept = cse_calloc(1, sizeof *kept);
    kept->from_owner = cse_peer_is_owner(socket);
    kept->guarded = cse_guard_add(http->context.guard, socket);
    cse_guard_expect(http->context.guard, kept->guarded, idle_ns(http));
    *context = kept;
}

/* The request line is there: what it returns is the request's context from now on. */
static void *begin_exchange(void *self, const char *target, struct MHD_Connection *connection)
{
    cse_http *http = self;
    atomic_fetch_add(&http->under_way, 1);
    cse_guard_expect(http->context.guard, guarded_of(connection), header_ns(http));
    cse_exchange *exchange = cse_exchange_new(&http->context, connection, target);
    exchange->socket = socket_of(connection);
    const accepted *kept = accepted_of(connection);
    exchange->from_owner = kept != NULL && kept->from_owner;
    return exchange;
}

static void end_exchange(void *self, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    cse_http *http = self;
    cse_exchange *exchange = *context;
    (void)code;
    cse_guard_expect(http->context.guard, guarded_of(connection), idle_ns(http));
    if (exchange == NULL)
        return;
    *context = NULL;
    atomic_fetch_sub(&http->under_way, 1);
    cse_exchange_destroy(&exchange);
}

/* ---- worker threads ---- */

static void *work(void *self)
{
    cse_call_queue *queue = self;
    cse_exchange *exchange;
    while ((exchange = cse_call_queue_take(queue)) != NULL) {
        cse_exchange_handle(exchange);
        cse_call_queue_leave(queue, exchange);
        cse_exchange_prepare(exchange);
        exchange->state = CSE_EXCHANGE_READY;
        MHD_resume_connection(exchange->connection);
    }
    return NULL;
}

/* ---- the library's calls ---- */

static void take_body(cse_exchange *exchange, const char *data, size_t *size)
{
    if (exchange->body.size + *size > CSE_MAX_BODY_BYTES)
        exchange->body_too_large = true;
    if (!exchange->body_too_large)
        cse_text_add_bytes(&exchange->body, data, *size);
    else
        exchange->body.size += *size;
    *size = 0;
}

static enum MHD_Result finish(cse_http *http, cse_exchange *exchange)
{
    cse_guard_expect(http->context.guard, guarded_of(exchange->connection), 0);
    if (!cse_exchange_check_body(exchange))
        return cse_exchange_send(exchange);
    const bool quick = exchange->match.operation->quick && cse_exchange_key_view(exchange) == NULL;
    cse_call_queue *queue = exchange->match.operation->slow ? &http->slow_queue : &http->queue;
    if (!quick && cse_call_queue_give(queue, exchange))
        return MHD_YES;
    /* Also where the server is stopping, and the workers are about to end. */
    cse_call_queue_enter(queue, exchange);
    cse_exchange_handle(exchange);
    cse_call_queue_leave(queue, exchange);
    return cse_exchange_send(exchange);
}

static enum MHD_Result take_call(void *self, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *size, void **context)
{
    cse_http *http = self;
    cse_exchange *exchange = *context;
    (void)url;
    (void)version;
    if (exchange == NULL)
        return MHD_NO;
    switch (exchange->state) {
    case CSE_EXCHANGE_NEW: {
        bool passes = cse_exchange_check_head(exchange, method);
        if (exchange->request.authorized)
            cse_guard_know(http->context.guard, guarded_of(connection));
        if (!passes) {
            cse_guard_expect(http->context.guard, guarded_of(connection), 0);
            return cse_exchange_send(exchange);
        }
        exchange->state = CSE_EXCHANGE_BODY;
        cse_guard_expect(http->context.guard, guarded_of(connection), BODY_TIMES * header_ns(http));
        return MHD_YES;
    }
    case CSE_EXCHANGE_BODY:
        if (*size == 0)
            return finish(http, exchange);
        take_body(exchange, data, size);
        return exchange->body.size > (size_t)MAX_DRAINED * CSE_MAX_BODY_BYTES ? MHD_NO : MHD_YES;
    case CSE_EXCHANGE_READY:
        return cse_exchange_send(exchange);
    default:
        return MHD_YES;
    }
}

static void log_library(void *self, const char *format, va_list arguments)
{
    char line[256];
    (void)self;
    int length = vsnprintf(line, sizeof line, format, arguments);
    if (length > 0 && line[strlen(line) - 1] == '\n')
        line[strlen(line) - 1] = '\0';
    cse_log_line(CSE_LOG_DEBUG, "http: %s", line);
}

/* ---- beginning and end ---- */

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int limit_of(const cse_http *http)
{
    return http->options.connection_limit > 0 ? http->options.connection_limit : CONNECTION_LIMIT;
}

/* Connections beyond this many make room before the library accepts no more: each of its threads
 * takes its part of the limit. */
static int room_of(const cse_http *http)
{
    int limit = limit_of(http);
    return limit - limit / 8 > 1 ? limit - limit / 8 - 1 : 1;
}

static cse_status start_daemon(cse_http *http, const cse_listener *listener,
                               struct MHD_Daemon **daemon)
{
    if (listener->socket < 0)
        return CSE_OK;
    int limit = limit_of(http);
    /* A thread of the pool takes its part of the limit, and connections do not spread evenly. */
    *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        take_call, http, MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL, MHD_OPTION_LISTEN_SOCKET,
        listener->socket, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)POOL_THREADS,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)limit, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(IDLE_TIMES * header_ns(http) / SECONDS), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_NOTIFY_COMPLETED, end_exchange, http,
        MHD_OPTION_NOTIFY_CONNECTION, note_connection, http, MHD_OPTION_URI_LOG_CALLBACK,
        begin_exchange, http, MHD_OPTION_END);
    return *daemon != NULL ? CSE_OK : cse_fail(CSE_UNAVAILABLE, "the HTTP library cannot start");
}

static cse_status start(cse_http *http)
{
    const cse_http_options *o = &http->options;
    CSE_TRY(cse_api_new(cse_routes, &http->context.api));
    CSE_TRY(cse_entry_open(&o->entry, &http->entry));
    const cse_access_options access = { .tokens = &http->entry.tokens,
                                        .host = http->entry.main.host,
                                        .port = http->entry.main.port,
                                        .host_names = o->host_names };
    CSE_TRY(cse_access_new(&access, &http->context.access));
    CSE_TRY(start_daemon(http, &http->entry.main, &http->daemons[0]));
    return start_daemon(http, &http->entry.local, &http->daemons[1]);
}

cse_status cse_http_start(const cse_http_options *options, cse_http **http)
{
    cse_http *h = cse_calloc(1, sizeof *h);
    double rate = options->requests_per_second > 0 ? options->requests_per_second : 2000;
    h->options = *options;
    h->entry.main.socket = h->entry.local.socket = -1;
    h->context.hooks = options->hooks;
    h->context.web_dir = options->web_dir;
    signal(SIGPIPE, SIG_IGN);
    json_object_seed(0); /* before there are threads */
    raise_descriptor_limit();
    cse_call_queue_begin(&h->queue);
    cse_call_queue_begin(&h->slow_queue);
    h->context.guard = cse_guard_new(&(cse_guard_options){ .most_waiting = room_of(h) / 2,
                                                           .most_open = room_of(h),
                                                           .requests_per_second = rate,
                                                           .burst = 2 * rate });
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&h->workers[i], NULL, work, &h->queue);
    for (int i = 0; i < SLOW_WORKERS; i++)
        pthread_create(&h->slow_workers[i], NULL, work, &h->slow_queue);
    *http = h;
    cse_status status = start(h);
    if (status != CSE_OK)
        cse_http_stop(http);
    return status;
}

void cse_http_stop(cse_http **http)
{
    cse_http *h = *http;
    if (h == NULL)
        return;
    /* No connection may be suspended when the library stops: the queue is finished first. */
    for (int i = 0; i < 2; i++)
        if (h->daemons[i] != NULL)
            MHD_quiesce_daemon(h->daemons[i]);
    cse_call_queue_close(&h->queue);
    cse_call_queue_close(&h->slow_queue);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(h->workers[i], NULL);
    for (int i = 0; i < SLOW_WORKERS; i++)
        pthread_join(h->slow_workers[i], NULL);
    /* Requests under way are answered, also the one that stops this server. */
    for (int i = 0; i < SHUTDOWN_POLLS && atomic_load(&h->under_way) > 0; i++)
        cse_sleep_ns(SHUTDOWN_POLL_MS * INT64_C(1000000));
    for (int i = 0; i < 2; i++)
        if (h->daemons[i] != NULL)
            MHD_stop_daemon(h->daemons[i]);
    /* Not earlier: until here the library's threads may use the sockets. */
    cse_entry_close(&h->entry);
    cse_guard_destroy(&h->context.guard);
    cse_access_destroy(&h->context.access);
    cse_api_destroy(&h->context.api);
    cse_call_queue_destroy(&h->queue);
    cse_call_queue_destroy(&h->slow_queue);
    free(h);
    *http = NULL; /* routes may have used it until now */
}

const cse_entry *cse_http_entry_view(const cse_http *http)
{
    return &http->entry;
}

const cse_access *cse_http_access_view(const cse_http *http)
{
    return http->context.access;
}

const json_t *cse_http_description_view(const cse_http *http)
{
    return cse_validator_document_view(cse_api_validator_view(http->context.api));
}

cse_http_figures cse_http_figures_now(cse_http *http)
{
    return (cse_http_figures){ .connections = cse_guard_count(http->context.guard),
                               .requests = atomic_load(&http->context.requests),
                               .errors = atomic_load(&http->context.errors),
                               .refused = atomic_load(&http->context.refused),
                               .bytes_sent = atomic_load(&http->context.bytes_sent),
                               .dropped = cse_guard_dropped(http->context.guard) };
}
