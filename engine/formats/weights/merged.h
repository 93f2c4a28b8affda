/* A model with an adapter as the model alone: each weight W with factors A and B beside it is
 *
 *   W + s B A
 *
 * in float32, by rows as they are read, and the factors are left out
 * (engine/nn/adapters/adapter.h). The configuration that the weights bring says the scale s. */
#ifndef CSE_WEIGHTS_MERGED_H
#define CSE_WEIGHTS_MERGED_H

#include "engine/formats/weights/weights.h"

/* Whether they have factors of an adapter. */
bool cse_weights_have_adapter(const cse_weights *weights);
/* Replaces them by the merged ones, which own them. Weights without factors stay as they are.
 * CSE_DATA: a factor without its weight or its other one, of a wrong shape, or a configuration that
 * does not say the scale; then they stay as they are, too. */
cse_status cse_weights_merge_adapter(cse_weights **weights);

#endif
