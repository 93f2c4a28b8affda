/* What the setting `moe` of a decoder says. Its names are the ModelZoo's, with what other families
 * of models have besides: sizes of their own, a gate of the shared expert, layers without experts.
 */
#include "engine/nn/models/decoder_experts.h"

#include <string.h>

#define ROW(name_, type_, default_, doc_)                                                        \
    {                                                                                            \
        .name = (name_), .type = CSE_SETTING_##type_, .default_value = (default_), .doc = (doc_) \
    }
#define RANGE(name_, type_, default_, min_, max_, doc_)                                           \
    {                                                                                             \
        .name = (name_), .type = CSE_SETTING_##type_, .default_value = (default_), .min = (min_), \
        .max = (max_), .doc = (doc_)                                                              \
    }
#define CHOICE(name_, default_, choices_, doc_)                                   \
    {                                                                             \
        .name = (name_), .type = CSE_SETTING_CHOICE, .default_value = (default_), \
        .choices = (choices_), .doc = (doc_)                                      \
    }

static const cse_setting table[] = {
    RANGE("num_experts", INTEGER, "0", 0, 1 << 16, "experts that are chosen from; 0: none"),
    RANGE("top_k", INTEGER, "1", 1, 1 << 16, "experts of each token"),
    RANGE("filter_size", INTEGER, "null", 1, 1 << 24,
          "hidden units of an expert; null: the model's filter_size"),
    RANGE("num_shared_experts", INTEGER, "null", 1, CSE_SHARED_EXPERTS,
          "experts that all tokens go through; null: none"),
    RANGE("shared_filter_size", INTEGER, "null", 1, 1 << 24,
          "hidden units of a shared expert; null: those of the others"),
    ROW("shared_expert_gate", BOOL, "false",
        "the shared experts are weighted by the sigmoid of a linear layer"),
    RANGE("decoder_sparse_step", INTEGER, "1", 1, CSE_DECODER_LAYERS,
          "every so many layers have experts"),
    ROW("mlp_only_layers", INTEGER_LIST, "[]", "layers without experts, counted from 0"),
    RANGE("load_balancing_loss_coef", NUMBER, "0", 0, 1e9,
          "factor of the balancing loss, while training"),
    CHOICE("load_balancing_loss_over", "sample", "sample|batch|none",
           "what its means are taken over: each sample, or the microbatch; none: it is left out"),
    RANGE("null_expert_bias", NUMBER, "0", 0, 1e9,
          "added to the sum that the experts' weights are divided by"),
    ROW("router_use_bias", BOOL, "false", "bias of the router"),
    ROW("router_fp32", BOOL, "true",
        "false permits probabilities in 16 bits; precision_opt_level says whether they are; no "
        "effect"),
    CHOICE("routing_algorithm", "learned", "learned", "how experts are chosen"),
    CHOICE("router_selection_nonlinearity", "softmax", "softmax|sigmoid",
           "of what experts are chosen by"),
    CHOICE("expert_weighting_nonlinearity", "softmax", "softmax|sigmoid",
           "of what their outputs are weighted by"),
    ROW("expert_weighting_normalization", BOOL, "true",
        "the weights of a token's experts are divided by their sum"),
    RANGE("sinkhorn_n_iters", INTEGER, "1", 1, 1, "of a routing that is not there"),
    ROW("gate_initializer", ANY, "null", "of the router; null: initializer"),
    CHOICE("probability_before_ffn", "false", "false", "weights the outputs, not the inputs"),
    CHOICE("moe_implementation", "experimental",
           "functional|optimized|experimental|forge_experimental|expert_parallel",
           "hint to another compiler; no effect"),
    { .name = NULL },
};

static bool is_text(const cse_settings *s, const char *name, const char *value)
{
    return strcmp(cse_settings_text(s, name), value) == 0;
}

static int64_t integer_or(const cse_settings *s, const char *name, int64_t otherwise)
{
    return cse_settings_has(s, name) ? cse_settings_integer(s, name) : otherwise;
}

