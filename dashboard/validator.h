/* Values against JSON Schema, as far as the API's description uses it.
 *
 * Patterns are compiled once, when the document is taken, and found again by their text; they are
 * POSIX extended regular expressions, which for the plain ones in use read the same. The depth of a
 * check is bounded by the document: no schema of it refers to itself. */
#ifndef CSE_DASHBOARD_VALIDATOR_H
#define CSE_DASHBOARD_VALIDATOR_H

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

/* Whether `value` is as `schema` says. Faults are appended to `errors` as Diagnostic objects, with
 * `pointer` as the start of their pointers. */
bool cse_validator_check(const cse_validator *validator, const json_t *schema, const json_t *value,
                         const char *pointer, json_t *errors);

/* Where an integer is wanted, 6.0 is one in JSON: members of `value` at such places become integers
 * as the routes read them, as far as they are exact. */
void cse_validator_make_whole(const cse_validator *validator, const json_t *schema, json_t *value);

#endif
