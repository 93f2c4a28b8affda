/* A causal language model of blocks with norms before their parts (Radford et al. 2019), and all
 * that changed in it since: rotary positions, ALiBi, RMS norm, gates, shared heads, windows, muP.
 *
 *   tokens [batch, time] -> word + position embedding -> [norm] -> dropout
 *     -> (x + attention(norm1(x)), then x + ffn(norm3(x))) for each layer
 *     -> norm -> logits [batch, time, vocab]
 *
 * Parameters have the names of the ModelZoo's GPT-2, linear weights as [out, in]:
 *   embedding_layer.word_embeddings.weight, embedding_layer.position_embeddings.embed.weight,
 *   transformer_decoder.layers.N.norm1, .self_attn.proj_{q,k,v,output}_dense_layer, .norm3,
 *   .ffn.ffn.{0,1}.linear_layer, each with weight and bias, transformer_decoder.norm, and lm_head
 *   where it is not tied to the word embeddings.
 * (The ModelZoo's norm2 precedes cross-attention; its alias ln_f names a tensor that is listed.)
 *
 * Weights are drawn from a normal distribution of deviation initializer_range, truncated at two
 * deviations. The two layers of each block that add to the residual stream use it divided by
 * sqrt(2 layers), so that its variance does not grow with depth. Biases start at 0. */
#include "engine/nn/models/decoder.h"

#include <math.h>
#include <string.h>

#include "engine/graph/ops/decoding.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/models/alibi.h"
#include "engine/nn/models/decoder_layers.h"
#include "engine/nn/models/decoder_positions.h"

/* ---- settings ---- */

static double number_or(const cse_settings *s, const char *name, double otherwise)
{
    return cse_settings_has(s, name) ? cse_settings_number(s, name) : otherwise;
}

static int64_t integer_or(const cse_settings *s, const char *name, int64_t otherwise)
{
    return cse_settings_has(s, name) ? cse_settings_integer(s, name) : otherwise;
}

static cse_status check_divides(const cse_settings *s, const char *name, int64_t value,
                                const char *by, int64_t divisor)
{
    return value % divisor == 0
               ? CSE_OK
               : cse_fail(CSE_CONFIG, "%s (%s) is %lld; it must be divisible by %s, which is %lld",
                          name, cse_settings_origin(s, name), (long long)value, by,
                          (long long)divisor);
}

static cse_status read_shared_heads(const cse_settings *s, cse_attention_module *attention)
{
    static const cse_setting table[] = {
        CSE_DECODER_RANGE("num_kv_groups", INTEGER, "1", 1, 1 << 16, "heads of keys and values"),
        { .name = NULL },
    };
    cse_settings *extra = NULL;
    const char *given = cse_settings_text(s, "extra_attention_params");
    const bool shares = cse_decoder_is_text(s, "attention_module", "multiquery_attention");
    if (!shares && (given == NULL || strcmp(given, "{}") == 0))
        return CSE_OK;
    if (!shares)
        return cse_fail(CSE_CONFIG,
                        "extra_attention_params (%s) belongs to attention_module: "
                        "multiquery_attention",
                        cse_settings_origin(s, "extra_attention_params"));
    CSE_TRY(cse_settings_parse(table, "extra_attention_params", given, &extra));
    attention->key_heads = cse_settings_integer(extra, "num_kv_groups");
    cse_settings_destroy(&extra);
    return check_divides(s, "num_heads", attention->num_heads, "num_kv_groups",
                         attention->key_heads);
}

static cse_status read_window(const cse_settings *s, cse_attention_module *attention)
{
    attention->window = integer_or(s, "attention_sliding_window_length", 0);
    attention->sink = integer_or(s, "attention_sink_tokens", 0);
    return attention->sink == 0 || attention->window > 0
               ? CSE_OK
               : cse_fail(CSE_CONFIG,
                          "attention_sink_tokens (%s) belongs to attention_sliding_window_length",
                          cse_settings_origin(s, "attention_sink_tokens"));
}

