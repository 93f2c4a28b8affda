/* The dashboard of `csengine start`: a `csengine serve` process that shows the run and ends with
 * it.
 *
 * A process is set aside before the run has threads, and becomes the server once the run is known
 * to take place: its configuration, model and data are accepted, and its run store is whole. */
#ifndef CSE_CLI_RUNS_DASHBOARD_CHILD_H
#define CSE_CLI_RUNS_DASHBOARD_CHILD_H

#include <stdbool.h>

#include "csengine/status.h"

typedef struct cse_dashboard_child {
    const char *model_dir;
    const char *listen; /* NULL: a free port of 127.0.0.1 */
    bool json;          /* its address is printed as a line of JSON */
    bool quiet;         /* its address is not printed */
    /* Set by cse_dashboard_child_prepare; -1: there is none. */
    int lifeline; /* its input: open for as long as a process of the run holds it */
    int reply;    /* its output: its address */
} cse_dashboard_child;

/* Whether the server could listen there, without a token file: CSE_USAGE for an address that is
 * wrong or that other machines reach, CSE_UNAVAILABLE where another program listens. */
cse_status cse_dashboard_child_check(const char *listen);

/* Sets the process aside. It keeps nothing of this process but the other ends of the two pipes, and
 * ends when the last process that has `lifeline` ends, whatever ended it. Must be called before any
 * thread exists. A failure is only a warning. */
void cse_dashboard_child_prepare(cse_dashboard_child *child);

/* Starts the server in it, from this process or a child of it, waits a moment for its address and
 * prints that to stdout. The server's own output goes to MODEL_DIR/logs/dashboard.log. A failure is
 * only a warning. NULL: nothing. */
void cse_dashboard_child_start(cse_dashboard_child *child);

/* Whether $CSE_DASHBOARD disables it. */
bool cse_dashboard_is_off(void);

#endif
