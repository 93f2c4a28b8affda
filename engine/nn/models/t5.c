/* t5: an encoder of one text and a decoder of another that attends to it (Raffel et al. 2020).
 *
 *   tokens -> embedding -> dropout -> blocks -> norm -> dropout -> memory
 *   decoder tokens -> embedding -> dropout -> blocks with attention to the memory -> norm
 *     -> dropout -> / sqrt(d_model) (scale_decoder_outputs) -> logits [batch, time, vocab]
 *
 * Attention has no scale, which the weights of queries begin with, and no biases; positions are a
 * bias of scores by distance, one table for all layers of a stack.
 *
 * Inputs of a step: input_ids, attention_mask, decoder_input_ids (without it, the labels moved
 * right by one), decoder_attention_mask, labels, loss_weight. Parameters have the ModelZoo's names:
 * encoder_embeddings.word_embeddings and .position_embed_helper.relative_attention_bias,
 * decoder_embeddings alike, encoder.layers.N.norm1, .self_attn, .norm2, .ffn, encoder.norm,
 * decoder.layers.N.norm1, .self_attn, .norm2, .multihead_attn, .norm3, .ffn, decoder.norm, and
 * lm_head where it is not tied. */
#include <math.h>
#include <string.h>

#include "engine/graph/ops/decoding.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/models/bert_encoder.h"

enum { MAX_LAYERS = 128 };

#define CSE_T5_ACTIVATIONS "relu|gelu|gelu_tanh|silu|reglu|geglu|geglu_tanh|swiglu"

typedef struct stack {
    const char *name; /* "encoder" */
    cse_state *words, *buckets, *positions;
    cse_block_module block;
    cse_attention_module cross;
    int layer_count;
    cse_block_layer blocks[MAX_LAYERS];
    cse_norm_layer last_norm;
} stack;

typedef struct t5 {
    stack encoder, decoder;
    double embeddings_scale, logits_scale;
    cse_state *head; /* NULL: the decoder's words */
    /* Of the forward pass that is traced. */
    cse_tensor *decoder_tokens, *attention_mask;
} t5;

