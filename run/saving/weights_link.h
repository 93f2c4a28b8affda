/* The digest of the weights that a run began with, which the checkpoint before its first one is
 * (engine/formats/checkpoint/links.h).
 *
 * Nothing but checkpoints needs it, so the first step does not wait for it: threads hash the
 * weights where they lie in the arena, while workers start and compute. No step changes states
 * before they are done, which the coordinator's release of steps sees to. Where there is no such
 * time, as when another coordinator's arena is taken over, they are hashed before. */
#ifndef CSE_RUN_WEIGHTS_LINK_H
#define CSE_RUN_WEIGHTS_LINK_H

#include "run/session/session.h"
#include "run/session/traced_step.h"

/* The values that the session has are those that training begins with. */
void cse_weights_link_note(cse_session *session);
/* The states of the step stand in the arena: hashing begins, if it is still due. */
void cse_weights_link_begin(cse_session *session, const cse_step *step,
                            const unsigned char *states);
/* Whether they are still being hashed, and must not change. Observers are told of the links once
 * it has ended. */
bool cse_weights_link_holds(cse_session *session);
/* Waits for the digest; where it is due and hashing has not begun, of the session's values. */
void cse_weights_link_settle(cse_session *session);
/* The arena goes: waits for what is read there. */
void cse_weights_link_leave(cse_session *session);
/* Ends what was begun. */
void cse_weights_link_clear(cse_session *session);

#endif
