/* The vision transformer (Dosovitskiy et al. 2021).
 *
 *   images -> patches -> linear -> [class token first] + position embedding -> dropout
 *     -> blocks -> norm -> the class token's channels [-> pooler] -> classifier
 *
 * Parameters have the ModelZoo's names: vit_model.embedding_layer.linear_proj, .cls_embedding,
 * .position_embeddings (the class token's row is the last), .post_embed_ln;
 * vit_model.encoder.transformer_encoder.layers.N.norm1, .self_attn, .norm2, .ffn and .norm;
 * vit_model.encoder.pooler.pooler.ffn.0.linear_layer; classifier.classifier.ffn.0.linear_layer.
 * Without a class token the first patch is classified, as there. A patch is read row by row with
 * the channels last; by a convolution, whose weight is [out, channel, height, width], as images
 * are. */
#include "engine/nn/models/vit_network.h"

#include <string.h>

#include "engine/graph/trace/trace.h"

#define ROW(name_, type_, default_, doc_)                                                        \
    {                                                                                            \
        .name = (name_), .type = CSE_SETTING_##type_, .default_value = (default_), .doc = (doc_) \
    }
#define RANGE(name_, type_, default_, min_, max_, doc_)                                           \
    {                                                                                             \
        .name = (name_), .type = CSE_SETTING_##type_, .default_value = (default_), .min = (min_), \
        .max = (max_), .doc = (doc_)                                                              \
    }

