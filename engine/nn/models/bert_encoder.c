/* The encoder of BERT (Devlin et al. 2019): embeddings of tokens, positions and segments, blocks
 * with norms after their sums, and a pooler of the first token.
 *
 * Parameters, behind the prefix bert_encoder or bert, have the ModelZoo's names:
 *   embedding_layer.word_embeddings, .position_embeddings.embed, .segment_embeddings; embed_ln_f;
 *   transformer_encoder.layers.N.self_attn, .norm1, .ffn and .norm2; transformer_encoder.norm;
 *   pooler.pooler.ffn.0.linear_layer. */
#include "engine/nn/models/bert_encoder.h"

#include <math.h>
#include <string.h>

#include "engine/graph/trace/trace.h"
#include "engine/nn/models/rotary.h"

typedef struct initials {
    cse_initial plain, words, positions, segments;
} initials;

static double number_or(const cse_settings *s, const char *name, double otherwise)
{
    return cse_settings_has(s, name) ? cse_settings_number(s, name) : otherwise;
}

static cse_status read_initials(const cse_settings *s, initials *i)
{
    i->plain = cse_initial_truncated_normal(cse_settings_number(s, "initializer_range"));
    CSE_TRY(cse_initial_read(s, "default_initializer", &i->plain));
    i->words = i->positions = i->segments = i->plain;
    CSE_TRY(cse_initial_read(s, "embeddings_initializer", &i->words));
    CSE_TRY(cse_initial_read(s, "position_embeddings_initializer", &i->positions));
    return cse_initial_read(s, "segment_embeddings_initializer", &i->segments);
}

static double scale_of_scores(const cse_settings *s, int64_t head)
{
    const bool by_size = cse_settings_has(s, "scale_qk_dot_by_d")
                             ? cse_settings_bool(s, "scale_qk_dot_by_d")
                             : cse_settings_has(s, "mup_base_hidden_size");
    const double alpha = cse_settings_number(s, "attention_logits_alpha");
    if (cse_settings_text(s, "attention_type")[0] == 'd')
        return alpha;
    return alpha / (by_size ? (double)head : sqrt((double)head));
}

/* muP's factors of the learning rates are set with the parameters. Deviations do not fall with the
 * width: the ModelZoo's code computes smaller ones and keeps those that are given. */
static cse_status read_mup(const cse_settings *s, cse_bert_encoder *e)
{
    const cse_block_module *block = &e->block;
    e->logits_scale = 1;
    if (cse_settings_has(s, "mup_base_hidden_size") != cse_settings_has(s, "mup_base_filter_size"))
        return cse_fail(CSE_CONFIG, "mup_base_hidden_size and mup_base_filter_size belong "
                                    "together; give both or neither");
    if (!cse_settings_has(s, "mup_base_hidden_size"))
        return CSE_OK;
    const double width =
        cse_settings_number(s, "mup_base_hidden_size") / (double)block->attention.hidden_size;
    e->logits_scale = cse_settings_number(s, "output_logits_alpha") *
                      (cse_settings_bool(s, "scale_output_logits_by_d") ? width : sqrt(width));
    return CSE_OK;
}

static cse_status read_rotary(const cse_settings *s, int64_t head, cse_attention_module *attention)
{
    const char *type = cse_settings_text(s, "position_embedding_type");
    attention->rotates = type != NULL && strcmp(type, "rotary") == 0;
    return attention->rotates ? cse_rotary_read(s, head, &attention->rotary) : CSE_OK;
}

static cse_status read_block(const cse_settings *s, cse_initial initial, cse_block_module *block)
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
        .attention = { .hidden_size = hidden,
                       .num_heads = heads,
                       .no_projection_bias =
                           !cse_settings_bool(s, "use_projection_bias_in_attention"),
                       .no_output_bias = !cse_settings_bool(s, "use_ffn_bias_in_attention"),
                       .projection = initial,
                       .output = initial,
                       .attention_dropout = number_or(s, "attention_dropout_rate", dropout),
                       .output_dropout = dropout,
                       .scale = scale_of_scores(s, hidden / heads) },
        .ffn = { .hidden_size = hidden,
                 .filter_size = cse_settings_integer(s, "filter_size"),
                 .activation = cse_settings_text(s, "encoder_nonlinearity"),
                 .no_bias = !cse_settings_bool(s, "use_ffn_bias"),
                 .input = initial,
                 .output = initial,
                 .output_dropout = dropout },
    };
    return read_rotary(s, hidden / heads, &block->attention);
}

