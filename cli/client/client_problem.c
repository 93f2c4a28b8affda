/* Makes a status and its message from an error response.
 *
 * Errors in a configuration are shown as compilers show them, FILE:LINE:COLUMN, so that editors can
 * jump there. */
#include <string.h>

#include "cli/client/client_connection.h"
#include "engine/base/text.h"

/* Room in a message, reserving one more error and the end. */
enum { MOST_SAID_BYTES = 2800 };

static cse_status status_of(int http, bool in_configuration)
{
    switch (http) {
    case 400:
        return CSE_USAGE;
    case 401:
    case 403:
        return CSE_PERMISSION;
    case 404:
        return CSE_NO_INPUT;
    case 413:
    case 415:
        return CSE_DATA;
    case 422:
        return in_configuration ? CSE_CONFIG : CSE_DATA;
    case 412:
    case 429:
    case 503:
        return CSE_TEMPORARY;
    case 502:
    case 504: /* from a proxy or gateway */
        return CSE_UNAVAILABLE;
    case 500:
        return CSE_INTERNAL;
    default:
        return CSE_FAILED;
    }
}

/* "CONFIG.yaml:4:13: message; hint", or with the pointer where no line is known. */
static void add_fault(cse_text *text, const cse_client *api, json_t *fault)
{
    const char *message = json_string_value(json_object_get(fault, "message"));
    const char *pointer = json_string_value(json_object_get(fault, "pointer"));
    const char *hint = json_string_value(json_object_get(fault, "hint"));
    json_int_t line = json_integer_value(json_object_get(fault, "line"));
    json_int_t column = json_integer_value(json_object_get(fault, "column"));
    cse_text_add(text, "\n  ");
    if (line > 0)
        cse_text_add(text, "%s:%lld:%lld: ", api->source != NULL ? api->source : "configuration",
                     (long long)line, (long long)(column > 0 ? column : 1));
    else if (pointer != NULL && *pointer != '\0')
        cse_text_add(text, "%s: ", pointer);
    cse_text_add(text, "%s", message != NULL ? message : "(no message)");
    if (hint != NULL && *hint != '\0' && (message == NULL || strstr(message, hint) == NULL))
        cse_text_add(text, "; %s", hint);
}

/* Whether one is of the configuration: with a line, or, since an override makes it, with no place
 * in the request. */
static bool is_of_configuration(const json_t *diagnostics)
{
    size_t i;
    json_t *fault;
    json_array_foreach(diagnostics, i, fault)
    {
        if (json_is_integer(json_object_get(fault, "line")) ||
            json_object_get(fault, "pointer") == NULL)
            return true;
    }
    return false;
}

/* Whether `said` already contains this error, which has no line to add. */
static bool is_said(const char *said, const json_t *fault)
{
    const char *message = json_string_value(json_object_get(fault, "message"));
    return message != NULL && strstr(said, message) != NULL &&
           !json_is_integer(json_object_get(fault, "line"));
}

cse_status cse_client_faults(const cse_client *api, int http, const char *said,
                             const json_t *diagnostics)
{
    cse_text text = { 0 };
    size_t i;
    json_t *fault;
    cse_text_add(&text, "%s", said);
    json_array_foreach(diagnostics, i, fault)
    {
        if (text.size > MOST_SAID_BYTES) {
            cse_text_add(&text, "\n  and %zu more", json_array_size(diagnostics) - i);
            break;
        }
        if (!is_said(said, fault))
            add_fault(&text, api, fault);
    }
    if (http == 401)
        cse_text_add(&text, "\n  give its token by --token_file or CSE_TOKEN_FILE");
    cse_status status = cse_fail(
        status_of(http, api->source != NULL && is_of_configuration(diagnostics)), "%s", text.data);
    cse_text_clear(&text);
    return status;
}

cse_status cse_client_problem(const cse_client *api, const cse_client_answer *answer)
{
    cse_text said = { 0 };
    const char *title = json_string_value(json_object_get(answer->json, "title"));
    const char *detail = json_string_value(json_object_get(answer->json, "detail"));
    if (detail == NULL || *detail == '\0')
        detail = title;
    if (detail != NULL)
        cse_text_add(&said, "%s", detail);
    else
        cse_text_add(&said, "%s answered with the status %d and no reason", api->server,
                     answer->status);
    cse_status status =
        cse_client_faults(api, answer->status, said.data, json_object_get(answer->json, "errors"));
    cse_text_clear(&said);
    return status;
}

cse_status cse_client_lost(const cse_client *api, CURLcode code)
{
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return cse_fail(CSE_INTERRUPTED, "interrupted");
    if (code == CURLE_WRITE_ERROR)
        return cse_fail(CSE_DATA, "%s sent more than can be taken at once", api->server);
    return cse_fail(CSE_UNAVAILABLE,
                    "the server %s cannot be reached: %s; start one with `csengine serve --root "
                    "DIR`, or name another by --server or CSE_SERVER",
                    api->server, curl_easy_strerror(code));
}
