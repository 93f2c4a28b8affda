/* What the causal language models share: gpt2, gpt3 and llama are one network, of whose settings
 * each has other defaults. */
#ifndef CSE_MODELS_DECODER_H
#define CSE_MODELS_DECODER_H

#include "engine/nn/models/decoder_parts.h"

cse_status cse_decoder_build(cse_model *model, const cse_settings *settings);
/* The same with attention and feed-forward network side by side; the table has
 * CSE_PARALLEL_DECODER_SETTINGS, too. */
cse_status cse_parallel_decoder_build(cse_model *model, const cse_settings *settings);
cse_tensor *cse_decoder_forward(cse_model *model, cse_tensor *tokens);
cse_tensor *cse_decoder_loss(cse_model *model, cse_step *step, cse_tensor **predictions);

/* ---- the table of settings, with the defaults in which the models differ ---- */

#define CSE_DECODER_ACTIVATIONS CSE_ACTIVATION_NAMES "|" CSE_GATED_ACTIVATION_NAMES

#define CSE_PARALLEL_DECODER_SETTINGS                                                         \
    CSE_DECODER_ROW("use_untied_layer_norm", BOOL, "false",                                   \
                    "the feed-forward network has a norm of its own, norm3, "                 \
                    "not that of the attention"),                                             \
        CSE_DECODER_ROW("use_parallel_residual", BOOL, "true",                                \
                        "attention and feed-forward network read the same input; false: one " \
                        "after the other, each with a norm")

/* Each argument is a default: of position_embedding_type, norm_type, nonlinearity, biases,
 * share_embedding_weights and dropout_rate. */
