/* fc_mnist: a fully connected classifier.
 *
 *   [batch, ...] -> flatten -> (linear -> activation -> dropout) for each hidden size -> linear
 *
 * Its outputs are logits [batch, num_classes]; the loss is cross-entropy with the integer labels.
 * Parameters have ModelZoo's names: fc_layers.0.weight [out, in], fc_layers.0.bias, ...,
 * last_layer.weight, last_layer.bias. */
#include <stdio.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "csengine/model.h"
#include "csengine/modules.h"

enum { MAX_LAYERS = 64 };

typedef struct fc_mnist {
    int layer_count;
    int64_t hidden_size; /* of all hidden layers; 0: hidden_sizes has them */
    cse_linear_layer layers[MAX_LAYERS], last_layer;
} fc_mnist;

static const cse_setting settings[] = {
    { .name = "input_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "784",
      .min = 1,
      .max = 1 << 24,
      .doc = "features of one sample, all axes together" },
    { .name = "hidden_sizes",
      .type = CSE_SETTING_INTEGER_LIST,
      .default_value = "[500, 300]",
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
      .choices = "relu|gelu|silu|sigmoid|tanh",
      .doc = "after each hidden layer" },
    { .name = "dropout",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.0",
      .min = 0,
      .max = 0.999,
      .doc = "probability that a hidden unit is dropped while training" },
    { .name = "depth",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = MAX_LAYERS,
      .doc = "with hidden_size in place of hidden_sizes: how many hidden layers of one size" },
    { .name = "hidden_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 1 << 20,
      .doc = "units of each of them" },
    CSE_ALIAS_SETTING("activation_fn", "activation"),
    CSE_UNSUPPORTED_SETTING("to_float16", "false", "precision.fp16_type says what is rounded"),
    { .name = "use_bias", .type = CSE_SETTING_BOOL, .default_value = "true", .doc = "biases" },
    { .name = NULL },
};

/* The ModelZoo's depth and hidden_size, or a list of sizes. */
static cse_status read_sizes(fc_mnist *self, const cse_settings *s)
{
    const bool has_depth = cse_settings_has(s, "depth");
    if (has_depth != cse_settings_has(s, "hidden_size"))
        return cse_fail(CSE_CONFIG, "depth and hidden_size belong together; give both or neither");
    self->layer_count =
        has_depth ? (int)cse_settings_integer(s, "depth") : cse_settings_count(s, "hidden_sizes");
    self->hidden_size = has_depth ? cse_settings_integer(s, "hidden_size") : 0;
    return self->layer_count <= MAX_LAYERS
               ? CSE_OK
               : cse_fail(CSE_CONFIG, "hidden_sizes (%s) has %d entries; at most %d",
                          cse_settings_origin(s, "hidden_sizes"), self->layer_count, MAX_LAYERS);
}

static cse_status build(cse_model *model, const cse_settings *s)
{
    char name[64];
    fc_mnist *self = cse_model_self(model);
    bool bias = cse_settings_bool(s, "use_bias");
    int64_t in = cse_settings_integer(s, "input_size");
    CSE_TRY(cse_refuse_unsupported(settings, s));
    CSE_TRY(read_sizes(self, s));
    for (int i = 0; i < self->layer_count; i++) {
        int64_t out = self->hidden_size > 0 ? self->hidden_size
                                            : cse_settings_integer_at(s, "hidden_sizes", i);
        snprintf(name, sizeof name, "fc_layers.%d", i);
        self->layers[i] = cse_linear_parameters(model, name, in, out, bias);
        in = out;
    }
    self->last_layer = cse_linear_parameters(model, "last_layer", in,
                                             cse_settings_integer(s, "num_classes"), bias);
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    char name[64];
    const fc_mnist *self = cse_model_self(model);
    const cse_settings *s = cse_model_settings_view(model);
    double dropout = cse_is_training(model) ? cse_settings_number(s, "dropout") : 0;
    cse_tensor *x = cse_flatten(input, 1);
    for (int i = 0; i < self->layer_count; i++) {
        snprintf(name, sizeof name, "fc_layers.%d", i);
        CSE_SCOPE(NULL, name)
        {
            x = cse_activate(cse_settings_text(s, "activation"),
                             cse_apply_linear(self->layers[i], x));
            x = dropout > 0 ? cse_dropout(x, dropout, name) : x;
        }
    }
    CSE_SCOPE(NULL, "last_layer")
    {
        x = cse_apply_linear(self->last_layer, x);
    }
    return x;
}

const cse_model_descriptor cse_model_fc_mnist = {
    .name = "fc_mnist",
    .summary = "fully connected classifier of small images",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(fc_mnist),
    .build = build,
    .forward = forward,
};
