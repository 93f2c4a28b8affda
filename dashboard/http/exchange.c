/* The checks of a request, in the order of http.h. */
#include "dashboard/http/exchange.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "dashboard/http/encoding.h"
#include "dashboard/http/framing.h"
#include "dashboard/http/sign_in.h"
#include "dashboard/pages/pages.h"
#include "engine/base/arena.h"
#include "engine/base/nesting.h"

enum { MAX_JSON_DEPTH = 64 };

#define OVER_SOCKET "unix" /* the address of a peer on a unix socket */

cse_exchange *cse_exchange_new(cse_exchange_context *context, struct MHD_Connection *connection,
                               const char *target)
{
    cse_exchange *exchange = cse_calloc(1, sizeof *exchange);
    exchange->context = context;
    exchange->connection = connection;
    exchange->target_text = cse_strdup(target);
    exchange->answer.file = exchange->socket = -1;
    return exchange;
}

void cse_exchange_destroy(cse_exchange **exchange)
{
    cse_exchange *e = *exchange;
    cse_answer_clear(&e->answer);
    cse_api_match_clear(&e->match);
    json_decref(e->values);
    json_decref(e->body_json);
    cse_text_clear(&e->body);
    cse_target_clear(&e->target);
    free(e->target_text);
    free(e);
    *exchange = NULL;
}

const char *cse_exchange_header(void *exchange, const char *name)
{
    return MHD_lookup_connection_value(((cse_exchange *)exchange)->connection, MHD_HEADER_KIND,
                                       name);
}

static const char *header(const cse_exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

/* ---- well-formed ---- */

static bool check_well_formed(cse_exchange *exchange)
{
    if (!cse_target_split(exchange->target_text, &exchange->target)) {
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_BAD_REQUEST,
                           "the request's target is not well-formed: accepted is a path of at most "
                           "%d bytes without empty, . or .. segments, and a query of at most %d "
                           "parameters, percent-encoded",
                           CSE_TARGET_PATH_BYTES - 1, CSE_TARGET_MAX_QUERY);
        return false;
    }
    const char *fault = cse_framing_fault(exchange->connection);
    if (fault != NULL) {
        exchange->closes = true;
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_BAD_REQUEST, "%s", fault);
    }
    return fault == NULL;
}

/* ---- addressed to this server ---- */

static bool is_over_socket(const cse_exchange *exchange)
{
    return strcmp(exchange->peer, OVER_SOCKET) == 0;
}

static bool check_host_and_origin(cse_exchange *exchange)
{
    const cse_access *access = exchange->context->access;
    const char *host = header(exchange, "Host");
    const char *site = header(exchange, "Sec-Fetch-Site");
    if (!cse_access_host_is_ours(access, host, is_over_socket(exchange))) {
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_FORBIDDEN,
                           "Host is not a name of this server; accepted is the address it listens "
                           "on, and what --host_name adds");
        return false;
    }
    bool cross_site = site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
    bool reads = strcmp(exchange->request.method, "GET") == 0;
    const char *mode = header(exchange, "Sec-Fetch-Mode");
    /* A link on another site may open a page. */
    if (cross_site && reads && mode != NULL && strcmp(mode, "navigate") == 0)
        cross_site = false;
    if (cross_site || !cse_access_origin_is_ours(header(exchange, "Origin"), host)) {
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_FORBIDDEN,
                           "the request comes from a page of another site");
        return false;
    }
    return true;
}

/* ---- authorization ---- */

/* The session's cookie, in the exchange's memory, or NULL. */
static const char *session_cookie(const cse_exchange *exchange)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_COOKIE_KIND,
                                       cse_access_cookie_name_view(exchange->context->access));
}

static bool check_access(cse_exchange *exchange)
{
    exchange->request.cookie = session_cookie(exchange);
    const cse_grant *grant =
        exchange->from_owner
            ? NULL
            : cse_access_authorizes(exchange->context->access, header(exchange, "Authorization"),
                                    exchange->request.cookie);
    exchange->request.authorized = exchange->from_owner || grant != NULL;
    exchange->request.grant = grant != NULL && grant->name[0] != '\0' ? grant : NULL;
    if (exchange->request.authorized || exchange->match.operation->open)
        return true;
    cse_answer_problem(&exchange->answer, CSE_PROBLEM_UNAUTHORIZED,
                       "send Authorization: Bearer TOKEN with the token of the server's token "
                       "file, or open the address that the server has printed; the server's own "
                       "user needs no token on the unix socket of its directory");
    cse_answer_header(&exchange->answer, "WWW-Authenticate", "Bearer realm=\"csengine\"");
    return false;
}

/* ---- route, parameters, the head of the body ---- */

