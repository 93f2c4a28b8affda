/* A growing string. */
#ifndef CSE_BASE_TEXT_H
#define CSE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

/* Start from a zeroed struct; `data` is zero-terminated once anything was added. Release with
 * cse_text_clear. */
typedef struct cse_text {
    char *data;
    size_t size, capacity;
} cse_text;

CSE_API void cse_text_add(cse_text *text, const char *format, ...) CSE_PRINTF(2, 3);
void cse_text_add_bytes(cse_text *text, const char *bytes, size_t size);
/* Adds a number in decimal digits. */
void cse_text_add_number(cse_text *text, int64_t number);
/* Makes room for `more` bytes after its end. */
void cse_text_reserve(cse_text *text, size_t more);
void cse_text_clear(cse_text *text);

/* Bytes of the UTF-8 sequence at `text`, where `left` bytes may be read; 0 for an invalid one,
 * overlong forms and surrogates included (RFC 3629, section 4). */
size_t cse_utf8_length(const char *text, size_t left);

uint32_t cse_utf8_code_point(const char *text, size_t length);
/* Whether a valid UTF-8 sequence may reach a terminal as it is; see cse_text_printable. */
bool cse_utf8_is_printable(const char *text, size_t length);

/* Copies `text` for a terminal or a log: valid UTF-8, line ends and tabs stay; other control
 * characters (ESC, DEL, C1), characters that reverse the direction of writing or are not seen, and
 * bytes that are no UTF-8 become "\xNN" each byte. Cuts to `size` bytes and returns the bytes of
 * the whole, like snprintf. The result stays as it is when it is copied again. */
size_t cse_text_printable(const char *text, char *printable, size_t size);
/* The same on one line, for messages: ";" stands between lines. */
void cse_text_one_line(const char *text, char *line, size_t size);
/* Adds printable text whose lines after the first are indented, so that no part of it looks like a
 * line of its own. */
void cse_text_add_indented(cse_text *text, const char *printable);

#endif
