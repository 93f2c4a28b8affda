/* Values put into a text; see format_text.h. Of percent formats %s %r %d %i %f %% with width and
 * digits, of braces fields by place and name without a format behind ":"; others are refused. */
#include "dataloader/chat/format_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/chat/characters.h"

typedef struct percent {
    cse_jinja_run *run;
    const cse_jinja_value *values;
    size_t used;
    cse_text out;
} percent;

static cse_status next_value(percent *self, const char *name, cse_jinja_value *value)
{
    const cse_jinja_value *values = self->values;
    if (name != NULL) {
        const cse_jinja_value *member =
            values->kind == CSE_JINJA_DICT ? cse_jinja_dict_find_word(values->dict, name) : NULL;
        if (member == NULL)
            return cse_jinja_refuse(self->run, "there is no value for %%(%.50s)", name);
        *value = *member;
        return CSE_OK;
    }
    const size_t count = values->kind == CSE_JINJA_TUPLE ? values->list->count : 1;
    if (self->used == count)
        return cse_jinja_refuse(self->run, "a format has more places than the %zu values", count);
    *value = values->kind == CSE_JINJA_TUPLE ? values->list->values[self->used] : *values;
    self->used++;
    return CSE_OK;
}

/* "-5.2": its parts. */
typedef struct field_shape {
    bool left, zeros, has_digits;
    int width, digits;
} field_shape;

static const char *read_shape(const char *at, const char *end, field_shape *shape)
{
    *shape = (field_shape){ .digits = 6 };
    for (; at < end && (*at == '-' || *at == '0'); at++)
        *(*at == '-' ? &shape->left : &shape->zeros) = true;
    for (; at < end && isdigit((unsigned char)*at) && shape->width < 1000; at++)
        shape->width = shape->width * 10 + (*at - '0');
    if (at < end && *at == '.') {
        shape->has_digits = true;
        for (shape->digits = 0, at++;
             at < end && isdigit((unsigned char)*at) && shape->digits < 100; at++)
            shape->digits = shape->digits * 10 + (*at - '0');
    }
    return at;
}

static cse_status print_number(percent *self, char kind, const field_shape *shape,
                               const cse_jinja_value *value, cse_text *text)
{
    double number;
    int64_t whole;
    if (!cse_jinja_is_number(value, &number))
        return cse_jinja_refuse(self->run, "%%%c is for numbers, not for a %s", kind,
                                cse_jinja_kind_name(value));
    if (kind == 'f')
        cse_text_add(text, "%.*f", shape->digits, number);
    else if (cse_jinja_is_whole(value, &whole))
        cse_text_add_number(text, whole);
    else if (number > -9e18 && number < 9e18)
        cse_text_add_number(text, (int64_t)number);
    else
        return cse_jinja_refuse(self->run, "a whole number beyond 64 bits");
    return CSE_OK;
}

static void add_padded(cse_text *out, const cse_text *text, const field_shape *shape,
                       bool is_number)
{
    const int64_t missing = shape->width - (int64_t)cse_characters_count(text->data, text->size);
    const bool zeros = shape->zeros && is_number && !shape->left;
    const size_t sign = zeros && text->data[0] == '-';
    cse_text_add_bytes(out, text->data, sign);
    for (int64_t i = 0; i < missing && !shape->left; i++)
        cse_text_add_bytes(out, zeros ? "0" : " ", 1);
    cse_text_add_bytes(out, text->data + sign, text->size - sign);
    for (int64_t i = 0; i < missing && shape->left; i++)
        cse_text_add_bytes(out, " ", 1);
}

static cse_status add_value(percent *self, char kind, const field_shape *shape,
                            const cse_jinja_value *value)
{
    cse_text text = { 0 };
    cse_status status = CSE_OK;
    if (kind == 's')
        cse_jinja_print(&text, value);
    else if (kind == 'r')
        cse_jinja_repr(&text, value);
    else
        status = print_number(self, kind, shape, value, &text);
    if (status == CSE_OK && (kind == 's' || kind == 'r') && shape->has_digits)
        text.size = cse_characters_offset(text.data, text.size, (size_t)shape->digits);
    if (status == CSE_OK)
        add_padded(&self->out, &text, shape, kind != 's' && kind != 'r');
    cse_text_clear(&text);
    return status;
}