#define CSE_DECODER_SETTINGS(position, norm, activation, bias, shared, dropout)                    \
    CSE_DECODER_RANGE("hidden_size", INTEGER, "768", 1, 1 << 20,                                   \
                      "channels of the residual stream, divisible by num_heads"),                  \
        CSE_DECODER_RANGE("num_hidden_layers", INTEGER, "12", 1, CSE_DECODER_LAYERS,               \
                          "blocks of attention and feed-forward network"),                         \
        CSE_ALIAS_SETTING("num_layers", "num_hidden_layers"),                                      \
        CSE_DECODER_RANGE("num_heads", INTEGER, "12", 1, 1 << 16,                                  \
                          "attention heads of each layer"),                                        \
        CSE_DECODER_RANGE("filter_size", INTEGER, "null", 1, 1 << 24,                              \
                          "hidden units of the feed-forward networks; null: 4 times hidden_size"), \
        CSE_DECODER_RANGE("vocab_size", INTEGER, "50257", 1, 1 << 24,                              \
                          "number of different tokens; 256 for bytes"),                            \
        CSE_DECODER_RANGE("word_embedding_size", INTEGER, "null", 1, 1 << 20,                      \
                          "channels of the word embeddings, which linear layers without biases "   \
                          "take to hidden_size and back; null: hidden_size"),                      \
        CSE_DECODER_RANGE("pad_token_id", INTEGER, "null", -(1 << 24), 1 << 24,                    \
                          "the word embedding of this token (below 0: counted from the end) is "   \
                          "not trained by the places that it has in texts; null: all are"),        \
        CSE_DECODER_RANGE("max_position_embeddings", INTEGER, "1024", 1, 1 << 24,                  \
                          "tokens of the longest sample"),                                         \
        CSE_DECODER_CHOICE("position_embedding_type", position,                                    \
                           "learned|fixed|relative|rotary|alibi|null",                             \
                           "how positions enter; null: not at all"),                               \
        CSE_DECODER_RANGE(                                                                         \
            "position_embedding_offset", INTEGER, "0", 0, 1 << 20,                                 \
            "learned: so many rows of the table come before that of the first token"),             \
        CSE_DECODER_CHOICE("alibi_type", "standard", "standard|falcon",                            \
                           "alibi; falcon: slopes, and their products with positions, are "        \
                           "rounded to bfloat16 and added before scores are scaled"),              \
        CSE_DECODER_RANGE("rotary_dim", INTEGER, "null", 2, 1 << 16,                               \
                          "channels of a head that are rotated, an even number; null: a quarter"), \
        CSE_DECODER_RANGE("rope_theta", NUMBER, "10000", 1e-6, 1e300, "base of the rotation"),     \
        CSE_DECODER_RANGE("pos_scaling_factor", NUMBER, "1", 1e-6, 1e9,                            \
                          "rotary: positions are divided by this"),                                \
        CSE_DECODER_CHOICE("pos_scaling_type", "linear", "linear|llama3|dynamic|yarn|longrope",    \
                           "rotary: which pairs of channels are scaled, and how"),                 \
        CSE_DECODER_ROW("pos_scaling_extra_args", ANY, "null",                                     \
                        "llama3: {low_freq_factor, high_freq_factor, "                             \
                        "original_max_position_embeddings}; yarn and longrope: docs/models.md"),   \
        CSE_DECODER_RANGE("num_relative_attention_buckets", INTEGER, "32", 2, 4096,                \
                          "relative: buckets of distances"),                                       \
        CSE_DECODER_CHOICE("norm_type", norm, CSE_NORM_NAMES, "of all norms"),                     \
        CSE_DECODER_RANGE("layer_norm_epsilon", NUMBER, "1e-5", 1e-12, 1,                          \
                          "added to the variance in norms"),                                       \
        CSE_DECODER_ROW("norm_first", BOOL, "true",                                                \
                        "norms before the parts of a block; false: after the sums"),               \
        CSE_DECODER_ROW("use_final_layer_norm", BOOL, "null",                                      \
                        "norm before the logits; null: norm_first"),                               \
        CSE_DECODER_ROW(                                                                           \
            "apply_residual_connection_post_layernorm", BOOL, "false",                             \
            "norm_first: what is added to the output of a part is its input after the norm"),      \
        CSE_DECODER_ROW("embedding_layer_norm", BOOL, "false", "norm right after the embeddings"), \
        CSE_DECODER_CHOICE("nonlinearity", activation, CSE_DECODER_ACTIVATIONS,                    \
                           "of the feed-forward networks; those in glu have a gate"),              \
        CSE_ALIAS_SETTING("activation", "nonlinearity"),                                           \
        CSE_DECODER_RANGE("dropout_rate", NUMBER, dropout, 0, 0.999,                               \
                          "probability, while training, that an output of a layer is dropped"),    \
        CSE_ALIAS_SETTING("dropout", "dropout_rate"),                                              \
        CSE_ALIAS_SETTING("residual_dropout_rate", "dropout_rate"),                                \
        CSE_DECODER_RANGE("embedding_dropout_rate", NUMBER, "null", 0, 0.999,                      \
                          "the same of embeddings; null: dropout_rate"),                           \
        CSE_ALIAS_SETTING("embd_pdrop", "embedding_dropout_rate"),                                 \
        CSE_DECODER_RANGE("neftune_noise_alpha", NUMBER, "0", 0, 1e6,                              \
                          "NEFTune: uniform noise on word embeddings while training, of at most "  \
                          "this / sqrt(tokens of a sample * channels); 0: none"),                  \
        CSE_DECODER_RANGE("attention_dropout_rate", NUMBER, "null", 0, 0.999,                      \
                          "the same of attention weights; null: dropout_rate"),                    \
        CSE_DECODER_CHOICE("attention_type", "scaled_dot_product",                                 \
                           "scaled_dot_product|dot_product",                                       \
                           "whether scores are divided by the root of the head's size"),           \
        CSE_DECODER_CHOICE("attention_module", "aiayn_attention",                                  \
                           "aiayn_attention|multiquery_attention",                                 \
                           "multiquery_attention: heads share keys and values"),                   \
        CSE_DECODER_ROW("extra_attention_params", ANY, "null",                                     \
                        "multiquery_attention: {num_kv_groups: heads of keys and values}"),        \
        CSE_DECODER_RANGE("attention_inner_dim", INTEGER, "null", 1, 1 << 22,                      \
                          "channels of all queries; null: hidden_size"),                           \
        CSE_DECODER_RANGE("attention_sliding_window_length", INTEGER, "null", 1, 1 << 30,          \
                          "a token sees so many tokens, itself among them; null: all before it"),  \
        CSE_DECODER_RANGE("attention_sink_tokens", INTEGER, "null", 0, 1 << 30,                    \
                          "first tokens that every token sees in spite of the window"),            \
        CSE_DECODER_ROW("use_projection_bias_in_attention", BOOL, bias,                            \
                        "biases of queries, keys and values"),                                     \
        CSE_DECODER_ROW("use_ffn_bias_in_attention", BOOL, bias, "biases of attention's output"),  \
        CSE_DECODER_ROW("use_ffn_bias", BOOL, bias, "biases of the feed-forward networks"),        \
        CSE_DECODER_ROW("use_bias_in_output", BOOL, "false", "bias of the logits"),                \
        CSE_DECODER_ROW("share_embedding_weights", BOOL, shared,                                   \
                        "the word embeddings are also the weight of the logits"),                  \
        CSE_DECODER_RANGE("initializer_range", NUMBER, "0.02", 0, 1e9,                             \
                          "deviation of the truncated normal that weights begin with"),            \
        CSE_DECODER_ROW("initializer", ANY, "null", "of attention's weights, {name: ..., ...}"),   \
        CSE_DECODER_ROW("embedding_initializer", ANY, "null", "of embeddings"),                    \
        CSE_DECODER_ROW(                                                                           \
            "output_layer_initializer", ANY, "null",                                               \
            "of the layers that add to the residual stream; null: initializer_range / "            \
            "sqrt(2 num_hidden_layers)"),                                                          \
        CSE_DECODER_ROW("ffn_initializer", ANY, "null",                                            \
                        "of the first layer of feed-forward "                                      \
                        "networks; null: initializer"),                                            \
        CSE_DECODER_ROW("ffn_output_layer_initializer", ANY, "null",                               \
                        "of their second layer; null: output_layer_initializer"),                  \
        CSE_DECODER_RANGE("mup_base_hidden_size", NUMBER, "null", 1e-6, 1e9,                       \
                          "muP: hidden_size of the base model; with mup_base_filter_size"),        \
        CSE_DECODER_RANGE("mup_base_filter_size", NUMBER, "null", 1e-6, 1e9,                       \
                          "muP: filter_size of the base model"),                                   \
        CSE_DECODER_ROW("embeddings_scale", NUMBER, "1", "embeddings are multiplied by this"),     \
        CSE_DECODER_ROW("scale_qk_dot_by_d", BOOL, "null",                                         \
                        "scores are divided by the head's size, not its root; null: with muP"),    \
        CSE_DECODER_ROW("attention_logits_alpha", NUMBER, "1", "factor of attention scores"),      \
        CSE_DECODER_ROW("output_logits_alpha", NUMBER, "null", "muP: factor of the logits"),       \
        CSE_DECODER_ROW("scale_output_logits_by_d", BOOL, "true",                                  \
                        "muP: the logits are scaled by the ratio of widths, not by its root"),     \
        CSE_DECODER_ROW("output_logits_scale", NUMBER, "null", "factor of the logits"),            \
        CSE_DECODER_ROW("norm_first_sandwich", BOOL, "false",                                      \
                        "norms of the outputs of attention and network, too"),                     \
        CSE_DECODER_RANGE("attention_logit_softcapping", NUMBER, "null", 1e-6, 1e9,                \
                          "scores are cap * tanh(score / cap) with this cap; null: as they are"),  \
        CSE_DECODER_RANGE("final_logit_softcapping", NUMBER, "null", 1e-6, 1e9,                    \
                          "the same of the logits"),                                               \
        CSE_DECODER_ROW("sliding_window_every_other_decoder_layer", BOOL, "false",                 \
                        "every other layer has the window"),                                       \
        CSE_DECODER_CHOICE("sliding_window_every_other_decoder_layer_pattern",                     \
                           "full_attention_first", "full_attention_first|sliding_window_first",    \
                           "whether the first layer has no window"),                               \
        CSE_DECODER_RANGE("attention_window_layers", INTEGER_LIST, "null", 0, 1,                   \
                          "1 for each layer with the window, 0 for others, such as [1, 1, 0]; "    \
                          "it begins again where it ends; null: all"),                             \
        CSE_DECODER_RANGE("attention_window_rope_theta", NUMBER, "null", 1e-6, 1e300,              \
                          "base of the rotation in layers with a window, where positions are "     \
                          "not scaled; null: that of all"),                                        \
        CSE_DECODER_RANGE("rotary_layers", INTEGER_LIST, "null", 0, 1,                             \
                          "1 for each layer that rotates, 0 for others, which know no positions"), \
        CSE_DECODER_CHOICE("attention_qk_norm_layer", "null", CSE_NORM_NAMES "|null",              \
                           "norm of queries and keys before their rotation; null: none"),          \
        CSE_DECODER_RANGE("attention_qk_norm_eps", NUMBER, "1e-5", 1e-12, 1,                       \
                          "added to the variance in it"),                                          \
        CSE_DECODER_CHOICE("attention_qk_norm_size", "head", "head|all_heads",                     \
                           "whether each head is normed, or all of a token as one row"),           \
        CSE_DECODER_ROW("norm_of_outputs_alone", BOOL, "false",                                    \
                        "norms of the outputs of attention and network, none before them"),        \
        CSE_DECODER_CHOICE("loss_scaling", "num_tokens", "num_tokens|batch_size",                  \
                           "what the sum of losses is divided by"),                                \
        CSE_DECODER_ROW("loss_weight", NUMBER, "1", "factor of the loss, with batch_size alone"),  \
        CSE_DECODER_ROW("moe", ANY, "null", "mixture of experts: {num_experts, top_k, ...}"),      \
        CSE_DECODER_UNSUPPORTED

