/* The first values of an execution's states, in its arena. */
#ifndef CSE_RUN_EXECUTION_FILL_STATES_H
#define CSE_RUN_EXECUTION_FILL_STATES_H

#include "run/session/session.h"

typedef struct cse_states_filling {
    const cse_step *step;
    bool found;  /* the arena is that of a coordinator that died: its states are the newest */
    bool chains; /* each step has digests: they are added to the session's chain */
    int64_t first_step;
} cse_states_filling;

/* The states are in the arena from then on; in one that stands, most are in their place already. An
 * evaluation changes none that a checkpoint holds, and one may be written meanwhile: the session
 * keeps them. CSE_IO where the arena is in a file that cannot be written. */
cse_status cse_fill_states(cse_session *session, const cse_states_filling *filling,
                           unsigned char *states);

/* The session's values of a state at a place in a mapped file of states.directory, piece by piece:
 * they leave memory behind it, at both places if they lie in a file there as well. CSE_IO. */
cse_status cse_place_values_in_file(cse_session *session, cse_state *state, unsigned char *place);

#endif
