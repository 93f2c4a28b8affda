/* Models: names, shapes and number of parameters, initial values, and modes. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/models/decoder.h"
#include "engine/nn/plugins.h"
#include "run/contracts/contract.h"
#include "tests/support/traced_run.h"

typedef struct expected_parameter {
    const char *name;
    cse_shape shape;
} expected_parameter;

static void check_parameters(cse_model *model, const expected_parameter *expected, int count)
{
    ck_assert_msg(model != NULL, "%s", cse_error_message());
    ck_assert_int_eq(cse_parameter_tensors(model), count);
    for (int i = 0; i < count; i++) {
        cse_state *state = cse_parameter_at(model, i);
        ck_assert_str_eq(cse_state_name_view(state), expected[i].name);
        ck_assert(cse_shape_equal(cse_state_shape(state), expected[i].shape));
    }
    ck_assert_ptr_null(cse_parameter_at(model, count));
}

/* The reference's README: 784-500-300-10, and its shipped configuration, ten layers of 50. */
START_TEST(fc_mnist_has_the_references_parameters)
{
    const expected_parameter expected[] = {
        { "model.fc_layers.0.weight", cse_shape_of(500, 784) },
        { "model.fc_layers.0.bias", cse_shape_of(500) },
        { "model.fc_layers.1.weight", cse_shape_of(300, 500) },
        { "model.fc_layers.1.bias", cse_shape_of(300) },
        { "model.last_layer.weight", cse_shape_of(10, 300) },
        { "model.last_layer.bias", cse_shape_of(10) },
    };
    open_session();
    cse_model *model = cse_model_new("fc_mnist", "{hidden_sizes: [500, 300]}");
    check_parameters(model, expected, 6);
    ck_assert_int_eq(cse_parameter_count(model), 545810);
    cse_finish();
    open_session();
    model = cse_model_new("fc_mnist", "{hidden_sizes: [50, 50, 50, 50, 50, 50, 50, 50, 50, 50]}");
    ck_assert_int_eq(cse_parameter_count(model), 62710);
    cse_finish();
}
END_TEST

START_TEST(cnn_has_its_parameters)
{
    const expected_parameter expected[] = {
        { "model.conv_layers.0.weight", cse_shape_of(4, 3, 3, 3) },
        { "model.conv_layers.0.bias", cse_shape_of(4) },
        { "model.conv_layers.1.weight", cse_shape_of(6, 4, 3, 3) },
        { "model.conv_layers.1.bias", cse_shape_of(6) },
        { "model.hidden_layer.weight", cse_shape_of(20, 6 * 4 * 4) },
        { "model.hidden_layer.bias", cse_shape_of(20) },
        { "model.last_layer.weight", cse_shape_of(5, 20) },
        { "model.last_layer.bias", cse_shape_of(5) },
    };
    open_session();
    check_parameters(cse_model_new("cnn", "{image_size: 16, channels: 3, conv_channels: [4, 6], "
                                          "hidden_size: 20, num_classes: 5}"),
                     expected, 8);
    cse_finish();
}
END_TEST

/* Uniform in +-1/sqrt(784): mean 0, variance bound^2 / 3; 392,000 draws bring the mean within
 * 5 sigma = 5 x bound / sqrt(3 x 392000). */
START_TEST(linear_weights_begin_as_pytorchs)
{
    enum { ELEMENTS = 500 * 784 };
    const double bound = 1 / sqrt(784);
    float *values = malloc(ELEMENTS * sizeof *values);
    double sum = 0, squares = 0, largest = 0;
    open_session();
    cse_model *model = cse_model_new("fc_mnist", NULL);
    ck_assert_int_eq(cse_state_get(cse_parameter_at(model, 0), values, ELEMENTS * sizeof *values),
                     CSE_OK);
    for (int i = 0; i < ELEMENTS; i++) {
        sum += (double)values[i];
        squares += (double)values[i] * (double)values[i];
        largest = fmax(largest, fabs((double)values[i]));
    }
    ck_assert_double_le(largest, bound * (1 + 1e-6));
    ck_assert_double_ge(largest, bound * 0.999);
    ck_assert_double_eq_tol(sum / ELEMENTS, 0, 5 * bound / sqrt(3.0 * ELEMENTS));
    ck_assert_double_eq_tol(squares / ELEMENTS, bound * bound / 3, 0.02 * bound * bound);
    free(values);
    cse_finish();
}
END_TEST

static cse_tensor *loss_step(cse_step *step, void *self)
{
    return cse_model_loss(self, step, NULL);
}