static const cse_setting settings[] = {
    CSE_BERT_RANGE("src_vocab_size", INTEGER, "32128", 1, 1 << 24, "tokens of the encoder"),
    CSE_BERT_RANGE("tgt_vocab_size", INTEGER, "null", 1, 1 << 24,
                   "tokens of the decoder; null: src_vocab_size"),
    CSE_BERT_RANGE("extra_ids", INTEGER, "0", 0, 1 << 20, "further tokens of both, sentinels"),
    CSE_BERT_RANGE("d_model", INTEGER, "512", 1, 1 << 20, "channels of the residual stream"),
    CSE_BERT_RANGE("d_kv", INTEGER, "64", 1, 1 << 16, "channels of a head"),
    CSE_BERT_RANGE("d_ff", INTEGER, "2048", 1, 1 << 24, "units of the feed-forward networks"),
    CSE_BERT_RANGE("num_heads", INTEGER, "8", 1, 1 << 16, "attention heads of each layer"),
    CSE_BERT_RANGE("encoder_num_hidden_layers", INTEGER, "6", 0, MAX_LAYERS, "blocks"),
    CSE_BERT_RANGE("decoder_num_hidden_layers", INTEGER, "null", 0, MAX_LAYERS,
                   "blocks; null: as many as the encoder"),
    CSE_BERT_CHOICE("position_embedding_type", "relative", "relative|learned_absolute|fixed|null",
                    "how positions enter; null: not at all"),
    CSE_BERT_RANGE("relative_attention_num_buckets", INTEGER, "32", 4, 4096,
                   "relative: buckets of distances, an even number"),
    CSE_BERT_RANGE("relative_attention_max_distance", INTEGER, "128", 3, 1 << 24,
                   "relative: from this distance on there is one bucket"),
    CSE_BERT_RANGE("src_max_position_embeddings", INTEGER, "null", 1, 1 << 24,
                   "longest text of the encoder; learned_absolute needs it"),
    CSE_BERT_RANGE("tgt_max_position_embeddings", INTEGER, "null", 1, 1 << 24,
                   "longest text of the decoder; learned_absolute needs it"),
    CSE_BERT_CHOICE("norm_type", "rmsnorm", CSE_NORM_NAMES, "of all norms"),
    CSE_BERT_RANGE("layer_norm_epsilon", NUMBER, "1e-5", 1e-12, 1,
                   "added to the variance in norms"),
    CSE_BERT_CHOICE("encoder_nonlinearity", "relu", CSE_T5_ACTIVATIONS,
                    "of feed-forward networks; those in glu have a gate"),
    CSE_BERT_CHOICE("decoder_nonlinearity", "null", CSE_T5_ACTIVATIONS,
                    "null: encoder_nonlinearity"),
    CSE_BERT_RANGE("dropout_rate", NUMBER, "0.1", 0, 0.999,
                   "probability, while training, that an output of a layer is dropped"),
    CSE_BERT_RANGE("relu_dropout_rate", NUMBER, "null", 0, 0.999,
                   "the same inside of feed-forward networks; null: dropout_rate"),
    CSE_BERT_ROW("use_projection_bias_in_attention", BOOL, "false",
                 "biases of queries, keys and values"),
    CSE_BERT_ROW("use_ffn_bias", BOOL, "false", "biases of the feed-forward networks"),
    CSE_BERT_ROW("use_pre_encoder_decoder_dropout", BOOL, "false",
                 "a second dropout of the embeddings"),
    CSE_BERT_ROW("use_pre_encoder_decoder_layer_norm", BOOL, "true",
                 "norms before attention and networks, not after the sums"),
    CSE_BERT_ROW("use_dropout_outside_residual_path", BOOL, "true", "dropout after both stacks"),
    CSE_BERT_ROW("share_encoder_decoder_embedding", BOOL, "true", "one table of tokens for both"),
    CSE_BERT_ROW("share_embedding_weights", BOOL, "true",
                 "the decoder's tokens are also the weight of the logits"),
    CSE_BERT_ROW("scale_decoder_outputs", BOOL, "null",
                 "logits are divided by the root of d_model; null: share_embedding_weights; "
                 "without effect with muP"),
    CSE_BERT_ROW("use_transformer_initialization", BOOL, "false",
                 "scaled attention, and weights that begin as those of Vaswani et al. 2017"),
    CSE_BERT_RANGE("initializer_factor", NUMBER, "1", 0, 1e9, "factor of how weights begin"),
    CSE_BERT_RANGE("pad_token_id", INTEGER, "0", 0, 1 << 24, "padding"),
    CSE_BERT_RANGE("decoder_start_token_id", INTEGER, "null", 0, 1 << 24,
                   "first token of the decoder, where labels are moved; null: pad_token_id"),
    CSE_BERT_RANGE("eos_token_id", INTEGER, "null", 0, 1 << 24,
                   "token that ends a text which is generated; null: that of the tokenizer"),
    CSE_BERT_CHOICE("mlm_loss_scaling", "batch_size",
                    "batch_size|num_masked|precomputed_num_masked",
                    "what the sum of losses is divided by: samples; counted tokens; samples, "
                    "after each loss was multiplied by loss_weight of the data"),
    CSE_BERT_ROW("lm_loss_weight", NUMBER, "1", "factor of the loss, with batch_size"),
    CSE_BERT_RANGE("label_smoothing", NUMBER, "0", 0, 1, "of the loss, while training"),
    CSE_UNSUPPORTED_SETTING("tie_encoder_decoder", "false", "one stack of weights for both"),
    CSE_UNSUPPORTED_SETTING("use_cache", "false", "inference"),
    CSE_UNSUPPORTED_SETTING("attention_module", "aiayn_attention", "heads with their own keys"),
    CSE_UNSUPPORTED_SETTING("extra_attention_params", "{}", "its arguments"),
    CSE_UNSUPPORTED_SETTING("attention_softmax_fp32", "true",
                            "the softmax is computed in float32; pol sets its precision"),
    CSE_BERT_RANGE("mup_base_d_model", NUMBER, "null", 1e-6, 1e9,
                   "muP: d_model of the base model; with mup_base_d_ff"),
    CSE_BERT_RANGE("mup_base_d_ff", NUMBER, "null", 1e-6, 1e9, "muP: d_ff of the base model"),
    CSE_UNSUPPORTED_SETTING("mup_base_d_kv", "null", "muP with another size of heads"),
    CSE_UNSUPPORTED_SETTING("lr_adjustment_groups", "null", "muP"),
    CSE_BERT_ROW("embeddings_alpha", NUMBER, "1",
                 "embeddings are multiplied by this, with muP also by the root of d_model"),
    CSE_BERT_ROW("encoder_attention_logits_alpha", NUMBER, "1", "factor of attention scores"),
    CSE_BERT_ROW("decoder_attention_logits_alpha", NUMBER, "1", "factor of attention scores"),
    CSE_BERT_ROW("scale_encoder_qk_dot_by_d", BOOL, "null",
                 "scaled scores are divided by d_kv, not its root; null: with muP"),
    CSE_BERT_ROW("scale_decoder_qk_dot_by_d", BOOL, "null", "the same of the decoder"),
    CSE_BERT_ROW("scale_output_logits_by_d", BOOL, "false",
                 "muP: the logits are scaled by the ratio of widths, not by its root"),
    CSE_BERT_ROW("output_logits_alpha", NUMBER, "null", "muP: factor of the logits; null: 1"),
    CSE_BERT_ROW("attention_kernel", ANY, "null", "hint to another compiler; no effect"),
    CSE_BERT_ROW("dtype", ANY, "null", "the configuration's precision sets it; no effect"),
    CSE_BERT_ROW("compute_eval_metrics", BOOL, "true",
                 "the configuration's metrics set them; no effect"),
    { .name = NULL },
};

