/* Files of JSON beside weights, which come from anywhere. */
#ifndef CSE_WEIGHTS_JSON_FILE_H
#define CSE_WEIGHTS_JSON_FILE_H

#include <jansson.h>
#include <stddef.h>

#include "csengine/status.h"

/* Reads a JSON object of at most so many bytes: CSE_NO_INPUT, CSE_PERMISSION, CSE_DATA.
 * json_decref(*object). */
cse_status cse_weights_read_json(const char *path, size_t most_bytes, json_t **object);
/* The same with all numbers as reals, so that whole ones may have any length, as those of
 * tokenizer_config.json have. */
cse_status cse_weights_read_json_reals(const char *path, size_t most_bytes, json_t **object);
/* The same of any JSON value. */
cse_status cse_weights_read_json_value(const char *path, size_t most_bytes, json_t **value);

/* The bytes of a regular file, with a zero byte behind them. free(*text) */
cse_status cse_weights_read_text(const char *path, size_t most_bytes, char **text, size_t *size);

#endif
