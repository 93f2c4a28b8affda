/* Short forms for the samples of ops: they are public, csengine/op.h. */
#ifndef CSE_OPS_SAMPLES_H
#define CSE_OPS_SAMPLES_H

#include "engine/graph/op.h"

#endif
