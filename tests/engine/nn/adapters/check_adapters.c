/* Which parameters an adapter trains, in a program in C: those of the layers that its targets meet,
 * of the shapes that its rank gives, begun as LoRA begins (A within +-1/sqrt(in), B at 0); the
 * model without it inside of the same step; and what is refused. What they compute is compared with
 * PEFT by tests/python/check_adapters.sh. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/model.h"
#include "csengine/modules.h"
#include "engine/nn/adapters/adapter.h"
#include "tests/support/traced_run.h"

static const char model_settings[] =
    "{hidden_size: 8, num_hidden_layers: 2, num_heads: 2, filter_size: 12, vocab_size: 16, "
    "max_position_embeddings: 8, position_embedding_type: learned}";

static cse_model *open_with(const char *adapters)
{
    const cse_configuration configuration = { .adapters = adapters, .seed = 1 };
    ck_assert_msg(cse_configure(&configuration) == CSE_OK, "%s", cse_error_message());
    return cse_model_new("llama", model_settings);
}

/* Linear layers of a llama's layer: queries, keys, values, output, and three of the network. */
static const struct {
    const char *adapters;
    int tensors;
    int64_t elements;
} trained[] = {
    { NULL, 22, 1448 },
    { "{}", 22, 1448 },
    { "{a: {r: 3}}", 2 * 2 * 7, 2 * 3 * (4 * 16 + 3 * 20) },
    { "{a: {r: 3, target_modules: [q_proj]}}", 4, 2 * 3 * 16 },
    { "{a: {r: 1, target_modules: [q_proj, down_proj], layers_to_transform: [1]}}", 4, 16 + 20 },
    { "{a: {r: 2, target_modules: '.*layers.0.*proj_[qk]_dense_layer'}}", 4, 2 * 2 * 16 },
    { "{a: {r: 1, target_modules: [v_proj], modules_to_save: [norm1]}}", 6, 2 * 16 + 2 * 8 },
};

START_TEST(parameters_are_those_of_the_adapter)
{
    cse_model *model = open_with(trained[_i].adapters);
    ck_assert_msg(model != NULL, "%s", cse_error_message());
    ck_assert_int_eq(cse_parameter_tensors(model), trained[_i].tensors);
    ck_assert_int_eq(cse_parameter_count(model), trained[_i].elements);
    cse_finish();
}
END_TEST

START_TEST(factors_begin_as_lora_does)
{
    float values[64];
    cse_model *model = open_with("{a: {r: 4, target_modules: [q_proj]}}");
    ck_assert_ptr_nonnull(model);
    for (int i = 0; i < 4; i++) {
        cse_state *state = cse_parameter_at(model, i);
        const char *name = cse_state_name_view(state);
        const bool is_a = strstr(name, ".lora_A.weight") != NULL;
        double most = 0;
        ck_assert(is_a || strstr(name, ".lora_B.weight") != NULL);
        ck_assert_int_eq(cse_state_get(state, values, 4 * 8 * sizeof *values), CSE_OK);
        for (int e = 0; e < 4 * 8; e++)
            most = fmax(most, fabs((double)values[e]));
        ck_assert(is_a ? most > 0.1 && most <= 1 / sqrt(8) : most == 0);
    }
    cse_finish();
}
END_TEST

static const struct {
    const char *adapters, *message;
} wrong[] = {
    { "{a: {target_modules: [q_projj]}}", "no linear layer of the model is a target \"q_projj\"" },
    { "{a: {target_modules: [proj_q_dense_laier]}}", "did you mean \"proj_q_dense_layer\"" },
    { "{a: {target_modules: 'none.*'}}", "no linear layer of the model is a target \"none.*\"" },
    { "{a: {layers_to_transform: [7]}}", "no linear layer of the model is a target" },
};

START_TEST(targets_without_a_layer_are_named)
{
    ck_assert_ptr_null(open_with(wrong[_i].adapters));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), wrong[_i].message) != NULL, "%s",
                  cse_error_message());
    cse_finish();
}
END_TEST

static const struct {
    const char *adapters, *message;
} malformed[] = {
    { "{a: {r: 0}}", "out of range" },
    { "{a: {rank: 4}}", "rank" },
    { "{a: {peft_type: IA3}}", "LORA" },
    { "{a: {target_modules: 'q_(proj'}}", "\"q_(proj\" is no regular expression: " },
    { "{a: {r: 1}, b: {r: 1}}", "none is said to be active" },
    { "{a: {modules_to_save: norm1}}", "modules_to_save is no list of names" },
};

