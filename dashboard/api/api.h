/* The REST API as the routes describe it: the path of a request is matched, its parameters are
 * converted and its body is checked by the description that is made from the routes
 * (dashboard/api/describe.h), so that the documentation and the server cannot differ. */
#ifndef CSE_DASHBOARD_API_API_H
#define CSE_DASHBOARD_API_API_H

#include "dashboard/api/route.h"
#include "dashboard/api/validator.h"

typedef struct cse_api cse_api;

/* `routes` ends with NULL and is borrowed. CSE_INTERNAL when a descriptor is wrong. */
cse_status cse_api_new(const cse_route *const *routes, cse_api **api);
void cse_api_destroy(cse_api **api);
/* Holds the description, and checks values by its schemas. */
const cse_validator *cse_api_validator_view(const cse_api *api);

/* One operation, found by method and path. */
typedef struct cse_api_match {
    const cse_route *route;
    const cse_operation *operation; /* NULL: the path is known, the method is not */
    const json_t *described;        /* the operation in the description */
    json_t *path_values;            /* name -> text; owned by the match */
} cse_api_match;

/* `path` is decoded and begins with '/'. False when it is no path of the API. Release the match
 * with cse_api_match_clear. */
bool cse_api_find(const cse_api *api, const char *method, const char *path, cse_api_match *match);
void cse_api_match_clear(cse_api_match *match);
/* "GET, HEAD, POST" of a route. */
void cse_api_methods(const cse_route *route, cse_text *methods);

/* The query and headers of a request, not yet checked. A name may occur more than once in
 * `query`. */
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

/* Converts and checks the parameters of the match: `values` gets each one that was given or has a
 * default, by its name. Errors are appended to `errors` as Diagnostic objects;
 * false when there are any. */
bool cse_api_check_parameters(const cse_api *api, const cse_api_match *match,
                              const cse_api_given *given, json_t *values, json_t *errors);

/* The schema of the body for a media type (without its parameters); NULL when the operation takes
 * none of that type. */
const json_t *cse_api_body_schema(const cse_api_match *match, const char *media_type);

#endif
