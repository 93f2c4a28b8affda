/* Sparse weights against an independent simulation (tests/reference/sparsity.py): the masks of each
 * step and the weights, interpreted and compiled; what skipped steps, bfloat16 weights and values
 * from outside do to masks; and what is refused. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/nn/configured.h"
#include "engine/nn/plugins.h"
#include "tests/reference/sparsity.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

enum { SIZE = SPARSITY_ROWS * SPARSITY_COLUMNS };
enum { CASES = sizeof sparsity_cases / sizeof sparsity_cases[0] };

static cse_status build_matrix(cse_model *model, const cse_settings *settings)
{
    cse_state **w = cse_model_self(model);
    (void)settings;
    *w = cse_parameter(model, "w", cse_shape_of(SPARSITY_ROWS, SPARSITY_COLUMNS),
                       (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 });
    return CSE_OK;
}

static cse_tensor *forward_matrix(cse_model *model, cse_tensor *input)
{
    cse_state **w = cse_model_self(model);
    return cse_mul(input, cse_reshape(cse_read(*w), cse_shape_of(SIZE)));
}

static const cse_setting settings_table[] = { { .name = NULL } };

static const cse_model_descriptor matrix = {
    .name = "matrix",
    .summary = "the gradient of its loss is its input",
    .settings = settings_table,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_state *),
    .build = build_matrix,
    .forward = forward_matrix,
};

/* Training whose gradients are the rows of a file, two a step. */
typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_state *w;
    cse_grad_scaler *scaler;
    double clip;
    bool by_parts; /* by the calls that the step is made of */
    table_file file;
    traced_run traced;
    double gradients[SPARSITY_STEPS * 2 * SIZE];
} training;

static cse_tensor *sum_step(cse_step *step, void *self)
{
    const training *t = self;
    const cse_clip clip = { .max_norm = t->clip };
    cse_tensor *loss = cse_sum_all(cse_forward(t->model, cse_input(step, "images")));
    if (!t->by_parts) {
        cse_optimizer_step(step, loss, t->optimizer, t->scaler, &clip);
        return loss;
    }
    cse_tensor *gradients[1];
    cse_gradients(loss, &(cse_state *){ t->w }, 1, gradients); /* that masks do not touch */
    cse_optimizer_apply(t->optimizer, gradients);
    return loss;
}

static double rounded(double x)
{
    return nearbyint(x * 1e4) / 1e4;
}

static void open_model(training *t, const char *optimizer, const char *weight_update)
{
    float first[SIZE];
    for (int i = 0; i < SIZE; i++)
        first[i] = i % 7 == 3 ? 0 : (float)rounded(cos(0.37 * i + 1.1));
    for (int row = 0; row < SPARSITY_STEPS * 2; row++)
        for (int i = 0; i < SIZE; i++)
            t->gradients[row * SIZE + i] =
                rounded(sin(1.7 * (row / 2) + 0.9 * i + 2.3 * (row % 2) + 0.4) * (0.2 + 0.01 * i));
    ck_assert_int_eq(cse_configure(&(cse_configuration){ .model_dir = "/nowhere",
                                                         .seed = SPARSITY_SEED,
                                                         .weight_update = weight_update }),
                     CSE_OK);
    t->model = cse_compile(cse_model_define(&matrix, NULL));
    t->w = cse_parameter_at(t->model, 0);
    if (optimizer != NULL)
        t->optimizer = cse_configure_optimizer(
            optimizer, t->model,
            strcmp(optimizer, "SGD") == 0 ? "{lr: 0.05, momentum: 0.9, weight_decay: 0.01}" : NULL);
    ck_assert_int_eq(cse_state_set(t->w, first, sizeof first), CSE_OK);
}

static void write_rows(training *t)
{
    ck_assert_msg(cse_session_status() == CSE_OK, "%s", cse_error_message());
    table_file_write(&t->file, &(table_content){ .features = t->gradients,
                                                 .rows = SPARSITY_STEPS * 2,
                                                 .columns = SIZE,
                                                 .batch_size = 2,
                                                 .micro_batch_size = 1 });
}

