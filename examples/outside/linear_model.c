/* A model that is not part of the engine: one linear layer in a shared object of its own.
 *
 * Compiled with `cc -shared -fPIC linear_model.c -lcsengine -o linear_model.so` and named in a
 * configuration as `model: {library: ./linear_model.so, name: linear_model}`, or loaded by
 * cse_model_load. The engine finds it in the table that CSE_PLUGINS exports. */
#include "csengine/csengine.h"

typedef struct linear_model {
    cse_linear_layer layer;
} linear_model;

static const cse_setting settings[] = {
    { .name = "input_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "784",
      .min = 1,
      .max = 1 << 24,
      .doc = "features of one sample, all axes together" },
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "10",
      .min = 1,
      .max = 1 << 20,
      .doc = "outputs" },
    { .name = NULL },
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    linear_model *self = cse_model_self(model);
    self->layer = cse_linear_parameters(model, "layer", cse_settings_integer(s, "input_size"),
                                        cse_settings_integer(s, "num_classes"), true);
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    const linear_model *self = cse_model_self(model);
    return cse_apply_linear(self->layer, cse_flatten(input, 1));
}

/* The engine adds cross-entropy loss and accuracy to a model without a loss of its own. */
static const cse_model_descriptor linear = {
    .name = "linear_model",
    .summary = "softmax regression",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(linear_model),
    .build = build,
    .forward = forward,
};

CSE_PLUGINS(CSE_MODEL_PLUGIN(&linear));
