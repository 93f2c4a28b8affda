/* clip: a tower of images and one of texts, whose outputs for what belongs together are made alike
 * (Radford et al. 2021).
 *
 *   images -> the network of vit -> its classifier, a projection without a bias
 *   tokens -> embedding + positions -> causal blocks -> norm -> the token that ends the text
 *     -> projection without a bias
 *   both at length 1 -> products of all images and texts of the microbatch, times exp(logit_scale)
 *
 * The loss is the mean of two cross entropies: which text belongs to an image, and which image to a
 * text. So the other samples of a microbatch are what a pair is told apart from. Predictions are
 * the two outputs of each sample, [batch, 2, channel], whose values no other sample changes.
 *
 * Parameters: those of vit; text_model.embedding_layer.word_embeddings, .position_embeddings;
 * text_model.transformer_decoder.layers.N, .norm; text_projection; logit_scale. */
#include "engine/base/config/settings.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/models/bert_encoder.h"
#include "engine/nn/models/vit_network.h"

enum { MOST_LAYERS = 128, LARGEST_TOKEN = 2 };

typedef struct clip {
    cse_vit images;
    const cse_settings *text;
    cse_state *words, *positions, *logit_scale;
    cse_block_module block;
    int layer_count;
    cse_block_layer blocks[MOST_LAYERS];
    cse_norm_layer last_norm;
    cse_linear_layer projection;
} clip;

static const cse_setting text_settings[] = {
    CSE_BERT_RANGE("vocab_size", INTEGER, "49408", 1, 1 << 24, "number of different tokens"),
    CSE_BERT_RANGE("max_position_embeddings", INTEGER, "77", 1, 1 << 24,
                   "tokens of the longest text"),
    CSE_BERT_RANGE("hidden_size", INTEGER, "512", 1, 1 << 20,
                   "channels of the residual stream, divisible by num_heads"),
    CSE_BERT_RANGE("num_hidden_layers", INTEGER, "12", 1, MOST_LAYERS, "blocks"),
    CSE_BERT_RANGE("num_heads", INTEGER, "8", 1, 1 << 16, "attention heads of each layer"),
    CSE_BERT_RANGE("filter_size", INTEGER, "2048", 1, 1 << 24,
                   "hidden units of feed-forward networks"),
    CSE_BERT_CHOICE("nonlinearity", "quick_gelu", CSE_ACTIVATION_NAMES,
                    "of the feed-forward networks"),
    CSE_BERT_RANGE("attention_dropout_rate", NUMBER, "0.0", 0, 0.999,
                   "probability, while training, that an attention weight is dropped"),
    CSE_BERT_RANGE("layer_norm_epsilon", NUMBER, "1e-5", 1e-12, 1,
                   "added to the variance in norms"),
    CSE_BERT_RANGE("eos_token_id", INTEGER, "49407", 0, 1 << 24,
                   "token that ends a text; 2: the largest of each text, as in older files"),
    CSE_BERT_RANGE("initializer_range", NUMBER, "0.02", 0, 1e9,
                   "deviation of the normal distribution that weights begin with"),
    { .name = NULL },
};

static const cse_setting settings[] = {
    { .name = "vision",
      .type = CSE_SETTING_SETTINGS,
      .default_value = "{}",
      .doc = "the tower of images: settings of vit; num_classes are the channels of both outputs",
      .nested = cse_vit_settings },
    { .name = "text",
      .type = CSE_SETTING_SETTINGS,
      .default_value = "{}",
      .doc = "the tower of texts",
      .nested = text_settings },
    CSE_BERT_ROW("logit_scale_init", NUMBER, "2.6592", "the logarithm that logit_scale begins as"),
    { .name = NULL },
};

/* ---- parameters ---- */

