/* Modules: how weights begin, against the moments of each distribution; what settings name; frozen
 * parameters. What the modules compute is compared with PyTorch by tests/engine/nn/models. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/model.h"
#include "csengine/modules.h"
#include "tests/support/traced_run.h"

enum { OUT = 160, IN = 250, ELEMENTS = OUT * IN };

static const cse_setting settings[] = {
    { .name = "initializer",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "of the weight" },
    { .name = "freeze", .type = CSE_SETTING_TEXT, .default_value = "null", .doc = "expression" },
    CSE_UNSUPPORTED_SETTING("dtype", "null", "type"),
    { .name = NULL },
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    cse_initial initial = cse_initial_constant(7);
    CSE_TRY(cse_refuse_unsupported(settings, s));
    CSE_TRY(cse_initial_read(s, "initializer", &initial));
    if (cse_settings_has(s, "freeze"))
        CSE_TRY(cse_model_freeze(model, cse_settings_text(s, "freeze")));
    cse_linear_module(model, "layer", IN, OUT, &(cse_linear_options){ .weight = initial });
    cse_linear_module(model, "other", 2, 2, &(cse_linear_options){ .weight = initial });
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    (void)model;
    return input;
}

static const cse_model_descriptor descriptor = { .name = "modules",
                                                 .summary = "two layers",
                                                 .settings = settings,
                                                 .abi = CSE_MODEL_ABI,
                                                 .self_bytes = 1,
                                                 .build = build,
                                                 .forward = forward };

/* Each name, with the mean, the deviation and the bounds of what it draws: PyTorch's documentation
 * of torch.nn.init gives the formulas. The deviation of a normal that is cut at 2 is 0.8796, at 1
 * 0.5396, at 0.5 0.2839 of its own. */
static const struct {
    const char *yaml;
    double mean, deviation, low, high;
} rows[] = {
    { "{initializer: null}", 7, 0, 7, 7 },
    { "{initializer: zeros}", 0, 0, 0, 0 },
    { "{initializer: {name: ones}}", 1, 0, 1, 1 },
    { "{initializer: {name: constant, val: -0.5}}", -0.5, 0, -0.5, -0.5 },
    { "{initializer: {name: uniform, a: 1, b: 3}}", 2, 0.57735, 1, 3 },
    { "{initializer: {name: normal, mean: 1, std: 0.5}}", 1, 0.5, -INFINITY, INFINITY },
    { "{initializer: {name: truncated_normal, std: 0.5}}", 0, 0.4398, -1, 1 },
    { "{initializer: {name: truncated_normal, mean: 0.0, std: 0.02, a: -0.04, b: 0.04}}", 0,
      0.017593, -0.04, 0.04 },
    { "{initializer: {name: truncated_normal, std: 2, a: -2, b: 2}}", 0, 1.0792, -2, 2 },
    { "{initializer: {name: truncated_normal, std: 1, a: -0.5, b: 0.5}}", 0, 0.28388, -0.5, 0.5 },
    { "{initializer: {name: xavier_uniform, gain: 2}}", 0, 0.139686, -0.241943, 0.241943 },
    { "{initializer: glorot_normal}", 0, 0.0698430, -INFINITY, INFINITY },
    { "{initializer: {name: kaiming_normal, mode: fan_out, nonlinearity: relu}}", 0, 0.111803,
      -INFINITY, INFINITY },
    { "{initializer: {name: kaiming_uniform, a: 2}}", 0, 0.04, -0.069282, 0.069282 },
    { "{initializer: {name: variance_scaling, scale: 3, mode: fan_avg}}", 0, 0.120972, -0.275055,
      0.275055 },
    { "{initializer: lecun_uniform}", 0, 0.0632456, -0.109545, 0.109545 },
    { "{initializer: eye}", 1.0 / IN, 0.063119, 0, 1 },
};

/* 40,000 draws: six standard errors, of a deviation at most 1.5 / sqrt(2 n) of it. */
START_TEST(weights_begin_as_named)
{
    static float values[ELEMENTS];
    double sum = 0, squares = 0;
    open_session();
    cse_model *model = cse_model_define(&descriptor, rows[_i].yaml);
    ck_assert_msg(model != NULL, "%s", cse_error_message());
    cse_state *state = cse_parameter_at(model, 0);
    ck_assert_int_eq(cse_state_get(state, values, sizeof values), CSE_OK);
    for (int e = 0; e < ELEMENTS; e++) {
        ck_assert((double)values[e] >= rows[_i].low - 1e-6);
        ck_assert((double)values[e] <= rows[_i].high + 1e-6);
        sum += (double)values[e] / ELEMENTS;
    }
    for (int e = 0; e < ELEMENTS; e++)
        squares += pow((double)values[e] - sum, 2) / ELEMENTS;
    const double deviation = sqrt(squares), wanted = rows[_i].deviation;
    ck_assert_msg(fabs(sum - rows[_i].mean) <= 6 * wanted / sqrt(ELEMENTS) + 1e-6,
                  "%s: the mean is %g", rows[_i].yaml, sum);
    ck_assert_msg(fabs(deviation - wanted) <= 6 * 1.5 * wanted / sqrt(2.0 * ELEMENTS) + 1e-6,
                  "%s: the deviation is %g, not %g", rows[_i].yaml, deviation, wanted);
    cse_finish();
}
END_TEST

static const struct {
    const char *yaml, *message;
} wrong[] = {
    { "{initializer: normall}", "did you mean \"normal\"" },
    { "{initializer: {name: truncated_normal, std: 1, a: -1, b: 2}}", "accepted: bounds two" },
    { "{initializer: {name: truncated_normal, std: 1, a: -0.01, b: 0.01}}", "a tenth of std" },
    { "{initializer: {std: 1}}", "name" },
    { "{freeze: \"(\"}", "is no regular expression" },
    { "{dtype: float16}", "dtype (1:9) is float16, which is not supported; accepted: null" },
};

START_TEST(mistakes_are_named)
{
    open_session();
    ck_assert_ptr_null(cse_model_define(&descriptor, wrong[_i].yaml));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), wrong[_i].message) != NULL, "%s",
                  cse_error_message());
    cse_finish();
}
END_TEST

START_TEST(frozen_parameters_are_not_trained)
{
    open_session();
    cse_model *model = cse_model_define(&descriptor, "{freeze: \"^layer\\\\.\"}");
    ck_assert_msg(model != NULL, "%s", cse_error_message());
    ck_assert_int_eq(cse_parameter_tensors(model), 2);
    ck_assert_str_eq(cse_state_name_view(cse_parameter_at(model, 0)), "model.other.weight");
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("modules");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, weights_begin_as_named, 0, (int)(sizeof rows / sizeof rows[0]));
    tcase_add_loop_test(cases, mistakes_are_named, 0, (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_test(cases, frozen_parameters_are_not_trained);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
