/* The dashboard of a run that is started by hand: a `csengine serve` of its own that follows the
 * run and ends with it. */
#ifndef CSE_CLI_DASHBOARD_CHILD_H
#define CSE_CLI_DASHBOARD_CHILD_H

#include <stdbool.h>

typedef struct cse_dashboard_child {
    const char *model_dir;
    const char *listen; /* NULL: a free port of 127.0.0.1 */
    bool json;          /* its address as a line of JSON */
} cse_dashboard_child;

/* Starts the server, which ends with this process and prints its address on this process's stdout
 * once the run has a store. Before any thread exists. A server that cannot be started is only a
 * warning. */
void cse_dashboard_child_start(const cse_dashboard_child *child);

/* Whether $CSE_DASHBOARD switches it off. */
bool cse_dashboard_is_off(void);

#endif