/* What text_encoder asks for besides, and the blocks of its layers that are not like the others. */
static void vary_blocks(const cse_bert_layers *layers, cse_bert_encoder *e)
{
    cse_block_module *block = &e->block;
    e->counts_rows = layers->counts_rows;
    block->norm = layers->norm != NULL ? layers->norm : block->norm;
    block->attention.rotary.interleaved = !layers->rotates_halves;
    block->ffn.inner_dropout = layers->inner_dropout;
    if (layers->has_attention_output)
        block->attention.output_dropout = layers->attention_output_dropout;
    e->first_block = e->local_block = *block;
    e->first_block.lacks_attention_norm = layers->first_lacks_norm;
    e->local_block.attention.window = layers->window > 0 ? layers->window + 1 : 0;
    if (layers->local_theta > 0)
        e->local_block.attention.rotary.base = layers->local_theta;
}

static const cse_block_module *block_of_layer(const cse_bert_encoder *e,
                                              const cse_bert_layers *layers, int n)
{
    const bool is_local =
        layers->window > 0 && layers->global_every > 0 && n % layers->global_every != 0;
    return n == 0 ? &e->first_block : is_local ? &e->local_block : &e->block;
}

/* ---- parameters ---- */

static void declare_embeddings(cse_model *model, cse_bert_encoder *e, const cse_settings *s,
                               const initials *i)
{
    const int64_t hidden = e->block.attention.hidden_size;
    const char *type = cse_settings_text(s, "position_embedding_type");
    const int64_t positions = cse_settings_integer(s, "max_position_embeddings");
    e->words = cse_table_parameters(
        model, cse_model_text(model, "%s.embedding_layer.word_embeddings", e->prefix),
        cse_settings_integer(s, "vocab_size"), hidden, i->words);
    if (type != NULL && strcmp(type, "learned") == 0)
        e->positions = cse_table_parameters(
            model, cse_model_text(model, "%s.embedding_layer.position_embeddings.embed", e->prefix),
            positions + (e->masks_positions && !e->counts_rows ? e->pad_token + 1 : 0), hidden,
            i->positions);
}

static void declare(cse_model *model, cse_bert_encoder *e, const cse_settings *s,
                    const cse_bert_options *options)
{
    const int64_t hidden = e->block.attention.hidden_size;
    const char *stack = cse_model_text(model, "%s.transformer_encoder", e->prefix);
    if (cse_settings_bool(s, "embedding_layer_norm"))
        e->embedding_norm =
            cse_norm_parameters(model, cse_model_text(model, "%s.embed_ln_f", e->prefix),
                                e->block.norm, hidden, e->block.epsilon);
    for (int n = 0; n < e->layer_count; n++)
        cse_block_parameters(model, cse_model_text(model, "%s.layers.%d", stack, n),
                             block_of_layer(e, &options->layers, n), &e->blocks[n]);
    if (cse_settings_bool(s, "use_final_layer_norm"))
        e->last_norm = cse_norm_parameters(model, cse_model_text(model, "%s.norm", stack),
                                           e->block.norm, hidden, e->block.epsilon);
    if (options->pools)
        e->pooler = cse_linear_module(
            model, cse_model_text(model, "%s.pooler.pooler.ffn.0.linear_layer", e->prefix), hidden,
            hidden,
            &(cse_linear_options){ .weight = e->block.attention.projection,
                                   .no_bias = e->block.ffn.no_bias });
}

static cse_status read_padding(const cse_settings *s, cse_bert_encoder *e, const char *setting)
{
    e->has_padding = cse_settings_has(s, setting);
    e->pad_token = e->has_padding ? (int32_t)cse_settings_integer(s, setting) : 0;
    e->masks_positions = cse_settings_bool(s, "mask_padding_in_positional_embed");
    return !e->masks_positions || (e->has_padding && e->pad_token >= 0)
               ? CSE_OK
               : cse_fail(CSE_CONFIG, "mask_padding_in_positional_embed (%s) needs %s",
                          cse_settings_origin(s, "mask_padding_in_positional_embed"), setting);
}

