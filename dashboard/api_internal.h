/* What api.c and schema.c share. */
#ifndef CSE_DASHBOARD_API_INTERNAL_H
#define CSE_DASHBOARD_API_INTERNAL_H

#include "dashboard/api.h"

/* A member of an object that is checked. */
typedef struct cse_api_member {
    const char *name;
    const json_t *value;
    const char *pointer;
} cse_api_member;

/* `pattern` is one of the description's. */
bool cse_api_pattern_matches(const cse_api *api, const char *pattern, const char *text);

#endif
