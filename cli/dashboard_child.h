/* The dashboard of `csengine start`: a `csengine serve` process that shows the run and ends with
 * it. */
#ifndef CSE_CLI_DASHBOARD_CHILD_H
#define CSE_CLI_DASHBOARD_CHILD_H

#include <stdbool.h>

typedef struct cse_dashboard_child {
    const char *model_dir;
    const char *listen; /* NULL: a free port of 127.0.0.1 */
    bool json;          /* its address as a line of JSON */
} cse_dashboard_child;

/* Starts the server, which ends with this process and prints its address on stdout once the run has
 * a store. Must be called before any thread exists. A failure to start is only a warning. */
void cse_dashboard_child_start(const cse_dashboard_child *child);

/* Whether $CSE_DASHBOARD disables it. */
bool cse_dashboard_is_off(void);

#endif
