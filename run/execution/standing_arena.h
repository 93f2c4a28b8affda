/* Arenas that outlive an execution: that of the last training, which keeps its final states and in
 * which the next steps go on; and one that a coordinator left which died in it. */
#ifndef CSE_RUN_EXECUTION_STANDING_ARENA_H
#define CSE_RUN_EXECUTION_STANDING_ARENA_H

#include "run/session/session.h"
#include "workers/arena/inherit.h"
#include "workers/control/execution_arena.h"

/* Looks once in a session whether a coordinator before left an arena that is at least as far as the
 * session's states. True: `facts` are filled, and cse_session_take_arena may take it. */
bool cse_session_finds_arena(cse_session *session, cse_arena_facts *facts);

/* Gives `execution`, which is filled otherwise, the arena that was found, or the standing one where
 * that fits. False when one was found and does not fit: a warning told why. */
bool cse_session_take_arena(cse_session *session, bool found, cse_execution *execution);

/* Whether the state's values lie in the standing arena. */
bool cse_session_stands(const cse_session *session, const cse_state *state);

/* Whether a state keeps its values there during an evaluation and after it: one that a checkpoint
 * holds and that the step does not assign, as it does running means in the mode of training. */
bool cse_session_keeps(const cse_session *session, const cse_state *state,
                       const cse_state_entry *entry);

/* Gives up the standing arena once another one is filled. States that the new step has not, as
 * those of parameters that are frozen now, lie there still, and get values of their own. */
void cse_session_leave_arena(cse_session *session);

/* No state may lie there any more. */
void cse_session_clear_arenas(cse_session *session);

#endif
