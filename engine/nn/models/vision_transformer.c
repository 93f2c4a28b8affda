/* vision_transformer: the name that the ModelZoo gives the model vit. */
#include "engine/nn/models/vit_network.h"

const cse_model_descriptor cse_model_vision_transformer = {
    .name = "vision_transformer",
    .summary = "the same as vit, by its name in the ModelZoo",
    .settings = cse_vit_settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_vit),
    .build = cse_vit_build,
    .forward = cse_vit_forward,
};