static double scale_of_scores(const cse_settings *s, int64_t head, bool mup)
{
    const bool by_size =
        cse_settings_has(s, "scale_qk_dot_by_d") ? cse_settings_bool(s, "scale_qk_dot_by_d") : mup;
    const double alpha = cse_settings_number(s, "attention_logits_alpha");
    if (cse_decoder_is_text(s, "attention_type", "dot_product"))
        return alpha;
    return alpha / (by_size ? (double)head : sqrt((double)head));
}

static void read_head_norm(const cse_settings *s, cse_attention_module *attention)
{
    attention->head_norm = cse_settings_text(s, "attention_qk_norm_layer");
    attention->head_norm_epsilon = cse_settings_number(s, "attention_qk_norm_eps");
    attention->norms_all_heads = cse_decoder_is_text(s, "attention_qk_norm_size", "all_heads");
}

static cse_status read_attention(const cse_settings *s, cse_decoder *self)
{
    cse_attention_module *attention = &self->block.attention;
    const bool parallel = self->block.parallel;
    const int64_t hidden = cse_settings_integer(s, "hidden_size");
    const int64_t heads = cse_settings_integer(s, "num_heads");
    const int64_t inner = integer_or(s, "attention_inner_dim", hidden);
    const double dropout = cse_settings_number(s, "dropout_rate");
    CSE_TRY(check_divides(
        s, cse_settings_has(s, "attention_inner_dim") ? "attention_inner_dim" : "hidden_size",
        inner, "num_heads", heads));
    attention->hidden_size = hidden;
    attention->num_heads = heads;
    attention->inner_size = inner;
    attention->causal = true;
    attention->no_projection_bias = !cse_settings_bool(s, "use_projection_bias_in_attention");
    attention->no_output_bias = !cse_settings_bool(s, "use_ffn_bias_in_attention");
    attention->output_dropout = dropout;
    attention->attention_dropout = number_or(s, "attention_dropout_rate", dropout);
    attention->cap = number_or(s, "attention_logit_softcapping", 0);
    attention->scale =
        scale_of_scores(s, inner / heads, cse_settings_has(s, "mup_base_hidden_size") && !parallel);
    CSE_TRY(read_shared_heads(s, attention));
    CSE_TRY(read_window(s, attention));
    read_head_norm(s, attention);
    return cse_decoder_read_rotary(s, self, inner / heads);
}

/* ---- how weights begin ---- */

static bool has_initial(const cse_settings *s, const char *name)
{
    return cse_settings_text(s, name) != NULL;
}

/* By muP (Yang et al. 2022) deviations fall with the root of the width; in blocks with parallel
 * parts, as in the ModelZoo's code, those alone that are not given. */
static cse_status read_initials(const cse_settings *s, cse_decoder *self, cse_initial *embedding)
{
    cse_block_module *block = &self->block;
    const cse_initial normal =
        cse_initial_truncated_normal(cse_settings_number(s, "initializer_range"));
    const bool mup = cse_settings_has(s, "mup_base_hidden_size");
    const double depth = 1 / sqrt(2.0 * self->layer_count);
    const bool parallel = block->parallel;
    cse_initial attention = normal, ffn = normal, output = normal, ffn_output = normal;
    *embedding = normal;
    CSE_TRY(cse_initial_read(s, "embedding_initializer", embedding));
    CSE_TRY(cse_initial_read(s, "initializer", &attention));
    const bool given = has_initial(s, "output_layer_initializer");
    CSE_TRY(cse_initial_read(s, "output_layer_initializer", &output));
    if (!mup && !given && !parallel)
        output = cse_settings_text(s, "initializer") == NULL ? cse_initial_times(normal, depth)
                                                             : attention;
    ffn = parallel ? output : attention;
    CSE_TRY(cse_initial_read(s, "ffn_initializer", &ffn));
    ffn_output = mup && !given ? normal : output;
    CSE_TRY(cse_initial_read(s, "ffn_output_layer_initializer", &ffn_output));
    if (mup) {
        const double width = sqrt(cse_settings_number(s, "mup_base_hidden_size") /
                                  (double)block->attention.hidden_size);
        const double filter =
            sqrt(cse_settings_number(s, "mup_base_filter_size") / (double)block->ffn.filter_size);
        if (!has_initial(s, "ffn_output_layer_initializer") && !parallel)
            ffn_output = normal;
        if (!parallel || !has_initial(s, "initializer"))
            attention = cse_initial_times(attention, width);
        if (!parallel || (!given && !has_initial(s, "ffn_initializer")))
            ffn = cse_initial_times(ffn, width);
        if (!parallel || (!given && !has_initial(s, "ffn_output_layer_initializer")))
            ffn_output = cse_initial_times(ffn_output, filter * depth);
        if (!parallel || !given)
            output = cse_initial_times(output, width * depth);
    }
    block->attention.projection = attention;
    block->attention.output = output;
    block->ffn.input = ffn;
    block->ffn.output = ffn_output;
    return CSE_OK;
}