START_TEST(malformed_sections_are_refused)
{
    const cse_configuration configuration = { .adapters = malformed[_i].adapters };
    ck_assert_int_eq(cse_configure(&configuration), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), malformed[_i].message) != NULL, "%s",
                  cse_error_message());
    cse_finish();
}
END_TEST

/* ---- the model without its adapter, in the same step ---- */

static const char mlp_settings[] = "{input_size: 6, hidden_sizes: [5], num_classes: 3}";

typedef struct both_ways {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_state *without, *with;
} both_ways;

static cse_tensor *total(cse_tensor *values)
{
    return cse_batch_mean(cse_sum_all(values));
}

static cse_tensor *both_ways_step(cse_step *step, void *self)
{
    const both_ways *b = self;
    cse_tensor *x = cse_input(step, "images"), *reference = NULL;
    CSE_WITHOUT_ADAPTERS(b->model)
    {
        reference = cse_forward(b->model, x);
    }
    cse_tensor *scores = cse_forward(b->model, x);
    cse_assign(b->without, total(reference));
    cse_assign(b->with, total(scores));
    /* The reference is a part of the loss, and gives no gradient. */
    cse_tensor *loss = cse_add(cse_cross_entropy(scores, cse_input(step, "labels")),
                               cse_scale(cse_sum_all(reference), 0));
    cse_optimizer_step(step, loss, b->optimizer, NULL, NULL);
    return loss;
}

/* Samples are the same in each step. */
static const char one_batch[] = "{data_processor: synthetic, samples: 4, features: [6], classes: "
                                "3, batch_size: 4, micro_batch_size: 2, shuffle: false}";

static both_ways open_both_ways(const char *adapters)
{
    const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };
    const cse_shape scalar = { .rank = 0 };
    const cse_configuration configuration = { .adapters = adapters, .seed = 1 };
    ck_assert_msg(cse_configure(&configuration) == CSE_OK, "%s", cse_error_message());
    both_ways b = { .model = cse_compile(cse_model_new("mlp", mlp_settings)) };
    ck_assert_msg(b.model != NULL, "%s", cse_error_message());
    b.optimizer = cse_configure_optimizer("SGD", b.model, "{learning_rate: 0.5}");
    b.without = cse_state_new("without", scalar, CSE_FLOAT32, zero);
    b.with = cse_state_new("with", scalar, CSE_FLOAT32, zero);
    return b;
}

START_TEST(a_reference_pass_is_the_model_before_its_adapter)
{
    traced_run traced;
    both_ways b = open_both_ways("{a: {r: 2}}");
    float first = 0;
    traced_run_open(&traced, one_batch, both_ways_step, &b);
    for (int step = 0; step < 4; step++) {
        traced_run_step(&traced);
        const float without = traced_floats(&traced, "without")[0];
        const float with = traced_floats(&traced, "with")[0];
        first = step == 0 ? without : first;
        ck_assert(without == first);
        ck_assert((with == without) == (step == 0));
    }
    traced_run_close(&traced);
    cse_finish();
}
END_TEST

static const struct {
    const char *adapters, *message;
} no_reference[] = {
    { NULL, "the model has none" },
    { "{a: {r: 2, bias: all}}", "adapter a trains parameters of the model itself" },
    { "{a: {r: 2, target_modules: [layers.1], modules_to_save: [layers.0]}}",
      "adapter a trains parameters of the model itself" },
};

START_TEST(a_model_without_earlier_values_has_no_reference_pass)
{
    both_ways b = open_both_ways(no_reference[_i].adapters);
    const char *message = traced_failure(one_batch, both_ways_step, &b);
    ck_assert_msg(strstr(message, no_reference[_i].message) != NULL, "%s", message);
    cse_finish();
}
END_TEST

#define COUNT(rows) (int)(sizeof(rows) / sizeof(rows)[0])

int main(void)
{
    Suite *suite = suite_create("adapters");
    TCase *cases = tcase_create("LoRA");
    tcase_add_loop_test(cases, parameters_are_those_of_the_adapter, 0, COUNT(trained));
    tcase_add_test(cases, factors_begin_as_lora_does);
    tcase_add_loop_test(cases, targets_without_a_layer_are_named, 0, COUNT(wrong));
    tcase_add_loop_test(cases, malformed_sections_are_refused, 0, COUNT(malformed));
    tcase_add_test(cases, a_reference_pass_is_the_model_before_its_adapter);
    tcase_add_loop_test(cases, a_model_without_earlier_values_has_no_reference_pass, 0,
                        COUNT(no_reference));
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
