/* Files of JSON beside weights, which come from anywhere. */
#ifndef CSE_WEIGHTS_JSON_FILE_H
#define CSE_WEIGHTS_JSON_FILE_H

#include <jansson.h>
#include <stddef.h>

#include "csengine/status.h"

/* A JSON value in a text: CSE_DATA, with its place, where it is none, goes too deep, or has a name
 * twice in an object. Whole numbers that no integer holds become floats. `source` is for messages;
 * json_decref(*value). */
cse_status cse_weights_parse_json(const char *source, const char *text, size_t size,
                                  json_t **value);
/* Reads a JSON object of at most so many bytes: CSE_NO_INPUT, CSE_PERMISSION, CSE_DATA.
 * json_decref(*object). */
cse_status cse_weights_read_json(const char *path, size_t most_bytes, json_t **object);
/* The same of any JSON value. */
cse_status cse_weights_read_json_value(const char *path, size_t most_bytes, json_t **value);

/* The bytes of a regular file, with a zero byte behind them. free(*text) */
cse_status cse_weights_read_text(const char *path, size_t most_bytes, char **text, size_t *size);

#endif
