/* The condition that routes which list jobs take: dashboard/query/expression.h. */
#ifndef CSE_DASHBOARD_ROUTES_WHERE_H
#define CSE_DASHBOARD_ROUTES_WHERE_H

#include "dashboard/query/expression.h"
#include "dashboard/server.h"

#define CSE_WHERE_PARAMETER                                                                       \
    "where? string 1..1000  # a condition: words, NAME=VALUE (or !=, <, <=, >, >=, ~), and, or, " \
    "not, parentheses; a name is a field of jobs, a label, a series or a setting\n"               \
    "  = \"state=SUCCEEDED loss<0.5\"\n"

typedef struct cse_where {
    cse_expression *expression; /* NULL: all */
    int64_t asked;              /* jobs that it was asked about */
} cse_where;

/* False: it was refused, and the request is answered. */
bool cse_where_read(const cse_request *request, cse_answer *answer, cse_where *where);
bool cse_where_holds(cse_where *where, const json_t *job, const json_t *values);
/* Releases it. False: a name was unknown, and the request is answered. */
bool cse_where_end(cse_where *where, cse_answer *answer);

#endif