const cse_setting cse_vit_settings[] = {
    CSE_IMAGE_SETTINGS("[224, 224]", "3"),
    { .name = "patch_size",
      .type = CSE_SETTING_INTEGER_LIST,
      .default_value = "[16, 16]",
      .min = 1,
      .max = 1 << 14,
      .doc = "[height, width] of the patches, divisors of image_size" },
    RANGE("num_classes", INTEGER, "2", 1, 1 << 20, "outputs"),
    RANGE("hidden_size", INTEGER, "768", 1, 1 << 20,
          "channels of the residual stream, divisible by num_heads"),
    RANGE("num_hidden_layers", INTEGER, "12", 1, CSE_VIT_LAYERS, "blocks"),
    RANGE("num_heads", INTEGER, "12", 1, 1 << 16, "attention heads of each layer"),
    RANGE("filter_size", INTEGER, "3072", 1, 1 << 24, "hidden units of feed-forward networks"),
    RANGE("mlp_ratio", INTEGER, "null", 1, 1 << 12,
          "in place of filter_size: a multiple of hidden_size; with a gate two thirds of that, "
          "rounded up to a multiple of 8 (DINOv2)"),
    { .name = "nonlinearity",
      .type = CSE_SETTING_CHOICE,
      .default_value = "gelu",
      .choices = CSE_ACTIVATION_NAMES "|" CSE_GATED_ACTIVATION_NAMES,
      .doc = "of the feed-forward networks; those in glu have a gate" },
    { .name = "pooler_nonlinearity",
      .type = CSE_SETTING_CHOICE,
      .default_value = "null",
      .choices = CSE_ACTIVATION_NAMES,
      .doc = "of the pooler; null: nonlinearity" },
    { .name = "position_embedding_type",
      .type = CSE_SETTING_CHOICE,
      .default_value = "learned",
      .choices = "learned|null",
      .doc = "how positions enter; null: not at all" },
    RANGE("dropout_rate", NUMBER, "0.1", 0, 0.999,
          "probability, while training, that an output of a layer is dropped"),
    RANGE("embedding_dropout_rate", NUMBER, "0.0", 0, 0.999, "the same of embeddings"),
    RANGE("attention_dropout_rate", NUMBER, "0.1", 0, 0.999, "the same of attention weights"),
    RANGE("layer_norm_epsilon", NUMBER, "1e-5", 1e-12, 1, "added to the variance in norms"),
    { .name = "attention_type",
      .type = CSE_SETTING_CHOICE,
      .default_value = "scaled_dot_product",
      .choices = "scaled_dot_product|dot_product",
      .doc = "whether scores are divided by the root of the head's size" },
    ROW("norm_first", BOOL, "true", "norms before attention and networks, not after the sums"),
    ROW("use_final_layer_norm", BOOL, "true", "norm after the last block"),
    ROW("use_post_embed_layer_norm", BOOL, "false", "norm after the embeddings"),
    RANGE("post_embed_layer_norm_epsilon", NUMBER, "1e-5", 1e-12, 1, "of that norm"),
    ROW("prepend_cls_token", BOOL, "true", "class token before the patches"),
    ROW("use_conv_patchified_embedding", BOOL, "false", "patches by a convolution"),
    ROW("use_embed_proj_bias", BOOL, "true", "bias of the patches' projection"),
    ROW("use_projection_bias_in_attention", BOOL, "true", "biases of queries, keys and values"),
    ROW("use_ffn_bias_in_attention", BOOL, "true", "biases of attention's output"),
    ROW("use_ffn_bias", BOOL, "true", "biases of the feed-forward networks"),
    ROW("use_bias_in_output", BOOL, "true", "bias of the classifier"),
    ROW("use_encoder_pooler_layer", BOOL, "false", "linear layer and activation before it"),
    ROW("use_dinov2_classifier", BOOL, "false", "class token and mean of the patches, together"),
    ROW("use_distillation_token", BOOL, "false",
        "a second token behind the class token (Touvron et al. 2021)"),
    ROW("use_distillation_classifier", BOOL, "false",
        "the logits are the mean of two classifiers', of either token"),
    RANGE("num_register_tokens", INTEGER, "0", 0, 1 << 12,
          "tokens without a position before the patches (Darcet et al. 2024)"),
    ROW("keep_mask_token", BOOL, "false",
        "a state that nothing reads, for weights of models that fill in masked patches"),
    ROW("features_only", BOOL, "false",
        "no classifier: predictions are the channels that it would take"),
    RANGE("initializer_range", NUMBER, "0.02", 0, 1e9,
          "deviation of the truncated normal that weights begin with"),
    ROW("default_initializer", ANY, "null", "of all weights, {name: ..., ...}"),
    ROW("attention_initializer", ANY, "null", "of attention's weights; null: the default"),
    ROW("ffn_initializer", ANY, "null", "of feed-forward networks; null: the default"),
    ROW("pooler_initializer", ANY, "null", "of the pooler; null: the default"),
    ROW("projection_initializer", ANY, "null",
        "of the patches' projection; null: truncated normal"),
    ROW("position_embedding_initializer", ANY, "null", "of positions; null: truncated normal"),
    ROW("cls_token_initializer", ANY, "null", "of the class token; null: truncated normal"),
    RANGE("layerscale_value", NUMBER, "null", 0, 1e9, "LayerScale that begins at this"),
    ROW("freeze", TEXT_LIST, "[]", "regular expressions of parameter names that are not trained"),
    CSE_UNSUPPORTED_SETTING("attention_module", "aiayn_attention", "heads with keys of their own"),
    CSE_UNSUPPORTED_SETTING("extra_attention_params", "{}", "its arguments"),
    CSE_UNSUPPORTED_SETTING("attention_softmax_fp32", "true",
                            "the softmax is computed in float32; pol sets its precision"),
    CSE_UNSUPPORTED_SETTING("interpolate_position_embedding", "null", "positions of other sizes"),
    CSE_UNSUPPORTED_SETTING("image_layer_idx", "null", "output of an earlier layer"),
    CSE_UNSUPPORTED_SETTING("stochastic_depth_drop_prob", "0.0", "dropping of whole branches"),
    CSE_UNSUPPORTED_SETTING("stochastic_depth_drop_prob_schedule", "linear", "by depth"),
    CSE_UNSUPPORTED_SETTING("stochastic_depth_mode", "batch", "by batch"),
    CSE_UNSUPPORTED_SETTING("use_masked_patches", "false", "mask token"),
    ROW("compute_eval_metrics", BOOL, "true", "the configuration's metrics set them; no effect"),
    { .name = NULL },
};

/* ---- parameters ---- */

typedef struct initials {
    cse_initial plain, attention, ffn, pooler, projection, positions, class_token;
} initials;

