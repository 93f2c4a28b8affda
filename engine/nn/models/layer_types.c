/* Types of layers; see layer_types.h. */
#include "engine/nn/models/layer_types.h"

#include <string.h>

#include "engine/base/config/settings.h"
#include "engine/graph/trace/trace.h"

#define NAME                                                                    \
    {                                                                           \
        "name", CSE_SETTING_NAME, "null", 0, 0, NULL, "of its parameters", NULL \
    }
#define INTEGER(name, default_, min, doc)                                  \
    {                                                                      \
        name, CSE_SETTING_INTEGER, default_, min, 1 << 24, NULL, doc, NULL \
    }
#define NUMBER(name, default_, min, max, doc)                         \
    {                                                                 \
        name, CSE_SETTING_NUMBER, default_, min, max, NULL, doc, NULL \
    }
#define BOOL(name, default_, doc)                               \
    {                                                           \
        name, CSE_SETTING_BOOL, default_, 0, 0, NULL, doc, NULL \
    }
#define CHOICE(name, default_, choices, doc)                         \
    {                                                                \
        name, CSE_SETTING_CHOICE, default_, 0, 0, choices, doc, NULL \
    }
#define ANY(name, doc)                                       \
    {                                                        \
        name, CSE_SETTING_ANY, "null", 0, 0, NULL, doc, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

cse_status cse_layer_refuse(const cse_layer *layer, cse_shape sample, const char *takes)
{
    char text[128];
    return cse_fail_at(CSE_ERROR_AT(NULL, layer->place), "layer %s of type %s takes %s, not %s",
                       layer->name, layer->type->name, takes,
                       cse_shape_text(sample, text, sizeof text));
}

static int64_t integer(const cse_layer *l, const char *name)
{
    return cse_settings_integer(l->settings, name);
}

static int64_t integer_or(const cse_layer *l, const char *name, int64_t otherwise)
{
    return cse_settings_has(l->settings, name) ? integer(l, name) : otherwise;
}

/* ---- linear, embedding ---- */

static const cse_setting linear_settings[] = {
    NAME,
    INTEGER("out", NULL, 1, "outputs"),
    BOOL("bias", "true", "with a bias"),
    ANY("initializer", "of the weight; null: as PyTorch's Linear"),
    END,
};

static cse_status build_linear(cse_model *model, cse_layer *l, cse_shape *sample)
{
    const bool bias = cse_settings_bool(l->settings, "bias");
    const int64_t out = integer(l, "out");
    cse_initial initial = cse_initial_constant(0);
    if (sample->rank == 0)
        return cse_layer_refuse(l, *sample, "at least one axis");
    int64_t *last = &sample->dims[sample->rank - 1];
    CSE_TRY(cse_initial_read(l->settings, "initializer", &initial));
    if (cse_settings_text(l->settings, "initializer") == NULL)
        l->linear = cse_linear_parameters(model, l->name, *last, out, bias);
    else
        l->linear = cse_linear_module(model, l->name, *last, out,
                                      &(cse_linear_options){ .weight = initial, .no_bias = !bias });
    *last = out;
    return CSE_OK;
}

static cse_tensor *apply_linear(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    (void)model;
    return cse_apply_linear(l->linear, x);
}

static const cse_setting embedding_settings[] = {
    NAME,
    INTEGER("rows", NULL, 1, "number of different tokens"),
    INTEGER("size", NULL, 1, "channels of each"),
    ANY("initializer", "null: normal of deviation 1, as PyTorch's Embedding"),
    END,
};

static cse_status build_embedding(cse_model *model, cse_layer *l, cse_shape *sample)
{
    cse_initial initial = cse_initial_normal(1);
    CSE_TRY(cse_initial_read(l->settings, "initializer", &initial));
    if (sample->rank >= CSE_MAX_RANK - 1)
        return cse_layer_refuse(l, *sample, "fewer axes");
    l->table =
        cse_table_parameters(model, l->name, integer(l, "rows"), integer(l, "size"), initial);
    sample->dims[sample->rank++] = integer(l, "size");
    return CSE_OK;
}

static cse_tensor *apply_embedding(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    (void)model;
    return cse_embedding(cse_read(l->table), x);
}

static const cse_setting positions_settings[] = {
    NAME,
    CHOICE("kind", "learned", "learned|fixed", "fixed: sines and cosines"),
    ANY("initializer", "of learned ones; null: normal of deviation 0.02"),
    END,
};

static cse_status build_positions(cse_model *model, cse_layer *l, cse_shape *sample)
{
    cse_initial initial = cse_initial_normal(0.02);
    CSE_TRY(cse_initial_read(l->settings, "initializer", &initial));
    if (sample->rank != 2)
        return cse_layer_refuse(l, *sample, "[time, channel]");
    if (cse_settings_text(l->settings, "kind")[0] == 'l')
        l->table = cse_table_parameters(model, l->name, sample->dims[0], sample->dims[1], initial);
    return CSE_OK;
}

static cse_tensor *apply_positions(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    (void)model;
    return cse_add(x, l->table != NULL
                          ? cse_read(l->table)
                          : cse_sinusoidal_positions(l->sample.dims[0], l->sample.dims[1]));
}

/* ---- convolution, pooling ---- */

static const cse_setting conv2d_settings[] = {
    NAME,
    INTEGER("out", NULL, 1, "output channels"),
    INTEGER("kernel", "3", 1, "height and width of the kernel"),
    INTEGER("stride", "1", 1, "places between two windows"),
    { "padding", CSE_SETTING_INTEGER, "0", 0, 1 << 14, NULL, "zeros on each side", NULL },
    INTEGER("groups", "1", 1, "channels are divided into so many groups"),
    BOOL("bias", "true", "with a bias"),
    ANY("initializer", "of the weight; null: as PyTorch's Conv2d"),
    END,
};

/* Rows or columns after windows of a kernel, or 0. */
static int64_t windows_of(int64_t size, int64_t kernel, int64_t stride, int64_t padding)
{
    return size + 2 * padding >= kernel ? (size + 2 * padding - kernel) / stride + 1 : 0;
}

static cse_status reduce(const cse_layer *l, cse_shape *sample)
{
    const int64_t kernel = integer(l, "kernel"), stride = integer_or(l, "stride", kernel);
    if (sample->rank != 3)
        return cse_layer_refuse(l, *sample, "[channel, height, width]");
    const int64_t height = windows_of(sample->dims[1], kernel, stride, integer(l, "padding"));
    const int64_t width = windows_of(sample->dims[2], kernel, stride, integer(l, "padding"));
    if (height < 1 || width < 1)
        return cse_layer_refuse(l, *sample, "images of at least its kernel's size");
    sample->dims[1] = height;
    sample->dims[2] = width;
    return CSE_OK;
}

static cse_status build_conv2d(cse_model *model, cse_layer *l, cse_shape *sample)
{
    const int64_t groups = integer(l, "groups"), out = integer(l, "out");
    const int64_t kernel = integer(l, "kernel"), stride = integer(l, "stride");
    cse_conv2d_module_options options = {
        .in = sample->dims[0],
        .out = out,
        .kernel = { kernel, kernel },
        .conv = { .stride = { stride, stride },
                  .padding = { integer(l, "padding"), integer(l, "padding") },
                  .groups = groups },
        .no_bias = !cse_settings_bool(l->settings, "bias"),
        .has_initial = cse_settings_text(l->settings, "initializer") != NULL,
    };
    CSE_TRY(reduce(l, sample));
    CSE_TRY(cse_initial_read(l->settings, "initializer", &options.weight));
    if (sample->dims[0] % groups != 0 || out % groups != 0)
        return cse_layer_refuse(l, *sample, "channels that its groups divide, as its outputs");
    l->conv = cse_conv2d_parameters(model, l->name, &options);
    sample->dims[0] = out;
    return CSE_OK;
}

static cse_tensor *apply_conv2d(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    (void)model;
    return cse_apply_conv2d(&l->conv, x);
}

static const cse_setting pool2d_settings[] = {
    NAME,
    INTEGER("kernel", "2", 1, "height and width of a window"),
    INTEGER("stride", "null", 1, "places between two windows; null: kernel"),
    { "padding", CSE_SETTING_INTEGER, "0", 0, 1 << 14, NULL, "at most half of the kernel", NULL },
    END,
};

static cse_status build_pool2d(cse_model *model, cse_layer *l, cse_shape *sample)
{
    (void)model;
    if (2 * integer(l, "padding") > integer(l, "kernel"))
        return cse_layer_refuse(l, *sample, "a padding of at most half the kernel");
    return reduce(l, sample);
}

static cse_pool2d_options pool_of(const cse_layer *l)
{
    const int64_t kernel = integer(l, "kernel"), padding = integer(l, "padding");
    const int64_t stride = integer_or(l, "stride", kernel);
    return (cse_pool2d_options){ .kernel = { kernel, kernel },
                                 .stride = { stride, stride },
                                 .padding = { padding, padding } };
}

static cse_tensor *apply_max_pool2d(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    const cse_pool2d_options options = pool_of(l);
    (void)model;
    return cse_max_pool2d(x, &options);
}

static cse_tensor *apply_avg_pool2d(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    const cse_pool2d_options options = pool_of(l);
    (void)model;
    return cse_avg_pool2d(x, &options);
}

/* ---- shapes ---- */

static const cse_setting no_settings[] = { NAME, END };

static cse_status build_global_pool(cse_model *model, cse_layer *l, cse_shape *sample)
{
    (void)model;
    if (sample->rank != 3)
        return cse_layer_refuse(l, *sample, "[channel, height, width]");
    sample->rank = 1;
    return CSE_OK;
}

static cse_tensor *apply_global_pool(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    (void)model;
    (void)l;
    return cse_mean(x, cse_axes(2, 3), false);
}

static cse_status build_flatten(cse_model *model, cse_layer *l, cse_shape *sample)
{
    (void)model;
    (void)l;
    *sample = cse_shape_of(cse_shape_elements(*sample));
    return CSE_OK;
}

static cse_tensor *apply_flatten(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    (void)model;
    (void)l;
    return cse_flatten(x, 1);
}

static const cse_setting reshape_settings[] = {
    NAME,
    { "shape", CSE_SETTING_INTEGER_LIST, NULL, 1, 1 << 24, NULL, "of a sample", NULL },
    END,
};

static cse_status build_reshape(cse_model *model, cse_layer *l, cse_shape *sample)
{
    cse_shape shape = { .rank = cse_settings_count(l->settings, "shape") };
    (void)model;
    if (shape.rank >= CSE_MAX_RANK)
        return cse_layer_refuse(l, *sample, "fewer axes");
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = cse_settings_integer_at(l->settings, "shape", i);
    if (cse_shape_elements(shape) != cse_shape_elements(*sample))
        return cse_layer_refuse(l, *sample, "as many values as its shape has");
    *sample = shape;
    return CSE_OK;
}

static cse_tensor *apply_reshape(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    cse_shape shape = { .rank = 1, .dims = { cse_tensor_shape(x).dims[0] } };
    (void)model;
    for (int i = 0; i < cse_settings_count(l->settings, "shape"); i++)
        shape.dims[shape.rank++] = cse_settings_integer_at(l->settings, "shape", i);
    return cse_reshape(x, shape);
}

/* The first place along time, or the mean of all. */
static cse_status build_over_time(cse_model *model, cse_layer *l, cse_shape *sample)
{
    (void)model;
    if (sample->rank != 2)
        return cse_layer_refuse(l, *sample, "[time, channel]");
    *sample = cse_shape_of(sample->dims[1]);
    return CSE_OK;
}

static cse_tensor *apply_first(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    const cse_shape shape = cse_tensor_shape(x);
    (void)model;
    (void)l;
    return cse_reshape(cse_slice_axis(x, 1, 0, 1), cse_shape_of(shape.dims[0], shape.dims[2]));
}

static cse_tensor *apply_mean(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    (void)model;
    (void)l;
    return cse_mean(x, cse_axes(1), false);
}

/* ---- norms, dropout ---- */

static const cse_setting batch_norm_settings[] = {
    NAME,
    NUMBER("momentum", "0.1", 0, 1, "share of a step in the running statistics"),
    NUMBER("epsilon", "1e-5", 1e-12, 1, "is added to the variance"),
    END,
};

static cse_status build_batch_norm(cse_model *model, cse_layer *l, cse_shape *sample)
{
    if (sample->rank == 0)
        return cse_layer_refuse(l, *sample, "[channel, ...]");
    l->batch_norm = cse_batch_norm_parameters(model, l->name, sample->dims[0]);
    l->batch_norm.momentum = cse_settings_number(l->settings, "momentum");
    l->batch_norm.epsilon = cse_settings_number(l->settings, "epsilon");
    return CSE_OK;
}

static cse_tensor *apply_batch_norm(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    return cse_apply_batch_norm(model, &l->batch_norm, x);
}

static const cse_setting norm_settings[] = {
    NAME,
    CHOICE("kind", "layernorm", CSE_NORM_NAMES, "which one, of the last axis"),
    NUMBER("epsilon", "1e-5", 1e-12, 1, "is added to the variance"),
    END,
};

static cse_status build_norm(cse_model *model, cse_layer *l, cse_shape *sample)
{
    if (sample->rank == 0)
        return cse_layer_refuse(l, *sample, "at least one axis");
    l->norm = cse_norm_parameters(model, l->name, cse_settings_text(l->settings, "kind"),
                                  sample->dims[sample->rank - 1],
                                  cse_settings_number(l->settings, "epsilon"));
    return CSE_OK;
}

static cse_tensor *apply_norm(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    (void)model;
    return cse_apply_norm(&l->norm, x);
}

static const cse_setting dropout_settings[] = {
    NAME,
    NUMBER("rate", NULL, 0, 0.999, "probability, while training, that a value is dropped"),
    END,
};

static cse_status build_nothing(cse_model *model, cse_layer *l, cse_shape *sample)
{
    (void)model;
    (void)l;
    (void)sample;
    return CSE_OK;
}

static cse_tensor *apply_dropout(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    return cse_apply_dropout(model, cse_settings_number(l->settings, "rate"), x, "output");
}

static cse_tensor *apply_activation(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    (void)model;
    return cse_activate(l->type->name, x);
}

/* ---- attention, feed-forward ---- */

static const cse_setting attention_settings[] = {
    NAME,
    INTEGER("heads", NULL, 1, "of queries"),
    INTEGER("key_heads", "null", 1, "of keys and values; null: heads"),
    BOOL("causal", "false", "a place sees those up to itself"),
    INTEGER("window", "null", 1, "a place sees so many, itself among them; null: all"),
    BOOL("rotary", "false", "positions by rotation of all channels of a head"),
    BOOL("bias", "true", "with biases"),
    NUMBER("dropout", "0", 0, 0.999, "of attention weights"),
    ANY("initializer", "of the weights; null: Glorot's uniform"),
    END,
};

static cse_status build_attention(cse_model *model, cse_layer *l, cse_shape *sample)
{
    const bool bias = cse_settings_bool(l->settings, "bias");
    const int64_t heads = integer(l, "heads"), keys = integer_or(l, "key_heads", heads);
    cse_initial initial = cse_initial_scaled(1, CSE_FAN_AVERAGE, CSE_DISTRIBUTION_UNIFORM);
    CSE_TRY(cse_initial_read(l->settings, "initializer", &initial));
    if (sample->rank != 2 || sample->dims[1] % heads != 0 || heads % keys != 0)
        return cse_layer_refuse(l, *sample,
                                "[time, channel], with channels that heads divides and heads that "
                                "key_heads divides");
    l->attention_options = (cse_attention_module){
        .hidden_size = sample->dims[1],
        .num_heads = heads,
        .key_heads = keys,
        .no_projection_bias = !bias,
        .no_output_bias = !bias,
        .projection = initial,
        .output = initial,
        .attention_dropout = cse_settings_number(l->settings, "dropout"),
        .causal = cse_settings_bool(l->settings, "causal"),
        .window = integer_or(l, "window", 0),
        .rotates = cse_settings_bool(l->settings, "rotary"),
        .rotary = { .interleaved = true },
    };
    if (l->attention_options.rotates && sample->dims[1] / heads % 2 != 0)
        return cse_layer_refuse(l, *sample, "an even number of channels a head, for rotary");
    l->attention = cse_attention_parameters(model, l->name, &l->attention_options);
    return CSE_OK;
}

static cse_tensor *apply_attention(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    return cse_apply_attention(model, &l->attention, x, NULL);
}

static const cse_setting ffn_settings[] = {
    NAME,
    INTEGER("hidden", NULL, 1, "units inside"),
    CHOICE("activation", "gelu", CSE_ACTIVATION_NAMES "|" CSE_GATED_ACTIVATION_NAMES,
           "those in glu have a gate"),
    BOOL("bias", "true", "with biases"),
    NUMBER("dropout", "0", 0, 0.999, "of the output"),
    ANY("initializer", "of the weights; null: Glorot's uniform"),
    END,
};

static cse_status build_ffn(cse_model *model, cse_layer *l, cse_shape *sample)
{
    cse_initial initial = cse_initial_scaled(1, CSE_FAN_AVERAGE, CSE_DISTRIBUTION_UNIFORM);
    CSE_TRY(cse_initial_read(l->settings, "initializer", &initial));
    if (sample->rank == 0)
        return cse_layer_refuse(l, *sample, "at least one axis");
    l->ffn_options = (cse_ffn_module){
        .hidden_size = sample->dims[sample->rank - 1],
        .filter_size = integer(l, "hidden"),
        .activation = cse_settings_text(l->settings, "activation"),
        .no_bias = !cse_settings_bool(l->settings, "bias"),
        .input = initial,
        .output = initial,
        .output_dropout = cse_settings_number(l->settings, "dropout"),
    };
    l->ffn = cse_ffn_parameters(model, l->name, &l->ffn_options);
    return CSE_OK;
}

static cse_tensor *apply_ffn(cse_model *model, const cse_layer *l, cse_tensor *x)
{
    return cse_apply_ffn(model, &l->ffn, x);
}

/* ---- the list ---- */

#define ACTIVATION(name)                                                    \
    {                                                                       \
        name, "of each value", no_settings, build_nothing, apply_activation \
    }

/* residual and repeat have layers inside, which layers.c builds and applies. */
static const cse_setting residual_settings[] = {
    NAME,
    ANY("layers", "whose output is added to their input"),
    ANY("shortcut", "layers that the input takes to the sum; null: none"),
    END,
};
static const cse_setting repeat_settings[] = {
    NAME,
    { "count", CSE_SETTING_INTEGER, NULL, 1, 256, NULL, "times", NULL },
    ANY("layers", "one after the other, with weights of their own each time"),
    END,
};

const cse_layer_type cse_layer_types[] = {
    { "linear", "x weight' + bias", linear_settings, build_linear, apply_linear },
    { "embedding", "a row of a table for each token", embedding_settings, build_embedding,
      apply_embedding },
    { "positions", "adds an embedding of each place", positions_settings, build_positions,
      apply_positions },
    { "conv2d", "convolution of images", conv2d_settings, build_conv2d, apply_conv2d },
    { "max_pool2d", "largest value of each window", pool2d_settings, build_pool2d,
      apply_max_pool2d },
    { "avg_pool2d", "mean of each window", pool2d_settings, build_pool2d, apply_avg_pool2d },
    { "global_avg_pool2d", "mean of all pixels", no_settings, build_global_pool,
      apply_global_pool },
    { "flatten", "one axis of all", no_settings, build_flatten, apply_flatten },
    { "reshape", "another shape of a sample", reshape_settings, build_reshape, apply_reshape },
    { "first", "the first place along time", no_settings, build_over_time, apply_first },
    { "mean", "the mean along time", no_settings, build_over_time, apply_mean },
    { "batch_norm", "normalizes channels over the microbatch", batch_norm_settings,
      build_batch_norm, apply_batch_norm },
    { "norm", "normalizes the last axis", norm_settings, build_norm, apply_norm },
    { "dropout", "drops values while training", dropout_settings, build_nothing, apply_dropout },
    { "attention", "self-attention over time", attention_settings, build_attention,
      apply_attention },
    { "feed_forward", "two linear layers with an activation between", ffn_settings, build_ffn,
      apply_ffn },
    { "residual", "layers and a way around them", residual_settings, NULL, NULL },
    { "repeat", "layers several times", repeat_settings, NULL, NULL },
    ACTIVATION("relu"),
    ACTIVATION("leaky_relu"),
    ACTIVATION("silu"),
    ACTIVATION("swish"),
    ACTIVATION("gelu"),
    ACTIVATION("gelu_tanh"),
    ACTIVATION("tanh"),
    ACTIVATION("gelu_new"),
    ACTIVATION("gelu_fast"),
    ACTIVATION("quick_gelu"),
    ACTIVATION("squared_gelu"),
    ACTIVATION("squared_relu"),
    ACTIVATION("mish"),
    ACTIVATION("sigmoid"),
    ACTIVATION("relu6"),
    { .name = NULL },
};

const cse_layer_type *cse_layer_type_named(const char *name)
{
    const cse_layer_type *type = cse_layer_types;
    while (type->name != NULL && strcmp(type->name, name) != 0)
        type++;
    return type->name != NULL ? type : NULL;
}