static cse_status read_text(const cse_settings *s, clip *self)
{
    const cse_initial normal = cse_initial_normal(cse_settings_number(s, "initializer_range"));
    const int64_t hidden = cse_settings_integer(s, "hidden_size");
    const int64_t heads = cse_settings_integer(s, "num_heads");
    if (hidden % heads != 0)
        return cse_fail(CSE_CONFIG,
                        "text.hidden_size (%s) is %lld; it must be divisible by num_heads, which "
                        "is %lld",
                        cse_settings_origin(s, "hidden_size"), (long long)hidden, (long long)heads);
    self->text = s;
    self->layer_count = (int)cse_settings_integer(s, "num_hidden_layers");
    self->block = (cse_block_module){
        .norm = "layernorm",
        .epsilon = cse_settings_number(s, "layer_norm_epsilon"),
        .attention = { .hidden_size = hidden,
                       .num_heads = heads,
                       .projection = normal,
                       .output = normal,
                       .attention_dropout = cse_settings_number(s, "attention_dropout_rate"),
                       .causal = true },
        .ffn = { .hidden_size = hidden,
                 .filter_size = cse_settings_integer(s, "filter_size"),
                 .activation = cse_settings_text(s, "nonlinearity"),
                 .input = normal,
                 .output = normal },
    };
    return CSE_OK;
}

static void declare_text(cse_model *model, clip *self, int64_t outputs)
{
    const cse_settings *s = self->text;
    const int64_t hidden = self->block.attention.hidden_size;
    const cse_initial normal = cse_initial_normal(cse_settings_number(s, "initializer_range"));
    self->words = cse_table_parameters(model, "text_model.embedding_layer.word_embeddings",
                                       cse_settings_integer(s, "vocab_size"), hidden, normal);
    self->positions =
        cse_table_parameters(model, "text_model.embedding_layer.position_embeddings",
                             cse_settings_integer(s, "max_position_embeddings"), hidden, normal);
    for (int n = 0; n < self->layer_count; n++)
        cse_block_parameters(model,
                             cse_model_text(model, "text_model.transformer_decoder.layers.%d", n),
                             &self->block, &self->blocks[n]);
    self->last_norm = cse_norm_parameters(model, "text_model.transformer_decoder.norm",
                                          self->block.norm, hidden, self->block.epsilon);
    self->projection =
        cse_linear_module(model, "text_projection", hidden, outputs,
                          &(cse_linear_options){ .weight = normal, .no_bias = true });
}

static cse_status build(cse_model *model, const cse_settings *s)
{
    clip *self = cse_model_self(model);
    const cse_settings *vision = cse_settings_section(s, "vision");
    const cse_settings *text = cse_settings_section(s, "text");
    if (cse_settings_bool(vision, "features_only"))
        return cse_fail(CSE_CONFIG, "vision.features_only (%s) is true; the projection is needed",
                        cse_settings_origin(vision, "features_only"));
    CSE_TRY(read_text(text, self));
    CSE_TRY(cse_vit_declare(model, &self->images, vision));
    declare_text(model, self, cse_settings_integer(vision, "num_classes"));
    self->logit_scale = cse_parameter(
        model, "logit_scale", cse_scalar_shape,
        cse_initial_for(cse_initial_constant(cse_settings_number(s, "logit_scale_init")),
                        cse_scalar_shape));
    return CSE_OK;
}

/* ---- tracing ---- */

/* int32 [batch, 1]: where each text ends. */
static cse_tensor *ends_of(const clip *self, cse_tensor *tokens)
{
    const int32_t end = (int32_t)cse_settings_integer(self->text, "eos_token_id");
    const cse_shape shape = cse_tensor_shape(tokens);
    cse_tensor *score = end == LARGEST_TOKEN
                            ? tokens
                            : cse_cast(cse_equal(tokens, cse_constant_int(end)), CSE_INT32);
    return cse_reshape(cse_argmax(cse_cast(score, CSE_FLOAT32), 1), cse_shape_of(shape.dims[0], 1));
}

