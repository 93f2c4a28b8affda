/* Weights of a file that stay there until the memory of the first steps of training stands: each
 * goes from the file to its place there, and nowhere else. The file stays open meanwhile; all that
 * it says was checked when the weights were matched, and what is read of it is checked then.
 *
 * Whoever asks for the values of a state before (cse_state_values) gets them, in memory of the
 * state's own. */
#ifndef CSE_RUN_WEIGHTS_SOURCES_H
#define CSE_RUN_WEIGHTS_SOURCES_H

#include "engine/formats/weights/weights.h"
#include "run/session/session.h"

/* Takes the weights over, from which states shall be read. */
struct cse_weights_sources *cse_weights_sources_new(cse_session *session, cse_weights *weights);
/* The state's values will be those of this weight. False: this state needs its values now. */
bool cse_weights_sources_add(struct cse_weights_sources *sources, cse_state *state, int weight);
/* Closes the file; values that were not read so far are read before. */
void cse_weights_sources_end(cse_session *session);
/* Closes the file at the end of the session. */
void cse_weights_sources_clear(cse_session *session);

#endif
