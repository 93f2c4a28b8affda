/* Values against JSON Schema, as far as the API's description uses it.
 *
 * Patterns are compiled once, when the document is taken, and found again by their text; they are
 * POSIX extended regular expressions, which mean the same for the simple ones in use. The depth of
 * a check is bounded by the document: no schema of it refers to itself. */
#ifndef CSE_DASHBOARD_API_VALIDATOR_H
#define CSE_DASHBOARD_API_VALIDATOR_H

#include <jansson.h>
#include <stdbool.h>

#include "csengine/status.h"

typedef struct cse_validator cse_validator;

/* Takes the document over. CSE_INTERNAL when a reference leads nowhere or a pattern is none. */
cse_status cse_validator_new(json_t *document, cse_validator **validator);
void cse_validator_destroy(cse_validator **validator);
const json_t *cse_validator_document_view(const cse_validator *validator);

/* What {"$ref": "#/components/schemas/Job"} means, any other node itself; NULL when it leads
 * nowhere. */
const json_t *cse_validator_resolve(const cse_validator *validator, const json_t *schema);

/* Whether `value` is as `schema` says. What is wrong is appended to `errors` as Diagnostic
 * objects, with `pointer` as the start of their pointers. */
bool cse_validator_check(const cse_validator *validator, const json_t *schema, const json_t *value,
                         const char *pointer, json_t *errors);

/* In JSON, 6.0 is a valid integer: members of `value` for which the schema wants an integer are
 * converted to integers, if they are exact. */
void cse_validator_make_whole(const cse_validator *validator, const json_t *schema, json_t *value);

#endif
