/* JSON text, appended to a growing string: for frequent output. Input is parsed with jansson. */
#ifndef CSE_BASE_JSON_H
#define CSE_BASE_JSON_H

#include <stdint.h>

#include "engine/base/text.h"

/* A quoted string; null for NULL. Invalid UTF-8 becomes U+FFFD. */
void cse_json_add_string(cse_text *out, const char *text);
/* JSON for a terminal: what cse_utf8_is_printable refuses, which stands inside of strings alone,
 * becomes \uXXXX, so that the values are the same. Bytes that are no UTF-8 become \ufffd. */
void cse_json_add_printable(cse_text *out, const char *json, size_t size);
/* The shortest decimal that reads back as the same number; "NaN", "Infinity", "-Infinity" as
 * strings, since JSON has no such numbers. */
void cse_json_add_number(cse_text *out, double number);
/* The same, but null for numbers that JSON does not have. */
void cse_json_add_finite(cse_text *out, double number);
void cse_json_add_integer(cse_text *out, int64_t number);

#endif
