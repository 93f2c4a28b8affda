/* Values as text, in the way of Python: str() is what {{ ... }} prints, repr() what stands inside
 * of lists and dicts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "dataloader/chat/value.h"

enum { MOST_DEPTH = 200 };

static void repr_at(cse_text *out, const cse_jinja_value *value, int depth);

/* ---- numbers ---- */

/* The digits of "d.ddde+XX", and the place of the point in them. */
static int shortest_digits(double number, char digits[32], int *point)
{
    char text[64];
    int count = 0;
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, number);
        if (strtod(text, NULL) == number)
            break;
    }
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at != '.')
            digits[count++] = *at;
    digits[count] = '\0';
    *point = atoi(at + 1) + 1;
    return count;
}

void cse_jinja_print_float(cse_text *out, double number)
{
    char digits[32];
    int point;
    if (isnan(number) || isinf(number)) {
        cse_text_add(out, "%s", isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
        return;
    }
    if (signbit(number))
        cse_text_add_bytes(out, "-", 1);
    const int count = shortest_digits(fabs(number), digits, &point);
    if (number == 0)
        cse_text_add(out, "0.0");
    else if (point > 16 || point < -3)
        cse_text_add(out, "%c%s%se%c%02d", digits[0], count > 1 ? "." : "", digits + 1,
                     point > 0 ? '+' : '-', abs(point - 1));
    else if (point <= 0)
        cse_text_add(out, "0.%.*s%s", -point, "0000", digits);
    else if (point >= count)
        cse_text_add(out, "%s%.*s.0", digits, point - count, "0000000000000000");
    else
        cse_text_add(out, "%.*s.%s", point, digits, digits + point);
}

/* ---- texts ---- */

static bool is_printable(uint32_t point)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    return point == ' ' || (category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS);
}

static void repr_character(cse_text *out, const char *bytes, size_t length, char quote)
{
    static const char letters[] = "\n\r\t\\", names[] = "nrt\\";
    const uint32_t point = cse_utf8_code_point(bytes, length);
    const char *letter = point < 128 && point != 0 ? strchr(letters, (int)point) : NULL;
    if (letter != NULL)
        cse_text_add(out, "\\%c", names[letter - letters]);
    else if (point == (uint32_t)quote)
        cse_text_add(out, "\\%c", quote);
    else if (is_printable(point))
        cse_text_add_bytes(out, bytes, length);
    else if (point < 0x100)
        cse_text_add(out, "\\x%02x", (unsigned)point);
    else if (point < 0x10000)
        cse_text_add(out, "\\u%04x", (unsigned)point);
    else
        cse_text_add(out, "\\U%08x", (unsigned)point);
}

static void repr_text(cse_text *out, const char *bytes, size_t size)
{
    const bool has_single = memchr(bytes, '\'', size) != NULL;
    const char quote = has_single && memchr(bytes, '"', size) == NULL ? '"' : '\'';
    cse_text_add_bytes(out, &quote, 1);
    for (size_t at = 0; at < size;) {
        size_t length = cse_utf8_length(bytes + at, size - at);
        length = length == 0 ? 1 : length;
        repr_character(out, bytes + at, length, quote);
        at += length;
    }
    cse_text_add_bytes(out, &quote, 1);
}

/* ---- what holds values ---- */

static void repr_values(cse_text *out, const cse_jinja_list *list, const char *brackets, int depth)
{
    cse_text_add_bytes(out, &brackets[0], 1);
    for (size_t i = 0; i < list->count && out->size < CSE_JINJA_MOST_BYTES; i++) {
        if (i > 0)
            cse_text_add_bytes(out, ", ", 2);
        repr_at(out, &list->values[i], depth);
    }
    if (brackets[0] == '(' && list->count == 1)
        cse_text_add_bytes(out, ",", 1);
    cse_text_add_bytes(out, &brackets[1], 1);
}

static void repr_dict(cse_text *out, const cse_jinja_dict *dict, int depth)
{
    cse_text_add_bytes(out, "{", 1);
    for (size_t i = 0; i < dict->count && out->size < CSE_JINJA_MOST_BYTES; i++) {
        if (i > 0)
            cse_text_add_bytes(out, ", ", 2);
        repr_at(out, &dict->keys[i], depth);
        cse_text_add_bytes(out, ": ", 2);
        repr_at(out, &dict->values[i], depth);
    }
    cse_text_add_bytes(out, "}", 1);
}

static void repr_holder(cse_text *out, const cse_jinja_value *value, int depth)
{
    switch (value->kind) {
    case CSE_JINJA_LIST:
        repr_values(out, value->list, "[]", depth);
        break;
    case CSE_JINJA_TUPLE:
        repr_values(out, value->list, "()", depth);
        break;
    case CSE_JINJA_VIEW:
        cse_text_add(out, "%s(", value->list->name);
        repr_values(out, value->list, "[]", depth);
        cse_text_add(out, ")");
        break;
    case CSE_JINJA_RANGE:
        cse_text_add(out, "%s", value->list->name);
        break;
    case CSE_JINJA_DICT:
        repr_dict(out, value->dict, depth);
        break;
    case CSE_JINJA_NAMESPACE:
        cse_text_add(out, "<Namespace ");
        repr_dict(out, value->dict, depth);
        cse_text_add(out, ">");
        break;
    default:
        cse_text_add(out, "<%s>", cse_jinja_kind_name(value));
    }
}

static void repr_at(cse_text *out, const cse_jinja_value *value, int depth)
{
    if (depth > MOST_DEPTH || out->size >= CSE_JINJA_MOST_BYTES) {
        cse_text_add(out, "...");
        return;
    }
    switch (value->kind) {
    case CSE_JINJA_ABSENT:
    case CSE_JINJA_UNDEFINED:
        cse_text_add(out, "Undefined");
        break;
    case CSE_JINJA_NONE:
        cse_text_add(out, "None");
        break;
    case CSE_JINJA_BOOLEAN:
        cse_text_add(out, "%s", value->boolean ? "True" : "False");
        break;
    case CSE_JINJA_INTEGER:
        cse_text_add_number(out, value->integer);
        break;
    case CSE_JINJA_FLOAT:
        cse_jinja_print_float(out, value->number);
        break;
    case CSE_JINJA_TEXT:
        repr_text(out, value->text.bytes, value->text.length);
        break;
    default:
        repr_holder(out, value, depth + 1);
    }
}

void cse_jinja_repr(cse_text *out, const cse_jinja_value *value)
{
    repr_at(out, value, 0);
}

void cse_jinja_print(cse_text *out, const cse_jinja_value *value)
{
    if (value->kind == CSE_JINJA_TEXT)
        cse_text_add_bytes(out, value->text.bytes, value->text.length);
    else if (value->kind != CSE_JINJA_UNDEFINED && value->kind != CSE_JINJA_ABSENT)
        repr_at(out, value, 0);
}
