/* A buffer that doubles when it is full. */
#include "engine/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

/* Room that is made before a text is formatted: most texts then need to be formatted only once. */
enum { USUAL_BYTES = 96 };

void cse_text_reserve(cse_text *text, size_t more)
{
    if (text->size + more + 1 <= text->capacity)
        return;
    text->capacity = (text->size + more + 1) * 2;
    text->data = cse_realloc(text->data, text->capacity);
}

void cse_text_add(cse_text *text, const char *format, ...)
{
    va_list arguments, again;
    cse_text_reserve(text, USUAL_BYTES);
    const size_t room = text->capacity - text->size;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(text->data + text->size, room, format, arguments);
    va_end(arguments);
    if ((size_t)length >= room) {
        cse_text_reserve(text, (size_t)length);
        vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
    }
    va_end(again);
    text->size += (size_t)length;
}

void cse_text_add_number(cse_text *text, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (number < 0)
        digits[--at] = '-';
    cse_text_add_bytes(text, digits + at, sizeof digits - at);
}

void cse_text_add_bytes(cse_text *text, const char *bytes, size_t size)
{
    cse_text_reserve(text, size);
    if (size > 0) /* an empty text has no bytes */
        memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void cse_text_clear(cse_text *text)
{
    free(text->data);
    memset(text, 0, sizeof *text);
}

size_t cse_utf8_length(const char *bytes, size_t left)
{
    const unsigned char *text = (const unsigned char *)bytes;
    unsigned char first = text[0];
    size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length == 0 || first > 0xF4 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (first == 0xE0 && text[1] < 0xA0) || (first == 0xF0 && text[1] < 0x90);
    bool beyond = (first == 0xED && text[1] > 0x9F) || (first == 0xF4 && text[1] > 0x8F);
    return overlong || beyond ? 0 : length;
}

uint32_t cse_utf8_code_point(const char *bytes, size_t length)
{
    const unsigned char *text = (const unsigned char *)bytes;
    uint32_t point = length == 1   ? text[0]
                     : length == 2 ? text[0] & 0x1Fu
                     : length == 3 ? text[0] & 0xFu
                                   : text[0] & 0x7u;
    for (size_t i = 1; i < length; i++)
        point = point << 6 | (text[i] & 0x3Fu);
    return point;
}

/* Ranges of characters that are not seen, but change what is: C1 controls, marks and overrides of
 * the direction of writing, ends of lines and paragraphs, invisible operators, the byte order mark,
 * annotations and tags. The joiners that scripts need (U+200C, U+200D) are none of them. */
static const uint32_t unseen[][2] = {
    { 0x80, 0x9F },     { 0x61C, 0x61C },     { 0x180E, 0x180E }, { 0x200B, 0x200B },
    { 0x200E, 0x200F }, { 0x2028, 0x202E },   { 0x2060, 0x206F }, { 0xFEFF, 0xFEFF },
    { 0xFFF9, 0xFFFB }, { 0xE0000, 0xE007F },
};

bool cse_utf8_is_printable(const char *bytes, size_t length)
{
    const unsigned char *text = (const unsigned char *)bytes;
    if (length == 1)
        return (text[0] >= 0x20 && text[0] != 0x7F) || text[0] == '\n' || text[0] == '\t';
    const uint32_t point = cse_utf8_code_point(bytes, length);
    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++)
        if (point >= unseen[i][0] && point <= unseen[i][1])
            return false;
    return true;
}

size_t cse_text_printable(const char *text, char *printable, size_t size)
{
    size_t left = strlen(text), whole = 0, used = 0;
    bool cut = size == 0;
    while (left > 0) {
        char escaped[4 * 4 + 1];
        size_t length = cse_utf8_length(text, left), bytes = length > 0 ? length : 1;
        if (length > 0 && cse_utf8_is_printable(text, length))
            snprintf(escaped, sizeof escaped, "%.*s", (int)length, text);
        else
            for (size_t i = 0; i < bytes; i++)
                snprintf(escaped + 4 * i, sizeof escaped - 4 * i, "\\x%02x",
                         (unsigned)(unsigned char)text[i]);
        size_t more = strlen(escaped);
        cut = cut || used + more >= size;
        if (!cut) {
            memcpy(printable + used, escaped, more);
            used += more;
        }
        whole += more;
        text += bytes;
        left -= bytes;
    }
    if (size > 0)
        printable[used] = '\0';
    return whole;
}

void cse_text_add_indented(cse_text *text, const char *printable)
{
    for (const char *end; (end = strchr(printable, '\n')) != NULL; printable = end + 1) {
        cse_text_add_bytes(text, printable, (size_t)(end + 1 - printable));
        if (end[1] != '\0' && end[1] != '\n')
            cse_text_add_bytes(text, "  ", 2);
    }
    cse_text_add_bytes(text, printable, strlen(printable));
}

void cse_text_one_line(const char *text, char *line, size_t size)
{
    cse_text_printable(text, line, size);
    for (char *c = line; *c != '\0'; c++)
        *c = *c == '\n' && c[1] != '\0' ? ';' : *c == '\n' ? '\0' : *c;
}
