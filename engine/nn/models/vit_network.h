/* What vit and vision_transformer share: one network under two names. */
#ifndef CSE_MODELS_VIT_NETWORK_H
#define CSE_MODELS_VIT_NETWORK_H

#include "engine/nn/models/images.h"

enum { CSE_VIT_LAYERS = 256 };

typedef struct cse_vit {
    cse_image_size size;
    int64_t patch[2]; /* height, width */
    cse_linear_layer patch_linear;
    cse_conv2d_layer patch_conv;
    bool by_convolution;
    const cse_settings *settings;
    /* [channel], [channel] and [count, channel]; NULL: none */
    cse_state *class_token, *distillation_token, *registers;
    /* [places, channel]: of the distillation token, of patches, of the class token; or NULL */
    cse_state *positions;
    cse_norm_layer embedding_norm, last_norm;
    cse_block_module block;
    int layer_count;
    cse_block_layer blocks[CSE_VIT_LAYERS];
    cse_linear_layer pooler;
    /* weight NULL: none; the second one reads the distillation token */
    cse_linear_layer classifier, distillation_classifier;
} cse_vit;

extern const cse_setting cse_vit_settings[];

/* The network by itself, for a model that it is a part of. */
cse_status cse_vit_declare(cse_model *model, cse_vit *self, const cse_settings *settings);
cse_tensor *cse_vit_trace(cse_model *model, const cse_vit *self, cse_tensor *images);

/* Of a model that is nothing else. */
cse_status cse_vit_build(cse_model *model, const cse_settings *settings);
cse_tensor *cse_vit_forward(cse_model *model, cse_tensor *images);

#endif
