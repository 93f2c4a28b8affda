/* Filters of texts and numbers. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/chat/characters.h"
#include "dataloader/chat/filters.h"
#include "dataloader/chat/format_text.h"
#include "dataloader/chat/text_operations.h"

/* The value as a text, which is then worked on by a method of texts. */
static cse_status by_method(cse_jinja_run *run, const cse_jinja_call *call, const char *method,
                            cse_jinja_value *result)
{
    cse_jinja_call of_text = *call;
    CSE_TRY(cse_jinja_str(run, &call->self, &of_text.self));
    return cse_jinja_function_find(&cse_jinja_text_methods, method)->apply(run, &of_text, result);
}

CSE_JINJA_FILTER(capitalize)
{
    return by_method(run, call, "capitalize", result);
}

CSE_JINJA_FILTER(lower)
{
    return by_method(run, call, "lower", result);
}

CSE_JINJA_FILTER(upper)
{
    return by_method(run, call, "upper", result);
}

CSE_JINJA_FILTER(trim)
{
    return by_method(run, call, "strip", result);
}

CSE_JINJA_FILTER(center)
{
    const cse_jinja_value width = cse_jinja_integer(80);
    cse_jinja_call with_width = *call;
    const cse_jinja_value given = cse_jinja_argument(call, 0, "width");
    with_width.values = given.kind == CSE_JINJA_ABSENT ? &width : &given;
    with_width.count = 1;
    return by_method(run, &with_width, "center", result);
}

CSE_JINJA_FILTER(format)
{
    cse_jinja_value format, values = cse_jinja_list_new(run->arena, CSE_JINJA_TUPLE, call->count);
    CSE_TRY(cse_jinja_str(run, &call->self, &format));
    if (call->count > 0 && call->named_count > 0)
        return cse_jinja_refuse(run, "format takes values by place or by name, not both");
    for (size_t i = 0; i < call->count; i++)
        cse_jinja_list_add(run->arena, values.list, call->values[i]);
    if (call->named_count > 0)
        values = cse_jinja_dict_new(run->arena, CSE_JINJA_DICT);
    for (size_t i = 0; i < call->named_count; i++)
        cse_jinja_dict_add(run->arena, values.dict, cse_jinja_word(call->names[i]), call->named[i]);
    return cse_jinja_percent_format(run, &format, &values, result);
}

CSE_JINJA_FILTER(default)
{
    const cse_jinja_value other = cse_jinja_argument(call, 0, "default_value");
    const bool is_missing =
        call->self.kind == CSE_JINJA_UNDEFINED ||
        (cse_jinja_flag_argument(call, 1, "boolean") && !cse_jinja_is_true(&call->self));
    (void)run;
    *result = !is_missing                      ? call->self
              : other.kind == CSE_JINJA_ABSENT ? cse_jinja_word("")
                                               : other;
    return CSE_OK;
}

CSE_JINJA_FILTER(safe)
{
    return cse_jinja_str(run, &call->self, result);
}

CSE_JINJA_FILTER(string)
{
    return cse_jinja_str(run, &call->self, result);
}

CSE_JINJA_FILTER(length)
{
    int64_t length;
    CSE_TRY(cse_jinja_length(run, &call->self, &length));
    *result = cse_jinja_integer(length);
    return CSE_OK;
}

CSE_JINJA_FILTER(replace)
{
    cse_jinja_value texts[3], given;
    int64_t count = -1;
    CSE_TRY(cse_jinja_str(run, &call->self, &texts[0]));
    given = cse_jinja_argument(call, 0, "old");
    CSE_TRY(cse_jinja_str(run, &given, &texts[1]));
    given = cse_jinja_argument(call, 1, "new");
    CSE_TRY(cse_jinja_str(run, &given, &texts[2]));
    CSE_TRY(cse_jinja_whole_argument(run, call, 2, "count", &count));
    return cse_jinja_text_replace(run, texts, count, result);
}

