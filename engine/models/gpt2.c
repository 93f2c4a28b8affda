/* gpt2: a causal language model (Radford et al. 2019).
 *
 *   tokens [batch, time] -> word + position embedding -> dropout
 *     -> (x + attention(norm1(x)), then x + ffn(norm3(x))) for each layer
 *     -> norm -> product with the word embeddings
 *
 * Its outputs are logits [batch, time, vocab]; the loss is the mean cross-entropy with the labels
 * over all tokens. The output projection is tied to the word embeddings and has no bias.
 *
 * Parameters have the names of ModelZoo's GPT-2, linear weights as [out, in]:
 *   embedding_layer.word_embeddings.weight, embedding_layer.position_embeddings.embed.weight,
 *   transformer_decoder.layers.N.norm1, .self_attn.proj_{q,k,v,output}_dense_layer, .norm3,
 *   .ffn.ffn.{0,1}.linear_layer, each with weight and bias, and transformer_decoder.norm.
 * (ModelZoo's norm2 precedes cross-attention, which a decoder-only model does not have; its aliases
 * ln_f and lm_head name tensors that are listed already, so they are not written.)
 *
 * Weights are drawn from a normal distribution of deviation 0.02, truncated at two deviations. The
 * two layers of each block that add to the residual stream use 0.02 / sqrt(2 layers), so that its
 * variance does not grow with depth. Biases start at 0, norms at weight 1 and bias 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/models/models.h"
#include "engine/trace/decoding.h"
#include "engine/trace/trace.h"

enum { MAX_LAYERS = 256, NAME_BYTES = 128 };

static const double deviation = 0.02;

/* weight and bias of a layer norm. */
typedef struct norm {
    cse_state *weight, *bias;
} norm;

typedef struct block {
    norm attention_norm, ffn_norm;
    cse_linear_layer query, key, value, attention_output;
    cse_linear_layer ffn_input, ffn_output;
} block;

typedef struct gpt2 {
    cse_state *word_embeddings;     /* [vocab, channel] */
    cse_state *position_embeddings; /* [position, channel] */
    int layer_count;
    int64_t hidden_size, num_heads;
    block blocks[MAX_LAYERS];
    norm last_norm;
} gpt2;

static const cse_setting settings[] = {
    { .name = "hidden_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "768",
      .min = 1,
      .max = 1 << 20,
      .doc = "channels of the residual stream, divisible by num_heads" },
    { .name = "num_layers",
      .type = CSE_SETTING_INTEGER,
      .default_value = "12",
      .min = 1,
      .max = MAX_LAYERS,
      .doc = "blocks of attention and feed-forward network" },
    { .name = "num_heads",
      .type = CSE_SETTING_INTEGER,
      .default_value = "12",
      .min = 1,
      .max = 1 << 16,
      .doc = "attention heads of each layer" },
    { .name = "filter_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 1 << 22,
      .doc = "hidden units of the feed-forward networks; null: 4 times hidden_size" },
    { .name = "vocab_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "50257",
      .min = 1,
      .max = 1 << 24,
      .doc = "number of different tokens; 256 for bytes" },
    { .name = "max_position_embeddings",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1024",
      .min = 1,
      .max = 1 << 24,
      .doc = "tokens of the longest sample" },
    { .name = "activation",
      .type = CSE_SETTING_CHOICE,
      .default_value = "gelu",
      .choices = "gelu|gelu_tanh|relu|silu",
      .doc = "activation of the feed-forward networks; gelu_tanh approximates gelu by tanh" },
    { .name = "dropout",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.1",
      .min = 0,
      .max = 0.999,
      .doc = "probability, while training, that an embedding, an attention weight or an output of "
             "a layer is dropped" },
    { .name = "layer_norm_epsilon",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1e-5",
      .min = 1e-12,
      .max = 1,
      .doc = "added to the variance in layer norms" },
    { .name = NULL },
};

/* ---- parameters ---- */

static cse_state *weight_of(cse_model *model, const char *name, cse_shape shape, double spread)
{
    char full_name[NAME_BYTES];
    const cse_initializer normal = { CSE_INIT_TRUNCATED_NORMAL, 0, spread };
    snprintf(full_name, sizeof full_name, "%s.weight", name);
    return cse_parameter(model, full_name, shape, normal);
}

static cse_state *constant_of(cse_model *model, const char *name, int64_t size, double value)
{
    const cse_initializer constant = { CSE_INIT_CONSTANT, value, 0 };
    return cse_parameter(model, name, cse_shape_of(size), constant);
}