/* Begins with the session's values of parameter and mask. */
static void open_run(training *t, const char *compile_dir)
{
    write_rows(t);
    if (compile_dir != NULL)
        traced_run_open_compiled(&t->traced, t->file.yaml, sum_step, t, compile_dir);
    else
        traced_run_open(&t->traced, t->file.yaml, sum_step, t);
    t->traced.run.seed = SPARSITY_SEED;
    memcpy(traced_floats(&t->traced, "sparsity.w.mask"), cse_state_view(cse_sparsity_mask(t->w)),
           SIZE * sizeof(float));
    memcpy(traced_floats(&t->traced, "model.w"), cse_state_view(t->w), SIZE * sizeof(float));
}

static void close_run(training *t)
{
    traced_run_close(&t->traced);
    cse_finish();
    table_file_remove(&t->file);
}

static const char *mask_text(const training *t)
{
    static char text[SIZE / 4 + 3];
    const float *mask = traced_floats(&t->traced, "sparsity.w.mask");
    for (int d = 0; d < (SIZE + 3) / 4; d++) {
        int digit = 0;
        for (int i = 4 * d; i < 4 * d + 4; i++)
            digit = 2 * digit + (i < SIZE && mask[i] != 0);
        text[d] = "0123456789abcdef"[digit];
    }
    text[(SIZE + 3) / 4] = '\0';
    return text;
}

static void check_zeros(const training *t, const char *state)
{
    const float *mask = traced_floats(&t->traced, "sparsity.w.mask");
    const float *values = traced_floats(&t->traced, state);
    for (int i = 0; i < SIZE; i++) {
        ck_assert_msg(mask[i] == 0 || mask[i] == 1, "mask[%d] is %g", i, (double)mask[i]);
        ck_assert_msg(mask[i] == 1 || values[i] == 0, "%s[%d] is %g", state, i, (double)values[i]);
    }
}

/* ---- against the simulation ---- */

/* 24 steps of float32 updates of values up to 4: 24 roundings of 2^-22. */
static void check_case(training *t, int number, const char *compile_dir)
{
    const sparsity_case *expected = &sparsity_cases[number];
    open_model(t, "SGD", NULL);
    t->clip = expected->clip;
    cse_configure_sparsity(t->optimizer, expected->settings);
    open_run(t, compile_dir);
    ck_assert_str_eq(mask_text(t), expected->masks[0]);
    for (int s = 0; s < SPARSITY_STEPS; s++) {
        traced_run_step(&t->traced);
        ck_assert_msg(strcmp(mask_text(t), expected->masks[s + 1]) == 0,
                      "%s, step %d:\n%s, not\n%s", expected->settings, s, mask_text(t),
                      expected->masks[s + 1]);
        check_zeros(t, "model.w");
        check_zeros(t, "optimizer.w.momentum_buffer");
        for (int i = 0; (s + 1) % 8 == 0 && i < SIZE; i++)
            ck_assert_float_eq_tol(traced_floats(&t->traced, "model.w")[i],
                                   expected->weights[s / 8][i], 1e-5);
    }
    ck_assert_int_eq(traced_int(&t->traced, "sparsity.step"), SPARSITY_STEPS);
    close_run(t);
}

START_TEST(interpreted_masks_are_those_of_the_simulation)
{
    training t = { .clip = 0 };
    check_case(&t, _i, NULL);
}
END_TEST

START_TEST(compiled_masks_are_those_of_the_simulation)
{
    training t = { .clip = 0 };
    char folder[] = "/tmp/cse_sparsity_XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    check_case(&t, _i, folder);
    temporary_folder_remove(folder);
}
END_TEST

/* Gradients that the caller took are masked by the update, and ranked before that. */
START_TEST(gradients_of_the_caller_are_masked)
{
    training t = { .by_parts = true };
    for (int number = 0; number < CASES; number++)
        if (sparsity_cases[number].clip == 0)
            check_case(&t, number, NULL);
}
END_TEST