/* What belongs to a setting that was not given. */
static cse_status check_belonging(const cse_settings *moe, const cse_experts_module *o)
{
    if (o->shared_count == 0 && (cse_settings_has(moe, "shared_filter_size") ||
                                 cse_settings_bool(moe, "shared_expert_gate")))
        return cse_fail(CSE_CONFIG, "moe: shared_filter_size and shared_expert_gate belong to "
                                    "num_shared_experts; set it, or leave them out");
    if (o->null_bias > 0 && !o->normalizes)
        return cse_fail(CSE_CONFIG,
                        "moe: null_expert_bias (%s) is %g; accepted other than 0 with "
                        "expert_weighting_normalization: true alone",
                        cse_settings_origin(moe, "null_expert_bias"), o->null_bias);
    if (o->top_k > o->count)
        return cse_fail(
            CSE_CONFIG, "moe: top_k (%s) is %lld; accepted: 1 to num_experts, which is %lld",
            cse_settings_origin(moe, "top_k"), (long long)o->top_k, (long long)o->count);
    return CSE_OK;
}

static cse_status read_module(const cse_settings *moe, const cse_block_module *block,
                              cse_experts_module *o)
{
    const cse_ffn_module *ffn = &block->ffn;
    *o = (cse_experts_module){
        .hidden_size = ffn->hidden_size,
        .filter_size = integer_or(moe, "filter_size", ffn->filter_size),
        .count = cse_settings_integer(moe, "num_experts"),
        .top_k = cse_settings_integer(moe, "top_k"),
        .activation = ffn->activation,
        .no_bias = ffn->no_bias,
        .input = ffn->input,
        .output = ffn->output,
        .router = ffn->input,
        .router_bias = cse_settings_bool(moe, "router_use_bias"),
        .selects_by_sigmoid = is_text(moe, "router_selection_nonlinearity", "sigmoid"),
        .weights_by_sigmoid = is_text(moe, "expert_weighting_nonlinearity", "sigmoid"),
        .normalizes = cse_settings_bool(moe, "expert_weighting_normalization"),
        .null_bias = cse_settings_number(moe, "null_expert_bias"),
        .shared_count = (int)integer_or(moe, "num_shared_experts", 0),
        .shared = *ffn,
        .shared_gate = cse_settings_bool(moe, "shared_expert_gate"),
        .output_dropout = ffn->output_dropout,
    };
    o->shared.filter_size = integer_or(moe, "shared_filter_size", o->filter_size);
    o->shared.output_dropout = 0;
    CSE_TRY(cse_initial_read(moe, "gate_initializer", &o->router));
    return check_belonging(moe, o);
}

static cse_status read_plain_layers(const cse_settings *moe, int layers, cse_decoder_experts *e)
{
    const int count = cse_settings_count(moe, "mlp_only_layers");
    for (int i = 0; i < count; i++) {
        const int64_t layer = cse_settings_integer_at(moe, "mlp_only_layers", i);
        if (layer < 0 || layer >= layers)
            return cse_fail(CSE_CONFIG,
                            "moe: mlp_only_layers (%s) has %lld; accepted: 0 to num_hidden_layers "
                            "- 1, which is %d",
                            cse_settings_origin(moe, "mlp_only_layers"), (long long)layer,
                            layers - 1);
        e->is_plain[layer] = true;
    }
    return CSE_OK;
}

static cse_status read_experts(const cse_settings *moe, const cse_block_module *block, int layers,
                               cse_decoder_experts *e)
{
    CSE_TRY(read_module(moe, block, &e->module));
    CSE_TRY(read_plain_layers(moe, layers, e));
    e->step = cse_settings_integer(moe, "decoder_sparse_step");
    e->of_each_sample = is_text(moe, "load_balancing_loss_over", "sample");
    if (!is_text(moe, "load_balancing_loss_over", "none"))
        e->balancing = cse_settings_number(moe, "load_balancing_loss_coef");
    return CSE_OK;
}

cse_status cse_decoder_experts_read(const cse_settings *settings, const cse_block_module *block,
                                    int layers, cse_decoder_experts *experts)
{
    cse_settings *moe = NULL;
    const char *given = cse_settings_text(settings, "moe");
    *experts = (cse_decoder_experts){ .step = 1 };
    if (given == NULL)
        return CSE_OK;
    CSE_TRY(cse_settings_parse(table, "moe", given, &moe));
    /* As in the ModelZoo, 0 experts and one alone are a feed-forward network. */
    const int64_t count = cse_settings_integer(moe, "num_experts");
    cse_status status = CSE_OK;
    if (count + integer_or(moe, "num_shared_experts", 0) > 1)
        status = read_experts(moe, block, layers, experts);
    cse_settings_destroy(&moe);
    return status;
}

const cse_experts_module *cse_decoder_experts_of(const cse_decoder_experts *experts, int layer)
{
    return experts->module.count > 0 && !experts->is_plain[layer] &&
                   (layer + 1) % experts->step == 0
               ? &experts->module
               : NULL;
}