static cse_status read_initials(const cse_settings *s, initials *i)
{
    const cse_initial normal =
        cse_initial_truncated_normal(cse_settings_number(s, "initializer_range"));
    i->plain = i->projection = i->positions = i->class_token = normal;
    CSE_TRY(cse_initial_read(s, "default_initializer", &i->plain));
    i->attention = i->ffn = i->pooler = i->plain;
    CSE_TRY(cse_initial_read(s, "attention_initializer", &i->attention));
    CSE_TRY(cse_initial_read(s, "ffn_initializer", &i->ffn));
    CSE_TRY(cse_initial_read(s, "pooler_initializer", &i->pooler));
    CSE_TRY(cse_initial_read(s, "projection_initializer", &i->projection));
    CSE_TRY(cse_initial_read(s, "position_embedding_initializer", &i->positions));
    return cse_initial_read(s, "cls_token_initializer", &i->class_token);
}

static cse_status read_patches(const cse_settings *s, cse_vit *self)
{
    CSE_TRY(cse_image_size_read(s, &self->size));
    if (cse_settings_count(s, "patch_size") != 2)
        return cse_fail(CSE_CONFIG, "patch_size (%s) must have two entries, [height, width]",
                        cse_settings_origin(s, "patch_size"));
    for (int i = 0; i < 2; i++)
        self->patch[i] = cse_settings_integer_at(s, "patch_size", i);
    if (self->size.height % self->patch[0] != 0 || self->size.width % self->patch[1] != 0)
        return cse_fail(CSE_CONFIG,
                        "patch_size (%s) is [%lld, %lld]; image_size, [%lld, %lld], must be "
                        "divisible by it",
                        cse_settings_origin(s, "patch_size"), (long long)self->patch[0],
                        (long long)self->patch[1], (long long)self->size.height,
                        (long long)self->size.width);
    return CSE_OK;
}

/* Settings that need another one. */
static cse_status check_parts(const cse_settings *s)
{
    static const char *const needs[][2] = {
        { "use_dinov2_classifier", "prepend_cls_token" },
        { "use_distillation_token", "prepend_cls_token" },
        { "use_distillation_classifier", "use_distillation_token" },
    };
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (cse_settings_bool(s, needs[i][0]) && !cse_settings_bool(s, needs[i][1]))
            return cse_fail(CSE_CONFIG, "%s (%s) needs %s: true", needs[i][0],
                            cse_settings_origin(s, needs[i][0]), needs[i][1]);
    if (cse_settings_bool(s, "features_only") &&
        cse_settings_bool(s, "use_distillation_classifier"))
        return cse_fail(CSE_CONFIG, "features_only (%s): there is no use_distillation_classifier",
                        cse_settings_origin(s, "features_only"));
    return CSE_OK;
}

/* DINOv2's rule for networks with a gate. */
static int64_t filter_size(const cse_settings *s)
{
    const int64_t hidden = cse_settings_integer(s, "hidden_size");
    if (!cse_settings_has(s, "mlp_ratio"))
        return cse_settings_integer(s, "filter_size");
    const int64_t wide = hidden * cse_settings_integer(s, "mlp_ratio");
    return cse_activation_is_gated(cse_settings_text(s, "nonlinearity"))
               ? (wide * 2 / 3 + 7) / 8 * 8
               : wide;
}

static cse_status read_block(const cse_settings *s, const initials *i, cse_block_module *block)
{
    const int64_t hidden = cse_settings_integer(s, "hidden_size");
    const int64_t heads = cse_settings_integer(s, "num_heads");
    const double dropout = cse_settings_number(s, "dropout_rate");
    if (hidden % heads != 0)
        return cse_fail(
            CSE_CONFIG,
            "hidden_size (%s) is %lld; it must be divisible by num_heads, which is %lld",
            cse_settings_origin(s, "hidden_size"), (long long)hidden, (long long)heads);
    *block = (cse_block_module){
        .norm = "layernorm",
        .epsilon = cse_settings_number(s, "layer_norm_epsilon"),
        .post_norm = !cse_settings_bool(s, "norm_first"),
        .scales_layers = cse_settings_has(s, "layerscale_value"),
        .attention = { .hidden_size = hidden,
                       .num_heads = heads,
                       .no_projection_bias =
                           !cse_settings_bool(s, "use_projection_bias_in_attention"),
                       .no_output_bias = !cse_settings_bool(s, "use_ffn_bias_in_attention"),
                       .projection = i->attention,
                       .output = i->attention,
                       .attention_dropout = cse_settings_number(s, "attention_dropout_rate"),
                       .output_dropout = dropout,
                       .scale = cse_settings_text(s, "attention_type")[0] == 'd' ? 1 : 0 },
        .ffn = { .hidden_size = hidden,
                 .filter_size = filter_size(s),
                 .activation = cse_settings_text(s, "nonlinearity"),
                 .no_bias = !cse_settings_bool(s, "use_ffn_bias"),
                 .input = i->ffn,
                 .output = i->ffn,
                 .output_dropout = dropout },
    };
    if (block->scales_layers)
        block->layer_scale = cse_settings_number(s, "layerscale_value");
    return CSE_OK;
}