/* ---- beside other parts of an update ---- */

/* As AdamW's second moment of a weight that comes into use starts from 0. */
START_TEST(states_of_all_shapes_are_zero_where_weights_are)
{
    static const char *const optimizers[] = { "AdamW", "Adagrad", "Lamb", "RMSprop" };
    static const char *const states[] = { "optimizer.w.exp_avg_sq", "optimizer.w.sum",
                                          "optimizer.w.exp_avg", "optimizer.w.square_avg" };
    training t = { .clip = 1 };
    open_model(&t, optimizers[_i], NULL);
    cse_configure_sparsity(t.optimizer,
                           "{algorithm: rigl, sparsity: 0.6, update: {freq: 2, stop: 9}}");
    open_run(&t, NULL);
    for (int s = 0; s < SPARSITY_STEPS; s++) {
        traced_run_step(&t.traced);
        check_zeros(&t, "model.w");
        check_zeros(&t, states[_i]);
    }
    close_run(&t);
}
END_TEST

/* An optimizer of a program's own that adds up gradients, twice. */
static int two_sums(const cse_settings *settings, cse_shape shape,
                    cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)settings;
    (void)shape;
    list[0] = (cse_declared_state){ .name = "whole", .initial = 1, .dense = true };
    list[1] = (cse_declared_state){ .name = "masked", .initial = 1 };
    return 2;
}

static void add_sums(cse_optimizer_update *u)
{
    for (int s = 0; s < 2; s++)
        u->next_states[s] = cse_add(u->states[s], u->gradient);
    u->next_parameter = cse_sub(u->parameter, cse_mul(u->learning_rate, u->gradient));
}

static const cse_setting sum_settings[] = { CSE_LEARNING_RATE_SETTINGS, { .name = NULL } };
static const cse_optimizer_descriptor sums = {
    .name = "Sums",
    .settings = sum_settings,
    .states = two_sums,
    .update = add_sums,
};

START_TEST(a_state_that_is_declared_dense_is_not_masked)
{
    training t = { .clip = 0 };
    cse_settings *settings = NULL;
    cse_yaml_node *tree = NULL;
    open_model(&t, NULL, NULL);
    ck_assert_int_eq(cse_settings_parse(sum_settings, "optimizer", "{lr: 0.1}", &settings), CSE_OK);
    ck_assert_int_eq(cse_network_parse("optimizer", "{lr: 0.1}", &tree), CSE_OK);
    const cse_config_plugin plugin = {
        .name = "Sums", .descriptor = &sums, .settings = settings, .tree = tree
    };
    t.optimizer = cse_configured_optimizer(&plugin, t.model);
    cse_configure_sparsity(t.optimizer, "0.5");
    open_run(&t, NULL);
    traced_run_step(&t.traced);
    check_zeros(&t, "optimizer.w.masked");
    const float *mask = traced_floats(&t.traced, "sparsity.w.mask");
    for (int i = 0; i < SIZE; i++)
        if (mask[i] == 0)
            ck_assert_float_eq(traced_floats(&t.traced, "optimizer.w.whole")[i], 1);
    close_run(&t);
    cse_settings_destroy(&settings);
}
END_TEST

/* Rounding adds nothing to a weight that is out of use. */
START_TEST(weights_in_bfloat16_stay_zero)
{
    static const char *const ways[] = { "bf16", "bf16sr", "bf16_kahan" };
    training t = { .clip = 0 };
    open_model(&t, "SGD", ways[_i]);
    cse_configure_sparsity(t.optimizer, "{algorithm: set, sparsity: 0.6, update: {freq: 2}}");
    open_run(&t, NULL);
    for (int s = 0; s < SPARSITY_STEPS; s++) {
        traced_run_step(&t.traced);
        check_zeros(&t, "model.w");
        if (_i == 2)
            check_zeros(&t, "optimizer.w.compensation");
    }
    close_run(&t);
}
END_TEST