static cse_status read_mup(const cse_settings *s, cse_decoder *self)
{
    const bool by_hidden = cse_settings_has(s, "mup_base_hidden_size");
    const double alpha = number_or(s, "output_logits_alpha", 1);
    self->logits_scale = number_or(s, "output_logits_scale", 1);
    self->final_cap = number_or(s, "final_logit_softcapping", 0);
    if (by_hidden != cse_settings_has(s, "mup_base_filter_size"))
        return cse_fail(CSE_CONFIG, "mup_base_hidden_size and mup_base_filter_size belong "
                                    "together; give both or neither");
    if (!by_hidden)
        return CSE_OK;
    const double width =
        cse_settings_number(s, "mup_base_hidden_size") / (double)self->block.attention.hidden_size;
    self->logits_scale =
        alpha * (cse_settings_bool(s, "scale_output_logits_by_d") ? width : sqrt(width));
    return CSE_OK;
}

/* ---- parameters ---- */

static void declare_positions(cse_model *model, const cse_settings *s, cse_initial initial)
{
    cse_decoder *self = cse_model_self(model);
    const cse_attention_module *attention = &self->block.attention;
    if (cse_decoder_is_text(s, "position_embedding_type", "learned"))
        self->positions =
            cse_table_parameters(model, "embedding_layer.position_embeddings.embed",
                                 cse_settings_integer(s, "max_position_embeddings") +
                                     cse_settings_integer(s, "position_embedding_offset"),
                                 attention->hidden_size, initial);
    if (cse_decoder_is_text(s, "position_embedding_type", "relative"))
        self->positions = cse_table_parameters(
            model, "embedding_layer.position_embed_helper.relative_attention_bias",
            cse_settings_integer(s, "num_relative_attention_buckets"), attention->num_heads,
            cse_initial_scaled(1, CSE_FAN_AVERAGE, CSE_DISTRIBUTION_UNIFORM));
}

static void declare_word_projections(cse_decoder *self, cse_model *model, int64_t word_size,
                                     cse_initial initial)
{
    const int64_t size = self->block.attention.hidden_size;
    const cse_linear_options options = { .weight = initial, .no_bias = true };
    self->words_in = cse_linear_module(model, "word_projection_in", word_size, size, &options);
    self->words_out = cse_linear_module(model, "word_projection_out", size, word_size, &options);
}

