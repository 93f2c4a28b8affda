/* The calling thread's last failure.
 *
 * It is stored in thread-local buffers, so that exhausted memory can be reported too. Two buffers
 * are used in turn, because the texts of a new failure may point into the previous one. */
#include "engine/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

enum { TEXT_BYTES = 4096, SHORT_BYTES = 512, FIELD_COUNT = 5 };

/* An error and the memory of its texts. */
typedef struct failure {
    cse_error error;
    char context[SHORT_BYTES], source[SHORT_BYTES], hint[SHORT_BYTES];
    char message[TEXT_BYTES], accepted[TEXT_BYTES];
} failure;

static _Thread_local failure failures[2] = { { .error.message = "" } };
static _Thread_local int current;

/* Copies the texts of `error`, except its message, to the buffer that is free. */
static failure *begin(const cse_error *error)
{
    failure *f = &failures[current ^= 1];
    f->error = *error;
    const struct {
        const char **field;
        char *memory;
        size_t size;
    } texts[] = {
        { &f->error.context, f->context, sizeof f->context },
        { &f->error.place.source, f->source, sizeof f->source },
        { &f->error.hint, f->hint, sizeof f->hint },
        { &f->error.accepted, f->accepted, sizeof f->accepted },
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (*texts[i].field != NULL) {
            snprintf(texts[i].memory, texts[i].size, "%s", *texts[i].field);
            *texts[i].field = texts[i].memory;
        }
    f->error.message = f->message;
    return f;
}

static cse_status fail_formatted(const cse_error *error, const char *format, va_list arguments)
{
    failure *f = begin(error);
    vsnprintf(f->message, sizeof f->message, format, arguments);
    return error->status;
}

const cse_error *cse_error_last(void)
{
    return &failures[current].error;
}

const char *cse_error_message(void)
{
    static _Thread_local char text[TEXT_BYTES];
    cse_error_print(cse_error_last(), text, sizeof text);
    return text;
}

cse_status cse_fail(cse_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_formatted(&(cse_error){ .status = status }, format, arguments);
    va_end(arguments);
    return status;
}

cse_status cse_fail_at(const cse_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cse_status status = fail_formatted(error, format, arguments);
    va_end(arguments);
    return status;
}

cse_status cse_fail_again(const cse_error *error)
{
    return cse_fail_at(error, "%s", error->message);
}

cse_status cse_fail_within(cse_status status, const char *format, ...)
{
    char text[SHORT_BYTES];
    cse_error *error = &failures[current].error;
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (used < 0 || used >= SHORT_BYTES)
        return status;
    snprintf(text + used, sizeof text - (size_t)used, "%s",
             error->context != NULL ? error->context : "");
    memcpy(failures[current].context, text, sizeof text);
    error->context = failures[current].context;
    error->status = status;
    return status;
}

size_t cse_place_print(cse_place place, char *text, size_t size)
{
    const char *source = place.source != NULL ? place.source : "";
    int length = place.line == 0 ? snprintf(text, size, "%s", *source ? source : "inline")
                 : *source == '\0'
                     ? snprintf(text, size, "%d:%d", place.line, place.column)
                     : snprintf(text, size, "%s:%d:%d", source, place.line, place.column);
    return (size_t)length;
}

/* What the fields hold may come from files and arguments, so that the whole is made printable
 * here, where every error becomes text. */
size_t cse_error_print(const cse_error *error, char *text, size_t size)
{
    char raw[2 * TEXT_BYTES + 4 * SHORT_BYTES];
    char place[SHORT_BYTES + 32] = "";
    bool placed = error->place.source != NULL || error->place.line > 0;
    if (placed)
        cse_place_print(error->place, place, sizeof place);
    const char *hint = error->hint;
    if (hint != NULL && strstr(error->message, hint) != NULL)
        hint = NULL; /* the message contains it */
    snprintf(raw, sizeof raw, "%s%s%s%s%s%s%s%s", error->context != NULL ? error->context : "",
             place, placed ? ": " : "", error->message, hint != NULL ? "; " : "",
             hint != NULL ? hint : "", error->accepted != NULL ? "; " : "",
             error->accepted != NULL ? error->accepted : "");
    return cse_text_printable(raw, text, size);
}

static char *copy_text(char **at, const char *text)
{
    if (text == NULL)
        return NULL;
    char *copy = *at;
    *at = stpcpy(copy, text) + 1;
    return copy;
}

static size_t text_bytes(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

cse_error *cse_error_copy(const cse_error *error)
{
    cse_error *copy = cse_malloc(sizeof *copy + text_bytes(error->context) +
                                 text_bytes(error->place.source) + text_bytes(error->message) +
                                 text_bytes(error->hint) + text_bytes(error->accepted));
    char *at = (char *)(copy + 1);
    *copy = *error;
    copy->context = copy_text(&at, error->context);
    copy->place.source = copy_text(&at, error->place.source);
    copy->message = copy_text(&at, error->message);
    copy->hint = copy_text(&at, error->hint);
    copy->accepted = copy_text(&at, error->accepted);
    return copy;
}

/* ---- JSON ---- */

json_t *cse_error_json(const cse_error *error)
{
    char text[2 * TEXT_BYTES];
    cse_error shown = *error;
    if (error->place.line > 0) { /* line and column are fields of their own */
        shown.context = NULL;
        shown.place = (cse_place){ .source = NULL };
    }
    cse_error_print(&shown, text, sizeof text);
    json_t *json = json_object(), *message = json_string(text);
    if (error->place.line > 0) {
        json_object_set_new(json, "line", json_integer(error->place.line));
        json_object_set_new(json, "column", json_integer(error->place.column));
    }
    json_object_set_new(json, "message",
                        message != NULL ? message : json_string(cse_status_text(error->status)));
    if (error->hint != NULL)
        json_object_set_new(json, "hint", json_string(error->hint));
    return json;
}