cse_status cse_bert_build(cse_model *model, cse_bert_encoder *e, const cse_settings *s,
                          const cse_bert_options *options)
{
    initials i;
    const char *pooler = cse_settings_text(s, "pooler_nonlinearity");
    e->prefix = options->prefix;
    e->layer_count = (int)cse_settings_integer(s, "num_hidden_layers");
    e->embedding_dropout = options->embedding_dropout;
    e->dropped_token = options->dropped_token;
    e->embeddings_scale = cse_settings_number(s, "embeddings_scale");
    e->pooler_activation = pooler != NULL ? pooler : cse_settings_text(s, "encoder_nonlinearity");
    CSE_TRY(read_padding(s, e, options->pad_setting));
    CSE_TRY(read_initials(s, &i));
    CSE_TRY(read_block(s, i.plain, &e->block));
    vary_blocks(&options->layers, e);
    CSE_TRY(read_mup(s, e));
    declare_embeddings(model, e, s, &i);
    if (options->segments > 0)
        e->segments = cse_table_parameters(
            model, cse_model_text(model, "%s.embedding_layer.segment_embeddings", e->prefix),
            options->segments, e->block.attention.hidden_size, i.segments);
    declare(model, e, s, options);
    if (!cse_settings_has(s, "mup_base_hidden_size"))
        return CSE_OK;
    const double width =
        cse_settings_number(s, "mup_base_hidden_size") / (double)e->block.attention.hidden_size;
    const double filter =
        cse_settings_number(s, "mup_base_filter_size") / (double)e->block.ffn.filter_size;
    for (int n = 0; n < e->layer_count; n++)
        cse_block_rates(&e->blocks[n], width, filter);
    cse_parameter_rate(e->pooler.weight, width);
    return CSE_OK;
}

/* ---- tracing ---- */

/* int32 [batch, time]: tokens are numbered from pad_token + 1, padding has pad_token. */
static cse_tensor *counted_positions(const cse_bert_encoder *e, cse_tensor *tokens)
{
    cse_tensor *padding = cse_constant_int(e->pad_token);
    cse_tensor *is_token = cse_cast(cse_not_equal(tokens, padding), CSE_INT32);
    return cse_add(cse_mul(cse_cumsum(is_token, 1), is_token), padding);
}

/* With several sequences in a sample each begins at position 0. */
static cse_tensor *positions_of(const cse_model *model, const cse_bert_encoder *e,
                                const cse_bert_inputs *inputs)
{
    const int64_t time = cse_tensor_shape(inputs->tokens).dims[1];
    const char *type = cse_settings_text(cse_model_settings_view(model), "position_embedding_type");
    if (type == NULL || e->block.attention.rotates)
        return NULL; /* none, or where attention is */
    cse_tensor *table = e->positions != NULL
                            ? cse_read(e->positions)
                            : cse_sinusoidal_positions(time, e->block.attention.hidden_size);
    if (e->masks_positions && e->counts_rows)
        return cse_embedding_padded(table, counted_positions(e, inputs->tokens), e->pad_token);
    if (e->masks_positions)
        return cse_embedding(table, counted_positions(e, inputs->tokens));
    return inputs->positions != NULL ? cse_embedding(table, inputs->positions)
           : e->positions != NULL    ? cse_slice_axis(table, 0, 0, time)
                                     : table;
}

/* Token dropout of ESM-2: in x [batch, time, channel] the embeddings of masked tokens become 0, and
 * the others are scaled by (1 - 0.15 * 0.8) / (1 - share of the sample's tokens that are masked).
 * 0.15 * 0.8 is the share in ESM-2's training: 15 % of tokens are chosen, 80 % of those masked. */
static cse_tensor *drop_tokens(const cse_bert_encoder *e, cse_tensor *x,
                               const cse_bert_inputs *inputs)
{
    const double trained = 1 - 0.15 * 0.8;
    const cse_shape shape = cse_tensor_shape(inputs->tokens);
    cse_tensor *masked =
        cse_cast(cse_equal(inputs->tokens, cse_constant_int(e->dropped_token)), CSE_FLOAT32);
    cse_tensor *length =
        inputs->attention_mask != NULL
            ? cse_sum(cse_cast(inputs->attention_mask, CSE_FLOAT32), cse_axes(1), true)
            : cse_constant((double)shape.dims[1]);
    cse_tensor *left =
        cse_sub(cse_constant(1), cse_div(cse_sum(masked, cse_axes(1), true), length));
    cse_tensor *scale =
        cse_mul(cse_sub(cse_constant(1), masked), cse_div(cse_constant(trained), left));
    scale = cse_reshape(scale, cse_shape_of(shape.dims[0], shape.dims[1], 1));
    return cse_mul(x, cse_cast(scale, cse_tensor_dtype(x)));
}

