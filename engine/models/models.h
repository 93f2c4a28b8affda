/* The models that are built in; the contract of one is public, csengine/model.h. */
#ifndef CSE_MODELS_MODELS_H
#define CSE_MODELS_MODELS_H

#include "csengine/model.h"

extern const cse_model_descriptor *const cse_models[];

#endif