static const char data[] = "{data_processor: synthetic, samples: 64, features: [8], classes: 3, "
                           "batch_size: 16}";

static float loss_in_mode(bool training)
{
    traced_run traced;
    open_session();
    cse_model *model = cse_compile(cse_model_new(
        "fc_mnist", "{input_size: 8, hidden_sizes: [16], num_classes: 3, dropout: 0.5}"));
    if (!training)
        cse_eval_mode(model);
    traced_run_open(&traced, data, loss_step, model);
    traced_run_step(&traced);
    float loss = straight_run_fetched(&traced.run, 0);
    traced_run_close(&traced);
    cse_finish();
    return loss;
}

START_TEST(dropout_works_while_training_alone)
{
    float evaluated = loss_in_mode(false), trained = loss_in_mode(true);
    ck_assert(evaluated == loss_in_mode(false) && trained == loss_in_mode(true));
    ck_assert(evaluated != trained);
    /* Small initial weights: the loss is near that of equal chances, log(3). */
    ck_assert_double_eq_tol((double)evaluated, log(3), 0.3);
}
END_TEST

/* Attributes of the random numbers of a step: [0] the least one, [1] how far they reach. */
typedef struct noise {
    cse_model *model;
    int count;
    double numbers[2];
} noise;

static cse_tensor *noise_step(cse_step *step, void *self)
{
    noise *n = self;
    cse_tensor *loss = cse_model_loss(n->model, step, NULL);
    const cse_graph *graph = cse_trace_graph();
    n->count = 0;
    for (int i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i]->op->name, "random_uniform") == 0) {
            n->count++;
            memcpy(n->numbers, graph->nodes[i]->attributes.numbers, sizeof n->numbers);
        }
    return loss;
}

static void noise_of(noise *n, const char *alpha, bool training)
{
    static const char tokens[] = "{data_processor: text_bytes, path: /proc/self/exe, "
                                 "sequence_length: 8, batch_size: 2, micro_batch_size: 1}";
    char settings[300];
    traced_run traced;
    snprintf(settings, sizeof settings,
             "{vocab_size: 256, hidden_size: 16, num_hidden_layers: 1, num_heads: 2, dropout: 0.0, "
             "max_position_embeddings: 8, embeddings_scale: 4, neftune_noise_alpha: %s}",
             alpha);
    open_session();
    n->model = cse_compile(cse_model_new("gpt2", settings));
    ck_assert_msg(n->model != NULL, "%s", cse_error_message());
    if (!training)
        cse_eval_mode(n->model);
    traced_run_open(&traced, tokens, noise_step, n);
    traced_run_close(&traced);
    cse_finish();
}

/* Jain et al. 2023, algorithm 1: uniform in [-1, 1] times alpha / sqrt(L d), here 8 * 16. */
START_TEST(noise_on_embeddings_is_that_of_neftune)
{
    noise n = { .count = 0 };
    noise_of(&n, "5", true);
    ck_assert_int_eq(n.count, 1);
    ck_assert_double_eq_tol(n.numbers[0], -5 / sqrt(128.0), 1e-12);
    ck_assert_double_eq_tol(n.numbers[1], 10 / sqrt(128.0), 1e-12);
    noise_of(&n, "5", false);
    ck_assert_int_eq(n.count, 0);
    noise_of(&n, "0", true);
    ck_assert_int_eq(n.count, 0);
}
END_TEST

START_TEST(a_model_must_be_compiled)
{
    open_session();
    cse_model *model = cse_model_new("fc_mnist", "{input_size: 8, hidden_sizes: [4]}");
    const char *message = traced_failure(data, loss_step, model);
    ck_assert_msg(strstr(message, "call cse_compile(model) first") != NULL, "%s", message);
    cse_finish();
}
END_TEST