static void declare(cse_model *model, const cse_settings *s, cse_initial embedding)
{
    cse_decoder *self = cse_model_self(model);
    const int64_t size = self->block.attention.hidden_size;
    const int64_t vocab = cse_settings_integer(s, "vocab_size");
    const double deviation = cse_settings_number(s, "initializer_range");
    const int64_t word_size = integer_or(s, "word_embedding_size", size);
    self->words =
        cse_table_parameters(model, "embedding_layer.word_embeddings", vocab, word_size, embedding);
    if (word_size != size)
        declare_word_projections(self, model, word_size, embedding);
    declare_positions(model, s, embedding);
    if (cse_settings_bool(s, "embedding_layer_norm"))
        self->embedding_norm = cse_norm_parameters(model, "embedding_ln_f", self->block.norm, size,
                                                   self->block.epsilon);
    for (int i = 0; i < self->layer_count; i++)
        cse_block_parameters_with(model, cse_model_text(model, "transformer_decoder.layers.%d", i),
                                  cse_decoder_kind_of(self, s, i),
                                  cse_decoder_experts_of(&self->experts, i), &self->blocks[i]);
    if (self->has_last_norm)
        self->last_norm = cse_norm_parameters(model, "transformer_decoder.norm", self->block.norm,
                                              size, self->block.epsilon);
    if (!cse_settings_bool(s, "share_embedding_weights"))
        self->head.weight = cse_parameter(model, "lm_head.weight", cse_shape_of(vocab, word_size),
                                          cse_initial_normal(deviation).fixed);
    if (cse_settings_bool(s, "use_bias_in_output"))
        self->head.bias = cse_parameter(model, "lm_head.bias", cse_shape_of(vocab),
                                        cse_initial_constant(0).fixed);
}

static cse_status check_loss(const cse_settings *s)
{
    return cse_decoder_is_text(s, "loss_scaling", "batch_size") ||
                   cse_settings_number(s, "loss_weight") == 1
               ? CSE_OK
               : cse_fail(CSE_CONFIG,
                          "loss_weight (%s) is %g; accepted other than 1 with loss_scaling: "
                          "batch_size alone",
                          cse_settings_origin(s, "loss_weight"),
                          cse_settings_number(s, "loss_weight"));
}

cse_status cse_parallel_decoder_build(cse_model *model, const cse_settings *s)
{
    cse_decoder *self = cse_model_self(model);
    self->block.parallel = cse_settings_bool(s, "use_parallel_residual");
    self->block.shares_norm = !cse_settings_bool(s, "use_untied_layer_norm");
    return cse_decoder_build(model, s);
}

static cse_status refuse_setting(const cse_settings *s, const char *name, const char *where)
{
    return cse_fail(CSE_CONFIG, "%s (%s) is %s; accepted %s: %s", name,
                    cse_settings_origin(s, name), cse_settings_bool(s, name) ? "true" : "false",
                    where, cse_settings_bool(s, name) ? "false" : "true");
}

/* Where the norms are, and what is added to the outputs of a block's parts. */
static cse_status read_norms(const cse_settings *s, cse_decoder *self)
{
    cse_block_module *block = &self->block;
    const bool first = cse_settings_bool(s, "norm_first");
    block->norm = cse_settings_text(s, "norm_type");
    block->epsilon = cse_settings_number(s, "layer_norm_epsilon");
    block->ffn_norm_name = "norm3";
    block->sandwich = cse_settings_bool(s, "norm_first_sandwich");
    block->norms_outputs_alone = cse_settings_bool(s, "norm_of_outputs_alone");
    block->post_norm = !first;
    block->residual_of_norm = cse_settings_bool(s, "apply_residual_connection_post_layernorm");
    self->has_last_norm = cse_settings_has(s, "use_final_layer_norm")
                              ? cse_settings_bool(s, "use_final_layer_norm")
                              : first;
    if (block->parallel && block->sandwich)
        return refuse_setting(s, "norm_first_sandwich", "in blocks whose parts stand side by side");
    if (block->parallel && !first)
        return refuse_setting(s, "norm_first", "in blocks whose parts stand side by side");
    if (block->residual_of_norm && block->parallel)
        return refuse_setting(s, "apply_residual_connection_post_layernorm",
                              "in blocks whose parts stand side by side");
    if (!first && block->sandwich)
        return refuse_setting(s, "norm_first_sandwich", "with norm_first: false");
    if (block->norms_outputs_alone && (block->sandwich || block->parallel || !first))
        return cse_fail(CSE_CONFIG,
                        "norm_of_outputs_alone (%s) is true; accepted with norm_first_sandwich, "
                        "norm_first: false and in blocks whose parts stand side by side: false",
                        cse_settings_origin(s, "norm_of_outputs_alone"));
    if (!first && block->residual_of_norm)
        return refuse_setting(s, "apply_residual_connection_post_layernorm",
                              "with norm_first: false");
    return CSE_OK;
}

