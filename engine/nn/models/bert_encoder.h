/* What bert, bert/classifier, esm2 and text_encoder share: the encoder and its settings. */
#ifndef CSE_MODELS_BERT_ENCODER_H
#define CSE_MODELS_BERT_ENCODER_H

#include "csengine/model.h"
#include "csengine/modules.h"

enum { CSE_BERT_LAYERS = 256 };

/* What the encoder takes; all but `tokens` may be NULL. */
typedef struct cse_bert_inputs {
    cse_tensor *tokens;         /* int32 [batch, time] */
    cse_tensor *attention_mask; /* [batch, time], 1 where a token is none of padding */
    cse_tensor *segments;       /* token types, int32 [batch, time]; all 0 */
    /* For several sequences in a sample, int32 [batch, time]: how many tokens of its own sequence
     * follow a token, and how many precede it. `span` needs `positions`. */
    cse_tensor *span, *positions;
} cse_bert_inputs;

typedef struct cse_bert_encoder {
    const char *prefix; /* of the names of its parameters */
    cse_state *words, *positions, *segments;
    cse_norm_layer embedding_norm, last_norm; /* weight NULL: none */
    cse_linear_layer pooler;                  /* weight NULL: none */
    const char *pooler_activation;
    cse_block_module block;
    cse_block_module first_block, local_block; /* where layers differ (cse_bert_layers) */
    double embedding_dropout, embeddings_scale, logits_scale;
    bool has_padding; /* the row of pad_token gets no gradient */
    int32_t pad_token;
    bool masks_positions;  /* padding has no position of its own, as in RoBERTa */
    bool counts_rows;      /* as in cse_bert_layers */
    int32_t dropped_token; /* as in cse_bert_options */
    int layer_count;
    cse_block_layer blocks[CSE_BERT_LAYERS];
} cse_bert_encoder;

/* What text_encoder alone can change in the layers; zeroed: BERT's. */
typedef struct cse_bert_layers {
    const char *norm;          /* one of CSE_NORM_NAMES; NULL: layernorm */
    bool first_lacks_norm;     /* layer 0 has no norm before its attention */
    bool rotates_halves;       /* a channel turns with that half a head away, not with the next */
    int64_t window;            /* keys that local layers see on each side; 0: all layers see all */
    int64_t global_every;      /* layer n is local where this does not divide n */
    double local_theta;        /* the base of the rotation in local layers */
    bool has_attention_output; /* whether attention_output_dropout is given */
    double attention_output_dropout, inner_dropout;
    /* max_position_embeddings counts the rows of the table, those before the first token's
     * included, and the row of padding is not trained. */
    bool counts_rows;
} cse_bert_layers;

/* What the settings of both have other names or defaults for. */
typedef struct cse_bert_options {
    const char *prefix;
    bool pools;
    int64_t segments; /* 0: no token types */
    const char *pad_setting;
    double embedding_dropout;
    int32_t dropped_token; /* the mask token of ESM-2's token dropout; -1: without it */
    cse_bert_layers layers;
} cse_bert_options;

cse_status cse_bert_build(cse_model *model, cse_bert_encoder *encoder, const cse_settings *settings,
                          const cse_bert_options *options);
/* [batch, time, hidden_size]. */
cse_tensor *cse_bert_encode(cse_model *model, const cse_bert_encoder *encoder,
                            const cse_bert_inputs *inputs);
/* The first token of each sample through the pooler: [batch, hidden_size]. */
cse_tensor *cse_bert_pool(const cse_bert_encoder *encoder, cse_tensor *x);
/* The encoder's inputs among those of the step. */
cse_bert_inputs cse_bert_step_inputs(cse_step *step);

/* ---- settings ---- */

#define CSE_BERT_ROW(name_, type_, default_, doc_)                                               \
    {                                                                                            \
        .name = (name_), .type = CSE_SETTING_##type_, .default_value = (default_), .doc = (doc_) \
    }
