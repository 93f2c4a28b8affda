/* The modules that models are made of: for those who write a model of their own.
 *
 * A module is a struct of options and of handles of states. X_parameters declares what it trains,
 * in a model's `build`; cse_apply_X traces it, in `forward`. Names of parameters are those of the
 * ModelZoo. The caller opens the scope (CSE_SCOPE, CSE_MODULE) that a module is traced in, which
 * the precision of layers and streams of random numbers go by; blocks open those of their parts.
 * Options that are zero have the default that stands beside them. */
#ifndef CSENGINE_MODULES_H
#define CSENGINE_MODULES_H

#include "csengine/model.h"
#include "csengine/op_options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- initialisers ---- */

typedef enum cse_initial_kind {
    CSE_INITIAL_FIXED,  /* `fixed`, whatever the shape */
    CSE_INITIAL_SCALED, /* of the variance scale / fan */
} cse_initial_kind;

typedef enum cse_fan {
    CSE_FAN_IN,
    CSE_FAN_OUT,
    CSE_FAN_AVERAGE,
} cse_fan;

typedef enum cse_distribution {
    CSE_DISTRIBUTION_UNIFORM,
    CSE_DISTRIBUTION_NORMAL,
    CSE_DISTRIBUTION_TRUNCATED_NORMAL,
} cse_distribution;

/* How weights begin, before their shape is known. Zeroed: all 0. */
typedef struct cse_initial {
    cse_initial_kind kind;
    cse_initializer fixed;
    double scale;
    cse_fan fan;
    cse_distribution distribution;
} cse_initial;

CSE_API cse_initial cse_initial_constant(double value);
CSE_API cse_initial cse_initial_normal(double deviation);
/* Mean 0, cut at two deviations. */
CSE_API cse_initial cse_initial_truncated_normal(double deviation);
/* Mean 0 and the variance scale / fan: He (2, CSE_FAN_OUT, normal), Glorot (1, CSE_FAN_AVERAGE,
 * uniform), PyTorch's Linear and Conv2d (1.0 / 3, CSE_FAN_IN, uniform). */
CSE_API cse_initial cse_initial_scaled(double scale, cse_fan fan, cse_distribution distribution);
/* The same with the deviation times `factor`; constants stay. */
CSE_API cse_initial cse_initial_times(cse_initial initial, double factor);
/* For a weight [out, in, ...]; fans are counted as PyTorch does. */
CSE_API cse_initializer cse_initial_for(cse_initial initial, cse_shape shape);
/* Reads the setting `name` of type CSE_SETTING_ANY: "zeros" or {name: truncated_normal, std: 0.02}.
 * Names: constant, ones, zeros, eye, uniform, normal, truncated_normal, xavier_normal,
 * xavier_uniform, kaiming_normal, kaiming_uniform, variance_scaling, lecun_normal, lecun_uniform.
 * Null leaves `initial` as it is. CSE_CONFIG says what is accepted. */
CSE_API cse_status cse_initial_read(const cse_settings *settings, const char *name,
                                    cse_initial *initial);

/* ---- settings of models ---- */

/* A row of a settings table for a setting of the ModelZoo of which the model knows the default
 * alone; cse_refuse_unsupported names the first one that has another value. */
#define CSE_UNSUPPORTED_SETTING(name_, default_, doc_)                         \
    {                                                                          \
        .name = (name_), .type = CSE_SETTING_ANY, .default_value = (default_), \
        .choices = (default_), .doc = (doc_)                                   \
    }
CSE_API cse_status cse_refuse_unsupported(const cse_setting *table, const cse_settings *settings);
/* A row for another name of a setting. */
#define CSE_ALIAS_SETTING(name_, of_)                                                          \
    {                                                                                          \
        .name = (name_), .type = CSE_SETTING_ALIAS, .default_value = "null", .choices = (of_), \
        .doc = "the same as " of_                                                              \
    }

/* ---- activations ---- */

#define CSE_ACTIVATION_NAMES                                                        \
    "relu|leaky_relu|silu|swish|gelu|gelu_tanh|tanh|gelu_new|gelu_fast|quick_gelu|" \
    "squared_gelu|squared_relu|mish|linear|sigmoid|relu6"
#define CSE_GATED_ACTIVATION_NAMES "liglu|geglu|geglu_tanh|reglu|swiglu"