static cse_status check_positions(const cse_settings *s)
{
    if (cse_settings_integer(s, "position_embedding_offset") != 0 &&
        !cse_decoder_is_text(s, "position_embedding_type", "learned"))
        return cse_fail(
            CSE_CONFIG,
            "position_embedding_offset (%s) belongs to position_embedding_type: learned",
            cse_settings_origin(s, "position_embedding_offset"));
    if (!cse_decoder_is_text(s, "alibi_type", "standard") &&
        !cse_decoder_is_text(s, "position_embedding_type", "alibi"))
        return cse_fail(CSE_CONFIG, "alibi_type (%s) belongs to position_embedding_type: alibi",
                        cse_settings_origin(s, "alibi_type"));
    return CSE_OK;
}

cse_status cse_decoder_build(cse_model *model, const cse_settings *s)
{
    cse_initial embedding;
    cse_decoder *self = cse_model_self(model);
    cse_block_module *block = &self->block;
    const double dropout = cse_settings_number(s, "dropout_rate");
    CSE_TRY(check_loss(s));
    CSE_TRY(check_positions(s));
    CSE_TRY(read_attention(s, self));
    self->layer_count = (int)cse_settings_integer(s, "num_hidden_layers");
    self->embedding_dropout = number_or(s, "embedding_dropout_rate", dropout);
    self->embeddings_scale = cse_settings_number(s, "embeddings_scale");
    CSE_TRY(read_norms(s, self));
    block->ffn = (cse_ffn_module){
        .hidden_size = block->attention.hidden_size,
        .filter_size = integer_or(s, "filter_size", 4 * block->attention.hidden_size),
        .activation = cse_settings_text(s, "nonlinearity"),
        .no_bias = !cse_settings_bool(s, "use_ffn_bias"),
        .output_dropout = dropout,
    };
    CSE_TRY(read_mup(s, self));
    CSE_TRY(read_initials(s, self, &embedding));
    CSE_TRY(cse_decoder_read_kinds(s, self));
    CSE_TRY(cse_decoder_experts_read(s, block, self->layer_count, &self->experts));
    declare(model, s, embedding);
    for (int i = 0; cse_settings_has(s, "mup_base_hidden_size") && i < self->layer_count; i++)
        cse_block_rates(
            &self->blocks[i],
            cse_settings_number(s, "mup_base_hidden_size") / (double)block->attention.hidden_size,
            cse_settings_number(s, "mup_base_filter_size") / (double)block->ffn.filter_size);
    return CSE_OK;
}

/* ---- tracing ---- */

static cse_tensor *refuse_tokens(const cse_tensor *tokens, int64_t longest)
{
    const cse_shape shape = cse_tensor_shape(tokens);
    if (shape.rank == 3)
        return cse_trace_fail(CSE_SHAPE,
                              "the model takes tokens [batch, time], and the data have %lld texts "
                              "in a sample: trainer.init.objective compares those of preferences",
                              (long long)shape.dims[1]);
    return cse_trace_fail(CSE_SHAPE,
                          "the model takes tokens [batch, time] of at most max_position_embeddings "
                          "(%lld) a sample, not rank %d with %lld: raise it, or shorten the "
                          "data's sequence_length",
                          (long long)longest, shape.rank,
                          (long long)(shape.rank > 1 ? shape.dims[1] : 0));
}

/* Row t of the learned or fixed embeddings for token t of each sample, or for positions that the
 * data bring along. */
