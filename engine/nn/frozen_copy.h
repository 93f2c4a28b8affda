/* A copy of a model that stays as the model was before its first step. */
#ifndef CSE_ENGINE_NN_FROZEN_COPY_H
#define CSE_ENGINE_NN_FROZEN_COPY_H

#include "engine/nn/configured.h"

/* A frozen model with the role "reference" and the settings of the model that `plugin` made before:
 * its states begin with the first values of those of that model, and checkpoints hold them. NULL
 * after a failure, which is the network's. */
cse_model *cse_frozen_copy(const cse_config_plugin *plugin);
/* Takes the first values of all copies, before the originals change. */
void cse_network_settle_copies(cse_network *network);

#endif
