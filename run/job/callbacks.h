/* The callbacks of the engine; the contract is csengine/callback.h. */
#ifndef CSE_RUN_JOB_CALLBACKS_H
#define CSE_RUN_JOB_CALLBACKS_H

#include "csengine/callback.h"

extern const cse_callback_descriptor *const cse_callbacks[];

#endif
