/* Helpers of the routes: reading parameters, filling answers. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "dashboard/api/route.h"
#include "engine/base/arena.h"
#include "engine/base/json.h"

/* ---- requests ---- */

const char *cse_request_text(const cse_request *request, const char *name, const char *fallback)
{
    const char *text = json_string_value(json_object_get(request->values, name));
    return text != NULL ? text : fallback;
}

int64_t cse_request_integer(const cse_request *request, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(request->values, name);
    return value != NULL ? json_integer_value(value) : fallback;
}

bool cse_request_bool(const cse_request *request, const char *name)
{
    return json_is_true(json_object_get(request->values, name));
}

bool cse_request_has(const cse_request *request, const char *name)
{
    return json_object_get(request->values, name) != NULL;
}

const char *cse_request_header(const cse_request *request, const char *name)
{
    return request->header(request->header_self, name);
}

bool cse_request_accepts(const cse_request *request, const char *media_type)
{
    return strcasestr(request->accept, media_type) != NULL;
}

/* ---- answers ---- */

/* What was busy, or waits in a queue, may be free after as long. */
enum { RETRY_SECONDS = 2 };

static const struct {
    int status;
    const char *word, *title;
} problems[] = {
#define CSE_PROBLEM_ROW(name, status, word, title, doc) { status, word, title },
    CSE_PROBLEM_TABLE(CSE_PROBLEM_ROW)
#undef CSE_PROBLEM_ROW
};

static void begin(cse_answer *answer, int status)
{
    cse_answer_clear(answer);
    answer->status = status;
}

static void set_problem(cse_answer *answer, cse_problem problem, json_t *detail, json_t *errors)
{
    begin(answer, problems[problem].status);
    json_t *object = json_object();
    json_object_set_new(object, "type",
                        json_sprintf("urn:csengine:problem:%s", problems[problem].word));
    json_object_set_new(object, "title", json_string(problems[problem].title));
    json_object_set_new(object, "status", json_integer(problems[problem].status));
    json_object_set_new(object, "detail",
                        detail != NULL ? detail : json_string(problems[problem].title));
    if (errors != NULL)
        json_object_set_new(object, "errors", errors);
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (text != NULL)
        cse_json_add_printable(&answer->body, text, strlen(text));
    free(text);
    answer->content_type = "application/problem+json";
}

void cse_answer_problem(cse_answer *answer, cse_problem problem, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *detail = json_vsprintf(format, arguments);
    va_end(arguments);
    set_problem(answer, problem, detail, NULL);
}

void cse_answer_diagnostics(cse_answer *answer, cse_problem problem, json_t *errors,
                            const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *detail = json_vsprintf(format, arguments);
    va_end(arguments);
    set_problem(answer, problem, detail, errors);
}

void cse_answer_failure(cse_answer *answer, cse_status status)
{
    cse_problem problem = CSE_PROBLEM_INTERNAL;
    switch (status) {
    case CSE_CONFIG:
    case CSE_DATA:
    case CSE_SHAPE:
        problem = CSE_PROBLEM_UNPROCESSABLE;
        break;
    case CSE_NO_INPUT:
        problem = CSE_PROBLEM_NOT_FOUND;
        break;
    case CSE_USAGE:
        problem = CSE_PROBLEM_CONFLICT;
        break;
    case CSE_PERMISSION:
        problem = CSE_PROBLEM_FORBIDDEN;
        break;
    case CSE_UNAVAILABLE:
    case CSE_TEMPORARY:
    case CSE_IO:
    case CSE_CANNOT_CREATE:
        problem = CSE_PROBLEM_UNAVAILABLE;
        break;
    default:
        break;
    }
    cse_answer_problem(answer, problem, "%s", cse_error_message());
    if (status == CSE_TEMPORARY)
        cse_answer_header(answer, "Retry-After", "%d", RETRY_SECONDS);
}

void cse_answer_json(cse_answer *answer, int status, json_t *value)
{
    begin(answer, status);
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    json_decref(value);
    if (text == NULL) {
        cse_answer_problem(answer, CSE_PROBLEM_INTERNAL, "the answer is no JSON");
        return;
    }
    cse_json_add_printable(&answer->body, text, strlen(text));
    free(text);
    answer->content_type = "application/json";
}

void cse_answer_result(cse_answer *answer, cse_status status, json_t *value)
{
    if (status == CSE_OK) {
        cse_answer_json(answer, 200, value);
        return;
    }
    json_decref(value);
    cse_answer_failure(answer, status);
}

void cse_answer_text(cse_answer *answer, int status, const char *content_type, cse_text *text)
{
    begin(answer, status);
    answer->body = *text;
    *text = (cse_text){ 0 };
    answer->content_type = content_type;
}

void cse_answer_empty(cse_answer *answer, int status)
{
    begin(answer, status);
}

void cse_answer_header(cse_answer *answer, const char *name, const char *format, ...)
{
    assert(answer->header_count < CSE_ANSWER_HEADERS);
    va_list arguments;
    va_start(arguments, format);
    char *value = NULL;
    int length = vasprintf(&value, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if (strcmp(name, "ETag") == 0)
        answer->has_etag = true;
    answer->headers[answer->header_count].name = name;
    answer->headers[answer->header_count++].value = value;
}

const char *cse_answer_header_view(const cse_answer *answer, const char *name)
{
    for (int i = 0; i < answer->header_count; i++)
        if (strcasecmp(answer->headers[i].name, name) == 0)
            return answer->headers[i].value;
    return NULL;
}

void cse_answer_clear(cse_answer *answer)
{
    cse_text_clear(&answer->body);
    for (int i = 0; i < answer->header_count; i++)
        free(answer->headers[i].value);
    if (answer->file > 0)
        close(answer->file);
    if (answer->stream != NULL)
        answer->stream->close(answer->stream_self);
    *answer = (cse_answer){ .file = -1 };
}

/* ---- JSON ---- */

json_t *cse_text_json(const char *text)
{
    json_t *value = text != NULL ? json_string(text) : NULL;
    return value != NULL ? value : json_null();
}
