/* A line of JSON lines, of which the members that are asked for become values. What stands in the
 * others (NaN, whole numbers of any length, halves of surrogate pairs) does not matter, as long as
 * it can be seen where it ends. */
#ifndef CSE_DATALOADER_FORMATS_JSON_LINE_H
#define CSE_DATALOADER_FORMATS_JSON_LINE_H

#include <jansson.h>

#include "csengine/status.h"

/* `*object` gets those of the members `names` (ended by NULL) that the line has, the last one where
 * a name stands twice; json_decref it. All numbers are reals; NaN and Infinity, as Python writes
 * them, are null. A byte order mark before the line is passed over. CSE_DATA says the column, and
 * what to do about files that are no JSON lines. */
cse_status cse_json_line_read(const char *line, size_t size, const char *const names[],
                              json_t **object);

/* Whether a value is a whole number of an int32; `*number` is it. */
bool cse_json_int32(const json_t *value, int32_t *number);

#endif