/* ---- settings ---- */

static bool is_positions(const cse_settings *s, const char *type)
{
    const char *given = cse_settings_text(s, "position_embedding_type");
    return given != NULL && strcmp(given, type) == 0;
}

static int64_t vocabulary(const cse_settings *s, bool of_decoder)
{
    const bool own = of_decoder && cse_settings_has(s, "tgt_vocab_size");
    return cse_settings_integer(s, own ? "tgt_vocab_size" : "src_vocab_size") +
           cse_settings_integer(s, "extra_ids");
}

typedef struct initials {
    cse_initial words, query, attention, ffn, ffn_output;
} initials;

static initials read_initials(const cse_settings *s)
{
    const double size = (double)cse_settings_integer(s, "d_model");
    const double head = (double)cse_settings_integer(s, "d_kv");
    const double inner = (double)cse_settings_integer(s, "d_ff");
    const double factor = cse_settings_number(s, "initializer_factor");
    const cse_distribution uniform = CSE_DISTRIBUTION_UNIFORM;
    if (cse_settings_bool(s, "use_transformer_initialization"))
        return (initials){
            .words = cse_initial_truncated_normal(1),
            .query = cse_initial_scaled(1 / (9 * head), CSE_FAN_AVERAGE, uniform),
            .attention = cse_initial_scaled(1.0 / 9, CSE_FAN_AVERAGE, uniform),
            .ffn = cse_initial_scaled(1, CSE_FAN_AVERAGE, uniform),
            .ffn_output = cse_initial_scaled(1, CSE_FAN_AVERAGE, uniform),
        };
    return (initials){
        .words = cse_initial_normal(factor),
        .query = cse_initial_normal(factor / sqrt(size * head)),
        .attention = cse_initial_normal(factor / sqrt(size)),
        .ffn = cse_initial_normal(factor / sqrt(size)),
        .ffn_output = cse_initial_normal(factor / sqrt(inner)),
    };
}

