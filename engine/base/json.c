/* Escapes and numbers of JSON; see json.h. */
#include "engine/base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_control(cse_text *out, unsigned char byte)
{
    static const char letters[] = "\b\f\n\r\t", names[] = "bfnrt";
    const char *letter = byte != 0 ? strchr(letters, byte) : NULL;
    if (letter != NULL)
        cse_text_add(out, "\\%c", names[letter - letters]);
    else
        cse_text_add(out, "\\u%04x", byte);
}

static void add_code_point(cse_text *out, uint32_t point)
{
    if (point < 0x10000)
        cse_text_add(out, "\\u%04x", (unsigned)point);
    else
        cse_text_add(out, "\\u%04x\\u%04x", 0xD800 + (unsigned)((point - 0x10000) >> 10),
                     0xDC00 + (unsigned)((point - 0x10000) & 0x3FF));
}

void cse_json_add_string(cse_text *out, const char *text)
{
    if (text == NULL) {
        cse_text_add_bytes(out, "null", 4);
        return;
    }
    const char *at = text, *plain = at;
    cse_text_add_bytes(out, "\"", 1);
    for (;;) {
        size_t length = cse_utf8_length(at, 4); /* the terminating zero ends a sequence too */
        if (*at != '\0' && length > 0 && (unsigned char)*at >= 0x20 && *at != '"' && *at != '\\' &&
            cse_utf8_is_printable(at, length)) {
            at += length;
            continue;
        }
        cse_text_add_bytes(out, plain, (size_t)(at - plain));
        if (*at == '\0')
            break;
        if (length == 0)
            cse_text_add_bytes(out, "\\ufffd", 6);
        else if (length > 1)
            add_code_point(out, cse_utf8_code_point(at, length));
        else if (*at == '"' || *at == '\\')
            cse_text_add(out, "\\%c", *at);
        else
            add_control(out, (unsigned char)*at);
        plain = at += length > 0 ? length : 1;
    }
    cse_text_add_bytes(out, "\"", 1);
}

void cse_json_add_printable(cse_text *out, const char *json, size_t size)
{
    const char *const end = json + size, *plain = json;
    while (json < end) {
        const size_t length = cse_utf8_length(json, (size_t)(end - json));
        if (length > 0 && (cse_utf8_is_printable(json, length) || *json == '\r')) {
            json += length;
            continue;
        }
        cse_text_add_bytes(out, plain, (size_t)(json - plain));
        add_code_point(out, length > 0 ? cse_utf8_code_point(json, length) : 0xFFFD);
        plain = json += length > 0 ? length : 1;
    }
    cse_text_add_bytes(out, plain, (size_t)(json - plain));
}

void cse_json_add_number(cse_text *out, double number)
{
    char digits[32];
    if (isnan(number)) {
        cse_text_add_bytes(out, "\"NaN\"", 5);
        return;
    }
    if (isinf(number)) {
        cse_text_add(out, number > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return;
    }
    static const int precisions[] = { 9, 15, 16, 17 };
    for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; i++) {
        snprintf(digits, sizeof digits, "%.*g", precisions[i], number);
        if (strtod(digits, NULL) == number)
            break;
    }
    cse_text_add_bytes(out, digits, strlen(digits));
}

void cse_json_add_finite(cse_text *out, double number)
{
    if (isfinite(number))
        cse_json_add_number(out, number);
    else
        cse_text_add_bytes(out, "null", 4);
}

void cse_json_add_integer(cse_text *out, int64_t number)
{
    cse_text_add_number(out, number);
}