#define CSE_BERT_RANGE(name_, type_, default_, min_, max_, doc_)                                  \
    {                                                                                             \
        .name = (name_), .type = CSE_SETTING_##type_, .default_value = (default_), .min = (min_), \
        .max = (max_), .doc = (doc_)                                                              \
    }
#define CSE_BERT_CHOICE(name_, default_, choices_, doc_)                          \
    {                                                                             \
        .name = (name_), .type = CSE_SETTING_CHOICE, .default_value = (default_), \
        .choices = (choices_), .doc = (doc_)                                      \
    }

/* Of all models; arguments are defaults. */
#define CSE_BERT_SETTINGS(vocab, positions, segments, attention_dropout, first)                    \
    CSE_BERT_RANGE("vocab_size", INTEGER, vocab, 1, 1 << 24, "number of different tokens"),        \
        CSE_BERT_RANGE("max_position_embeddings", INTEGER, positions, 1, 1 << 24,                  \
                       "tokens of the longest sample"),                                            \
        CSE_BERT_CHOICE("position_embedding_type", "learned", "learned|fixed|rotary|null",         \
                        "how positions enter; null: not at all"),                                  \
        CSE_BERT_ROW("mask_padding_in_positional_embed", BOOL, "false",                            \
                     "tokens are numbered from 1 without padding, which has number 0 (RoBERTa)"),  \
        CSE_BERT_RANGE("hidden_size", INTEGER, "768", 1, 1 << 20,                                  \
                       "channels of the residual stream, divisible by num_heads"),                 \
        CSE_BERT_RANGE("num_hidden_layers", INTEGER, "12", 1, CSE_BERT_LAYERS, "blocks"),          \
        CSE_BERT_RANGE("num_heads", INTEGER, "12", 1, 1 << 16, "attention heads of each layer"),   \
        CSE_BERT_RANGE("filter_size", INTEGER, "3072", 1, 1 << 24,                                 \
                       "hidden units of the feed-forward networks"),                               \
        CSE_BERT_RANGE("num_segments", INTEGER, segments, 1, 1 << 16, "token types"),              \
        CSE_BERT_CHOICE("encoder_nonlinearity", "gelu",                                            \
                        CSE_ACTIVATION_NAMES "|" CSE_GATED_ACTIVATION_NAMES,                       \
                        "of the feed-forward networks; those in glu have a gate"),                 \
        CSE_ALIAS_SETTING("nonlinearity", "encoder_nonlinearity"),                                 \
        CSE_BERT_CHOICE("pooler_nonlinearity", "null", CSE_ACTIVATION_NAMES,                       \
                        "of the pooler; null: encoder_nonlinearity"),                              \
        CSE_BERT_RANGE("dropout_rate", NUMBER, "0.1", 0, 0.999,                                    \
                       "probability, while training, that an output of a layer is dropped"),       \
        CSE_BERT_RANGE("embedding_dropout_rate", NUMBER, "null", 0, 0.999,                         \
                       "the same of embeddings; null: dropout_rate"),                              \
        CSE_BERT_RANGE("attention_dropout_rate", NUMBER, attention_dropout, 0, 0.999,              \
                       "the same of attention weights; where null is the default: dropout_rate"),  \
        CSE_BERT_RANGE("layer_norm_epsilon", NUMBER, "1e-5", 1e-12, 1,                             \
                       "added to the variance in norms"),                                          \
        CSE_BERT_CHOICE("attention_type", "scaled_dot_product", "scaled_dot_product|dot_product",  \
                        "whether scores are divided by the root of the head's size"),              \
        CSE_BERT_ROW("norm_first", BOOL, first, "norms before attention and networks"),            \
        CSE_BERT_ROW("embedding_layer_norm", BOOL, "true", "norm right after the embeddings"),     \
        CSE_BERT_ROW("use_final_layer_norm", BOOL, "false", "norm after the last block"),          \
        CSE_BERT_ROW("use_projection_bias_in_attention", BOOL, "true",                             \
                     "biases of queries, keys and values"),                                        \
        CSE_BERT_ROW("use_ffn_bias_in_attention", BOOL, "true", "biases of attention's output"),   \
        CSE_BERT_ROW("use_ffn_bias", BOOL, "true", "biases of feed-forward networks and pooler"),  \
        CSE_BERT_RANGE("initializer_range", NUMBER, "0.02", 0, 1e9,                                \
                       "deviation of the truncated normal that weights begin with"),               \
        CSE_BERT_ROW("default_initializer", ANY, "null", "of the encoder's weights, {name: ...}"), \
        CSE_BERT_ROW("embeddings_initializer", ANY, "null", "of tokens; null: the default"),       \
        CSE_BERT_ROW("position_embeddings_initializer", ANY, "null", "null: the default"),         \
        CSE_BERT_ROW("segment_embeddings_initializer", ANY, "null", "null: the default"),          \
        CSE_BERT_RANGE("mup_base_hidden_size", NUMBER, "null", 1e-6, 1e9,                          \
                       "muP: hidden_size of the base model; with mup_base_filter_size"),           \
        CSE_BERT_RANGE("mup_base_filter_size", NUMBER, "null", 1e-6, 1e9,                          \
                       "muP: filter_size of the base model"),                                      \
        CSE_BERT_ROW("embeddings_scale", NUMBER, "1", "embeddings are multiplied by this"),        \
        CSE_BERT_ROW("scale_qk_dot_by_d", BOOL, "null",                                            \
                     "scores are divided by the head's size, not its root; null: with muP"),       \
        CSE_BERT_ROW("attention_logits_alpha", NUMBER, "1", "factor of attention scores"),         \
        CSE_BERT_ROW("output_logits_alpha", NUMBER, "1", "muP: factor of the logits"),             \
        CSE_BERT_ROW("scale_output_logits_by_d", BOOL, "true",                                     \
                     "muP: the logits are scaled by the ratio of widths, not by its root"),        \
        CSE_UNSUPPORTED_SETTING("attention_module", "aiayn_attention",                             \
                                "heads with their own keys"),                                      \
        CSE_UNSUPPORTED_SETTING("extra_attention_params", "{}", "its arguments"),                  \
        CSE_UNSUPPORTED_SETTING("attention_softmax_fp32", "true",                                  \
                                "the softmax is computed in float32; pol sets its precision"),     \
        CSE_BERT_RANGE("rotary_dim", INTEGER, "null", 2, 1 << 16,                                  \
                       "channels of a head that rotate; null: a quarter of them"),                 \
        CSE_BERT_RANGE("rope_theta", NUMBER, "10000", 1e-6, 1e12,                                  \
                       "base of the wave lengths of the rotation"),                                \
        CSE_UNSUPPORTED_SETTING("num_relative_attention_buckets", "32", "relative positions"),     \
        CSE_UNSUPPORTED_SETTING("alibi_trainable_slopes", "false", "ALiBi"),                       \
        CSE_UNSUPPORTED_SETTING("pos_scaling_factor", "1.0", "scaled positions"),                  \
        CSE_UNSUPPORTED_SETTING("pos_scaling_type", "linear", "scaled positions"),                 \
        CSE_UNSUPPORTED_SETTING("pos_scaling_extra_args", "null", "scaled positions"),             \
        CSE_UNSUPPORTED_SETTING("freeze_ffn_bias_in_glu", "false", "biases without training"),     \
        CSE_UNSUPPORTED_SETTING("lr_adjustment_groups", "null", "muP: groups of learning rates"),  \
        CSE_BERT_ROW("attention_kernel", ANY, "null", "hint to another compiler; no effect"),      \
        CSE_BERT_ROW("fold_rope_consts", BOOL, "false", "hint to another compiler; no effect"),    \
        CSE_BERT_ROW("dtype", ANY, "null", "the configuration's precision sets it; no effect"),    \
        CSE_BERT_ROW("compute_eval_metrics", BOOL, "true",                                         \
                     "the configuration's metrics set them; no effect")

#endif