static const struct {
    const char *name, *settings, *message;
} wrong[] = {
    { "fc_mist", NULL, "did you mean 'fc_mnist'" },
    { "fc_mnist", "{hidden_sizes: [0]}", "out of range" },
    { "fc_mnist", "{activation: rleu}", "relu" },
    { "fc_mnist", "{depth: 3}", "belong together" },
    { "cnn", "{image_size: 30}", "divisible by 4" },
    { "cnn", "{conv_channels: [4]}", "two entries" },
    { "gpt3", "{attention_chunk_size: 5}", "is 5, which is not supported; accepted: null" },
    { "llama", "{moe: {num_experts: 4, top_k: 5}}", "accepted: 1 to num_experts, which is 4" },
    { "llama", "{moe: {num_expert: 4}}", "did you mean \"num_experts\"" },
    { "llama", "{moe: {num_experts: 4, routing_algorithm: hash}}", "accepted: learned" },
    { "llama", "{moe: {num_experts: 4, shared_expert_gate: true}}", "num_shared_experts" },
    { "llama", "{moe: {num_experts: 4, mlp_only_layers: [12]}}", "mlp_only_layers" },
    { "llama",
      "{moe: {num_experts: 4, null_expert_bias: 1, expert_weighting_normalization: false}}",
      "expert_weighting_normalization: true alone" },
    { "gpt2", "{dropout: 0.1, dropout_rate: 0.1}", "names of the same setting" },
    { "gpt2", "{attention_sink_tokens: 4}", "belongs to attention_sliding_window_length" },
    { "gpt2", "{loss_weight: 0.5}", "loss_scaling: batch_size alone" },
    { "gpt2", "{mup_base_hidden_size: 256}", "belong together" },
    { "llama", "{rotary_dim: 128}", "up to the size of a head, which is 64" },
    { "llama", "{extra_attention_params: {num_kv_groups: 2}}", "attention_module" },
    { "llama",
      "{attention_module: multiquery_attention, extra_attention_params: {num_kv_groups: 5}}",
      "divisible by num_kv_groups" },
    { "llama", "{nonlinearity: swiglu_clamped}", "swiglu" },
    { "bert", "{hidden_size: 100}", "divisible by num_heads" },
    { "vit", "{patch_size: [15, 16]}", "must be divisible by it" },
    { "resnet", "{depth: 19}", "accepted: 18, 34, 50" },
    { "lenet", "{image_size: [8, 8]}", "accepted: 12 x 12 and more" },
    { "layers", "{input_shape: [4], layers: [rellu]}",
      "1:29: there is no layer of type \"rellu\"; did you mean \"relu\"?; accepted: linear" },
    { "layers", "{input_shape: [4], layers: [relu, {conv2d: {out: 3}}]}",
      "1:35: layer layers.1 of type conv2d takes [channel, height, width], not [4]" },
    { "layers", "{input_shape: [4], layers: [{residual: {layers: [{linear: {out: 3}}]}}]}",
      "takes layers that keep the shape, or a shortcut that makes the same, not [3]" },
    { "layers", "{input_shape: [4], layers: [{linear: {outs: 3}}]}", "did you mean \"out\"" },
    { "layers", "{input_shape: [4], layers: [{repeat: {count: 2}}]}", "a list of layers belongs" },
    { "layers", "{input_shape: [4], layers: [[relu]]}", "a layer is the name of a type" },
    { "layers", "{layers: [relu]}", "input_shape" },
};

START_TEST(wrong_settings_are_named)
{
    open_session();
    ck_assert_ptr_null(cse_model_new(wrong[_i].name, wrong[_i].settings));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), wrong[_i].message) != NULL, "%s",
                  cse_error_message());
    cse_finish();
}
END_TEST

static double deviation_of(cse_model *model, const char *name)
{
    for (int i = 0; i < cse_parameter_tensors(model); i++) {
        cse_state *state = cse_parameter_at(model, i);
        if (strcmp(cse_state_name_view(state), name) != 0)
            continue;
        const int64_t count = cse_shape_elements(cse_state_shape(state));
        float *values = malloc((size_t)count * sizeof *values);
        double squares = 0;
        ck_assert_int_eq(cse_state_get(state, values, (size_t)count * sizeof *values), CSE_OK);
        for (int64_t v = 0; v < count; v++)
            squares += (double)values[v] * (double)values[v];
        free(values);
        return sqrt(squares / (double)count);
    }
    ck_abort_msg("there is no %s", name);
}

/* By muP with hidden_size 512 of 128, filter_size 2048 of 512 and 3 layers. A normal that is cut at
 * two deviations has 0.8796 of its deviation. The factors are the ModelZoo's, as its code computes
 * them when it builds the models: width^-1/2, and (2 layers)^-1/2 of the layers that add to the
 * residual stream; none of BERT's, and none of GPT-J's initializers that are given. */
#define MUP                                                                                      \
    "hidden_size: 512, num_hidden_layers: 3, num_heads: 8, filter_size: 2048, vocab_size: 512, " \
    "max_position_embeddings: 512, mup_base_hidden_size: 128, mup_base_filter_size: 512"