static void declare_patches(cse_model *model, cse_vit *self, cse_initial projection)
{
    static const char name[] = "vit_model.embedding_layer.linear_proj";
    const cse_settings *s = self->settings;
    const int64_t hidden = self->block.attention.hidden_size;
    const bool bias = cse_settings_bool(s, "use_embed_proj_bias");
    self->by_convolution = cse_settings_bool(s, "use_conv_patchified_embedding");
    if (self->by_convolution)
        self->patch_conv = cse_conv2d_parameters(
            model, name,
            &(cse_conv2d_module_options){ .in = self->size.channels,
                                          .out = hidden,
                                          .kernel = { self->patch[0], self->patch[1] },
                                          .conv.stride = { self->patch[0], self->patch[1] },
                                          .no_bias = !bias,
                                          .has_initial = true,
                                          .weight = projection });
    else
        self->patch_linear = cse_linear_module(
            model, name, self->patch[0] * self->patch[1] * self->size.channels, hidden,
            &(cse_linear_options){ .weight = projection, .no_bias = !bias });
}

/* The tokens besides the patches. */
static void declare_tokens(cse_model *model, cse_vit *self, const initials *i)
{
    const cse_settings *s = self->settings;
    const int64_t hidden = self->block.attention.hidden_size;
    const int64_t registers = cse_settings_integer(s, "num_register_tokens");
    const cse_shape one = cse_shape_of(hidden);
    if (cse_settings_bool(s, "prepend_cls_token"))
        self->class_token = cse_parameter(model, "vit_model.embedding_layer.cls_embedding", one,
                                          cse_initial_for(i->class_token, one));
    if (cse_settings_bool(s, "use_distillation_token"))
        self->distillation_token =
            cse_parameter(model, "vit_model.embedding_layer.distillation_embedding", one,
                          cse_initial_for(i->class_token, one));
    if (cse_settings_bool(s, "keep_mask_token"))
        cse_buffer(model, "vit_model.embedding_layer.mask_embedding", one,
                   cse_initial_for(cse_initial_constant(0), one));
    if (registers > 0)
        self->registers = cse_parameter(
            model, "vit_model.embedding_layer.register_embeddings", cse_shape_of(registers, hidden),
            cse_initial_for(i->class_token, cse_shape_of(registers, hidden)));
}

static void declare_embeddings(cse_model *model, cse_vit *self, const initials *i)
{
    const cse_settings *s = self->settings;
    const int64_t hidden = self->block.attention.hidden_size;
    int64_t places = self->size.height / self->patch[0] * (self->size.width / self->patch[1]);
    declare_patches(model, self, i->projection);
    if (cse_settings_has(s, "position_embedding_type"))
        self->positions =
            cse_table_parameters(model, "vit_model.embedding_layer.position_embeddings",
                                 places + cse_settings_bool(s, "prepend_cls_token") +
                                     cse_settings_bool(s, "use_distillation_token"),
                                 hidden, i->positions);
    declare_tokens(model, self, i);
    if (cse_settings_bool(s, "use_post_embed_layer_norm"))
        self->embedding_norm =
            cse_norm_parameters(model, "vit_model.embedding_layer.post_embed_ln", "layernorm",
                                hidden, cse_settings_number(s, "post_embed_layer_norm_epsilon"));
}

static void declare_classifier(cse_model *model, cse_vit *self, const initials *i)
{
    const cse_settings *s = self->settings;
    const int64_t hidden = self->block.attention.hidden_size;
    const int64_t channels = cse_settings_bool(s, "use_dinov2_classifier") ? 2 * hidden : hidden;
    const int64_t classes = cse_settings_integer(s, "num_classes");
    const cse_linear_options classifier = { .weight = i->plain,
                                            .no_bias =
                                                !cse_settings_bool(s, "use_bias_in_output") };
    if (cse_settings_bool(s, "features_only"))
        return;
    self->classifier = cse_linear_module(model, "classifier.classifier.ffn.0.linear_layer",
                                         channels, classes, &classifier);
    if (cse_settings_bool(s, "use_distillation_classifier"))
        self->distillation_classifier =
            cse_linear_module(model, "classifier.distillation_classifier.ffn.0.linear_layer",
                              hidden, classes, &classifier);
}