static norm build_norm(cse_model *model, const char *name, int64_t size)
{
    char weight[NAME_BYTES], bias[NAME_BYTES];
    norm result;
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    result.weight = constant_of(model, weight, size, 1);
    result.bias = constant_of(model, bias, size, 0);
    return result;
}

typedef struct linear_shape {
    int64_t in, out;
    double spread; /* standard deviation of the initial weights */
} linear_shape;

/* <layers.N>.<name>.weight and .bias. */
static cse_linear_layer build_linear(cse_model *model, const char *layer, const char *name,
                                     linear_shape shape)
{
    char full_name[NAME_BYTES - 16], bias[NAME_BYTES];
    cse_linear_layer result;
    snprintf(full_name, sizeof full_name, "%s.%s", layer, name);
    snprintf(bias, sizeof bias, "%s.bias", full_name);
    result.weight = weight_of(model, full_name, cse_shape_of(shape.out, shape.in), shape.spread);
    result.bias = constant_of(model, bias, shape.out, 0);
    return result;
}

static void build_block(cse_model *model, int number, int64_t filter_size)
{
    char layer[64], name[NAME_BYTES];
    gpt2 *self = cse_model_self(model);
    block *b = &self->blocks[number];
    int64_t size = self->hidden_size;
    double output_deviation = deviation / sqrt(2.0 * self->layer_count);
    const linear_shape project = { size, size, deviation };
    const linear_shape output = { size, size, output_deviation };
    const linear_shape widen = { size, filter_size, deviation };
    const linear_shape narrow = { filter_size, size, output_deviation };
    snprintf(layer, sizeof layer, "transformer_decoder.layers.%d", number);
    snprintf(name, sizeof name, "%s.norm1", layer);
    b->attention_norm = build_norm(model, name, size);
    b->query = build_linear(model, layer, "self_attn.proj_q_dense_layer", project);
    b->key = build_linear(model, layer, "self_attn.proj_k_dense_layer", project);
    b->value = build_linear(model, layer, "self_attn.proj_v_dense_layer", project);
    b->attention_output = build_linear(model, layer, "self_attn.proj_output_dense_layer", output);
    snprintf(name, sizeof name, "%s.norm3", layer);
    b->ffn_norm = build_norm(model, name, size);
    b->ffn_input = build_linear(model, layer, "ffn.ffn.0.linear_layer", widen);
    b->ffn_output = build_linear(model, layer, "ffn.ffn.1.linear_layer", narrow);
}

static cse_status build(cse_model *model, const cse_settings *s)
{
    gpt2 *self = cse_model_self(model);
    self->hidden_size = cse_settings_integer(s, "hidden_size");
    self->num_heads = cse_settings_integer(s, "num_heads");
    self->layer_count = (int)cse_settings_integer(s, "num_layers");
    int64_t size = self->hidden_size, filter_size = 4 * size;
    if (size % self->num_heads != 0)
        return cse_fail(
            CSE_CONFIG,
            "hidden_size (%s) is %lld; it must be divisible by num_heads, which is %lld",
            cse_settings_origin(s, "hidden_size"), (long long)size, (long long)self->num_heads);
    if (cse_settings_has(s, "filter_size"))
        filter_size = cse_settings_integer(s, "filter_size");
    self->word_embeddings =
        weight_of(model, "embedding_layer.word_embeddings",
                  cse_shape_of(cse_settings_integer(s, "vocab_size"), size), deviation);
    self->position_embeddings = weight_of(
        model, "embedding_layer.position_embeddings.embed",
        cse_shape_of(cse_settings_integer(s, "max_position_embeddings"), size), deviation);
    for (int i = 0; i < self->layer_count; i++)
        build_block(model, i, filter_size);
    self->last_norm = build_norm(model, "transformer_decoder.norm", size);
    return CSE_OK;
}

/* ---- tracing ---- */

/* What every part of a forward pass needs. */
typedef struct pass {
    const gpt2 *self;
    const char *activation;
    double epsilon;
    double dropout; /* 0 in evaluation */
} pass;

static cse_tensor *drop(const pass *p, cse_tensor *x, const char *stream)
{
    return p->dropout > 0 ? cse_dropout(x, p->dropout, stream) : x;
}

static cse_tensor *normalize(const pass *p, norm layer, cse_tensor *x, const char *name)
{
    CSE_SCOPE(NULL, name)
    {
        /* Separate statements, because C does not define the order of argument evaluation. */
        cse_tensor *weight = cse_read(layer.weight), *bias = cse_read(layer.bias);
        x = cse_layer_norm(x, weight, bias, p->epsilon);
    }
    return x;
}