#define CUT (0.02 * 0.8796)
#define DECODER "model.transformer_decoder.layers.2."
#define ENCODER "model.bert_encoder.transformer_encoder.layers.2."
static const struct {
    const char *model, *settings;
    double query, output, input, last;
    double scale; /* of the products of queries and keys */
} starts[] = {
    { "gpt3", "{" MUP "}", CUT / 2, CUT / 2 / 2.4495, CUT / 2, CUT / 2 / 2.4495, 1.0 / 64 },
    { "gpt3", "{" MUP ", scale_qk_dot_by_d: false}", CUT / 2, CUT / 2 / 2.4495, CUT / 2,
      CUT / 2 / 2.4495, 1.0 / 8 },
    { "gptj", "{" MUP "}", CUT / 2, CUT / 2 / 2.4495, CUT / 2, CUT / 2 / 2.4495, 1.0 / 8 },
    { "gptj", "{" MUP ", scale_qk_dot_by_d: true}", CUT / 2, CUT / 2 / 2.4495, CUT / 2,
      CUT / 2 / 2.4495, 1.0 / 64 },
    { "falcon", "{" MUP "}", CUT / 2, CUT / 2 / 2.4495, CUT / 2, CUT / 2 / 2.4495, 1.0 / 8 },
    { "gptj",
      "{" MUP
      ", initializer: {name: truncated_normal, std: 0.02}, output_layer_initializer: {name: "
      "normal, std: 0.03}}",
      CUT, 0.03, 0.03, 0.03, 1.0 / 8 },
    { "bert", "{" MUP "}", CUT, CUT, CUT, CUT, 0 },
};

START_TEST(mup_begins_as_the_modelzoo)
{
    const bool encodes = strcmp(starts[_i].model, "bert") == 0;
    const char *const names[] = {
        encodes ? ENCODER "self_attn.proj_q_dense_layer.weight"
                : DECODER "self_attn.proj_q_dense_layer.weight",
        encodes ? ENCODER "self_attn.proj_output_dense_layer.weight"
                : DECODER "self_attn.proj_output_dense_layer.weight",
        encodes ? ENCODER "ffn.ffn.0.linear_layer.weight" : DECODER "ffn.ffn.0.linear_layer.weight",
        encodes ? ENCODER "ffn.ffn.1.linear_layer.weight" : DECODER "ffn.ffn.1.linear_layer.weight",
    };
    const double expected[] = { starts[_i].query, starts[_i].output, starts[_i].input,
                                starts[_i].last };
    open_session();
    cse_model *model = cse_model_new(starts[_i].model, starts[_i].settings);
    ck_assert_msg(model != NULL, "%s", cse_error_message());
    if (!encodes)
        ck_assert_double_eq(((const cse_decoder *)cse_model_self(model))->block.attention.scale,
                            starts[_i].scale);
    for (int n = 0; n < 4; n++) {
        const double deviation = deviation_of(model, names[n]);
        ck_assert_msg(fabs(deviation / expected[n] - 1) < 0.01, "%s: %s begins with %g, not %g",
                      starts[_i].model, names[n], deviation, expected[n]);
    }
    cse_finish();
}
END_TEST

START_TEST(every_model_keeps_its_contract)
{
    for (int k = 0; cse_models[k] != NULL; k++) {
        const cse_setting *row = cse_models[k]->settings;
        ck_assert_msg(cse_contract_settings(row, cse_models[k]->name) == CSE_OK, "%s: %s",
                      cse_models[k]->name, cse_error_message());
        while (row->name != NULL && row->default_value != NULL)
            row++;
        if (row->name != NULL) /* it must be given */
            continue;
        open_session();
        cse_model *model = cse_model_new(cse_models[k]->name, NULL);
        ck_assert_msg(model != NULL, "%s", cse_error_message());
        ck_assert_int_gt(cse_parameter_tensors(model), 0);
        ck_assert_int_eq(cse_models[k]->abi, CSE_MODEL_ABI);
        cse_finish();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("models");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, fc_mnist_has_the_references_parameters);
    tcase_add_test(cases, cnn_has_its_parameters);
    tcase_add_test(cases, linear_weights_begin_as_pytorchs);
    tcase_add_test(cases, dropout_works_while_training_alone);
    tcase_add_test(cases, noise_on_embeddings_is_that_of_neftune);
    tcase_add_test(cases, a_model_must_be_compiled);
    tcase_add_loop_test(cases, wrong_settings_are_named, 0, (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_loop_test(cases, mup_begins_as_the_modelzoo, 0,
                        (int)(sizeof starts / sizeof *starts));
    tcase_add_test(cases, every_model_keeps_its_contract);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
