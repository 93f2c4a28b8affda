/* The types of layers that a configuration can put together to a network (`name: layers`).
 *
 * A layer is built from the shape that a sample has before it, which it replaces by the one that it
 * makes; all shapes are without the batch. */
#ifndef CSE_MODELS_LAYER_TYPES_H
#define CSE_MODELS_LAYER_TYPES_H

#include "csengine/modules.h"

typedef struct cse_layer cse_layer;

typedef struct cse_layer_type {
    const char *name;
    const char *summary;
    const cse_setting *settings; /* `name` is one of each */
    /* Declares parameters. CSE_CONFIG says what shape the layer takes. */
    cse_status (*build)(cse_model *model, cse_layer *layer, cse_shape *sample);
    cse_tensor *(*apply)(cse_model *model, const cse_layer *layer, cse_tensor *x);
} cse_layer_type;

struct cse_layer {
    const cse_layer_type *type;
    const char *name; /* of its parameters and its scope */
    const cse_settings *settings;
    cse_place place;
    int end;          /* index of the first layer that is not inside this one */
    cse_shape sample; /* before the layer */
    int shortcut;     /* of a residual: index of the first layer of its shortcut */
    cse_linear_layer linear;
    cse_conv2d_layer conv;
    cse_batch_norm_layer batch_norm;
    cse_norm_layer norm;
    cse_state *table;
    cse_attention_module attention_options;
    cse_attention_layer attention;
    cse_ffn_module ffn_options;
    cse_ffn_layer ffn;
};

/* Ended by a NULL name; activations are types by their names, without settings. */
extern const cse_layer_type cse_layer_types[];
const cse_layer_type *cse_layer_type_named(const char *name);

/* Fails at the layer's place with its name and the shape that it was given. */
cse_status cse_layer_refuse(const cse_layer *layer, cse_shape sample, const char *takes);

#endif