/* Of products of queries and keys. By muP both projections of a width m times that of the base
 * model are multiplied by m^-1/2 (those of values and outputs by m^-1/2 and m^1/2, which is
 * nothing). */
static double scale_of_scores(const cse_settings *s, bool of_decoder)
{
    const bool mup = cse_settings_has(s, "mup_base_d_model");
    const char *by_size = of_decoder ? "scale_decoder_qk_dot_by_d" : "scale_encoder_qk_dot_by_d";
    const double head = (double)cse_settings_integer(s, "d_kv");
    double scale = cse_settings_number(s, of_decoder ? "decoder_attention_logits_alpha"
                                                     : "encoder_attention_logits_alpha");
    if (mup)
        scale *=
            cse_settings_number(s, "mup_base_d_model") / (double)cse_settings_integer(s, "d_model");
    if (!mup && !cse_settings_bool(s, "use_transformer_initialization"))
        return scale;
    return scale / ((cse_settings_has(s, by_size) ? cse_settings_bool(s, by_size) : mup)
                        ? head
                        : sqrt(head));
}

/* By muP weights of outputs begin smaller by the root of twice the depth, and those of
 * embeddings by that of the width. */
static cse_status read_mup(const cse_settings *s, t5 *self)
{
    const bool mup = cse_settings_has(s, "mup_base_d_model");
    const double size = (double)cse_settings_integer(s, "d_model");
    self->embeddings_scale = cse_settings_number(s, "embeddings_alpha");
    const bool scales = cse_settings_bool(s, cse_settings_has(s, "scale_decoder_outputs")
                                                 ? "scale_decoder_outputs"
                                                 : "share_embedding_weights");
    self->logits_scale = scales ? 1 / sqrt(size) : 1;
    if (mup != cse_settings_has(s, "mup_base_d_ff"))
        return cse_fail(CSE_CONFIG, "mup_base_d_model and mup_base_d_ff belong together; give both "
                                    "or neither");
    if (!mup)
        return CSE_OK;
    if (cse_settings_bool(s, "use_transformer_initialization"))
        return cse_fail(CSE_CONFIG,
                        "use_transformer_initialization (%s) is true; accepted with muP: false",
                        cse_settings_origin(s, "use_transformer_initialization"));
    const double ratio = cse_settings_number(s, "mup_base_d_model") / size;
    self->embeddings_scale *= sqrt(size);
    self->logits_scale =
        (cse_settings_has(s, "output_logits_alpha") ? cse_settings_number(s, "output_logits_alpha")
                                                    : 1) *
        (cse_settings_bool(s, "scale_output_logits_by_d") ? ratio : sqrt(ratio));
    return CSE_OK;
}

static void rate_attention(const cse_attention_layer *layer, double rate)
{
    cse_parameter_rate(layer->query.weight, rate);
    cse_parameter_rate(layer->key.weight, rate);
    cse_parameter_rate(layer->value.weight, rate);
    cse_parameter_rate(layer->output.weight, rate);
}

/* muP's learning rates. */
static void set_rates(const cse_settings *s, const t5 *self)
{
    const double width =
        cse_settings_number(s, "mup_base_d_model") / (double)cse_settings_integer(s, "d_model");
    const double filter =
        cse_settings_number(s, "mup_base_d_ff") / (double)cse_settings_integer(s, "d_ff");
    const stack *const stacks[] = { &self->encoder, &self->decoder };
    for (int k = 0; k < 2; k++) {
        const bool shared = k == 1 && stacks[1]->words == stacks[0]->words;
        cse_state *const embeddings[] = { shared ? NULL : stacks[k]->words, stacks[k]->buckets,
                                          stacks[k]->positions };
        for (int i = 0; i < 3; i++)
            if (embeddings[i] != NULL)
                cse_parameter_rate(embeddings[i], sqrt(width));
        for (int n = 0; n < stacks[k]->layer_count; n++) {
            const cse_block_layer *layer = &stacks[k]->blocks[n];
            cse_block_rates(layer, width, filter);
            rate_attention(&layer->attention, sqrt(width));
            if (layer->options->cross != NULL)
                rate_attention(&layer->cross, sqrt(width));
        }
    }
    if (self->head != NULL)
        cse_parameter_rate(self->head, sqrt(width));
}