static cse_tensor *position_embeddings(const cse_decoder *self, const cse_settings *s, int64_t time)
{
    const bool fixed = cse_decoder_is_text(s, "position_embedding_type", "fixed");
    if (!fixed && !cse_decoder_is_text(s, "position_embedding_type", "learned"))
        return NULL;
    const int64_t longest = cse_settings_integer(s, "max_position_embeddings");
    cse_tensor *table = fixed ? cse_sinusoidal_positions(self->inputs.positions ? longest : time,
                                                         self->block.attention.hidden_size)
                              : cse_read(self->positions);
    const int64_t before = cse_settings_integer(s, "position_embedding_offset");
    cse_tensor *places = self->inputs.positions;
    if (places == NULL)
        return cse_slice_axis(table, 0, before, before + time);
    return cse_embedding(table,
                         before != 0 ? cse_add(places, cse_constant_int((int32_t)before)) : places);
}

static cse_tensor *embed_words(const cse_settings *s, cse_tensor *words, cse_tensor *tokens)
{
    if (!cse_settings_has(s, "pad_token_id"))
        return cse_embedding(words, tokens);
    const int64_t pad = cse_settings_integer(s, "pad_token_id");
    return cse_embedding_padded(
        words, tokens, (int32_t)(pad < 0 ? pad + cse_settings_integer(s, "vocab_size") : pad));
}

/* NEFTune (N. Jain et al., "NEFTune: Noisy Embeddings Improve Instruction Finetuning", 2023): x and
 * noise of at most alpha / sqrt(L d), where L counts all places of a sample, filled ones, too. */
static cse_tensor *with_noise(cse_model *model, cse_tensor *x)
{
    const double alpha = cse_settings_number(cse_model_settings_view(model), "neftune_noise_alpha");
    const cse_shape shape = cse_tensor_shape(x);
    if (alpha == 0 || !cse_is_training(model) || cse_trace_is_poison(x) || shape.rank != 3)
        return x;
    const double most = alpha / sqrt((double)shape.dims[1] * (double)shape.dims[2]);
    return cse_add(x, cse_random_uniform_like(x, "neftune", -most, most));
}

static cse_tensor *embed(cse_model *model, cse_tensor *tokens)
{
    const cse_decoder *self = cse_model_self(model);
    const cse_settings *s = cse_model_settings_view(model);
    const int64_t longest = cse_decoder_longest_sample(s);
    cse_tensor *x = with_noise(model, embed_words(s, cse_read(self->words), tokens));
    const cse_shape shape = cse_tensor_shape(tokens);
    if (cse_trace_is_poison(x))
        return x;
    if (shape.rank != 2 || shape.dims[1] > longest)
        return refuse_tokens(tokens, longest);
    if (self->words_in.weight != NULL)
        x = cse_apply_linear(self->words_in, x);
    cse_tensor *positions = position_embeddings(self, s, shape.dims[1]);
    x = positions != NULL ? cse_add(x, positions) : x;
    if (self->embedding_norm.weight != NULL)
        x = cse_apply_norm(&self->embedding_norm, x);
    if (self->embeddings_scale != 1)
        x = cse_scale(x, self->embeddings_scale);
    return cse_apply_dropout(model, self->embedding_dropout, x, "output");
}

static cse_tensor *position_bias(const cse_decoder *self, const cse_settings *s, int64_t time)
{
    if (cse_decoder_is_text(s, "position_embedding_type", "alibi"))
        return cse_decoder_alibi(&(cse_decoder_alibi_options){
            .heads = self->block.attention.num_heads,
            .time = time,
            .is_falcon = cse_decoder_is_text(s, "alibi_type", "falcon"),
            .scale = self->block.attention.scale });
    if (cse_decoder_is_text(s, "position_embedding_type", "relative"))
        return cse_relative_bias(cse_read(self->positions), time, time, NULL);
    return NULL;
}

