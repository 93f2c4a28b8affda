/* The optimizers that are built in; the contract of one is public, csengine/optimizer.h. */
#ifndef CSE_OPTIMIZERS_OPTIMIZER_H
#define CSE_OPTIMIZERS_OPTIMIZER_H

#include "csengine/optimizer.h"

extern const cse_optimizer_descriptor *const cse_optimizers[];

#endif