static bool check_route(cse_exchange *exchange)
{
    cse_answer *answer = &exchange->answer;
    const char *method = exchange->request.method;
    if (!cse_api_find(exchange->context->api, method, exchange->target.path, &exchange->match)) {
        if (strcmp(method, "GET") == 0 &&
            cse_sign_in(exchange->context->access, &exchange->target, exchange->target_text,
                        header(exchange, "Cookie"), answer))
            return false;
        cse_pages_answer(exchange->context->web_dir, &exchange->request, answer);
        return false;
    }
    if (exchange->match.operation == NULL) {
        cse_text methods = { 0 };
        cse_api_methods(exchange->match.route, &methods);
        cse_answer_problem(answer, CSE_PROBLEM_METHOD_NOT_ALLOWED, "%s has no %s; accepted: %s",
                           exchange->match.route->path, method, methods.data);
        cse_answer_header(answer, "Allow", "%s", methods.data);
        cse_text_clear(&methods);
        return false;
    }
    exchange->request.operation = exchange->match.operation;
    return true;
}

static bool check_parameters(cse_exchange *exchange)
{
    const cse_api_given given = { .query = exchange->target.query,
                                  .query_count = exchange->target.query_count,
                                  .header = cse_exchange_header,
                                  .self = exchange };
    json_t *errors = json_array();
    exchange->values = json_object();
    exchange->request.values = exchange->values;
    if (cse_api_check_parameters(exchange->context->api, &exchange->match, &given, exchange->values,
                                 errors)) {
        json_decref(errors);
        return true;
    }
    const json_t *first = json_array_get(errors, 0);
    cse_answer_diagnostics(&exchange->answer, CSE_PROBLEM_BAD_REQUEST, errors,
                           "the parameter %s%s %s",
                           json_string_value(json_object_get(first, "parameter")),
                           json_string_value(json_object_get(first, "pointer")),
                           json_string_value(json_object_get(first, "message")));
    return false;
}

static void note_body_type(cse_exchange *exchange)
{
    const char *type = header(exchange, "Content-Type");
    if (type == NULL)
        return;
    size_t length = strcspn(type, "; \t");
    if (length >= sizeof exchange->body_type)
        return;
    for (size_t i = 0; i < length; i++)
        exchange->body_type[i] = (char)tolower((unsigned char)type[i]);
    exchange->body_type[length] = '\0';
}

/* Checks that need only the headers of the body. */
static bool check_body_head(cse_exchange *exchange)
{
    const char *length = header(exchange, "Content-Length");
    bool comes = (length != NULL && strspn(length, "0") != strlen(length)) ||
                 header(exchange, "Transfer-Encoding") != NULL;
    note_body_type(exchange);
    if (comes && length != NULL &&
        (strlen(length) > 9 || atol(length) > (long)CSE_MAX_BODY_BYTES)) {
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_TOO_LARGE,
                           "the body has %.20s bytes; at most %d are accepted", length,
                           CSE_MAX_BODY_BYTES);
        return false;
    }
    if (comes && exchange->match.operation->body == NULL) {
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_BAD_REQUEST, "%s takes no body",
                           exchange->match.operation->id);
        return false;
    }
    if (comes && cse_api_body_schema(&exchange->match, exchange->body_type) == NULL) {
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                           "%s does not take this Content-Type; /openapi.json lists those it takes",
                           exchange->match.operation->id);
        return false;
    }
    return true;
}

static void note_peer(cse_exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info != NULL ? info->client_addr : NULL;
    snprintf(exchange->peer, sizeof exchange->peer, "%s", OVER_SOCKET);
    if (address != NULL && address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr,
                  exchange->peer, sizeof exchange->peer);
    else if (address != NULL && address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
                  exchange->peer, sizeof exchange->peer);
}

bool cse_exchange_check_head(cse_exchange *exchange, const char *method)
{
    double wait_seconds = 0;
    const char *accept = header(exchange, "Accept");
    const char *encoding = header(exchange, "Accept-Encoding");
    note_peer(exchange);
    exchange->head = strcmp(method, "HEAD") == 0;
    exchange->request = (cse_request){
        .server = exchange->context->hooks != NULL ? exchange->context->hooks->server : NULL,
        .method = exchange->head ? "GET" : method,
        .path = exchange->target.path,
        .body_type = exchange->body_type,
        .peer = exchange->peer,
        .socket = exchange->socket,
        .header = cse_exchange_header,
        .header_self = exchange,
        .accept = accept != NULL ? accept : "",
        .takes_gzip = cse_prefers_gzip(encoding),
    };
    if (!cse_guard_admits(exchange->context->guard, exchange->peer, &wait_seconds)) {
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_TOO_MANY_REQUESTS,
                           "more requests came from this address than are accepted in a second");
        cse_answer_header(&exchange->answer, "Retry-After", "%d", (int)wait_seconds + 1);
        return false;
    }
    bool passes = check_well_formed(exchange) && check_host_and_origin(exchange) &&
                  check_route(exchange) && check_access(exchange) && check_parameters(exchange) &&
                  check_body_head(exchange);
    /* The body of a refused request is not read. */
    if (cse_framing_is_proxied(exchange->connection))
        exchange->closes = true;
    if (!passes && (header(exchange, "Content-Length") != NULL ||
                    header(exchange, "Transfer-Encoding") != NULL))
        exchange->closes = true;
    return passes;
}