/* The bias of positions, and where several samples stand in a row what keeps them apart. */
static cse_attention_call hidden_keys(const cse_decoder *self, const cse_settings *s, int64_t time)
{
    return (cse_attention_call){
        .mask = position_bias(self, s, time),
        .spans = self->inputs.span != NULL ? cse_distance_spans(self->inputs.span) : NULL,
        .positions = self->inputs.positions,
    };
}

static cse_tensor *logits_of(cse_model *model, cse_tensor *x)
{
    const cse_decoder *self = cse_model_self(model);
    CSE_MODULE(NULL, "lm_head", CSE_MODULE_HEAD)
    {
        x = self->words_out.weight != NULL ? cse_apply_linear(self->words_out, x) : x;
        cse_tensor *weight = cse_read(self->head.weight != NULL ? self->head.weight : self->words);
        x = cse_linear(x, weight, self->head.bias != NULL ? cse_read(self->head.bias) : NULL);
        x = self->logits_scale != 1 ? cse_scale(x, self->logits_scale) : x;
        x = self->final_cap > 0 ? cse_soft_cap(x, self->final_cap) : x;
    }
    return x;
}

static cse_tensor *forward(cse_model *model, cse_tensor *tokens)
{
    const cse_decoder *self = cse_model_self(model);
    const cse_settings *s = cse_model_settings_view(model);
    cse_tensor *x = NULL;
    cse_block_call call = { .routing = self->routing };
    CSE_SCOPE(NULL, "embedding_layer")
    {
        x = embed(model, tokens);
        if (!cse_trace_is_poison(x))
            call.self = hidden_keys(self, s, cse_tensor_shape(tokens).dims[1]);
    }
    if (cse_trace_is_poison(x))
        return x;
    for (int i = 0; i < self->layer_count; i++)
        x = cse_apply_block(model, &self->blocks[i], x, &call);
    CSE_SCOPE(NULL, "transformer_decoder.norm")
    {
        x = self->has_last_norm ? cse_apply_norm(&self->last_norm, x) : x;
    }
    return logits_of(model, x);
}

cse_tensor *cse_decoder_forward(cse_model *model, cse_tensor *tokens)
{
    cse_decoder *self = cse_model_self(model);
    const cse_decoder_inputs inputs = self->inputs;
    if (inputs.positions == NULL && cse_tensor_shape(tokens).rank == 2)
        self->inputs.positions = cse_trace_following_positions(cse_tensor_shape(tokens).dims[1]);
    cse_tensor *logits = forward(model, tokens);
    self->inputs = inputs;
    return logits;
}

cse_tensor *cse_decoder_loss(cse_model *model, cse_step *step, cse_tensor **predictions)
{
    static const char *const others[] = { "labels", "attention_mask", "attention_span",
                                          "position_ids", NULL };
    const cse_settings *s = cse_model_settings_view(model);
    cse_decoder *self = cse_model_self(model);
    cse_tensor *mask = cse_step_optional_input(step, "attention_mask");
    cse_routing routing = { .mask = mask };
    cse_lm_loss_options options = { .by_batch =
                                        cse_decoder_is_text(s, "loss_scaling", "batch_size"),
                                    .weight = cse_settings_number(s, "loss_weight") };
    cse_tensor *loss = NULL, *tokens = cse_step_main_input(step, "input_ids", others);
    cse_tensor *labels = cse_step_input(step, "labels");
    self->inputs = (cse_decoder_inputs){ cse_step_optional_input(step, "position_ids"),
                                         cse_step_optional_input(step, "attention_span") };
    self->routing = cse_is_training(model) && self->experts.balancing > 0 ? &routing : NULL;
    *predictions = cse_forward(model, tokens);
    self->inputs = (cse_decoder_inputs){ NULL, NULL };
    CSE_SCOPE(step, "loss")
    {
        if (self->routing != NULL)
            options.penalty = cse_scale(cse_balancing_loss(&routing, self->experts.of_each_sample),
                                        self->experts.balancing);
        loss = cse_lm_loss(*predictions, labels, mask, &options);
    }
    self->routing = NULL;
    return loss;
}
