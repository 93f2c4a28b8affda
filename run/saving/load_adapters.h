/* The factors of adapters that begin as a folder of PEFT. */
#ifndef CSE_SESSION_LOAD_ADAPTERS_H
#define CSE_SESSION_LOAD_ADAPTERS_H

#include "run/session/session.h"

/* Whether a state is of an adapter that begins so. */
bool cse_session_begins_as_adapter(const cse_session *session, const cse_state *state);
/* Sets all of them, and the parameters of the model that such an adapter trained as they are.
 * CSE_DATA: one that is missing in its folder, or of another shape, or, without `any_base`, other
 * weights than those that it was trained beside (peft/base.h). */
cse_status cse_session_load_adapters(cse_session *session, const cse_model *model, bool any_base);

#endif
