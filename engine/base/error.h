/* Errors as values: their text for people, their JSON for programs, and copies for collectors.
 * csengine/status.h documents what an error is and how one is made. */
#ifndef CSE_BASE_ERROR_H
#define CSE_BASE_ERROR_H

#include <jansson.h>
#include <stddef.h>

#include "csengine/status.h"

/* The only two functions that write an error or a place as text. Both cut it to `size` bytes and
 * return the bytes of the whole, like snprintf. An error is made printable (cse_text_printable). A
 * place is "a.yaml:3:5", "3:5" without a name, a
 * flag's name, or "inline" for an empty one. */
size_t cse_error_print(const cse_error *error, char *text, size_t size);
size_t cse_place_print(cse_place place, char *text, size_t size);

/* A copy with its texts in one allocation; release with free(). */
cse_error *cse_error_copy(const cse_error *error);

/* A new Diagnostic of the REST API: message, hint, and line and column where the place has them. */
json_t *cse_error_json(const cse_error *error);

#endif
