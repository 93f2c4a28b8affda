/* The REST API as its description says it: dashboard/openapi.json is read at the start, and what
 * it says is what is accepted.
 *
 * The description is the source: a path is found, a parameter converted and a body checked by it,
 * so that what clients are told and what the server does cannot part. Of JSON Schema the words are
 * understood that the description uses; any other is refused when it is loaded. */
#ifndef CSE_DASHBOARD_API_H
#define CSE_DASHBOARD_API_H

#include <jansson.h>

#include "engine/base/text.h"

typedef struct cse_api cse_api;

/* The description that this build was made with. */
extern const char cse_openapi_text[];

/* CSE_INTERNAL when the text is no description, or uses a word that is not understood. */
cse_status cse_api_load(const char *text, cse_api **api);
void cse_api_destroy(cse_api **api);
const json_t *cse_api_document_view(const cse_api *api);

enum { CSE_API_MAX_SEGMENTS = 12, CSE_API_METHODS = 8 };

/* One operation of the description, found by method and path. Views into the description and into
 * the path. */
typedef struct cse_api_match {
    const char *path; /* as in the description: "/api/v1/jobs/{id}" */
    const json_t *path_item;
    const json_t *operation; /* NULL: the path is known, the method is not */
    const char *operation_id;
    json_t *path_values; /* name -> text; owned by the match */
} cse_api_match;

/* `path` is decoded and begins with '/'. False when no path of the description is meant. Release
 * the match with cse_api_match_clear. */
bool cse_api_find(const cse_api *api, const char *method, const char *path, cse_api_match *match);
void cse_api_match_clear(cse_api_match *match);
/* "GET, POST" of a path item. */
void cse_api_methods(const json_t *path_item, cse_text *methods);

/* What a request gave, to be checked: names and texts, in order; one name may stand more than
 * once in `query`. */
typedef struct cse_api_pair {
    const char *name, *value;
} cse_api_pair;

typedef struct cse_api_given {
    const cse_api_pair *query;
    int query_count;
    /* The value of a header or NULL. */
    const char *(*header)(void *self, const char *name);
    void *self;
} cse_api_given;

/* Converts and checks the parameters of the match: `values` gets an object with each one that was
 * given or has a default, by its name. Faults are appended to `errors` as Diagnostic objects;
 * false when there are any. */
bool cse_api_check_parameters(const cse_api *api, const cse_api_match *match,
                              const cse_api_given *given, json_t *values, json_t *errors);

/* The schema of the body for a media type (without its parameters); NULL when the operation takes
 * none of that type. */
const json_t *cse_api_body_schema(const cse_api_match *match, const char *media_type);
bool cse_api_body_required(const cse_api_match *match);
bool cse_api_has_body(const cse_api_match *match);

/* Whether `value` is as `schema` says; diagnostics are appended to `errors` with `pointer` as the start
 * of their pointers. */
bool cse_api_check(const cse_api *api, const json_t *schema, const json_t *value,
                   const char *pointer, json_t *errors);

/* Where an integer is wanted, 6.0 is one in JSON: members of `value` at such places become integers
 * as the routes read them, as far as they are exact. */
void cse_api_make_whole(const cse_api *api, const json_t *schema, json_t *value);

/* "#/components/schemas/Job" and such; NULL when there is none. */
const json_t *cse_api_resolve(const cse_api *api, const json_t *schema);

#endif
