/* lenet: LeNet-5 (LeCun et al. 1998) as it is taught today.
 *
 *   [batch, channels, height, width] -> (conv 5x5 -> activation -> pool 2x2) twice -> flatten
 *     -> linear 120 -> activation -> linear 84 -> activation -> linear num_classes
 *
 * The first convolution pads by 2, so that 28 x 28 pixels are the 32 x 32 of the paper.
 * Parameters: conv1, conv2, fc1, fc2, fc3, each with weight and bias, initialised as PyTorch's. */
#include "csengine/generated/ops.h"
#include "csengine/modules.h"
#include "engine/nn/models/images.h"

enum { KERNEL = 5, FIRST = 6, SECOND = 16 };

typedef struct lenet {
    cse_image_size size;
    cse_conv2d_layer conv[2];
    cse_linear_layer fc[3];
} lenet;

static const cse_setting settings[] = {
    CSE_IMAGE_SETTINGS("[28, 28]", "1"),
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "10",
      .min = 1,
      .max = 1 << 20,
      .doc = "outputs" },
    { .name = "activation",
      .type = CSE_SETTING_CHOICE,
      .default_value = "relu",
      .choices = CSE_ACTIVATION_NAMES,
      .doc = "after convolutions and hidden layers; tanh is near the paper's" },
    { .name = "pooling",
      .type = CSE_SETTING_CHOICE,
      .default_value = "max",
      .choices = "max|average",
      .doc = "of 2 x 2 pixels; average is near the paper's" },
    { .name = NULL },
};

static const char *const conv_names[] = { "conv1", "conv2" };
static const char *const fc_names[] = { "fc1", "fc2", "fc3" };

/* Rows or columns after both convolutions and poolings. */
static int64_t left_of(int64_t size)
{
    return (size / 2 - (KERNEL - 1)) / 2;
}

static cse_status build(cse_model *model, const cse_settings *s)
{
    lenet *self = cse_model_self(model);
    CSE_TRY(cse_image_size_read(s, &self->size));
    const int64_t height = left_of(self->size.height), width = left_of(self->size.width);
    if (height < 1 || width < 1)
        return cse_fail(CSE_CONFIG,
                        "image_size (%s): %lld x %lld pixels leave nothing for the linear layers; "
                        "accepted: 12 x 12 and more",
                        cse_settings_origin(s, "image_size"), (long long)self->size.height,
                        (long long)self->size.width);
    const int64_t sizes[] = { SECOND * height * width, 120, 84,
                              cse_settings_integer(s, "num_classes") };
    const int64_t channels[] = { self->size.channels, FIRST, SECOND };
    for (int i = 0; i < 2; i++)
        self->conv[i] = cse_conv2d_parameters(
            model, conv_names[i],
            &(cse_conv2d_module_options){ .in = channels[i],
                                          .out = channels[i + 1],
                                          .kernel = { KERNEL, KERNEL },
                                          .conv.padding = { i == 0 ? 2 : 0, i == 0 ? 2 : 0 } });
    for (int i = 0; i < 3; i++)
        self->fc[i] = cse_linear_parameters(model, fc_names[i], sizes[i], sizes[i + 1], true);
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    const lenet *self = cse_model_self(model);
    const cse_settings *s = cse_model_settings_view(model);
    const char *activation = cse_settings_text(s, "activation");
    const bool max = cse_settings_text(s, "pooling")[0] == 'm';
    const cse_pool2d_options halve = { .kernel = { 2, 2 } };
    cse_tensor *x = cse_images_of(input, self->size);
    for (int i = 0; i < 2; i++)
        CSE_SCOPE(NULL, conv_names[i])
        {
            x = cse_activate(activation, cse_apply_conv2d(&self->conv[i], x));
            x = max ? cse_max_pool2d(x, &halve) : cse_avg_pool2d(x, &halve);
        }
    x = cse_flatten(x, 1);
    for (int i = 0; i < 3; i++)
        CSE_MODULE(NULL, fc_names[i], i == 2 ? CSE_MODULE_HEAD : CSE_MODULE_PLAIN)
        {
            x = cse_apply_linear(self->fc[i], x);
            x = i < 2 ? cse_activate(activation, x) : x;
        }
    return x;
}

const cse_model_descriptor cse_model_lenet = {
    .name = "lenet",
    .summary = "LeNet-5, a small convolutional classifier of images",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(lenet),
    .build = build,
    .forward = forward,
};