static void read_stack(const cse_settings *s, stack *k, const initials *i, bool of_decoder)
{
    const int64_t size = cse_settings_integer(s, "d_model");
    const double dropout = cse_settings_number(s, "dropout_rate");
    const bool own_activation = of_decoder && cse_settings_has(s, "decoder_nonlinearity");
    const bool own_layers = of_decoder && cse_settings_has(s, "decoder_num_hidden_layers");
    const bool inner_dropout = !of_decoder && cse_settings_has(s, "relu_dropout_rate");
    k->name = of_decoder ? "decoder" : "encoder";
    k->layer_count = (int)cse_settings_integer(s, own_layers ? "decoder_num_hidden_layers"
                                                             : "encoder_num_hidden_layers");
    k->block = (cse_block_module){
        .norm = cse_settings_text(s, "norm_type"),
        .epsilon = cse_settings_number(s, "layer_norm_epsilon"),
        .post_norm = !cse_settings_bool(s, "use_pre_encoder_decoder_layer_norm"),
        .ffn_norm_name = of_decoder ? "norm3" : NULL,
        .cross = of_decoder ? &k->cross : NULL,
        .attention = { .hidden_size = size,
                       .num_heads = cse_settings_integer(s, "num_heads"),
                       .inner_size =
                           cse_settings_integer(s, "num_heads") * cse_settings_integer(s, "d_kv"),
                       .no_projection_bias =
                           !cse_settings_bool(s, "use_projection_bias_in_attention"),
                       .no_output_bias = true,
                       .projection = i->attention,
                       .output = i->attention,
                       .has_query = true,
                       .query = i->query,
                       .attention_dropout = dropout,
                       .output_dropout = dropout,
                       .scale = scale_of_scores(s, of_decoder),
                       .causal = of_decoder },
        .ffn = { .hidden_size = size,
                 .filter_size = cse_settings_integer(s, "d_ff"),
                 .activation = cse_settings_text(s, own_activation ? "decoder_nonlinearity"
                                                                   : "encoder_nonlinearity"),
                 .no_bias = !cse_settings_bool(s, "use_ffn_bias"),
                 .input = i->ffn,
                 .output = i->ffn_output,
                 .inner_dropout =
                     cse_settings_number(s, inner_dropout ? "relu_dropout_rate" : "dropout_rate"),
                 .output_dropout = dropout },
    };
    if (cse_settings_has(s, "mup_base_d_model") && k->layer_count > 0) {
        const double depth = 1 / sqrt(2.0 * k->layer_count);
        k->block.attention.output = cse_initial_times(k->block.attention.output, depth);
        k->block.ffn.output = cse_initial_times(k->block.ffn.output, depth);
    }
    k->cross = k->block.attention;
    k->cross.causal = false;
}

/* ---- parameters ---- */

static cse_status declare_positions(cse_model *model, stack *k, const cse_settings *s,
                                    const initials *i, const char *longest)
{
    const int64_t buckets = cse_settings_integer(s, "relative_attention_num_buckets");
    const char *table = "%s_embeddings.position_embeddings.embed";
    if (is_positions(s, "relative"))
        k->buckets = cse_table_parameters(
            model,
            cse_model_text(model, "%s_embeddings.position_embed_helper.relative_attention_bias",
                           k->name),
            buckets, k->block.attention.num_heads,
            cse_initial_scaled(1, CSE_FAN_AVERAGE, CSE_DISTRIBUTION_UNIFORM));
    if (!is_positions(s, "learned_absolute"))
        return buckets % 2 == 0
                   ? CSE_OK
                   : cse_fail(CSE_CONFIG, "relative_attention_num_buckets (%s) must be even",
                              cse_settings_origin(s, "relative_attention_num_buckets"));
    if (!cse_settings_has(s, longest))
        return cse_fail(CSE_CONFIG, "position_embedding_type (%s): learned_absolute needs %s",
                        cse_settings_origin(s, "position_embedding_type"), longest);
    k->positions = cse_table_parameters(model, cse_model_text(model, table, k->name),
                                        cse_settings_integer(s, longest),
                                        k->block.attention.hidden_size, i->words);
    return CSE_OK;
}

