/* A model with adapters that were trained here as the model alone: the factors that are among the
 * weights are added to those beside them as peft/merged.h does it, and left out. The configuration
 * that the weights bring says the rank and the scale of each, and which adapters are active. */
#ifndef CSE_WEIGHTS_PEFT_MERGE_OWN_H
#define CSE_WEIGHTS_PEFT_MERGE_OWN_H

#include "engine/formats/weights/weights.h"

/* Whether they have factors of an adapter. */
bool cse_weights_have_adapter(const cse_weights *weights);
/* Replaces them by the merged ones, which own them. Weights without factors stay as they are.
 * CSE_DATA: a factor without its weight or its other one, of a wrong shape, or a configuration that
 * does not say the scale; then they stay as they are, too. */
cse_status cse_weights_merge_adapter(cse_weights **weights);

#endif