/* One of CSE_ACTIVATION_NAMES of x; any other name is an error of the step. */
CSE_API cse_tensor *cse_activate(const char *name, cse_tensor *x);
/* Whether both names mean the same function, as gelu_tanh and gelu_new do. */
CSE_API bool cse_activation_is_same(const char *one, const char *other);
/* Whether it is one of CSE_GATED_ACTIVATION_NAMES, and x * activation(gate) (Shazeer 2020). */
CSE_API bool cse_activation_is_gated(const char *name);
CSE_API cse_tensor *cse_activate_gated(const char *name, cse_tensor *x, cse_tensor *gate);

/* x, of which elements are dropped while the model trains; `stream` counts within the scope. */
CSE_API cse_tensor *cse_apply_dropout(const cse_model *model, double probability, cse_tensor *x,
                                      const char *stream);

/* ---- linear, convolution, norm, embedding ---- */

typedef struct cse_linear_options {
    cse_initial weight;
    bool no_bias; /* false: a bias that begins at 0 */
} cse_linear_options;

/* <name>.weight [out, in] and <name>.bias; applied by cse_apply_linear. */
CSE_API cse_linear_layer cse_linear_module(cse_model *model, const char *name, int64_t in,
                                           int64_t out, const cse_linear_options *options);

typedef struct cse_conv2d_layer {
    cse_state *weight, *bias; /* [out, in / groups, kernel, kernel]; [out] or NULL */
    cse_conv2d_options options;
} cse_conv2d_layer;

typedef struct cse_conv2d_module_options {
    int64_t in, out, kernel[2];
    cse_conv2d_options conv;
    bool no_bias;
    bool has_initial; /* false: as PyTorch's Conv2d */
    cse_initial weight;
} cse_conv2d_module_options;

/* <name>.weight and <name>.bias. */
CSE_API cse_conv2d_layer cse_conv2d_parameters(cse_model *model, const char *name,
                                               const cse_conv2d_module_options *options);
CSE_API cse_tensor *cse_apply_conv2d(const cse_conv2d_layer *layer, cse_tensor *x);

#define CSE_NORM_NAMES \
    "layernorm|rmsnorm|zero-centered-rmsnorm|biasless-layernorm|nonparametric-layernorm"

typedef struct cse_norm_layer {
    bool is_rms;
    double epsilon;
    cse_state *weight, *bias; /* [channel]; NULL: there is none */
    bool is_zero_centered;    /* the factor of a channel is 1 + weight */
} cse_norm_layer;

/* The norm `kind`, one of CSE_NORM_NAMES, of the last axis: <name>.weight (1; 0 where it is
 * zero-centered, as Gemma's, and 1 is added), <name>.bias (0). */
CSE_API cse_norm_layer cse_norm_parameters(cse_model *model, const char *name, const char *kind,
                                           int64_t channels, double epsilon);
CSE_API cse_tensor *cse_apply_norm(const cse_norm_layer *layer, cse_tensor *x);

/* <name>.weight [rows, channels]. */
CSE_API cse_state *cse_table_parameters(cse_model *model, const char *name, int64_t rows,
                                        int64_t channels, cse_initial initial);
/* The sine and cosine of position / 10000^(i / (channels / 2 - 1)) in the channels 2 i and 2 i + 1,
 * for positions from 0 on: the waves of Vaswani et al. 2017, with lengths of 2 pi to 20000 pi as in
 * tensor2tensor; float32 [time, channels]. */
CSE_API cse_tensor *cse_sinusoidal_positions(int64_t time, int64_t channels);
/* Row positions[b, p] of x [batch, time, channel] for int32 positions [batch, count]. */
CSE_API cse_tensor *cse_gather_positions(cse_tensor *x, cse_tensor *positions);

/* ---- attention ---- */

