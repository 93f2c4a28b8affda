/* Parameter groups: values of PyTorch with groups of settings and with schedules for each; and the
 * mistakes in them. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/nn/configured.h"
#include "tests/reference/parameter_groups.h"
#include "tests/support/traced_run.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
enum { STEPS = 6, SIZE = 3 };

typedef struct training {
    cse_state *states[2]; /* model.weight, model.norm.bias */
    cse_optimizer *optimizer;
} training;

/* The gradient of each parameter is the row. */
static cse_tensor *step_function(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *x = cse_input(step, "images");
    cse_tensor *both = cse_add(cse_read(t->states[0]), cse_read(t->states[1]));
    cse_tensor *loss = cse_sum_all(cse_mul(x, both));
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

static cse_model *open_model(training *t)
{
    const cse_initializer half = { CSE_INIT_CONSTANT, 0.5, 0 };
    open_session();
    cse_session_open_view("test")->network.fetches_metrics = true;
    t->states[0] = cse_state_new("model.weight", cse_shape_of(SIZE), CSE_FLOAT32, half);
    t->states[1] = cse_state_new("model.norm.bias", cse_shape_of(SIZE), CSE_FLOAT32, half);
    return cse_model_from_states("two", t->states, 2);
}

static const struct {
    const char *optimizer, *settings, *schedule;
    const double (*expected)[2 * SIZE];
    const char *rates[2]; /* names of the rates that are fetched, in order; NULL: none */
} cases[] = {
    { "SGD",
      "{lr: 0.1, momentum: 0.9, weight_decay: 0.1, params: [{params: ['*.bias'], lr: 0.05, "
      "weight_decay: 0}]}",
      NULL,
      sgd_groups,
      { NULL, NULL } },
    { "SGD",
      "{lr: 0.1, momentum: 0.9, weight_decay: 0.1, params: [{params: 'model.norm.*', "
      "learning_rate: 0.05, weight_decay: 0}]}",
      NULL,
      sgd_groups,
      { NULL, NULL } },
    { "AdamW",
      "{lr: 0.01, betas: [0.9, 0.99], eps: 0.0, params: [{params: [norm.bias], weight_decay: 0}, "
      "{params: ['weight'], weight_decay: 0.3}]}",
      NULL,
      adamw_groups,
      { NULL, NULL } },
    { "SGD",
      "{lr: 0.1, momentum: 0.9, weight_decay: 0.1, params: [{params: ['*bias'], weight_decay: 0, "
      "adjust_learning_rate: 0.5, name: biases}]}",
      "{ScalePerParamLR: {scheduler: {LinearLR: {initial_learning_rate: 0.2, end_learning_rate: "
      "0.1, total_iters: 4}}}}",
      scaled_groups,
      { "lr/biases", "lr/1" } },
    /* The factor counts without ScalePerParamLR, of a schedule and of a constant. */
    { "SGD",
      "{lr: 0.1, momentum: 0.9, weight_decay: 0.1, params: [{params: ['*bias'], weight_decay: 0, "
      "adjust_learning_rate: 0.5, name: biases}]}",
      "{LinearLR: {initial_learning_rate: 0.2, end_learning_rate: 0.1, total_iters: 4}}",
      scaled_groups,
      { "lr/biases", "lr/1" } },
    { "SGD",
      "{lr: 0.1, momentum: 0.9, weight_decay: 0.1, params: [{params: ['*bias'], weight_decay: 0, "
      "adjust_learning_rate: 0.5}]}",
      NULL,
      sgd_groups,
      { NULL, NULL } },
    { "SGD",
      "{lr: 0.1, momentum: 0.9, weight_decay: 0.1, params: [{params: ['*bias'], weight_decay: 0, "
      "tags: small}]}",
      "[{ConstantLR: {learning_rate: 0.25, param_group_tags: [small]}}, {ExponentialLR: "
      "{initial_learning_rate: 0.1, total_iters: 1, decay_rate: 0.5}}]",
      tagged_groups,
      { "lr/0", "lr/1" } },
    { "SGD",
      "{lr: 0.25, momentum: 0.9, weight_decay: 0.1, params: [{params: ['*bias'], weight_decay: 0, "
      "tags: [a, b]}]}",
      "{scheduler: ExponentialLR, initial_learning_rate: 0.1, total_iters: 1, decay_rate: 0.5, "
      "param_group_tags: [null]}",
      tagged_groups,
      { "lr/1", NULL } },
};

static void expect_values(const training *t, int number)
{
    traced_run traced;
    table_file file;
    table_file_write(&file, &(table_content){ .features = group_gradients[0],
                                              .rows = STEPS,
                                              .columns = SIZE,
                                              .batch_size = 1,
                                              .micro_batch_size = 1 });
    traced_run_open(&traced, file.yaml, step_function, (void *)(uintptr_t)t);
    for (int s = 0; s < STEPS; s++) {
        traced_run_step(&traced);
        for (int i = 0; i < 2 * SIZE; i++) {
            double value =
                (double)traced_floats(&traced, cse_state_name_view(t->states[i / SIZE]))[i % SIZE];
            double expected = cases[number].expected[s][i];
            ck_assert_msg(fabs(value - expected) < 1e-6, "step %d, element %d: %.9g, not %.9g", s,
                          i, value, expected);
        }
    }
    const cse_graph *graph = traced.step->graph;
    int rates = 0;
    for (int f = 0; f < graph->fetch_count; f++)
        if (strncmp(graph->fetches[f].name, "lr/", 3) == 0) {
            ck_assert(rates < 2 && cases[number].rates[rates] != NULL);
            ck_assert_str_eq(graph->fetches[f].name, cases[number].rates[rates++]);
        }
    ck_assert_int_eq(rates, (cases[number].rates[0] != NULL) + (cases[number].rates[1] != NULL));
    traced_run_close(&traced);
    table_file_remove(&file);
    cse_finish();
}

START_TEST(groups_have_the_values_of_pytorch)
{
    training t;
    t.optimizer = cse_configure_optimizer(cases[_i].optimizer, open_model(&t), cases[_i].settings);
    if (cases[_i].schedule != NULL)
        cse_configure_schedule(t.optimizer, cases[_i].schedule);
    expect_values(&t, _i);
}
END_TEST

START_TEST(groups_are_added_by_calls)
{
    training t;
    open_model(&t);
    t.optimizer =
        cse_optimizer_new("SGD", &t.states[0], 1, "{lr: 0.1, momentum: 0.9, weight_decay: 0.1}");
    cse_optimizer_add_group(t.optimizer, &t.states[1], 1, "{lr: 0.05, weight_decay: 0}");
    ck_assert_int_eq(cse_optimizer_parameter_count(t.optimizer), 2);
    ck_assert_ptr_eq(cse_optimizer_parameter_at(t.optimizer, 1), t.states[1]);
    ck_assert_ptr_null(cse_optimizer_parameter_at(t.optimizer, 2));
    expect_values(&t, 0);
}
END_TEST

/* ---- what has no weight decay ---- */

/* One step of SGD at a rate of 0.125 and a decay of 0.5, where both are written: from 0.5 the
 * parameter goes to 0.5 - 0.125 * gradient, and 0.125 * 0.5 * 0.5 further with the decay. */
static const struct {
    const char *settings, *schedule;
    bool by_configuration; /* else by a program */
    bool of_norm;          /* the first parameter, which has no "bias" in its name */
    bool decays[2];
} decays[] = {
    { "{lr: 0.125, weight_decay: 0.5}", NULL, false, true, { true, true } },
    { "{lr: 0.125, weight_decay: 0.5}", NULL, true, false, { true, false } },
    { "{lr: 0.125, weight_decay: 0.5}", NULL, true, true, { false, false } },
    { "{lr: 0.125, weight_decay: 0.5, params: [{params: ['*bias'], tags: [a]}]}",
      NULL,
      true,
      false,
      { true, false } },
    { "{lr: 0.125, weight_decay: 0.5, params: [{params: ['*'], weight_decay: 0.5}]}",
      NULL,
      true,
      true,
      { true, true } },
    { "{lr: 0.125, weight_decay: 0, params: [{params: ['*bias'], weight_decay: 0.5}]}",
      NULL,
      true,
      false,
      { false, true } },
    { "{lr: 0.125, weight_decay: 0.1}",
      "[{ConstantWD: {val: 0.5, total_iters: 1}}]",
      true,
      true,
      { true, true } },
};

static cse_optimizer *configured(cse_model *model, const char *settings)
{
    cse_config_plugin plugin = { .name = "SGD" };
    for (int i = 0; cse_optimizers[i] != NULL; i++)
        if (strcmp(cse_optimizers[i]->name, "SGD") == 0)
            plugin.descriptor = cse_optimizers[i];
    ck_assert_int_eq(cse_network_parse("optimizer", settings, &plugin.tree), CSE_OK);
    ck_assert_int_eq(
        cse_network_check(((const cse_optimizer_descriptor *)plugin.descriptor)->settings,
                          "optimizer", plugin.tree, &plugin.settings),
        CSE_OK);
    return cse_configured_optimizer(&plugin, model);
}

START_TEST(configurations_spare_norms_and_biases)
{
    training t;
    traced_run traced;
    table_file file;
    cse_model *model = open_model(&t);
    if (decays[_i].of_norm)
        cse_parameter_of_norm(t.states[0]);
    t.optimizer = decays[_i].by_configuration
                      ? configured(model, decays[_i].settings)
                      : cse_configure_optimizer("SGD", model, decays[_i].settings);
    ck_assert_msg(t.optimizer != NULL, "%s", cse_error_message());
    if (decays[_i].schedule != NULL)
        ck_assert_ptr_nonnull(cse_configure_schedule(t.optimizer, decays[_i].schedule));
    table_file_write(&file, &(table_content){ .features = group_gradients[0],
                                              .rows = 1,
                                              .columns = SIZE,
                                              .batch_size = 1,
                                              .micro_batch_size = 1 });
    traced_run_open(&traced, file.yaml, step_function, &t);
    traced_run_step(&traced);
    for (int i = 0; i < 2 * SIZE; i++) {
        const double value =
            (double)traced_floats(&traced, cse_state_name_view(t.states[i / SIZE]))[i % SIZE];
        const double decay = decays[_i].decays[i / SIZE] ? 0.125 * 0.5 * 0.5 : 0;
        const double expected = 0.5 - 0.125 * group_gradients[0][i % SIZE] - decay;
        ck_assert_msg(fabs(value - expected) < 1e-6, "element %d: %.9g, not %.9g", i, value,
                      expected);
    }
    traced_run_close(&traced);
    table_file_remove(&file);
    cse_finish();
}
END_TEST

/* ---- mistakes ---- */

static const struct {
    const char *settings, *schedule;
    const char *words[3];
} wrong[] = {
    { "{lr: 0.1, params: 3}", NULL, { "params is a list of groups", "1:" } },
    { "{lr: 0.1, params: [3]}", NULL, { "a parameter group is a mapping" } },
    { "{lr: 0.1, params: [{weight_decay: 0}]}", NULL, { "has no params" } },
    { "{lr: 0.1, params: [{params: ['*.weights']}]}",
      NULL,
      { "*.weights", "matches no parameter", "as in weight" } },
    { "{lr: 0.1, params: [{params: ['*'], weight_decai: 0}]}",
      NULL,
      { "weight_decai", "did you mean", "weight_decay" } },
    { "{lr: 0.1, params: [{params: ['*'], weight_decay: -1}]}", NULL, { "weight_decay" } },
    { "{lr: 0.1, params: [{params: ['*'], lr: 1, learning_rate: 1}]}", NULL, { "mean the same" } },
    { "{lr: 0.1, params: [{params: ['*'], nesterov: true}]}", NULL, { "nesterov", "momentum" } },
    { "{lr: 0.1, params: [{params: ['*bias'], tags: [a]}]}",
      "[{ConstantLR: {learning_rate: 1, param_group_tags: [b]}}]",
      { "param_group_tags", "'b'", "has the tag" } },
    { "{lr: 0.1}",
      "{ConstantLR: {learning_rate: 1, param_group_tags: [b]}}",
      { "param_group_tags", "'b'", "has the tag" } },
};

START_TEST(wrong_groups_are_named)
{
    training t;
    cse_optimizer *optimizer = cse_configure_optimizer("SGD", open_model(&t), wrong[_i].settings);
    if (wrong[_i].schedule != NULL)
        ck_assert_ptr_null(cse_configure_schedule(optimizer, wrong[_i].schedule));
    else
        ck_assert_ptr_null(optimizer);
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    for (int w = 0; w < COUNT(wrong[_i].words) && wrong[_i].words[w] != NULL; w++)
        ck_assert_msg(strstr(cse_error_message(), wrong[_i].words[w]) != NULL, "%s: %s",
                      wrong[_i].words[w], cse_error_message());
    cse_finish();
}
END_TEST

static void expect_usage(const char *words)
{
    ck_assert_int_eq(cse_session_status(), CSE_USAGE);
    ck_assert_msg(strstr(cse_error_message(), words) != NULL, "%s", cse_error_message());
    cse_finish();
}

START_TEST(parameters_belong_to_one_group_of_one_optimizer)
{
    training t;
    cse_model *model = open_model(&t);
    t.optimizer = cse_configure_optimizer("SGD", model, "{lr: 1}");
    cse_optimizer_add_group(t.optimizer, t.states, 1, NULL);
    expect_usage("state 'model.weight' is one of its parameters twice");

    model = open_model(&t);
    cse_configure_optimizer("AdamW", model, "{lr: 1}");
    ck_assert_ptr_null(cse_optimizer_new("Lion", t.states + 1, 1, NULL));
    expect_usage("state 'model.norm.bias' is a parameter of optimizer AdamW");

    model = open_model(&t);
    t.optimizer = cse_configure_optimizer("SGD", model, "{lr: 1}");
    ck_assert_ptr_nonnull(cse_configure_schedule(t.optimizer, "0.1"));
    ck_assert_ptr_null(cse_configure_schedule(t.optimizer, "0.1"));
    expect_usage("the optimizer SGD has a schedule");

    open_model(&t);
    t.optimizer = cse_optimizer_new("SGD", t.states, 1, "{lr: 1}");
    cse_configure_schedule(t.optimizer, "0.1");
    cse_optimizer_add_group(t.optimizer, t.states + 1, 1, NULL);
    expect_usage("before the optimizer has a schedule");
}
END_TEST

START_TEST(only_float_states_are_parameters)
{
    training t;
    open_model(&t);
    cse_state *count = cse_state_new("count", cse_scalar_shape, CSE_INT32,
                                     (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 });
    ck_assert_ptr_null(cse_optimizer_new("SGD", &count, 1, "{lr: 1}"));
    ck_assert_int_eq(cse_session_status(), CSE_SHAPE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "state 'count' is int32"));
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("groups");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, groups_have_the_values_of_pytorch, 0, COUNT(cases));
    tcase_add_test(all, groups_are_added_by_calls);
    tcase_add_loop_test(all, configurations_spare_norms_and_biases, 0, COUNT(decays));
    tcase_add_loop_test(all, wrong_groups_are_named, 0, COUNT(wrong));
    tcase_add_test(all, parameters_belong_to_one_group_of_one_optimizer);
    tcase_add_test(all, only_float_states_are_parameters);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