static void declare(cse_model *model, cse_vit *self, const initials *i)
{
    const cse_settings *s = self->settings;
    const int64_t hidden = self->block.attention.hidden_size;
    const cse_linear_options pooler = { .weight = i->pooler, .no_bias = self->block.ffn.no_bias };
    declare_embeddings(model, self, i);
    for (int n = 0; n < self->layer_count; n++)
        cse_block_parameters(
            model, cse_model_text(model, "vit_model.encoder.transformer_encoder.layers.%d", n),
            &self->block, &self->blocks[n]);
    if (cse_settings_bool(s, "use_final_layer_norm"))
        self->last_norm = cse_norm_parameters(model, "vit_model.encoder.transformer_encoder.norm",
                                              self->block.norm, hidden, self->block.epsilon);
    if (cse_settings_bool(s, "use_encoder_pooler_layer"))
        self->pooler = cse_linear_module(
            model, "vit_model.encoder.pooler.pooler.ffn.0.linear_layer", hidden, hidden, &pooler);
    declare_classifier(model, self, i);
}

cse_status cse_vit_build(cse_model *model, const cse_settings *s)
{
    return cse_vit_declare(model, cse_model_self(model), s);
}

cse_status cse_vit_declare(cse_model *model, cse_vit *self, const cse_settings *s)
{
    initials i;
    self->settings = s;
    CSE_TRY(check_parts(s));
    CSE_TRY(cse_refuse_unsupported(cse_vit_settings, s));
    CSE_TRY(read_patches(s, self));
    CSE_TRY(read_initials(s, &i));
    CSE_TRY(read_block(s, &i, &self->block));
    for (int k = 0; k < cse_settings_count(s, "freeze"); k++)
        CSE_TRY(cse_model_freeze(model, cse_settings_text_at(s, "freeze", k)));
    self->layer_count = (int)cse_settings_integer(s, "num_hidden_layers");
    declare(model, self, &i);
    return CSE_OK;
}

/* ---- tracing ---- */

/* Images [batch, channel, height, width] as patches [batch, place, row * column * channel]. */
static cse_tensor *patches_of(const cse_vit *self, cse_tensor *images)
{
    const int64_t batch = cse_tensor_shape(images).dims[0], channels = self->size.channels;
    const int64_t rows = self->size.height / self->patch[0];
    const int64_t columns = self->size.width / self->patch[1];
    cse_tensor *x = cse_reshape(
        images, cse_shape_of(batch, channels, rows, self->patch[0], columns, self->patch[1]));
    x = cse_transpose(x, cse_axes(0, 2, 4, 3, 5, 1));
    return cse_reshape(
        x, cse_shape_of(batch, rows * columns, self->patch[0] * self->patch[1] * channels));
}

static cse_tensor *project(const cse_vit *self, cse_tensor *images)
{
    if (!self->by_convolution)
        return cse_apply_linear(self->patch_linear, patches_of(self, images));
    cse_tensor *x = cse_apply_conv2d(&self->patch_conv, images);
    const cse_shape shape = cse_tensor_shape(x);
    x = cse_reshape(x, cse_shape_of(shape.dims[0], shape.dims[1], shape.dims[2] * shape.dims[3]));
    return cse_transpose(x, cse_axes(0, 2, 1));
}

/* The rows of positions in the order of the tokens: the class token's, the last one, comes first.
 */
static cse_tensor *positions_of(const cse_vit *self)
{
    cse_tensor *table = cse_read(self->positions);
    return self->class_token != NULL ? cse_roll(table, 0, 1) : table;
}

/* Tokens [batch, count, channel] with `count` of a state before them. */
static cse_tensor *prepend(cse_state *state, int64_t count, cse_tensor *x)
{
    if (state == NULL || cse_trace_is_poison(x))
        return x;
    const cse_shape shape = cse_tensor_shape(x);
    cse_tensor *tokens = cse_reshape(cse_read(state), cse_shape_of(1, count, shape.dims[2]));
    tokens = cse_broadcast_to(tokens, cse_shape_of(shape.dims[0], count, shape.dims[2]));
    cse_tensor *const parts[] = { tokens, x };
    return cse_concat(parts, 2, 1);
}

