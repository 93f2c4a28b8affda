/* vit: the vision transformer as a classifier of images (Dosovitskiy et al. 2021). */
#include "engine/nn/models/vit_network.h"

const cse_model_descriptor cse_model_vit = {
    .name = "vit",
    .summary = "vision transformer, a classifier of images",
    .settings = cse_vit_settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_vit),
    .build = cse_vit_build,
    .forward = cse_vit_forward,
};