/* Behind "%"; moves on. */
static cse_status add_field(percent *self, const char **at, const char *end)
{
    char name[64], *word = NULL;
    field_shape shape;
    cse_jinja_value value;
    if (*at < end && **at == '(') {
        const char *close = memchr(*at, ')', (size_t)(end - *at));
        if (close == NULL || close - *at > (ptrdiff_t)sizeof name)
            return cse_jinja_refuse(self->run, "a format has no name in %%(...)");
        snprintf(name, sizeof name, "%.*s", (int)(close - *at - 1), *at + 1);
        word = name;
        *at = close + 1;
    }
    *at = read_shape(*at, end, &shape);
    const char kind = *at < end ? *(*at)++ : '\0';
    if (kind == '%') {
        cse_text_add_bytes(&self->out, "%", 1);
        return CSE_OK;
    }
    if (kind == '\0' || strchr("srdif", kind) == NULL)
        return cse_jinja_refuse(self->run, "a format is none of %%s, %%r, %%d, %%i, %%f and %%%%");
    CSE_TRY(next_value(self, word, &value));
    return add_value(self, kind, &shape, &value);
}

static cse_status percent_fields(percent *self, const cse_jinja_value *format)
{
    const char *at = format->text.bytes, *end = at + format->text.length;
    while (at < end) {
        const char *mark = memchr(at, '%', (size_t)(end - at));
        cse_text_add_bytes(&self->out, at, (size_t)((mark != NULL ? mark : end) - at));
        at = mark != NULL ? mark + 1 : end;
        if (mark != NULL)
            CSE_TRY(add_field(self, &at, end));
        CSE_TRY(cse_jinja_step(self->run, 1));
        if (self->out.size >= CSE_JINJA_MOST_BYTES)
            break;
    }
    const cse_jinja_kind kind = self->values->kind;
    if (kind != CSE_JINJA_DICT &&
        self->used != (kind == CSE_JINJA_TUPLE ? self->values->list->count : 1))
        return cse_jinja_refuse(self->run, "not all values have a place in the format");
    return CSE_OK;
}

cse_status cse_jinja_percent_format(cse_jinja_run *run, const cse_jinja_value *format,
                                    const cse_jinja_value *values, cse_jinja_value *result)
{
    percent self = { .run = run, .values = values };
    const cse_status status = percent_fields(&self, format);
    if (status == CSE_OK)
        return cse_jinja_collected(run, &self.out, result);
    cse_text_clear(&self.out);
    return status;
}

/* ---- braces ---- */

/* The value of the field "0", "name" or "". */
static cse_status field_value(cse_jinja_run *run, const cse_jinja_call *call, const char *field,
                              size_t *next, cse_jinja_value *value)
{
    const bool is_place = field[0] == '\0' || isdigit((unsigned char)field[0]);
    const size_t place = field[0] == '\0' ? (*next)++ : (size_t)strtoul(field, NULL, 10);
    value->kind = CSE_JINJA_ABSENT;
    if (is_place && place < call->count)
        *value = call->values[place];
    else if (!is_place)
        *value = cse_jinja_argument(call, call->count, field);
    return value->kind != CSE_JINJA_ABSENT
               ? CSE_OK
               : cse_jinja_refuse(run, "format() has no value for {%s}", field);
}

static cse_status add_brace(cse_jinja_run *run, const cse_jinja_call *call, const char **at,
                            size_t *next, cse_text *out)
{
    char field[64];
    cse_jinja_value value;
    const char *end = call->self.text.bytes + call->self.text.length;
    const char *close = memchr(*at, '}', (size_t)(end - *at));
    const size_t size = close != NULL ? (size_t)(close - *at) : sizeof field;
    if (size >= sizeof field || cse_characters_name(*at, size) != size)
        return cse_jinja_refuse(
            run, "a field of format() is none of {}, {0} and {name}, which are accepted");
    memcpy(field, *at, size);
    field[size] = '\0';
    *at = close + 1;
    CSE_TRY(field_value(run, call, field, next, &value));
    cse_jinja_print(out, &value);
    return CSE_OK;
}

static cse_status brace_fields(cse_jinja_run *run, const cse_jinja_call *call, cse_text *out)
{
    const char *at = call->self.text.bytes, *end = at + call->self.text.length;
    size_t next = 0;
    while (at < end && out->size < CSE_JINJA_MOST_BYTES) {
        const char letter = *at++;
        CSE_TRY(cse_jinja_step(run, 1));
        if ((letter == '{' || letter == '}') && at < end && *at == letter)
            cse_text_add_bytes(out, at++, 1);
        else if (letter == '{')
            CSE_TRY(add_brace(run, call, &at, &next, out));
        else if (letter == '}')
            return cse_jinja_refuse(run, "a \"}\" of format() has no \"{\"");
        else
            cse_text_add_bytes(out, &letter, 1);
    }
    return CSE_OK;
}

cse_status cse_jinja_brace_format(cse_jinja_run *run, const cse_jinja_call *call,
                                  cse_jinja_value *result)
{
    cse_text out = { 0 };
    const cse_status status = brace_fields(run, call, &out);
    if (status == CSE_OK)
        return cse_jinja_collected(run, &out, result);
    cse_text_clear(&out);
    return status;
}
