/* NaNChecker names the first parameter with an element that is not finite, whatever its place in
 * the tensor, and takes large finite values for what they are. */
#include <math.h>
#include <string.h>

#include <check.h>

#include "run/job/callback_set.h"
#include "run/job/callbacks.h"
#include "tests/support/traced_run.h"

extern const cse_callback_descriptor cse_callback_nan_checker;

static const char data[] = "{data_processor: synthetic, samples: 64, features: [8], classes: 3, "
                           "batch_size: 16, micro_batch_size: 8}";

typedef struct checked_run {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_callback_host host;
    cse_callback_set *set;
} checked_run;

static cse_tensor *training_step(cse_step *step, void *self)
{
    checked_run *c = self;
    cse_tensor *loss = cse_model_loss(c->model, step, NULL);
    cse_optimizer_step(step, loss, c->optimizer, NULL, NULL);
    cse_callback_set_trace(c->set, step);
    return loss;
}

/* The status of the hook after a step whose parameter `name` has `value` as element `index`. */
static cse_status look(const char *name, int index, float value)
{
    checked_run c = { .set = NULL };
    traced_run traced;
    cse_settings *settings = NULL;
    const cse_callback_descriptor *descriptor = &cse_callback_nan_checker;
    ck_assert_int_eq(cse_settings_parse(descriptor->settings, "NaNChecker", NULL, &settings),
                     CSE_OK);
    open_session();
    c.model = cse_compile(
        cse_model_new("fc_mnist", "{input_size: 8, hidden_sizes: [4], num_classes: 3}"));
    c.optimizer = cse_configure_optimizer("SGD", c.model, "{lr: 0.1}");
    c.host.model = c.model;
    const cse_config_plugin plugin = { .descriptor = descriptor, .settings = settings };
    ck_assert_int_eq(cse_callback_set_new(&plugin, 1, &c.host, &c.set), CSE_OK);
    traced_run_open(&traced, data, training_step, &c);
    if (name != NULL)
        traced_floats(&traced, name)[index] = value;
    traced_run_step(&traced);
    const cse_values values = { .graph = traced.step->graph,
                                .fetched = traced.run.spaces[CSE_SPACE_FETCH] };
    cse_status status = cse_callback_set_step(
        c.set, &(cse_callback_step){ .step = 1, .last_step = 1, .values = &values });
    traced_run_close(&traced);
    cse_callback_set_destroy(&c.set);
    cse_finish();
    cse_settings_destroy(&settings);
    return status;
}

START_TEST(finite_parameters_are_fine)
{
    ck_assert_int_eq(look(NULL, 0, 0), CSE_OK);
    ck_assert_int_eq(look("model.fc_layers.0.weight", 3, 3e38F), CSE_OK);
}
END_TEST

static const struct {
    const char *name;
    int index;
    float value;
} wrong[] = {
    { "model.fc_layers.0.weight", 0, NAN },     { "model.fc_layers.0.weight", 31, INFINITY },
    { "model.fc_layers.0.bias", 3, -INFINITY }, { "model.last_layer.weight", 11, NAN },
    { "model.last_layer.bias", 2, INFINITY },
};

START_TEST(the_parameter_is_named)
{
    char expected[128];
    snprintf(expected, sizeof expected, "parameter %s has an element that is not finite",
             wrong[_i].name);
    ck_assert_int_eq(look(wrong[_i].name, wrong[_i].index, wrong[_i].value), CSE_FAILED);
    ck_assert_msg(strstr(cse_error_message(), expected) != NULL, "%s", cse_error_message());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("NaNChecker");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, finite_parameters_are_fine);
    tcase_add_loop_test(cases, the_parameter_is_named, 0, (int)(sizeof wrong / sizeof wrong[0]));
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
