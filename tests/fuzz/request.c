/* A request as text, through all checks before a route: target, headers, place, access,
 * parameters and body against the API's description.
 *
 *     METHOD TARGET
 *     Name: value
 *
 *     body
 *
 * The text replaces what the HTTP library reports of a connection, so that no socket is needed.
 * Every request is either passed to its route or gets a status that the description lists. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "dashboard/access/guard.h"
#include "dashboard/http/exchange.h"
#include "engine/base/arena.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_HEADERS = 80 };

struct MHD_Connection {
    struct {
        const char *name, *value;
    } headers[MOST_HEADERS];
    int count;
};

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                        const char *key)
{
    const char *wanted = kind == MHD_COOKIE_KIND ? "X-Cookie" : key;
    for (int i = 0; i < connection->count; i++)
        if (strcasecmp(connection->headers[i].name, wanted) == 0)
            return connection->headers[i].value;
    return NULL;
}

int MHD_get_connection_values_n(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                MHD_KeyValueIteratorN iterator, void *self)
{
    for (int i = 0; i < connection->count; i++)
        if (iterator(self, kind, connection->headers[i].name, strlen(connection->headers[i].name),
                     connection->headers[i].value, strlen(connection->headers[i].value)) != MHD_YES)
            return i;
    return connection->count;
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType type, ...)
{
    (void)connection;
    (void)type;
    return NULL;
}

void cse_pages_answer(const char *web_dir, const cse_request *request, cse_answer *answer)
{
    (void)web_dir;
    cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "no page %s", request->path);
}

static void handle(const cse_request *request, cse_answer *answer)
{
    (void)request;
    cse_answer_empty(answer, 204);
}

/* The routes as they are described, none of which does anything. */
static const cse_route *const *idle_routes(void)
{
    static const cse_route *list[128];
    for (int i = 0; cse_routes[i] != NULL && i < 127; i++) {
        cse_route *copy = cse_malloc(sizeof *copy);
        *copy = *cse_routes[i];
        for (cse_operation *o = copy->operations; o->id != NULL; o++)
            o->handle = handle;
        list[i] = copy;
    }
    return list;
}

/* The line that begins at *at, ended by a zero; *at is behind it. NULL at the end of the text. */
static char *next_line(char **at)
{
    char *line = *at;
    if (line == NULL || *line == '\0')
        return NULL;
    char *end = strchr(line, '\n');
    *at = end != NULL ? end + 1 : line + strlen(line);
    if (end != NULL)
        *end = '\0';
    return line;
}

static char *read_headers(char *at, struct MHD_Connection *connection)
{
    char *line;
    while ((line = next_line(&at)) != NULL && *line != '\0') {
        char *colon = strchr(line, ':');
        if (colon == NULL || connection->count == MOST_HEADERS)
            continue;
        *colon = '\0';
        colon += 1 + strspn(colon + 1, " ");
        connection->headers[connection->count].name = line;
        connection->headers[connection->count++].value = colon;
    }
    return at;
}

/* A server with the token of the corpus. */
static cse_exchange_context *server(void)
{
    static cse_exchange_context context;
    if (context.api == NULL) {
        cse_token_list tokens = { .count = 0 };
        cse_token_list_add(&tokens, "a-token-of-32-printable-letters.");
        const cse_access_options options = { .host = "127.0.0.1", .tokens = &tokens };
        if (cse_api_new(idle_routes(), &context.api) != CSE_OK)
            abort();
        context.guard = cse_guard_new(&(cse_guard_options){ .requests_per_second = 0 });
        if (cse_access_new(&options, &context.access) != CSE_OK)
            abort();
        cse_token_list_clear(&tokens);
    }
    return &context;
}

static void run(cse_exchange *exchange, char *text, const char *end)
{
    char *at = text, *target = next_line(&at);
    const char *method = target != NULL ? strsep(&target, " ") : NULL;
    if (target == NULL)
        return;
    at = read_headers(at, exchange->connection);
    free(exchange->target_text);
    exchange->target_text = cse_strdup(target);
    exchange->context = server();
    /* Requests that show a token are those of a stranger, the others come from the owner. */
    exchange->from_owner =
        MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, "Authorization") ==
            NULL &&
        MHD_lookup_connection_value(exchange->connection, MHD_COOKIE_KIND, "") == NULL;
    bool passes = cse_exchange_check_head(exchange, method);
    if (passes && exchange->match.operation->body != NULL && at < end)
        cse_text_add_bytes(&exchange->body, at, (size_t)(end - at));
    passes = passes && cse_exchange_check_body(exchange);
    if (passes)
        cse_exchange_handle(exchange);
    if (passes != (exchange->answer.status == 204) || exchange->answer.status < 200 ||
        exchange->answer.status >= 500)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct MHD_Connection connection = { .count = 0 };
    cse_exchange *exchange = cse_exchange_new(NULL, &connection, "");
    char *text = cse_calloc(1, size + 1);
    memcpy(text, data, size);
    run(exchange, text, text + size);
    cse_exchange_destroy(&exchange);
    free(text);
    return 0;
}