CSE_JINJA_FILTER(escape)
{
    static const struct {
        char letter;
        const char *text;
    } escapes[] = {
        { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&#34;" }, { '\'', "&#39;" }
    };
    cse_jinja_value text;
    cse_text out = { 0 };
    CSE_TRY(cse_jinja_str(run, &call->self, &text));
    for (size_t i = 0; i < text.text.length && out.size < CSE_JINJA_MOST_BYTES; i++) {
        size_t known = 0;
        while (known < 5 && escapes[known].letter != text.text.bytes[i])
            known++;
        if (known < 5)
            cse_text_add(&out, "%s", escapes[known].text);
        else
            cse_text_add_bytes(&out, &text.text.bytes[i], 1);
    }
    return cse_jinja_collected(run, &out, result);
}

CSE_JINJA_FILTER(urlencode)
{
    cse_jinja_value text;
    cse_text out = { 0 };
    CSE_TRY(cse_jinja_str(run, &call->self, &text));
    for (size_t i = 0; i < text.text.length && out.size < CSE_JINJA_MOST_BYTES; i++) {
        const unsigned char byte = (unsigned char)text.text.bytes[i];
        if ((byte < 128 && isalnum(byte)) || (byte != 0 && strchr("_.-~/", byte) != NULL))
            cse_text_add_bytes(&out, (const char *)&byte, 1);
        else
            cse_text_add(&out, "%%%02X", byte);
    }
    return cse_jinja_collected(run, &out, result);
}

/* Words begin behind white space and one of -({[<. */
CSE_JINJA_FILTER(title)
{
    cse_jinja_value text;
    cse_text out = { 0 };
    CSE_TRY(cse_jinja_str(run, &call->self, &text));
    bool begins = true;
    for (size_t at = 0, length; at < text.text.length; at += length) {
        const char *bytes = text.text.bytes + at;
        const uint32_t point = cse_character_next(bytes, text.text.length - at, &length);
        cse_characters_add_case(&out, bytes, length, begins ? CSE_UPPER_CASE : CSE_LOWER_CASE);
        begins = cse_character_is_space(point) ||
                 (point < 128 && point != 0 && strchr("-({[<", (int)point) != NULL);
    }
    return cse_jinja_collected(run, &out, result);
}

CSE_JINJA_FILTER(wordcount)
{
    cse_jinja_value text;
    int64_t count = 0;
    bool in_word = false;
    CSE_TRY(cse_jinja_str(run, &call->self, &text));
    for (size_t at = 0, length; at < text.text.length; at += length) {
        const char *bytes = text.text.bytes + at;
        cse_character_next(bytes, text.text.length - at, &length);
        const bool is_of_word = cse_characters_name(bytes, length) > 0;
        count += is_of_word && !in_word;
        in_word = is_of_word;
    }
    *result = cse_jinja_integer(count);
    return CSE_OK;
}

static void add_indented(cse_text *out, const cse_jinja_value *lines, const cse_jinja_value *by,
                         bool first, bool blank)
{
    const cse_jinja_list *list = lines->list;
    for (size_t i = 0; i < list->count && out->size < CSE_JINJA_MOST_BYTES; i++) {
        if (i > 0)
            cse_text_add_bytes(out, "\n", 1);
        if (i > 0 ? blank || list->values[i].text.length > 0 : first)
            cse_jinja_print(out, by);
        cse_jinja_print(out, &list->values[i]);
    }
}

CSE_JINJA_FILTER(indent)
{
    cse_jinja_value by = cse_jinja_argument(call, 0, "width"), text, lines, newline;
    const cse_jinja_value space = cse_jinja_word(" "), line_end = cse_jinja_word("\n");
    int64_t width = 4;
    cse_text out = { 0 };
    if (by.kind != CSE_JINJA_TEXT) {
        CSE_TRY(cse_jinja_whole_argument(run, call, 0, "width", &width));
        newline = cse_jinja_integer(width);
        CSE_TRY(cse_jinja_binary(run, "*", &space, &newline, &by));
    }
    CSE_TRY(cse_jinja_binary(run, "+", &call->self, &line_end, &text));
    CSE_TRY(cse_jinja_text_lines(run, &text, &lines));
    add_indented(&out, &lines, &by, cse_jinja_flag_argument(call, 1, "first"),
                 cse_jinja_flag_argument(call, 2, "blank"));
    return cse_jinja_collected(run, &out, result);
}

/* ---- numbers ---- */

CSE_JINJA_FILTER(abs)
{
    int64_t whole;
    if (call->self.kind == CSE_JINJA_FLOAT)
        *result = cse_jinja_float(fabs(call->self.number));
    else if (cse_jinja_is_whole(&call->self, &whole) && whole != INT64_MIN)
        *result = cse_jinja_integer(whole < 0 ? -whole : whole);
    else
        return cse_jinja_refuse(run, "abs is for numbers, not for a %s",
                                cse_jinja_kind_name(&call->self));
    return CSE_OK;
}

/* The text without white space around it and "_" between digits; false: too long. */
static bool plain_number(const cse_jinja_value *text, char number[128])
{
    const char *bytes = text->text.bytes;
    size_t size = cse_characters_strip_end(bytes, text->text.length), count = 0;
    for (size_t i = cse_characters_strip_begin(bytes, size); i < size; i++) {
        const bool is_between = bytes[i] == '_' && i > 0 && i + 1 < size &&
                                isalnum((unsigned char)bytes[i - 1]) &&
                                isalnum((unsigned char)bytes[i + 1]);
        if (count == 127)
            return false;
        if (!is_between)
            number[count++] = bytes[i];
    }
    number[count] = '\0';
    return count > 0 && !isspace((unsigned char)number[0]);
}

static bool float_of_text(const cse_jinja_value *text, double *number)
{
    char plain[128], *rest;
    if (!plain_number(text, plain) || strpbrk(plain, "xXpP(") != NULL)
        return false;
    *number = strtod(plain, &rest);
    return *rest == '\0';
}

CSE_JINJA_FILTER(float)
{
    double number;
    const cse_jinja_value other = cse_jinja_argument(call, 0, "default");
    (void)run;
    if (cse_jinja_is_number(&call->self, &number) ||
        (call->self.kind == CSE_JINJA_TEXT && float_of_text(&call->self, &number)))
        *result = cse_jinja_float(number);
    else
        *result = other.kind == CSE_JINJA_ABSENT ? cse_jinja_float(0) : other;
    return CSE_OK;
}

/* As int(text, base) of Python; 0b, 0o and 0x where the base is theirs. */
static bool int_of_text(const cse_jinja_value *text, int64_t base, int64_t *number)
{
    char plain[128], *at = plain, *rest;
    if (base < 2 || base > 36 || !plain_number(text, plain))
        return false;
    const bool is_minus = *at == '-';
    at += *at == '-' || *at == '+';
    const char letter = base == 2 ? 'b' : base == 8 ? 'o' : base == 16 ? 'x' : '\0';
    if (letter != '\0' && at[0] == '0' && (at[1] | 0x20) == letter)
        at += 2;
    if (!isalnum((unsigned char)*at) || (at[0] == '0' && (at[1] | 0x20) == 'x'))
        return false;
    errno = 0;
    *number = strtoll(at, &rest, (int)base);
    *number = is_minus ? -*number : *number;
    return *rest == '\0' && errno == 0;
}

CSE_JINJA_FILTER(int)
{
    double number;
    int64_t whole, base = 10;
    const cse_jinja_value other = cse_jinja_argument(call, 0, "default");
    CSE_TRY(cse_jinja_whole_argument(run, call, 1, "base", &base));
    if (cse_jinja_is_whole(&call->self, &whole) ||
        (call->self.kind == CSE_JINJA_TEXT && int_of_text(&call->self, base, &whole)))
        *result = cse_jinja_integer(whole);
    else if ((cse_jinja_is_number(&call->self, &number) ||
              (call->self.kind == CSE_JINJA_TEXT && float_of_text(&call->self, &number))) &&
             fabs(number) < 9.2e18)
        *result = cse_jinja_integer((int64_t)number);
    else
        *result = other.kind == CSE_JINJA_ABSENT ? cse_jinja_integer(0) : other;
    return CSE_OK;
}

/* round() of Python gives the decimal that is nearest, as printf does. */
static double rounded(double number, int precision)
{
    char text[512];
    const double scale = pow(10, precision);
    if (precision < 0)
        return nearbyint(number * pow(10, -(double)-precision)) / scale;
    snprintf(text, sizeof text, "%.*f", precision, number);
    return strtod(text, NULL);
}

CSE_JINJA_FILTER(round)
{
    double number;
    int64_t precision = 0, whole;
    const cse_jinja_value method = cse_jinja_argument(call, 1, "method");
    const bool is_common = method.kind == CSE_JINJA_ABSENT || cse_jinja_is_text(&method, "common");
    const bool is_up = cse_jinja_is_text(&method, "ceil");
    CSE_TRY(cse_jinja_whole_argument(run, call, 0, "precision", &precision));
    if (!cse_jinja_is_number(&call->self, &number))
        return cse_jinja_refuse(run, "round is for numbers, not for a %s",
                                cse_jinja_kind_name(&call->self));
    if (precision < -100 || precision > 100)
        return cse_jinja_refuse(run, "the precision of round is not from -100 to 100");
    if (!is_common && !is_up && !cse_jinja_is_text(&method, "floor"))
        return cse_jinja_refuse(run, "the method of round is none of common, ceil and floor");
    if (is_common && precision >= 0 && cse_jinja_is_whole(&call->self, &whole))
        *result = cse_jinja_integer(whole);
    else if (is_common)
        *result = cse_jinja_float(rounded(number, (int)precision));
    else {
        const double scale = pow(10, (double)precision);
        *result = cse_jinja_float((is_up ? ceil : floor)(number * scale) / scale);
    }
    return CSE_OK;
}

/* ---- JSON ---- */

static cse_status read_indent(cse_jinja_run *run, const cse_jinja_value *given,
                              cse_jinja_json_style *style)
{
    const cse_jinja_value space = cse_jinja_word(" ");
    int64_t width;
    style->is_indented = given->kind != CSE_JINJA_ABSENT && given->kind != CSE_JINJA_NONE;
    style->between = cse_jinja_word(style->is_indented ? "," : ", ");
    style->after_key = cse_jinja_word(": ");
    style->indent = *given;
    if (!style->is_indented || given->kind == CSE_JINJA_TEXT)
        return CSE_OK;
    return cse_jinja_is_whole(given, &width)
               ? cse_jinja_binary(run, "*", &space, given, &style->indent)
               : cse_jinja_refuse(run, "the indent of tojson is a %s, no number and no text",
                                  cse_jinja_kind_name(given));
}

static cse_status read_separators(cse_jinja_run *run, const cse_jinja_value *given,
                                  cse_jinja_json_style *style)
{
    if (given->kind == CSE_JINJA_ABSENT || given->kind == CSE_JINJA_NONE)
        return CSE_OK;
    if ((given->kind != CSE_JINJA_TUPLE && given->kind != CSE_JINJA_LIST) ||
        given->list->count != 2 || given->list->values[0].kind != CSE_JINJA_TEXT ||
        given->list->values[1].kind != CSE_JINJA_TEXT)
        return cse_jinja_refuse(run, "the separators of tojson are no two texts");
    style->between = given->list->values[0];
    style->after_key = given->list->values[1];
    return CSE_OK;
}

CSE_JINJA_FILTER(tojson)
{
    cse_text out = { 0 };
    cse_jinja_json_style style = { .ensure_ascii = cse_jinja_flag_argument(call, 0, "ensure_ascii"),
                                   .sort_keys = cse_jinja_flag_argument(call, 3, "sort_keys") };
    const cse_jinja_value indent = cse_jinja_argument(call, 1, "indent");
    const cse_jinja_value separators = cse_jinja_argument(call, 2, "separators");
    CSE_TRY(read_indent(run, &indent, &style));
    CSE_TRY(read_separators(run, &separators, &style));
    const cse_status status = cse_jinja_add_json(run, &out, &call->self, &style);
    if (status == CSE_OK)
        return cse_jinja_collected(run, &out, result);
    cse_text_clear(&out);
    return status;
}