/* Settings of the ModelZoo without another value than their default; hints for its compiler and
 * what it uses for inference alone among them. */
#define CSE_DECODER_UNSUPPORTED                                                                   \
    CSE_UNSUPPORTED_SETTING("num_extra_input_vocab_tokens", "0", "further input tokens"),         \
        CSE_UNSUPPORTED_SETTING("constant_pos_embedding", "null", "one position for all tokens"), \
        CSE_UNSUPPORTED_SETTING("attention_vertical_column_spacing", "null", "sparse mask"),      \
        CSE_UNSUPPORTED_SETTING("attention_vertical_column_width", "null", "sparse mask"),        \
        CSE_UNSUPPORTED_SETTING("attention_chunk_size", "null", "attention within chunks"),       \
        CSE_UNSUPPORTED_SETTING("extra_ffn_params", "{}", "further arguments"),                   \
        CSE_UNSUPPORTED_SETTING("fixed_sparse_attention", "null", "sparse mask"),                 \
        CSE_UNSUPPORTED_SETTING("memory_tokens", "null", "memory tokens"),                        \
        CSE_UNSUPPORTED_SETTING("use_sink_token", "false", "learned sink of attention"),          \
        CSE_UNSUPPORTED_SETTING("alibi_trainable_slopes", "false", "learned slopes of ALiBi"),    \
        CSE_UNSUPPORTED_SETTING("cross_attention_layers", "[]", "layers with cross attention"),   \
        CSE_UNSUPPORTED_SETTING("rel_distance_mode", "default", "how distances are counted"),     \
        CSE_UNSUPPORTED_SETTING("rel_distance_extra_args", "null", "its arguments"),              \
        CSE_UNSUPPORTED_SETTING("scale_qk_dot_by_layer_idx", "false", "scores by layer"),         \
        CSE_UNSUPPORTED_SETTING("lr_adjustment_groups", "null", "muP: groups of learning rates"), \
        CSE_UNSUPPORTED_SETTING("boundary_casting", "false", "without effect"),                   \
        CSE_UNSUPPORTED_SETTING("start_token", "null", "inference"),                              \
        CSE_UNSUPPORTED_SETTING("loop_dim", "1", "inference"),                                    \
        CSE_UNSUPPORTED_SETTING("stop_sequences", "null", "inference"),                           \
        CSE_UNSUPPORTED_SETTING("max_tokens", "null", "inference"),                               \
        CSE_UNSUPPORTED_SETTING("temperature", "null", "inference"),                              \
        CSE_UNSUPPORTED_SETTING("top_k", "null", "inference"),                                    \
        CSE_UNSUPPORTED_SETTING("top_p", "null", "inference"), CSE_HINT_SETTINGS

/* What the ModelZoo's compiler and trainer go by; nothing here does. */
#define CSE_HINT_SETTINGS                                                                          \
    CSE_DECODER_ROW("attention_softmax_fp32", BOOL, "true",                                        \
                    "false permits a softmax in 16 bits; precision_opt_level says whether it is; " \
                    "no effect"),                                                                  \
        CSE_DECODER_ROW("attention_kernel", ANY, "null", "hint to another compiler; no effect"),   \
        CSE_DECODER_ROW("fold_rope_consts", BOOL, "false", "hint to another compiler; no effect"), \
        CSE_DECODER_ROW("use_experimental_flex_api", BOOL, "false",                                \
                        "hint to another compiler; no effect"),                                    \
        CSE_DECODER_ROW("dtype", ANY, "null", "the configuration's precision sets it; no effect"), \
        CSE_DECODER_ROW("compute_eval_metrics", BOOL, "true",                                      \
                        "the configuration's metrics set them; no effect"),                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }

#endif