/* ---- the body ---- */

static void answer_json_error(cse_exchange *exchange, const json_error_t *error)
{
    json_t *errors = json_array();
    json_t *message = json_sprintf("%s", error->text);
    json_array_append_new(errors,
                          json_pack("{s:i, s:i, s:o}", "line", error->line > 0 ? error->line : 1,
                                    "column", error->column > 0 ? error->column : 1, "message",
                                    message != NULL ? message : json_string("no JSON")));
    cse_answer_diagnostics(&exchange->answer, CSE_PROBLEM_BAD_REQUEST, errors,
                           "the body is no JSON: line %d, column %d", error->line, error->column);
}

static bool check_json_body(cse_exchange *exchange, const json_t *schema)
{
    json_error_t error = { .line = 0 };
    cse_nesting where;
    if (!cse_nesting_json(exchange->body.data, exchange->body.size, MAX_JSON_DEPTH, &where)) {
        snprintf(error.text, sizeof error.text, "more than %d levels of nesting", MAX_JSON_DEPTH);
        error.line = where.line;
        error.column = where.column;
        answer_json_error(exchange, &error);
        return false;
    }
    exchange->body_json =
        json_loadb(exchange->body.data, exchange->body.size, JSON_REJECT_DUPLICATES, &error);
    if (exchange->body_json == NULL) {
        answer_json_error(exchange, &error);
        return false;
    }
    const cse_validator *validator = cse_api_validator_view(exchange->context->api);
    cse_validator_make_whole(validator, schema, exchange->body_json);
    json_t *errors = json_array();
    if (!cse_validator_check(validator, schema, exchange->body_json, "", errors)) {
        const json_t *first = json_array_get(errors, 0);
        const char *pointer = json_string_value(json_object_get(first, "pointer"));
        const char *message = json_string_value(json_object_get(first, "message"));
        cse_answer_diagnostics(&exchange->answer, CSE_PROBLEM_UNPROCESSABLE, errors,
                               "the body%s%s: %s", *pointer != '\0' ? " at " : "", pointer,
                               message);
        return false;
    }
    json_decref(errors);
    exchange->request.body = exchange->body_json;
    return true;
}

static bool check_text_body(cse_exchange *exchange)
{
    json_t *text = json_stringn(exchange->body.data, exchange->body.size);
    bool is_text = text != NULL && memchr(exchange->body.data, '\0', exchange->body.size) == NULL;
    json_decref(text);
    if (!is_text)
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_BAD_REQUEST, "the body is no UTF-8 text");
    return is_text;
}

bool cse_exchange_check_body(cse_exchange *exchange)
{
    if (exchange->body_too_large) {
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_TOO_LARGE,
                           "the body has more than %d bytes", CSE_MAX_BODY_BYTES);
        return false;
    }
    if (exchange->body.size == 0) {
        if (exchange->match.operation->body == NULL || exchange->match.operation->body_optional)
            return true;
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_BAD_REQUEST, "%s needs a body",
                           exchange->match.operation->id);
        return false;
    }
    exchange->request.body_text = exchange->body.data;
    exchange->request.body_size = exchange->body.size;
    const json_t *schema = cse_api_body_schema(&exchange->match, exchange->body_type);
    if (strstr(exchange->body_type, "json") != NULL)
        return check_json_body(exchange, schema);
    return check_text_body(exchange);
}

static bool changes_something(const cse_exchange *exchange)
{
    return strcmp(exchange->request.method, "GET") != 0;
}

const char *cse_exchange_key_view(const cse_exchange *exchange)
{
    const cse_request *request = &exchange->request;
    return changes_something(exchange) && cse_request_has(request, "Idempotency-Key")
               ? cse_request_text(request, "Idempotency-Key", "")
               : NULL;
}

void cse_exchange_handle(cse_exchange *exchange)
{
    const cse_call_hooks *hooks = exchange->context->hooks;
    const cse_request *request = &exchange->request;
    assert(exchange->match.operation != NULL && exchange->answer.status == 0);
    const bool changes = changes_something(exchange);
    const bool keyed = cse_exchange_key_view(exchange) != NULL;
    const bool admitted = !changes || hooks == NULL || hooks->admits == NULL ||
                          hooks->admits(hooks->jobs, request, &exchange->answer);
    bool replayed = admitted && keyed && hooks != NULL && hooks->replay != NULL &&
                    hooks->replay(hooks->self, request, &exchange->answer);
    if (!replayed && admitted)
        exchange->match.operation->handle(request, &exchange->answer);
    if (exchange->answer.status == 0)
        cse_answer_problem(&exchange->answer, CSE_PROBLEM_INTERNAL, "%s gave no answer",
                           exchange->match.operation->id);
    if (changes && hooks != NULL && hooks->done != NULL)
        hooks->done(hooks->self, request, &exchange->answer);
}