/* The third step overflows: masks, weights and clock stay, and the masks change one step later. A
 * gradient that overflows where nothing is in use skips nothing. */
START_TEST(a_skipped_step_changes_no_mask)
{
    training t = { .clip = 0 };
    char before[SIZE / 4 + 3];
    open_model(&t, "SGD", NULL);
    t.scaler = cse_grad_scaler_new("{loss_scale: 1024}");
    cse_configure_sparsity(
        t.optimizer, "{algorithm: rigl, sparsity: 0.6, init_method: topk, update: {freq: 2}}");
    t.gradients[4 * SIZE + 5] = 3e38; /* w[5] = cos 2.95 is in use, w[3] = 0 is not */
    t.gradients[0 * SIZE + 3] = 3e38;
    open_run(&t, NULL);
    for (int s = 0; s < 2; s++)
        traced_run_step(&t.traced);
    ck_assert_int_eq(traced_int(&t.traced, "sparsity.step"), 2);
    snprintf(before, sizeof before, "%s", mask_text(&t));
    traced_run_step(&t.traced);
    ck_assert_int_eq(traced_int(&t.traced, "sparsity.step"), 2);
    ck_assert_str_eq(mask_text(&t), before);
    traced_run_step(&t.traced);
    ck_assert_int_eq(traced_int(&t.traced, "sparsity.step"), 3);
    ck_assert_str_ne(mask_text(&t), before);
    ck_assert_int_eq(traced_int(&t.traced, "grad_scaler.num_skipped_steps"), 1);
    close_run(&t);
}
END_TEST

/* Two optimizers of one step, each with its own sparsity and its own clock: as both get the same
 * gradients, the masks of the first are those of the simulation. */
typedef struct two_optimizers {
    cse_state *states[2];
    cse_optimizer *optimizers[2];
} two_optimizers;

static cse_tensor *step_of_two(cse_step *step, void *self)
{
    const two_optimizers *two = self;
    cse_tensor *sum = cse_add(cse_read(two->states[0]), cse_read(two->states[1]));
    cse_tensor *loss =
        cse_sum_all(cse_mul(cse_input(step, "images"), cse_reshape(sum, cse_shape_of(SIZE))));
    for (int k = 0; k < 2; k++)
        cse_optimizer_step(step, loss, two->optimizers[k], NULL, NULL);
    return loss;
}

START_TEST(optimizers_of_one_step_have_masks_of_their_own)
{
    static const char *const names[] = { "w", "other" };
    const sparsity_case *expected = &sparsity_cases[7]; /* rigl */
    training t = { .clip = 0 };
    two_optimizers two;
    float first[SIZE];
    open_model(&t, NULL, NULL);
    ck_assert_int_eq(cse_state_get(t.w, first, sizeof first), CSE_OK);
    for (int k = 0; k < 2; k++) {
        two.states[k] = cse_state_new(names[k], cse_shape_of(SPARSITY_ROWS, SPARSITY_COLUMNS),
                                      CSE_FLOAT32, (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 });
        ck_assert_int_eq(cse_state_set(two.states[k], first, sizeof first), CSE_OK);
        two.optimizers[k] = cse_optimizer_new("SGD", &two.states[k], 1,
                                              "{lr: 0.05, momentum: 0.9, weight_decay: 0.01}");
        cse_configure_sparsity(two.optimizers[k],
                               k == 0 ? expected->settings : "{algorithm: set, sparsity: 0.5}");
    }
    t.w = two.states[0];
    write_rows(&t);
    traced_run_open(&t.traced, t.file.yaml, step_of_two, &two);
    t.traced.run.seed = SPARSITY_SEED;
    for (int k = 0; k < 2; k++) {
        char mask[64];
        snprintf(mask, sizeof mask, "sparsity.%s.mask", names[k]);
        memcpy(traced_floats(&t.traced, mask), cse_state_view(cse_sparsity_mask(two.states[k])),
               sizeof first);
        memcpy(traced_floats(&t.traced, names[k]), cse_state_view(two.states[k]), sizeof first);
    }
    for (int s = 0; s < SPARSITY_STEPS; s++) {
        traced_run_step(&t.traced);
        ck_assert_str_eq(mask_text(&t), expected->masks[s + 1]);
        ck_assert_int_eq(traced_int(&t.traced, "sparsity.1.step"), s + 1);
    }
    close_run(&t);
}
END_TEST

