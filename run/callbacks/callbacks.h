/* The callbacks of the engine; the contract is csengine/callback.h. */
#ifndef CSE_RUN_CALLBACKS_CALLBACKS_H
#define CSE_RUN_CALLBACKS_CALLBACKS_H

#include "csengine/callback.h"

extern const cse_callback_descriptor *const cse_callbacks[];

/* Of those that the job applies to the training itself. */
extern const cse_callback_descriptor cse_callback_selective_grad;

#endif
