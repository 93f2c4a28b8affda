/* Values of JSON as programs read them: members with a value in place of a missing one, and text
 * that may have come from others. */
#ifndef CSE_BASE_JSON_VALUE_H
#define CSE_BASE_JSON_VALUE_H

#include <jansson.h>
#include <stdint.h>

/* Members of an object, with a value in place of one that is missing or null. */
const char *cse_json_text(const json_t *object, const char *name, const char *fallback);
double cse_json_real(const json_t *object, const char *name, double fallback);
int64_t cse_json_whole(const json_t *object, const char *name, int64_t fallback);

/* Loads text that may have come from others: NULL where it is no JSON. Characters of its strings
 * that a terminal obeys are made visible, as by cse_text_printable. */
json_t *cse_json_from_others(const char *text, size_t size);

/* A new number, or null where JSON has none: NaN and the infinities. */
json_t *cse_json_finite(double number);

#endif
