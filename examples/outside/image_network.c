/* A network of the engine's modules that is not part of the engine: a convolution, a pool and two
 * linear layers. tests/python/test_same_step.py has it in a configuration's `name: layers` and in
 * PyTorch as well: all three are one step. */
#include "csengine/csengine.h"
#include "csengine/modules.h"

enum { CHANNELS = 4, HIDDEN = 32 };

typedef struct image_network {
    cse_conv2d_layer convolution;
    cse_linear_layer hidden, last;
} image_network;

static const cse_setting settings[] = {
    { .name = "image_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "12",
      .min = 2,
      .max = 1024,
      .doc = "height and width of an image of one channel, even" },
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "4",
      .min = 1,
      .max = 1 << 20,
      .doc = "outputs" },
    { .name = NULL },
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    image_network *self = cse_model_self(model);
    const int64_t half = cse_settings_integer(s, "image_size") / 2;
    self->convolution = cse_conv2d_parameters(
        model, "layers.0",
        &(cse_conv2d_module_options){
            .in = 1, .out = CHANNELS, .kernel = { 3, 3 }, .conv = { .padding = { 1, 1 } } });
    self->hidden = cse_linear_parameters(model, "layers.4", CHANNELS * half * half, HIDDEN, true);
    self->last = cse_linear_parameters(model, "layers.6", HIDDEN,
                                       cse_settings_integer(s, "num_classes"), true);
    return CSE_OK;
}

/* Images [batch, 1, height, width] give [batch, num_classes]. */
static cse_tensor *forward(cse_model *model, cse_tensor *images)
{
    const image_network *self = cse_model_self(model);
    cse_tensor *x = cse_relu(cse_apply_conv2d(&self->convolution, images));
    x = cse_max_pool2d(x, &(cse_pool2d_options){ .kernel = { 2, 2 } });
    x = cse_relu(cse_apply_linear(self->hidden, cse_flatten(x, 1)));
    return cse_apply_linear(self->last, x);
}

/* The engine adds cross-entropy loss and accuracy to a model without a loss of its own. */
static const cse_model_descriptor descriptor = {
    .name = "image_network",
    .summary = "a convolution, a pool, two linear layers",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(image_network),
    .build = build,
    .forward = forward,
};

CSE_PLUGINS(CSE_MODEL_PLUGIN(&descriptor));