static cse_tensor *activate(const char *activation, cse_tensor *x)
{
    if (strcmp(activation, "relu") == 0)
        return cse_relu(x);
    if (strcmp(activation, "silu") == 0)
        return cse_silu(x);
    return cse_gelu(x, strcmp(activation, "gelu_tanh") == 0);
}

/* [batch, time, channel] -> [batch, heads, time, head]. */
static cse_tensor *split_heads(const pass *p, cse_linear_layer layer, cse_tensor *x)
{
    cse_shape shape = cse_tensor_shape(x);
    int64_t heads = p->self->num_heads, head = p->self->hidden_size / heads;
    x = cse_reshape(cse_apply_linear(layer, x),
                    cse_shape_of(shape.dims[0], shape.dims[1], heads, head));
    return cse_transpose(x, cse_axes(0, 2, 1, 3));
}

static cse_tensor *attend(const pass *p, const block *b, cse_tensor *x)
{
    const cse_attention_options options = { .causal = true,
                                            .dropout = p->dropout,
                                            .dropout_stream = "weights" };
    cse_shape shape = cse_tensor_shape(x);
    CSE_SCOPE(NULL, "self_attn")
    {
        cse_tensor *query = split_heads(p, b->query, x);
        cse_tensor *key = split_heads(p, b->key, x);
        cse_tensor *value = split_heads(p, b->value, x);
        x = cse_scaled_dot_product_attention(query, key, value, &options);
        x = cse_reshape(cse_transpose(x, cse_axes(0, 2, 1, 3)), shape);
        x = drop(p, cse_apply_linear(b->attention_output, x), "output");
    }
    return x;
}

static cse_tensor *feed_forward(const pass *p, const block *b, cse_tensor *x)
{
    CSE_SCOPE(NULL, "ffn")
    {
        x = activate(p->activation, cse_apply_linear(b->ffn_input, x));
        x = drop(p, cse_apply_linear(b->ffn_output, x), "output");
    }
    return x;
}

static cse_tensor *apply_block(const pass *p, int number, cse_tensor *x)
{
    char layer[64];
    const block *b = &p->self->blocks[number];
    snprintf(layer, sizeof layer, "transformer_decoder.layers.%d", number);
    CSE_SCOPE(NULL, layer)
    {
        x = cse_add(x, attend(p, b, normalize(p, b->attention_norm, x, "norm1")));
        x = cse_add(x, feed_forward(p, b, normalize(p, b->ffn_norm, x, "norm3")));
    }
    return x;
}

/* Adds row t of the position embeddings to token t of each sample. */
static cse_tensor *embed(const pass *p, cse_tensor *tokens)
{
    cse_tensor *words = cse_embedding(cse_read(p->self->word_embeddings), tokens);
    cse_tensor *positions = cse_read(p->self->position_embeddings);
    cse_shape shape = cse_tensor_shape(tokens);
    int64_t longest = cse_tensor_shape(positions).dims[0];
    if (cse_trace_is_poison(words))
        return words;
    if (shape.rank != 2 || shape.dims[1] > longest)
        return cse_trace_fail(CSE_SHAPE,
                              "gpt2 takes tokens [batch, time] of at most max_position_embeddings "
                              "(%lld) a sample, not rank %d with %lld: raise it, or shorten the "
                              "data's sequence_length",
                              (long long)longest, shape.rank,
                              (long long)(shape.rank > 1 ? shape.dims[1] : 0));
    return drop(p, cse_add(words, cse_position_rows(positions, shape.dims[1])), "output");
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    const gpt2 *self = cse_model_self(model);
    const cse_settings *s = cse_model_settings_view(model);
    const pass p = { .self = self,
                     .activation = cse_settings_text(s, "activation"),
                     .epsilon = cse_settings_number(s, "layer_norm_epsilon"),
                     .dropout = cse_is_training(model) ? cse_settings_number(s, "dropout") : 0 };
    cse_tensor *x = NULL;
    CSE_SCOPE(NULL, "embedding_layer")
    {
        x = embed(&p, input);
    }
    if (cse_trace_is_poison(x))
        return x;
    for (int i = 0; i < self->layer_count; i++)
        x = apply_block(&p, i, x);
    x = normalize(&p, self->last_norm, x, "transformer_decoder.norm");
    CSE_MODULE(NULL, "lm_head", CSE_MODULE_HEAD)
    {
        x = cse_linear(x, cse_read(self->word_embeddings), NULL);
    }
    return x;
}

const cse_model_descriptor cse_model_gpt2 = {
    .name = "gpt2",
    .summary = "causal language model of the GPT-2 kind",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(gpt2),
    .build = build,
    .forward = forward,
};
