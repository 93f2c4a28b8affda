/* Creating a job from a request, by POST or PUT. */
#ifndef CSE_DASHBOARD_ROUTES_CREATE_H
#define CSE_DASHBOARD_ROUTES_CREATE_H

#include "dashboard/server.h"

/* What the descriptors of both have in common. */
#define CSE_CREATE_PARAMETERS                                                                \
    "name? string 1..200 ~^[^\001-\037\177]+$  # with an application/yaml body\n"            \
    "priority? Priority  # with an application/yaml body\n"                                  \
    "label? [,LabelPair] ..64  # comma-separated key=value, with an application/yaml body\n" \
    "compile_only? boolean  # with an application/yaml body\n"                               \
    "validate_only? boolean  # with an application/yaml body\n"
#define CSE_CREATE_OPERATION                                                            \
    .body = "JobSpec\n"                                                                 \
            "application/yaml string  # CONFIG.yaml itself; the rest by query\n",       \
    .replies = "201 Job +Location +ETag  # Created\n"                                   \
               "200 Job +Location +ETag  # It was there already, with the same body\n", \
    .problems = "409 501 503"

/* `id` NULL: the server chooses one. */
void cse_route_create_job(const cse_request *request, cse_answer *answer, const char *id);
/* The same of a JobSpec that the route made; borrowed. */
void cse_route_create_spec(const cse_request *request, cse_answer *answer, const char *id,
                           const json_t *spec);

#endif