/* Tokens with the registers behind the first one. */
static cse_tensor *with_registers(const cse_vit *self, cse_tensor *x)
{
    if (self->registers == NULL || cse_trace_is_poison(x))
        return x;
    const int64_t first = self->class_token != NULL;
    const int64_t all = cse_tensor_shape(x).dims[1];
    cse_tensor *rest =
        prepend(self->registers, cse_settings_integer(self->settings, "num_register_tokens"),
                cse_slice_axis(x, 1, first, all));
    cse_tensor *const parts[] = { cse_slice_axis(x, 1, 0, first > 0 ? first : 1), rest };
    return first > 0 ? cse_concat(parts, 2, 1) : rest;
}

static cse_tensor *embed(const cse_model *model, const cse_vit *self, cse_tensor *images)
{
    const double dropout = cse_settings_number(self->settings, "embedding_dropout_rate");
    cse_tensor *x = project(self, images);
    x = prepend(self->distillation_token, 1, x);
    x = prepend(self->class_token, 1, x);
    x = self->positions != NULL ? cse_add(x, positions_of(self)) : x;
    x = with_registers(self, x);
    x = cse_apply_dropout(model, dropout, x, "output");
    return self->embedding_norm.weight != NULL ? cse_apply_norm(&self->embedding_norm, x) : x;
}

/* A token of each sample. */
static cse_tensor *token_of(cse_tensor *x, int64_t place)
{
    const cse_shape shape = cse_tensor_shape(x);
    return cse_reshape(cse_slice_axis(x, 1, place, place + 1),
                       cse_shape_of(shape.dims[0], shape.dims[2]));
}

static cse_tensor *pool(const cse_vit *self, cse_tensor *x)
{
    const cse_settings *s = self->settings;
    cse_tensor *first = token_of(x, 0);
    if (cse_settings_bool(s, "use_dinov2_classifier")) {
        const int64_t others =
            1 + (self->distillation_token != NULL) + cse_settings_integer(s, "num_register_tokens");
        cse_tensor *patches = cse_slice_axis(x, 1, others, cse_tensor_shape(x).dims[1]);
        cse_tensor *const parts[] = { first, cse_mean(patches, cse_axes(1), false) };
        return cse_concat(parts, 2, 1);
    }
    if (self->pooler.weight == NULL)
        return first;
    const char *activation = cse_settings_text(s, "pooler_nonlinearity");
    return cse_activate(activation != NULL ? activation : cse_settings_text(s, "nonlinearity"),
                        cse_apply_linear(self->pooler, first));
}

/* What the token behind the class token and the registers says as well. */
static cse_tensor *classify(const cse_vit *self, cse_tensor *x)
{
    cse_tensor *pooled = pool(self, x);
    if (self->classifier.weight == NULL)
        return pooled;
    pooled = cse_apply_linear(self->classifier, pooled);
    if (self->distillation_classifier.weight == NULL)
        return pooled;
    const int64_t place = 1 + cse_settings_integer(self->settings, "num_register_tokens");
    return cse_scale(
        cse_add(pooled, cse_apply_linear(self->distillation_classifier, token_of(x, place))), 0.5);
}

cse_tensor *cse_vit_forward(cse_model *model, cse_tensor *input)
{
    return cse_vit_trace(model, cse_model_self(model), input);
}

cse_tensor *cse_vit_trace(cse_model *model, const cse_vit *self, cse_tensor *input)
{
    cse_tensor *x = cse_images_of(input, self->size);
    if (cse_trace_is_poison(x))
        return x;
    CSE_SCOPE(NULL, "vit_model.embedding_layer")
    {
        x = embed(model, self, x);
    }
    for (int i = 0; i < self->layer_count; i++)
        x = cse_apply_block(model, &self->blocks[i], x, NULL);
    CSE_SCOPE(NULL, "vit_model.encoder.norm")
    {
        x = self->last_norm.weight != NULL ? cse_apply_norm(&self->last_norm, x) : x;
    }
    if (cse_trace_is_poison(x))
        return x;
    CSE_MODULE(NULL, "classifier", CSE_MODULE_HEAD)
    {
        x = classify(self, x);
    }
    return x;
}