static void declare_stack(cse_model *model, stack *k)
{
    for (int n = 0; n < k->layer_count; n++)
        cse_block_parameters(model, cse_model_text(model, "%s.layers.%d", k->name, n), &k->block,
                             &k->blocks[n]);
    k->last_norm =
        cse_norm_parameters(model, cse_model_text(model, "%s.norm", k->name), k->block.norm,
                            k->block.attention.hidden_size, k->block.epsilon);
}

static cse_status build(cse_model *model, const cse_settings *s)
{
    t5 *self = cse_model_self(model);
    CSE_TRY(cse_refuse_unsupported(settings, s));
    CSE_TRY(read_mup(s, self));
    initials i = read_initials(s);
    const bool mup = cse_settings_has(s, "mup_base_d_model");
    const int64_t size = cse_settings_integer(s, "d_model");
    const bool shared = cse_settings_bool(s, "share_encoder_decoder_embedding");
    if (mup)
        i.words = cse_initial_times(i.words, 1 / sqrt((double)size));
    read_stack(s, &self->encoder, &i, false);
    read_stack(s, &self->decoder, &i, true);
    if (shared && vocabulary(s, false) != vocabulary(s, true))
        return cse_fail(CSE_CONFIG,
                        "share_encoder_decoder_embedding (%s) needs src_vocab_size and "
                        "tgt_vocab_size to be equal",
                        cse_settings_origin(s, "share_encoder_decoder_embedding"));
    self->encoder.words = cse_table_parameters(model, "encoder_embeddings.word_embeddings",
                                               vocabulary(s, false), size, i.words);
    CSE_TRY(declare_positions(model, &self->encoder, s, &i, "src_max_position_embeddings"));
    self->decoder.words = shared ? self->encoder.words
                                 : cse_table_parameters(model, "decoder_embeddings.word_embeddings",
                                                        vocabulary(s, true), size, i.words);
    CSE_TRY(declare_positions(model, &self->decoder, s, &i, "tgt_max_position_embeddings"));
    declare_stack(model, &self->encoder);
    declare_stack(model, &self->decoder);
    if (!cse_settings_bool(s, "share_embedding_weights"))
        self->head =
            cse_table_parameters(model, "lm_head", vocabulary(s, true), size,
                                 cse_initial_normal(cse_settings_number(s, "initializer_factor") /
                                                    (mup ? sqrt((double)size) : 1)));
    if (mup)
        set_rates(s, self);
    return CSE_OK;
}

/* ---- tracing ---- */

/* Places of the decoder's tokens where others precede them; NULL: they are 0, 1, ... */
static cse_tensor *following(const stack *k, int64_t count)
{
    return k->block.cross != NULL ? cse_trace_following_positions(count) : NULL;
}

/* The bias of one token by its distance to those before it: [heads, 1, keys]. */
static cse_tensor *bias_of_place(cse_tensor *table, const cse_relative_bias_options *options,
                                 cse_tensor *place)
{
    const int64_t keys = cse_trace_decoding()->keys, heads = cse_tensor_shape(table).dims[1];
    cse_tensor *by_distance = cse_relative_bias(table, keys, 1, options);
    cse_tensor *distance = cse_sub(cse_reshape(place, cse_shape_of(1)), cse_iota(keys, 0, 1));
    by_distance =
        cse_transpose(cse_reshape(by_distance, cse_shape_of(heads, keys)), cse_axes(1, 0));
    by_distance = cse_gather(by_distance, cse_maximum(distance, cse_constant_int(0)));
    return cse_reshape(cse_transpose(by_distance, cse_axes(1, 0)), cse_shape_of(heads, 1, keys));
}