/* For updates of a program's own: magnitude pruning in one line. */
static cse_tensor *pruning_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *w = cse_read(t->w), *zero = cse_constant(0);
    cse_tensor *mask = cse_cast(cse_greater(w, zero), CSE_FLOAT32);
    cse_tensor *kept = cse_largest_magnitudes(w, mask, cse_constant_int(10));
    cse_step_train(step);
    cse_assign(t->w, cse_where(kept, w, zero));
    return cse_sum_all(cse_input(step, "images"));
}

START_TEST(a_program_prunes_by_itself)
{
    training t = { .clip = 0 };
    float first[SIZE];
    int left = 0;
    open_model(&t, NULL, NULL);
    ck_assert_int_eq(cse_state_get(t.w, first, sizeof first), CSE_OK);
    write_rows(&t);
    traced_run_open(&t.traced, t.file.yaml, pruning_step, &t);
    float *w = traced_floats(&t.traced, "model.w");
    memcpy(w, first, sizeof first);
    traced_run_step(&t.traced);
    for (int i = 0; i < SIZE; i++) {
        int larger = 0;
        for (int k = 0; k < SIZE; k++)
            larger += first[k] > first[i] || (first[k] == first[i] && k < i);
        ck_assert_float_eq(w[i], larger < 10 ? first[i] : 0);
        left += w[i] != 0;
    }
    ck_assert_int_eq(left, 10);
    close_run(&t);
}
END_TEST

/* ---- values outside of steps ---- */

/* Masks are made of the values that training begins with, whatever was looked at before. */
START_TEST(masks_follow_values_from_outside)
{
    training t = { .clip = 0 };
    float values[SIZE], mask[SIZE], got[SIZE];
    open_model(&t, "SGD", NULL);
    cse_configure_sparsity(t.optimizer, "{sparsity: 0.5, init_method: topk}");
    cse_state *state = cse_sparsity_mask(t.w);
    ck_assert_str_eq(cse_state_name_view(state), "sparsity.w.mask");
    ck_assert_int_eq(cse_state_get(state, mask, sizeof mask), CSE_OK);
    for (int i = 0; i < SIZE; i++)
        values[i] = (float)(i + 1); /* the last half are the largest */
    ck_assert_int_eq(cse_state_set(t.w, values, sizeof values), CSE_OK);
    ck_assert_int_eq(cse_state_get(t.w, got, sizeof got), CSE_OK);
    ck_assert_int_eq(cse_state_get(state, mask, sizeof mask), CSE_OK);
    for (int i = 0; i < SIZE; i++) {
        ck_assert_float_eq(mask[i], i < SIZE / 2 ? 0 : 1);
        ck_assert_float_eq(got[i], i < SIZE / 2 ? 0 : values[i]);
    }
    for (int i = 0; i < SIZE; i++)
        mask[i] = i % 3 == 0; /* one that is set stays */
    ck_assert_int_eq(cse_state_set(state, mask, sizeof mask), CSE_OK);
    ck_assert_int_eq(cse_state_set(t.w, values, sizeof values), CSE_OK);
    ck_assert_int_eq(cse_state_get(t.w, got, sizeof got), CSE_OK);
    for (int i = 0; i < SIZE; i++)
        ck_assert_float_eq(got[i], i % 3 == 0 ? values[i] : 0);
    cse_finish();
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    const char *settings, *message;
} refusals[] = {
    { "{algorithm: rigel, sparsity: 0.5}", "static, gmp, set, rigl" },
    { "1.0", "sparsity is 1; accepted: a number from 0 to below 1" },
    { "{sparsity: -0.1}", "sparsity is -0.1; accepted" },
    { "{sparsity: many}", "sparsity is \"many\"; accepted" },
    { "{algorithm: set}", "how sparse?" },
    { "{sparsity: 0.5, schedule: 0.5}", "mean the same" },
    { "{sparsity: 0.5, param_filter: '*.weights'}", "param_filter matches none of the optimizer's "
                                                    "parameters; they are: w" },
    { "[{sparsity: 0.5}, {sparsity: 0.7, param_filter: w}]",
      "param_filter matches none of the optimizer's parameters that the groups before it left" },
    { "{sparsity: 0.5, param_filter: {a: b}}", "a pattern of parameters' names" },
    { "{sparsity: 0.5, update: {freq: 10}}", "static has no update" },
    { "{algorithm: gmp, sparsity: 0.5}", "gmp with the constant sparsity 0.5" },
    { "{sparsity: {type: linear, init: 0, slope: 0.1}}", "static takes a number" },
    { "{algorithm: gmp, drop_fraction: 0.3, sparsity: {type: linear, init: 0, slope: 0.1}}",
      "gmp has no drop_fraction" },
    { "{algorithm: gmp, sparsity: {type: cubic, final: 0.9, start: 50, stop: 20}}",
      "stop is 20 and start 50" },
    { "{algorithm: gmp, sparsity: {type: cubic, final: 0.9}}", "stop is 0 and start 0" },
    { "{algorithm: gmp, sparsity: {type: square, final: 0.9}}", "missing or unknown; accepted" },
    { "{algorithm: set, sparsity: 0.5, update: {freq: 5, start: 9, stop: 9}}",
      "stop is 9 and start 9" },
    { "{algorithm: set, sparsity: 0.5, update: {freq: 0}}", "freq" },
    { "{algorithm: set, sparsity: 0.5, drop_fraction: 1.5}", "drop_fraction is 1.5; accepted" },
    { "{algorithm: set, sparsity: [0.5, 1.5]}", "values" },
    { "{sparsity: 0.5, init_method: zeros}", "from_zeros" },
};

