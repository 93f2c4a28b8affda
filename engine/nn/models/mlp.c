/* mlp: fully connected layers one after the other.
 *
 *   [batch, ...] -> flatten -> (linear -> activation -> dropout) for each hidden size -> linear
 *
 * Parameters: layers.0.weight [out, in], layers.0.bias, ..., initialised as PyTorch's Linear; the
 * last layer gives the outputs [batch, num_classes]. fc_mnist is the same network under the names
 * of the ModelZoo. */
#include "csengine/generated/ops.h"
#include "csengine/model.h"
#include "csengine/modules.h"

enum { MAX_LAYERS = 64 };

typedef struct mlp {
    int layer_count; /* with the last one */
    cse_linear_layer layers[MAX_LAYERS + 1];
} mlp;

static const cse_setting settings[] = {
    { .name = "input_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "784",
      .min = 1,
      .max = 1 << 24,
      .doc = "features of one sample, all axes together" },
    { .name = "hidden_sizes",
      .type = CSE_SETTING_INTEGER_LIST,
      .default_value = "[256, 256]",
      .min = 1,
      .max = 1 << 20,
      .doc = "units of each hidden layer" },
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
      .doc = "after each hidden layer" },
    { .name = "dropout_rate",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.0",
      .min = 0,
      .max = 0.999,
      .doc = "probability, while training, that a hidden unit is dropped" },
    CSE_ALIAS_SETTING("dropout", "dropout_rate"),
    { .name = "use_bias", .type = CSE_SETTING_BOOL, .default_value = "true", .doc = "biases" },
    { .name = NULL },
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    mlp *self = cse_model_self(model);
    const int hidden = cse_settings_count(s, "hidden_sizes");
    int64_t in = cse_settings_integer(s, "input_size");
    if (hidden > MAX_LAYERS)
        return cse_fail(CSE_CONFIG, "hidden_sizes (%s) has %d entries; at most %d",
                        cse_settings_origin(s, "hidden_sizes"), hidden, MAX_LAYERS);
    for (int i = 0; i <= hidden; i++) {
        const int64_t out = i < hidden ? cse_settings_integer_at(s, "hidden_sizes", i)
                                       : cse_settings_integer(s, "num_classes");
        self->layers[i] = cse_linear_parameters(model, cse_model_text(model, "layers.%d", i), in,
                                                out, cse_settings_bool(s, "use_bias"));
        in = out;
    }
    self->layer_count = hidden + 1;
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    const mlp *self = cse_model_self(model);
    const cse_settings *s = cse_model_settings_view(model);
    cse_tensor *x = cse_flatten(input, 1);
    for (int i = 0; i < self->layer_count; i++) {
        const bool last = i + 1 == self->layer_count;
        CSE_MODULE(NULL, cse_model_text(model, "layers.%d", i),
                   last ? CSE_MODULE_HEAD : CSE_MODULE_PLAIN)
        {
            x = cse_apply_linear(self->layers[i], x);
            x = last ? x : cse_activate(cse_settings_text(s, "activation"), x);
            if (!last)
                x = cse_apply_dropout(model, cse_settings_number(s, "dropout_rate"), x, "output");
        }
    }
    return x;
}

const cse_model_descriptor cse_model_mlp = {
    .name = "mlp",
    .summary = "fully connected layers one after the other",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(mlp),
    .build = build,
    .forward = forward,
};
