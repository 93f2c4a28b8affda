/* The tokens of an operator's file, one a line:
 *
 *     TOKEN
 *     TOKEN name=vision cores=4 memory_mib=8192 jobs=20
 *
 * A token without a name is the operator's own: no limits beside the server's. One with a name has
 * its own account, and steers only the jobs that were requested with it. */
#ifndef CSE_DASHBOARD_ACCESS_TOKEN_LIST_H
#define CSE_DASHBOARD_ACCESS_TOKEN_LIST_H

#include "csengine/status.h"
#include "dashboard/access/grant.h"

enum { CSE_MOST_TOKENS = 64 };

typedef struct cse_token_list {
    char *tokens[CSE_MOST_TOKENS];
    cse_grant grants[CSE_MOST_TOKENS];
    int count;
} cse_token_list;

/* Fails as cse_token_read does, with the number of the line. Release with cse_token_list_clear,
 * also after a failure. */
cse_status cse_token_list_read(const char *path, cse_token_list *list);
/* Appends one without a name. */
void cse_token_list_add(cse_token_list *list, const char *token);
void cse_token_list_clear(cse_token_list *list);

#endif