START_TEST(mistakes_are_told)
{
    training t = { .clip = 0 };
    const char *wanted = refusals[_i].message;
    open_model(&t, "SGD", NULL);
    cse_configure_sparsity(t.optimizer, refusals[_i].settings);
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), wanted) != NULL, "%s: %s", refusals[_i].settings,
                  cse_error_message());
    cse_finish();
}
END_TEST

START_TEST(a_second_sparsity_is_refused)
{
    training t = { .clip = 0 };
    open_model(&t, "SGD", NULL);
    cse_configure_sparsity(t.optimizer, "0.5");
    cse_configure_sparsity(t.optimizer, "0.5");
    ck_assert_int_eq(cse_session_status(), CSE_USAGE);
    cse_finish();
}
END_TEST

int main(void)
{
    const int refusal_count = sizeof refusals / sizeof refusals[0];
    Suite *suite = suite_create("sparsity");
    TCase *cases = tcase_create("sparsity");
    tcase_set_timeout(cases, 600);
    tcase_add_loop_test(cases, interpreted_masks_are_those_of_the_simulation, 0, CASES);
    tcase_add_loop_test(cases, compiled_masks_are_those_of_the_simulation, 0, CASES);
    tcase_add_test(cases, gradients_of_the_caller_are_masked);
    tcase_add_loop_test(cases, states_of_all_shapes_are_zero_where_weights_are, 0, 4);
    tcase_add_test(cases, a_state_that_is_declared_dense_is_not_masked);
    tcase_add_loop_test(cases, weights_in_bfloat16_stay_zero, 0, 3);
    tcase_add_test(cases, a_skipped_step_changes_no_mask);
    tcase_add_test(cases, optimizers_of_one_step_have_masks_of_their_own);
    tcase_add_test(cases, a_program_prunes_by_itself);
    tcase_add_test(cases, masks_follow_values_from_outside);
    tcase_add_loop_test(cases, mistakes_are_told, 0, refusal_count);
    tcase_add_test(cases, a_second_sparsity_is_refused);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