typedef struct cse_attention_module {
    int64_t hidden_size, num_heads;
    int64_t key_heads;   /* heads of keys and values, a divisor of num_heads; 0: num_heads */
    int64_t inner_size;  /* channels of all queries; 0: hidden_size */
    int64_t memory_size; /* channels of what keys and values are made of; 0: hidden_size */
    bool no_projection_bias, no_output_bias;
    cse_initial projection, output; /* of weights; biases begin at 0 */
    double attention_dropout, output_dropout;
    double scale; /* of the products; 0: 1 / sqrt(head) */
    bool causal;
    int64_t window, sink; /* as in cse_attention_options */
    bool rotates;         /* by `rotary`; its positions come with the call */
    cse_rotary_options rotary;
    double cap;     /* scores become cap * tanh(score / cap); 0: they do not */
    bool has_query; /* the weight of queries begins as `query`, not as `projection` */
    cse_initial query;
    const char *head_norm; /* of queries and keys before their rotation, one of CSE_NORM_NAMES
                              (Dehghani et al. 2023); NULL: none */
    double head_norm_epsilon;
    bool norms_all_heads; /* all heads of a token as one row (OLMo 2), not each head */
} cse_attention_module;

typedef struct cse_attention_layer {
    const cse_attention_module *options; /* borrowed */
    cse_linear_layer query, key, value, output;
    cse_norm_layer query_norm, key_norm;
} cse_attention_layer;

/* <name>.proj_q_dense_layer, .proj_k_dense_layer, .proj_v_dense_layer and
 * .proj_output_dense_layer, and with head_norm .q_norm and .k_norm. `options` must live as long as
 * the model. */
CSE_API cse_attention_layer cse_attention_parameters(cse_model *model, const char *name,
                                                     const cse_attention_module *options);

/* cap * tanh(x / cap): x where it is small, and never more than cap (Bello et al. 2016). */
CSE_API cse_tensor *cse_soft_cap(cse_tensor *x, double cap);

/* What a call may have besides x; zeroed: nothing. */
typedef struct cse_attention_call {
    cse_tensor *memory;    /* of keys and values [batch, key, channel]; NULL: x itself */
    cse_tensor *mask;      /* as in cse_attention_options */
    cse_tensor *positions; /* of the rotation: int32 [time] or [batch, time] */
    cse_tensor *spans;     /* as in cse_attention_options */
} cse_attention_call;

/* x [batch, time, hidden_size]; the result has its shape. */
CSE_API cse_tensor *cse_apply_attention(const cse_model *model, const cse_attention_layer *layer,
                                        cse_tensor *x, const cse_attention_call *call);

/* int32 or float [batch, key], 1 where a key is seen, as a mask [batch, 1, 1, key] of bools. */
CSE_API cse_tensor *cse_padding_mask(cse_tensor *attention_mask);
/* Keys j of which query i is at most span[j] places away, for several samples in a row:
 * span int32 [batch, key] gives [batch, 1, key, key]. */
CSE_API cse_tensor *cse_span_mask(cse_tensor *span);
/* The same for attention in both directions: query i sees the keys j of its own sample, those with
 * 0 <= i - j <= span[j] or 0 <= j - i <= positions[j]. positions int32 [batch, key] counts from 0
 * in each sample. */
CSE_API cse_tensor *cse_sequence_mask(cse_tensor *span, cse_tensor *positions);

/* What the three masks say as spans of cse_attention_options, which one kernel takes:
 * int32 [batch, 2, key]. `queries`: as many as there are. */
CSE_API cse_tensor *cse_padding_spans(cse_tensor *attention_mask, int64_t queries);
CSE_API cse_tensor *cse_distance_spans(cse_tensor *span);
CSE_API cse_tensor *cse_sequence_spans(cse_tensor *span, cse_tensor *positions);

/* ---- feed-forward networks, blocks ---- */

typedef struct cse_ffn_module {
    int64_t hidden_size, filter_size;
    const char *activation; /* of either kind */
    bool no_bias;
    cse_initial input, output;
    double inner_dropout, output_dropout;
} cse_ffn_module;

typedef struct cse_ffn_layer {
    const cse_ffn_module *options; /* borrowed */
    cse_linear_layer input, gate, output;
} cse_ffn_layer;

/* <name>.ffn.0.linear_layer, <name>.ffn.0.linear_layer_for_glu where the activation is gated, and
 * <name>.ffn.1.linear_layer. */
CSE_API cse_ffn_layer cse_ffn_parameters(cse_model *model, const char *name,
                                         const cse_ffn_module *options);
CSE_API cse_tensor *cse_apply_ffn(const cse_model *model, const cse_ffn_layer *layer,
                                  cse_tensor *x);

enum { CSE_SHARED_EXPERTS = 16 };