static cse_tensor *embed(cse_model *model, const stack *k, cse_tensor *tokens)
{
    const cse_settings *s = cse_model_settings_view(model);
    const double dropout = cse_settings_number(s, "dropout_rate");
    cse_tensor *x = cse_embedding(cse_read(k->words), tokens);
    const cse_shape shape = cse_tensor_shape(tokens);
    if (cse_trace_is_poison(x))
        return x;
    const char *most =
        k->name[0] == 'e' ? "src_max_position_embeddings" : "tgt_max_position_embeddings";
    const int64_t longest = cse_settings_has(s, most) ? cse_settings_integer(s, most) : INT64_MAX;
    if (shape.rank != 2 || shape.dims[1] > longest)
        return cse_trace_fail(
            CSE_SHAPE,
            "the model takes tokens [batch, time] of at most %s, not rank %d with "
            "%lld",
            most, shape.rank, (long long)(shape.rank > 1 ? shape.dims[1] : 0));
    cse_tensor *places = following(k, shape.dims[1]);
    const int64_t rows = places != NULL ? cse_trace_decoding()->keys : shape.dims[1];
    cse_tensor *table = NULL;
    if (k->positions != NULL)
        table = cse_slice_axis(cse_read(k->positions), 0, 0, rows);
    else if (is_positions(s, "fixed"))
        table = cse_sinusoidal_positions(rows, k->block.attention.hidden_size);
    if (table != NULL)
        x = cse_add(x, places != NULL ? cse_embedding(table, places) : table);
    const double scale = ((const t5 *)cse_model_self(model))->embeddings_scale;
    if (scale != 1)
        x = cse_scale(x, scale);
    if (cse_settings_bool(s, "use_pre_encoder_decoder_dropout"))
        x = cse_apply_dropout(model, dropout, x, "embeddings");
    return cse_apply_dropout(model, dropout, x, "output");
}

/* The bias of positions, or that where keys are seen; either may be NULL. */
static cse_tensor *both(cse_tensor *bias, cse_tensor *seen)
{
    if (bias == NULL || seen == NULL)
        return bias != NULL ? bias : seen;
    return cse_where(seen, bias, cse_constant(-1e30));
}

static cse_tensor *apply_stack(cse_model *model, const stack *k, cse_tensor *tokens,
                               cse_tensor *memory)
{
    const t5 *self = cse_model_self(model);
    const cse_settings *s = cse_model_settings_view(model);
    const int64_t time = cse_tensor_shape(tokens).dims[1];
    const cse_relative_bias_options sides = {
        .bidirectional = memory == NULL,
        .max_distance = cse_settings_integer(s, "relative_attention_max_distance"),
    };
    cse_tensor *x = NULL, *bias = NULL, *seen = NULL, *places = following(k, time);
    CSE_SCOPE(NULL, cse_model_text(model, "%s_embeddings", k->name))
    {
        x = embed(model, k, tokens);
        if (!cse_trace_is_poison(x) && k->buckets != NULL)
            bias = places != NULL ? bias_of_place(cse_read(k->buckets), &sides, places)
                                  : cse_relative_bias(cse_read(k->buckets), time, time, &sides);
        seen = self->attention_mask != NULL ? cse_padding_mask(self->attention_mask) : NULL;
    }
    if (cse_trace_is_poison(x))
        return x;
    const cse_block_call call = { .self.mask = memory == NULL ? both(bias, seen) : bias,
                                  .cross = { .memory = memory, .mask = seen } };
    for (int n = 0; n < k->layer_count; n++)
        x = cse_apply_block(model, &k->blocks[n], x, &call);
    CSE_SCOPE(NULL, cse_model_text(model, "%s.norm", k->name))
    {
        x = cse_apply_norm(&k->last_norm, x);
        if (cse_settings_bool(s, "use_dropout_outside_residual_path"))
            x = cse_apply_dropout(model, cse_settings_number(s, "dropout_rate"), x, "output");
    }
    return x;
}

