/* Values as JSON, as json.dumps of Python writes it. */
#include <math.h>
#include <string.h>

#include "dataloader/chat/characters.h"
#include "dataloader/chat/run.h"
#include "dataloader/chat/sorting.h"

enum { MOST_DEPTH = 200 };

typedef struct dump {
    cse_jinja_run *run;
    cse_text *out;
    const cse_jinja_json_style *style;
    int depth;
} dump;

static cse_status add_value(dump *self, const cse_jinja_value *value);

static void add_escape(cse_text *out, uint32_t point)
{
    if (point >= 0x10000)
        cse_text_add(out, "\\u%04x\\u%04x", 0xD800 + (unsigned)((point - 0x10000) >> 10),
                     0xDC00 + (unsigned)((point - 0x10000) & 0x3FF));
    else
        cse_text_add(out, "\\u%04x", (unsigned)point);
}

static void add_text(dump *self, const char *bytes, size_t size)
{
    static const char letters[] = "\"\\\n\r\t\b\f", names[] = "\"\\nrtbf";
    cse_text *out = self->out;
    cse_text_add_bytes(out, "\"", 1);
    for (size_t at = 0, length; at < size; at += length) {
        const uint32_t point = cse_character_next(bytes + at, size - at, &length);
        const char *letter = point > 0 && point < 128 ? strchr(letters, (int)point) : NULL;
        if (letter != NULL)
            cse_text_add(out, "\\%c", names[letter - letters]);
        else if (point < 0x20 || (self->style->ensure_ascii && point > 0x7E))
            add_escape(out, point);
        else
            cse_text_add_bytes(out, bytes + at, length);
    }
    cse_text_add_bytes(out, "\"", 1);
}

static void add_float(cse_text *out, double number)
{
    if (isnan(number) || isinf(number))
        cse_text_add(out, "%s", isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity");
    else
        cse_jinja_print_float(out, number);
}

static void add_line(dump *self)
{
    if (!self->style->is_indented)
        return;
    cse_text_add_bytes(self->out, "\n", 1);
    for (int i = 0; i < self->depth; i++)
        cse_jinja_print(self->out, &self->style->indent);
}

static cse_status check_size(const dump *self)
{
    CSE_TRY(cse_jinja_step(self->run, 1));
    return self->out->size < CSE_JINJA_MOST_BYTES
               ? CSE_OK
               : cse_jinja_refuse(self->run, "a text has more than %d MB",
                                  CSE_JINJA_MOST_BYTES >> 20);
}

static void begin_item(dump *self, size_t i)
{
    if (i > 0)
        cse_jinja_print(self->out, &self->style->between);
    add_line(self);
}

static cse_status add_list(dump *self, const cse_jinja_list *list)
{
    cse_text_add_bytes(self->out, "[", 1);
    self->depth++;
    for (size_t i = 0; i < list->count; i++) {
        begin_item(self, i);
        CSE_TRY(add_value(self, &list->values[i]));
    }
    self->depth--;
    if (list->count > 0)
        add_line(self);
    cse_text_add_bytes(self->out, "]", 1);
    return CSE_OK;
}

/* A key that is no text becomes one. */
static cse_status add_key(dump *self, const cse_jinja_value *key)
{
    cse_text text = { 0 };
    if (key->kind == CSE_JINJA_TEXT) {
        add_text(self, key->text.bytes, key->text.length);
        return CSE_OK;
    }
    if (key->kind == CSE_JINJA_NONE)
        cse_text_add(&text, "null");
    else if (key->kind == CSE_JINJA_BOOLEAN)
        cse_text_add(&text, "%s", key->boolean ? "true" : "false");
    else if (key->kind == CSE_JINJA_FLOAT)
        add_float(&text, key->number);
    else
        cse_jinja_print(&text, key);
    add_text(self, text.data, text.size);
    cse_text_clear(&text);
    return CSE_OK;
}

static cse_status add_dict(dump *self, const cse_jinja_dict *dict)
{
    size_t *order = cse_arena_alloc(self->run->arena, (dict->count + 1) * sizeof *order);
    CSE_TRY(cse_jinja_sort_order(self->run, dict->keys, self->style->sort_keys ? dict->count : 0,
                                 false, order));
    cse_text_add_bytes(self->out, "{", 1);
    self->depth++;
    for (size_t i = 0; i < dict->count; i++) {
        const size_t at = self->style->sort_keys ? order[i] : i;
        begin_item(self, i);
        CSE_TRY(add_key(self, &dict->keys[at]));
        cse_jinja_print(self->out, &self->style->after_key);
        CSE_TRY(add_value(self, &dict->values[at]));
    }
    self->depth--;
    if (dict->count > 0)
        add_line(self);
    cse_text_add_bytes(self->out, "}", 1);
    return CSE_OK;
}

static cse_status add_value(dump *self, const cse_jinja_value *value)
{
    CSE_TRY(check_size(self));
    if (self->depth > MOST_DEPTH)
        return cse_jinja_refuse(self->run, "values stand in one another more than %d deep",
                                MOST_DEPTH);
    switch (value->kind) {
    case CSE_JINJA_NONE:
        cse_text_add(self->out, "null");
        return CSE_OK;
    case CSE_JINJA_BOOLEAN:
        cse_text_add(self->out, "%s", value->boolean ? "true" : "false");
        return CSE_OK;
    case CSE_JINJA_INTEGER:
        cse_text_add_number(self->out, value->integer);
        return CSE_OK;
    case CSE_JINJA_FLOAT:
        add_float(self->out, value->number);
        return CSE_OK;
    case CSE_JINJA_TEXT:
        add_text(self, value->text.bytes, value->text.length);
        return CSE_OK;
    case CSE_JINJA_LIST:
    case CSE_JINJA_TUPLE:
        return add_list(self, value->list);
    case CSE_JINJA_DICT:
        return add_dict(self, value->dict);
    case CSE_JINJA_UNDEFINED:
        return cse_jinja_refuse(self->run, "\"%.100s\" is not defined: JSON needs a value",
                                value->text.bytes);
    default:
        return cse_jinja_refuse(self->run, "a %s is no value of JSON", cse_jinja_kind_name(value));
    }
}

cse_status cse_jinja_add_json(cse_jinja_run *run, cse_text *out, const cse_jinja_value *value,
                              const cse_jinja_json_style *style)
{
    dump self = { .run = run, .out = out, .style = style };
    return add_value(&self, value);
}