/* A mixture of experts: each token goes through the `top_k` experts that a router gives the largest
 * probabilities, and through the shared ones. */
typedef struct cse_experts_module {
    int64_t hidden_size, filter_size; /* the latter of each expert */
    int64_t count, top_k;
    const char *activation; /* of either kind */
    bool no_bias;           /* of the experts */
    cse_initial input, output, router;
    bool router_bias;
    bool selects_by_sigmoid, weights_by_sigmoid; /* not by softmax */
    bool normalizes;                             /* the weights of a token's experts sum to 1 */
    double null_bias; /* normalizes: added to the sum, as the weight of no expert at all */
    int shared_count; /* networks that all tokens go through */
    cse_ffn_module shared;
    bool shared_gate; /* their outputs are weighted by the sigmoid of a linear layer */
    double output_dropout;
} cse_experts_module;

/* The linear layers of all experts: [experts, out, in], and [experts, out] or NULL. */
typedef struct cse_expert_linear {
    cse_state *weight, *bias;
} cse_expert_linear;

typedef struct cse_experts_layer {
    const cse_experts_module *options; /* borrowed; NULL: there are none */
    cse_linear_layer router;
    cse_expert_linear input, gate, output;
    cse_ffn_layer shared[CSE_SHARED_EXPERTS];
    cse_linear_layer shared_gate;
} cse_experts_layer;

/* <name>.gate, which is the router; <name>.experts.ffn with the names of a feed-forward network,
 * each of all experts; <name>.experts.shared_experts.N; <name>.shared_expert_gate. */
CSE_API void cse_experts_parameters(cse_model *model, const char *name,
                                    const cse_experts_module *options, cse_experts_layer *layer);

/* What the routers of a forward pass chose: for each sample and expert the sums over tokens and
 * layers of how often it was chosen, and of its probabilities. `mask` is set before the pass:
 * [batch, time] of any type, by which tokens count (NULL: all 1); the rest begins zeroed. */
typedef struct cse_routing {
    cse_tensor *mask;
    cse_tensor *counts, *shares; /* [batch, experts] */
    int64_t tokens;              /* of a sample */
    int layers;
} cse_routing;

/* x [batch, time, hidden_size]; `routing` may be NULL. */
CSE_API cse_tensor *cse_apply_experts(const cse_model *model, const cse_experts_layer *layer,
                                      cse_tensor *x, cse_routing *routing);

/* The balancing loss of Fedus et al. 2021, a float32 scalar of the microbatch: the number of
 * experts times the sum over them of share of choices times mean probability, both over all layers
 * and over the tokens of the microbatch, or of each sample, of which it is the mean then. It is
 * top_k where all experts are alike; 0 without experts. */
CSE_API cse_tensor *cse_balancing_loss(const cse_routing *routing, bool of_each_sample);

typedef struct cse_block_module {
    cse_attention_module attention;
    const cse_attention_module *cross; /* attention to `memory` between both; NULL: none */
    cse_ffn_module ffn;
    const char *norm; /* one of CSE_NORM_NAMES */
    double epsilon;
    bool post_norm;            /* norms after the sums (Vaswani et al. 2017), not before */
    const char *ffn_norm_name; /* NULL: "norm2"; a decoder's is "norm3" */
    bool parallel;             /* both parts read the block's input; not with post_norm */
    bool shares_norm;          /* parallel: with the attention's norm for both */
    bool sandwich;             /* pre-norm: the parts' outputs have norms, too */
    bool residual_of_norm;     /* pre-norm: what is added to a part is its norm's output */
    bool scales_layers;        /* LayerScale (Touvron et al. 2021) that begins at layer_scale */
    double layer_scale;
    bool lacks_attention_norm; /* pre-norm: attention reads the block's input as it is */
    bool norms_outputs_alone;  /* a sandwich without the norms before the parts (OLMo 2) */
} cse_block_module;

typedef struct cse_block_layer {
    const cse_block_module *options; /* borrowed */
    const char *name;
    cse_norm_layer attention_norm, cross_norm, ffn_norm;
    cse_norm_layer attention_norm_after, ffn_norm_after; /* sandwich */
    cse_attention_layer attention, cross;
    cse_ffn_layer ffn;
    cse_experts_layer experts; /* in place of ffn */
    cse_state *attention_scale, *ffn_scale;
} cse_block_layer;

