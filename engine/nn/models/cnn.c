/* cnn: a small convolutional classifier.
 *
 *   [batch, ...] -> [batch, channels, size, size]
 *     -> (conv 3x3, same size -> [batch norm] -> relu -> max pool 2x2) twice -> flatten
 *     -> linear -> relu -> dropout -> linear
 *
 * With batch norm the convolutions have no bias, which would have no effect. The outputs are logits
 * [batch, num_classes]; the loss is cross-entropy with the integer labels. Convolutions are
 * initialized as in PyTorch: uniform in +-1/sqrt(fan in). */
#include <math.h>

#include "csengine/generated/ops.h"
#include "csengine/model.h"

enum { KERNEL = 3, CONVOLUTIONS = 2 };

typedef struct cnn {
    int64_t channels, size;
    struct {
        cse_state *weight; /* [out, in, 3, 3] */
        cse_state *bias;   /* NULL with batch norm */
        cse_batch_norm_layer norm;
    } convolutions[CONVOLUTIONS];
    cse_linear_layer hidden, last_layer;
} cnn;

static const cse_setting settings[] = {
    { .name = "image_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "28",
      .min = 4,
      .max = 1024,
      .doc = "height and width of the images, divisible by 4" },
    { .name = "channels",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1",
      .min = 1,
      .max = 1024,
      .doc = "channels of the images" },
    { .name = "conv_channels",
      .type = CSE_SETTING_INTEGER_LIST,
      .default_value = "[16, 32]",
      .min = 1,
      .max = 4096,
      .doc = "output channels of the two convolutions" },
    { .name = "batch_norm",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "normalize the output of each convolution over the microbatch" },
    { .name = "hidden_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "128",
      .min = 1,
      .max = 1 << 20,
      .doc = "units of the hidden linear layer" },
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "10",
      .min = 1,
      .max = 1 << 20,
      .doc = "outputs" },
    { .name = "dropout",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.0",
      .min = 0,
      .max = 0.999,
      .doc = "probability that a hidden unit is dropped while training" },
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    if (cse_settings_count(s, "conv_channels") != CONVOLUTIONS)
        return cse_fail(CSE_CONFIG, "conv_channels (%s) must have two entries",
                        cse_settings_origin(s, "conv_channels"));
    if (cse_settings_integer(s, "image_size") % 4 != 0)
        return cse_fail(CSE_CONFIG, "image_size (%s) is %lld; it must be divisible by 4",
                        cse_settings_origin(s, "image_size"),
                        (long long)cse_settings_integer(s, "image_size"));
    return CSE_OK;
}

static cse_status build(cse_model *model, const cse_settings *s)
{
    static const char *const names[CONVOLUTIONS][3] = {
        { "conv_layers.0.weight", "conv_layers.0.bias", "norm_layers.0" },
        { "conv_layers.1.weight", "conv_layers.1.bias", "norm_layers.1" }
    };
    const bool normalized = cse_settings_bool(s, "batch_norm");
    cnn *self = cse_model_self(model);
    CSE_TRY(check(s));
    self->size = cse_settings_integer(s, "image_size");
    int64_t in = self->channels = cse_settings_integer(s, "channels");
    for (int i = 0; i < CONVOLUTIONS; i++) {
        int64_t out = cse_settings_integer_at(s, "conv_channels", i);
        double bound = 1 / sqrt((double)(in * KERNEL * KERNEL));
        const cse_initializer uniform = { CSE_INIT_UNIFORM, -bound, bound };
        self->convolutions[i].weight =
            cse_parameter(model, names[i][0], cse_shape_of(out, in, KERNEL, KERNEL), uniform);
        if (normalized)
            self->convolutions[i].norm = cse_batch_norm_parameters(model, names[i][2], out);
        else
            self->convolutions[i].bias =
                cse_parameter(model, names[i][1], cse_shape_of(out), uniform);
        in = out;
    }
    int64_t features = in * (self->size / 4) * (self->size / 4);
    int64_t hidden = cse_settings_integer(s, "hidden_size");
    self->hidden = cse_linear_parameters(model, "hidden_layer", features, hidden, true);
    self->last_layer = cse_linear_parameters(model, "last_layer", hidden,
                                             cse_settings_integer(s, "num_classes"), true);
    return CSE_OK;
}

static cse_tensor *convolve(cse_model *model, int layer, cse_tensor *x)
{
    const cnn *self = cse_model_self(model);
    cse_state *bias = self->convolutions[layer].bias;
    const cse_conv2d_options same = { .padding = { KERNEL / 2, KERNEL / 2 } };
    const cse_pool2d_options halve = { .kernel = { 2, 2 } };
    cse_tensor *weight = cse_read(self->convolutions[layer].weight);
    x = cse_conv2d(x, weight, bias != NULL ? cse_read(bias) : NULL, &same);
    if (bias == NULL)
        x = cse_apply_batch_norm(model, &self->convolutions[layer].norm, x);
    return cse_max_pool2d(cse_relu(x), &halve);
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    static const char *const scopes[CONVOLUTIONS] = { "conv_layers.0", "conv_layers.1" };
    const cnn *self = cse_model_self(model);
    double dropout = cse_settings_number(cse_model_settings_view(model), "dropout");
    cse_shape shape = cse_tensor_shape(input);
    cse_tensor *x =
        cse_reshape(input, cse_shape_of(shape.dims[0], self->channels, self->size, self->size));
    for (int i = 0; i < CONVOLUTIONS; i++)
        CSE_SCOPE(NULL, scopes[i])
        {
            x = convolve(model, i, x);
        }
    CSE_SCOPE(NULL, "hidden_layer")
    {
        x = cse_relu(cse_apply_linear(self->hidden, cse_flatten(x, 1)));
        x = dropout > 0 && cse_is_training(model) ? cse_dropout(x, dropout, "hidden_layer") : x;
    }
    CSE_SCOPE(NULL, "last_layer")
    {
        x = cse_apply_linear(self->last_layer, x);
    }
    return x;
}

const cse_model_descriptor cse_model_cnn = {
    .name = "cnn",
    .summary = "small convolutional classifier of images",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cnn),
    .build = build,
    .forward = forward,
};