static cse_tensor *embed(const cse_model *model, const cse_bert_encoder *e,
                         const cse_bert_inputs *inputs)
{
    cse_tensor *words = cse_read(e->words);
    cse_tensor *x = e->has_padding ? cse_embedding_padded(words, inputs->tokens, e->pad_token)
                                   : cse_embedding(words, inputs->tokens);
    if (cse_trace_is_poison(x))
        return x;
    x = e->dropped_token >= 0 ? drop_tokens(e, x, inputs) : x;
    cse_tensor *positions = positions_of(model, e, inputs);
    x = positions != NULL ? cse_add(x, positions) : x;
    if (e->segments != NULL) {
        cse_tensor *table = cse_read(e->segments);
        x = cse_add(x, inputs->segments != NULL ? cse_embedding(table, inputs->segments)
                                                : cse_slice_axis(table, 0, 0, 1));
    }
    x = e->embeddings_scale != 1 ? cse_scale(x, e->embeddings_scale) : x;
    x = e->embedding_norm.weight != NULL ? cse_apply_norm(&e->embedding_norm, x) : x;
    return cse_apply_dropout(model, e->embedding_dropout, x, "output");
}

cse_tensor *cse_bert_encode(cse_model *model, const cse_bert_encoder *e,
                            const cse_bert_inputs *inputs)
{
    const cse_settings *s = cse_model_settings_view(model);
    const cse_shape shape = cse_tensor_shape(inputs->tokens);
    const int64_t rows = cse_settings_integer(s, "max_position_embeddings");
    const int64_t longest = rows - (e->masks_positions && e->counts_rows ? e->pad_token + 1 : 0);
    cse_tensor *x = NULL, *spans = NULL;
    if (!cse_trace_is_poison(inputs->tokens) && (shape.rank != 2 || shape.dims[1] > longest))
        return cse_trace_fail(CSE_SHAPE,
                              "the model takes tokens [batch, time] of at most "
                              "max_position_embeddings (%lld) a sample, not rank %d with %lld",
                              (long long)longest, shape.rank,
                              (long long)(shape.rank > 1 ? shape.dims[1] : 0));
    if (inputs->span != NULL && inputs->positions == NULL)
        return cse_trace_fail(CSE_SHAPE, "attention_span needs position_ids");
    CSE_SCOPE(NULL, cse_model_text(model, "%s.embedding_layer", e->prefix))
    {
        x = embed(model, e, inputs);
        spans = inputs->span != NULL ? cse_sequence_spans(inputs->span, inputs->positions)
                : inputs->attention_mask != NULL
                    ? cse_padding_spans(inputs->attention_mask, shape.dims[1])
                    : NULL;
    }
    if (cse_trace_is_poison(x))
        return x;
    const cse_block_call call = { .self = { .spans = spans } };
    for (int n = 0; n < e->layer_count; n++)
        x = cse_apply_block(model, &e->blocks[n], x, &call);
    return e->last_norm.weight != NULL ? cse_apply_norm(&e->last_norm, x) : x;
}

cse_tensor *cse_bert_pool(const cse_bert_encoder *e, cse_tensor *x)
{
    const cse_shape shape = cse_tensor_shape(x);
    if (cse_trace_is_poison(x))
        return x;
    x = cse_reshape(cse_slice_axis(x, 1, 0, 1), cse_shape_of(shape.dims[0], shape.dims[2]));
    return cse_activate(e->pooler_activation, cse_apply_linear(e->pooler, x));
}

cse_bert_inputs cse_bert_step_inputs(cse_step *step)
{
    static const char *const others[] = { "labels",         "attention_mask",
                                          "token_type_ids", "masked_lm_positions",
                                          "masked_lm_mask", "next_sentence_label",
                                          "mlm_loss_scale", "attention_span",
                                          "position_ids",   NULL };
    cse_tensor *segments = cse_step_optional_input(step, "token_type_ids");
    return (cse_bert_inputs){
        .tokens = cse_step_main_input(step, "input_ids", others),
        .attention_mask = cse_step_optional_input(step, "attention_mask"),
        .segments = segments != NULL ? segments : cse_step_optional_input(step, "segment_ids"),
        .span = cse_step_optional_input(step, "attention_span"),
        .positions = cse_step_optional_input(step, "position_ids"),
    };
}