/* <name>.norm1, .self_attn, (.norm2, .multihead_attn,) .norm2 or .norm3, .ffn; also
 * .layer_scale1 and .layer_scale2, and of a sandwich .norm1_post and .norm2_post or .norm3_post
 * (which alone are there with norms_outputs_alone). */
CSE_API void cse_block_parameters(cse_model *model, const char *name,
                                  const cse_block_module *options, cse_block_layer *layer);
/* The same with a mixture of experts for its feed-forward network, <name>.ffn; NULL: without. */
CSE_API void cse_block_parameters_with(cse_model *model, const char *name,
                                       const cse_block_module *options,
                                       const cse_experts_module *experts, cse_block_layer *layer);

typedef struct cse_block_call {
    cse_attention_call self, cross;
    cse_routing *routing; /* of experts; may be NULL */
} cse_block_call;

/* muP's learning rates of the weights of matrices (Yang et al. 2022): `width` for attention and the
 * first layer of the feed-forward network, `filter` for its second. */
CSE_API void cse_block_rates(const cse_block_layer *layer, double width, double filter);

/* x [batch, time, hidden_size]; opens the scope of the block's name. */
CSE_API cse_tensor *cse_apply_block(const cse_model *model, const cse_block_layer *layer,
                                    cse_tensor *x, const cse_block_call *call);

/* ---- inputs and losses ---- */

/* The input of the step by name, or NULL where the data do not offer it. */
CSE_API cse_tensor *cse_step_optional_input(cse_step *step, const char *name);
/* The input named `name`, else the only one whose name is not in `others` (ended by NULL); an error
 * of the step where there is none. */
CSE_API cse_tensor *cse_step_main_input(cse_step *step, const char *name,
                                        const char *const others[]);

/* The loss sum / count, each summed over the global batch (float32 scalars of the microbatch), for
 * a mean over what counts, where microbatches have different shares of it. It stands for the
 * quotient wherever a loss is taken: cse_optimizer_step, cse_gradients, the scaler, closures,
 * cse_batch_mean, the result of a step function or of a model's `loss`. So do sums of such losses
 * and others, and multiples by what is the same in all microbatches; sums of quotients with
 * different counts cost a backward pass for each count. Any other op sees the quotient of its
 * microbatch. A count of 0 gives the sum. `step` may be NULL. */
CSE_API cse_tensor *cse_loss_quotient(cse_step *step, cse_tensor *sum, cse_tensor *count);

/* What validations take for metrics of tokens, such as the perplexity, where the loss is not their
 * mean: the sum of the losses (float32 scalar of the microbatch) and the weights (float32, of the
 * shape of the labels; NULL: all 1). A model's `loss` may call it. */
CSE_API void cse_loss_of_tokens(cse_step *step, cse_tensor *sum, cse_tensor *weights);

/* The loss of a classifier: logits [..., classes], int32 labels [...]. The mean over the labels of
 * the global batch that are not -100, as PyTorch's cross_entropy; cse_loss_of_tokens is told.
 * Labels may be probabilities, too: float32 [..., classes]. The section `loss` of a configuration
 * adds label smoothing and weights of classes. */
CSE_API cse_tensor *cse_classification_loss(cse_tensor *logits, cse_tensor *labels);

typedef struct cse_lm_loss_options {
    bool by_batch; /* the sum over the number of samples, not over that of counted tokens */
    double weight; /* of the loss; 0: 1 */
    double label_smoothing;
    /* A float32 scalar of the microbatch that is added to its loss, such as cse_balancing_loss; of
     * several microbatches they weigh as their counted tokens do. NULL: none. */
    cse_tensor *penalty;
} cse_lm_loss_options;

/* The loss of a language model: logits [batch, time, vocab], int32 labels [batch, time], mask
 * (any type) of the same shape, by which losses are multiplied (NULL: all 1). Labels of -100 do not
 * count, whatever their mask is. The mean over counted tokens is that of the global batch, by
 * cse_loss_quotient; cse_loss_of_tokens is told. */
CSE_API cse_tensor *cse_lm_loss(cse_tensor *logits, cse_tensor *labels, cse_tensor *mask,
                                const cse_lm_loss_options *options);

#ifdef __cplusplus
}
#endif

#endif
