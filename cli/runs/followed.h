/* What `csengine serve --follow` ends with: nothing, a process, or the writers of its standard
 * input. One type says which, so that "nothing to follow" and "ended already" are never the same
 * value. */
#ifndef CSE_CLI_RUNS_FOLLOWED_H
#define CSE_CLI_RUNS_FOLLOWED_H

#include <stdbool.h>

#include "csengine/status.h"

typedef enum cse_follow_state {
    CSE_FOLLOW_NONE,  /* nothing is followed */
    CSE_FOLLOW_ALIVE, /* what is followed exists; `descriptor` becomes readable when it ends */
    CSE_FOLLOW_GONE,  /* what was followed has ended, perhaps before it was looked at */
} cse_follow_state;

typedef struct cse_followed {
    cse_follow_state state;
    int descriptor; /* -1 unless ALIVE */
    bool is_input;  /* the standard input: it ends with its last writer */
} cse_followed;

/* `word` is the option's value: NULL for none, a process id, or "-" for the standard input.
 * CSE_USAGE for any other word; CSE_TEMPORARY when the process cannot be watched here. A process
 * that does not exist is GONE, which is no failure. */
cse_status cse_followed_open(const char *word, cse_followed *followed);

/* Looks whether it has ended, without waiting, after `descriptor` was readable or at any time. */
bool cse_followed_is_gone(cse_followed *followed);

void cse_followed_close(cse_followed *followed);

#endif