static cse_tensor *embed_text(const clip *self, cse_tensor *tokens)
{
    const cse_shape shape = cse_tensor_shape(tokens);
    const int64_t longest = cse_settings_integer(self->text, "max_position_embeddings");
    if (cse_trace_is_poison(tokens))
        return tokens;
    if (shape.rank != 2 || shape.dims[1] > longest)
        return cse_trace_fail(CSE_SHAPE,
                              "the model takes input_ids [batch, time] of at most %lld tokens "
                              "(text.max_position_embeddings)",
                              (long long)longest);
    return cse_add(cse_embedding(cse_read(self->words), tokens),
                   cse_slice_axis(cse_read(self->positions), 0, 0, shape.dims[1]));
}

static cse_tensor *encode_text(cse_model *model, const clip *self, cse_tensor *tokens,
                               cse_tensor *attention_mask)
{
    cse_tensor *x = NULL, *spans = NULL;
    CSE_SCOPE(NULL, "text_model.embedding_layer")
    {
        x = embed_text(self, tokens);
        if (attention_mask != NULL && !cse_trace_is_poison(x))
            spans = cse_padding_spans(attention_mask, cse_tensor_shape(tokens).dims[1]);
    }
    if (cse_trace_is_poison(x))
        return x;
    for (int i = 0; i < self->layer_count; i++)
        x = cse_apply_block(model, &self->blocks[i], x, &(cse_block_call){ .self.spans = spans });
    CSE_SCOPE(NULL, "text_model.transformer_decoder.norm")
    {
        x = cse_apply_norm(&self->last_norm, x);
    }
    CSE_SCOPE(NULL, "text_projection")
    {
        x = cse_gather_positions(x, ends_of(self, tokens));
        const cse_shape shape = cse_tensor_shape(x);
        x = cse_reshape(x, cse_shape_of(shape.dims[0], self->block.attention.hidden_size));
        x = cse_apply_linear(self->projection, x);
    }
    return x;
}

/* Rows [batch, channel] at length 1. */
static cse_tensor *normalize(cse_tensor *x)
{
    x = cse_cast(x, CSE_FLOAT32);
    return cse_mul(x, cse_rsqrt(cse_sum(cse_square(x), cse_axes(1), true)));
}

static cse_tensor *contrast(const clip *self, cse_tensor *images, cse_tensor *texts)
{
    const int64_t batch = cse_tensor_shape(images).dims[0];
    cse_tensor *logits = cse_mul(cse_matmul(texts, images, false, true),
                                 cse_exp(cse_cast(cse_read(self->logit_scale), CSE_FLOAT32)));
    cse_tensor *pairs = cse_iota(batch, 0, 1);
    return cse_scale(cse_add(cse_classification_loss(logits, pairs),
                             cse_classification_loss(cse_transpose(logits, cse_axes(1, 0)), pairs)),
                     0.5);
}

static cse_tensor *forward(cse_model *model, cse_tensor *images)
{
    (void)model;
    (void)images;
    return cse_trace_fail(CSE_USAGE, "clip takes images and texts: it is traced by cse_model_loss, "
                                     "of the inputs images and input_ids");
}

static cse_tensor *loss(cse_model *model, cse_step *step, cse_tensor **predictions)
{
    static const char *const others[] = { "input_ids", "attention_mask", "labels", NULL };
    const clip *self = cse_model_self(model);
    cse_tensor *tokens = cse_step_input(step, "input_ids"), *result = NULL;
    cse_tensor *mask = cse_step_optional_input(step, "attention_mask");
    cse_tensor *images =
        cse_vit_trace(model, &self->images, cse_step_main_input(step, "images", others));
    cse_tensor *texts = encode_text(model, self, tokens, mask);
    if (cse_trace_is_poison(images) || cse_trace_is_poison(texts))
        return *predictions = cse_trace_is_poison(images) ? images : texts;
    CSE_SCOPE(step, "loss")
    {
        cse_tensor *const both[] = { normalize(images), normalize(texts) };
        *predictions = cse_stack(both, 2, 1);
        result = contrast(self, both[0], both[1]);
    }
    return result;
}

const cse_model_descriptor cse_model_clip = {
    .name = "clip",
    .summary = "towers of images and of texts, trained by what belongs together",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(clip),
    .build = build,
    .forward = forward,
    .loss = loss,
};