static cse_tensor *forward(cse_model *model, cse_tensor *tokens)
{
    const t5 *self = cse_model_self(model);
    if (self->decoder_tokens == NULL)
        return cse_trace_fail(CSE_USAGE, "t5 takes two texts: it is traced by cse_model_loss, of "
                                         "the inputs input_ids and decoder_input_ids or labels");
    cse_tensor *memory = apply_stack(model, &self->encoder, tokens, NULL);
    if (cse_trace_is_poison(memory))
        return memory;
    cse_tensor *x = apply_stack(model, &self->decoder, self->decoder_tokens, memory);
    CSE_MODULE(NULL, "lm_head", CSE_MODULE_HEAD)
    {
        if (self->logits_scale != 1)
            x = cse_scale(x, self->logits_scale);
        x = cse_linear(x, cse_read(self->head != NULL ? self->head : self->decoder.words), NULL);
    }
    return x;
}

/* Labels moved right by one behind the start token; what is ignored becomes padding. */
static cse_tensor *moved_right(const cse_settings *s, cse_tensor *labels)
{
    const cse_shape shape = cse_tensor_shape(labels);
    const int64_t pad = cse_settings_integer(s, "pad_token_id");
    const int64_t start = cse_settings_has(s, "decoder_start_token_id")
                              ? cse_settings_integer(s, "decoder_start_token_id")
                              : pad;
    if (cse_trace_is_poison(labels) || shape.rank != 2)
        return labels;
    cse_tensor *first =
        cse_broadcast_to(cse_constant_int((int32_t)start), cse_shape_of(shape.dims[0], 1));
    cse_tensor *const parts[] = { first, cse_slice_axis(labels, 1, 0, shape.dims[1] - 1) };
    cse_tensor *tokens = shape.dims[1] > 1 ? cse_concat(parts, 2, 1) : first;
    return cse_where(cse_less(tokens, cse_constant_int(0)), cse_constant_int((int32_t)pad), tokens);
}

static cse_tensor *loss(cse_model *model, cse_step *step, cse_tensor **predictions)
{
    static const char *const others[] = {
        "labels", "attention_mask", "decoder_input_ids", "decoder_attention_mask", "loss_weight",
        NULL
    };
    t5 *self = cse_model_self(model);
    const cse_settings *s = cse_model_settings_view(model);
    const char scaling = cse_settings_text(s, "mlm_loss_scaling")[0];
    cse_tensor *labels = cse_step_input(step, "labels"), *result = NULL;
    cse_tensor *mask = cse_step_optional_input(step, "decoder_attention_mask");
    cse_tensor *weight =
        scaling == 'p' ? cse_cast(cse_step_input(step, "loss_weight"), CSE_FLOAT32) : NULL;
    const cse_lm_loss_options options = {
        .by_batch = scaling != 'n',
        .weight = scaling == 'b' ? cse_settings_number(s, "lm_loss_weight") : 1,
        .label_smoothing = cse_is_training(model) ? cse_settings_number(s, "label_smoothing") : 0,
    };
    self->attention_mask = cse_step_optional_input(step, "attention_mask");
    self->decoder_tokens = cse_step_optional_input(step, "decoder_input_ids");
    CSE_SCOPE(step, "loss")
    {
        if (self->decoder_tokens == NULL)
            self->decoder_tokens = moved_right(s, labels);
        if (weight != NULL)
            mask = mask != NULL ? cse_mul(cse_cast(mask, CSE_FLOAT32), weight) : weight;
    }
    *predictions = cse_forward(model, cse_step_main_input(step, "input_ids", others));
    CSE_SCOPE(step, "loss")
    {
        result = cse_lm_loss(*predictions, labels, mask, &options);
    }
    self->attention_mask = self->decoder_tokens = NULL;
    return result;
}

const cse_model_descriptor cse_model_t5 = {
    .name = "t5",
    .summary = "encoder and decoder of text, of the T5 kind",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(t5),
    .build = build,
    .forward = forward,
    .loss = loss,
};
