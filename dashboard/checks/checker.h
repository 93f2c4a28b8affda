/* Processes that check what a client has sent, or do steps of a run again: a few at a time, each in
 * a session of its own with limits of time, and those that check also of processor and memory.
 *
 * Whoever asks when as many run as may is told so at once (CSE_TEMPORARY), and waits himself: no
 * thread of the server waits for him. At the limit of time, and when the client goes, the whole
 * session is killed. */
#ifndef CSE_DASHBOARD_CHECKS_CHECKER_H
#define CSE_DASHBOARD_CHECKS_CHECKER_H

#include "engine/base/text.h"

/* Fewer than the server's threads for calls that take long. */
enum { CSE_MOST_CHECKERS = 2 };

typedef struct cse_checker_call {
    char **words;       /* program and arguments, ended by NULL */
    char **environment; /* NULL: the server's */
    const char *errors; /* a new file for its standard error; NULL: nowhere */
    int client;         /* a socket, or -1 */
    /* 0: it checks, for seconds, and gives up to 64 KiB. Else it computes for so many seconds. */
    int seconds;
    size_t most_output; /* where it computes; longer output is cut */
} cse_checker_call;

typedef enum cse_checker_end {
    CSE_CHECKER_SUCCEEDED, /* exit code 0 */
    CSE_CHECKER_ENDED,     /* in another way, or killed since its client has gone */
    CSE_CHECKER_LATE,
} cse_checker_end;

/* Appends what it writes to its standard output. CSE_TEMPORARY when it cannot be started now. */
cse_status cse_checker_run(const cse_checker_call *call, cse_text *output, cse_checker_end *end);

#endif
