/* Learning rates and weight decay of a program: a schedule of its own has the bits of the engine's,
 * as does the engine's as a function; and what a front end asks of handles. */
#undef CSE_BUILDING_LIBRARY /* the call's place in this file is part of what is tested */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "tests/support/traced_run.h"

enum { STEPS = 6 };

static const char data[] = "{data_processor: synthetic, samples: 64, features: [8], classes: 3, "
                           "batch_size: 16, micro_batch_size: 8}";
static const char schedule[] = "{LinearLR: {initial_learning_rate: 0.1, end_learning_rate: 0.01, "
                               "total_iters: 5}}";

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_state *clock; /* NULL: the schedule is the optimizer's */
    int group;        /* whose rate is set */
    bool is_decay;    /* its weight decay is set instead */
    cse_tensor *(*rate)(cse_step *step, cse_tensor *t);
    char failure[512]; /* of the step when its function returned; empty: none */
} training;

static cse_tensor *by_schedule(cse_step *step, cse_tensor *t)
{
    return cse_schedule_value(step, schedule, t);
}

static cse_tensor *constant_rate(cse_step *step, cse_tensor *t)
{
    (void)step, (void)t;
    return cse_constant(0.05);
}

static cse_tensor *of_batch(cse_step *step, cse_tensor *t)
{
    (void)t;
    return cse_mean_all(cse_input(step, "images"));
}

static cse_tensor *vector(cse_step *step, cse_tensor *t)
{
    (void)step, (void)t;
    return cse_full(cse_shape_of(2), 0.1);
}

static cse_tensor *wrong_schedule(cse_step *step, cse_tensor *t)
{
    return cse_schedule_value(step, "{LinearLR: {initial_learning_rat: 0.1}}", t);
}

static cse_tensor *schedule_of_float(cse_step *step, cse_tensor *t)
{
    return cse_schedule_value(step, schedule, cse_cast(t, CSE_FLOAT32));
}

static cse_tensor *step_of(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    if (t->clock != NULL) {
        cse_tensor *value = t->rate(step, cse_read(t->clock));
        if (t->is_decay)
            cse_optimizer_set_weight_decay(t->optimizer, t->group, value);
        else
            cse_optimizer_set_rate(t->optimizer, t->group, value);
        cse_assign(t->clock, cse_add(cse_read(t->clock), cse_constant_int(1)));
    }
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    const char *failure = cse_step_failure(step); /* the step's, which a failure destroys */
    snprintf(t->failure, sizeof t->failure, "%s", failure != NULL ? failure : "");
    return loss;
}

static void open_with(training *t, const char *optimizer, const char *settings)
{
    open_session();
    *t = (training){ .model = cse_compile(cse_model_new(
                         "fc_mnist", "{input_size: 8, hidden_sizes: [4], num_classes: 3}")) };
    t->optimizer = cse_configure_optimizer(optimizer, t->model, settings);
}

static void open_training(training *t, const char *settings)
{
    open_with(t, "SGD", settings);
}

static void open_own(training *t, cse_tensor *(*rate)(cse_step *, cse_tensor *))
{
    const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };
    open_training(t, "{lr: 0.5, momentum: 0.9}");
    t->clock = cse_state_new("clock", cse_scalar_shape, CSE_INT32, zero);
    t->rate = rate;
}

/* The first weights after some steps; free(). Ends the session. */
static float *trained(training *t, size_t *bytes)
{
    traced_run traced;
    traced_run_open(&traced, data, step_of, t);
    for (int i = 0; i < STEPS; i++)
        traced_run_step(&traced);
    cse_state *first = cse_parameter_at(t->model, 0);
    *bytes = (size_t)cse_shape_elements(cse_state_shape(first)) * sizeof(float);
    float *kept = malloc(*bytes);
    memcpy(kept, traced_floats(&traced, cse_state_name_view(first)), *bytes);
    ck_assert_str_eq(t->failure, "");
    traced_run_close(&traced);
    cse_finish();
    return kept;
}

START_TEST(a_rate_of_the_program_has_the_bits_of_the_schedule)
{
    training t;
    size_t bytes;
    open_training(&t, "{lr: 0.5, momentum: 0.9}");
    cse_configure_schedule(t.optimizer, schedule);
    float *expected = trained(&t, &bytes);
    open_own(&t, by_schedule);
    float *found = trained(&t, &bytes);
    ck_assert_int_eq(memcmp(expected, found, bytes), 0);
    free(found);
    open_training(&t, "{lr: 0.05, momentum: 0.9}");
    float *constant = trained(&t, &bytes);
    ck_assert_int_ne(memcmp(expected, constant, bytes), 0);
    open_own(&t, constant_rate);
    found = trained(&t, &bytes);
    ck_assert_int_eq(memcmp(constant, found, bytes), 0);
    free(found);
    free(constant);
    free(expected);
}
END_TEST

START_TEST(a_weight_decay_of_the_program_has_the_bits_of_the_schedule)
{
    static const char decay[] = "{LinearWD: {initial_val: 0.1, end_val: 0.01, total_iters: 5}}";
    training t;
    size_t bytes;
    open_training(&t, "{lr: 0.5, momentum: 0.9}");
    cse_configure_schedule(t.optimizer, decay);
    float *expected = trained(&t, &bytes);
    open_own(&t, by_schedule);
    t.is_decay = true;
    float *found = trained(&t, &bytes);
    ck_assert_int_eq(memcmp(expected, found, bytes), 0);
    free(found);
    open_training(&t, "{lr: 0.5, momentum: 0.9}");
    found = trained(&t, &bytes);
    ck_assert_int_ne(memcmp(expected, found, bytes), 0);
    free(found);
    free(expected);
}
END_TEST

START_TEST(an_optimizer_without_weight_decay_is_told)
{
    training t;
    open_with(&t, "Rprop", "{lr: 0.1}");
    t.rate = constant_rate;
    t.clock = cse_state_new("clock", cse_scalar_shape, CSE_INT32, (cse_initializer){ 0 });
    t.is_decay = true;
    const char *message = traced_failure(data, step_of, &t);
    ck_assert_msg(strstr(message, "Rprop has no weight_decay") != NULL, "%s", message);
    cse_finish();
}
END_TEST

static const struct {
    cse_tensor *(*rate)(cse_step *, cse_tensor *);
    int group;
    const char *words;
} mistakes[] = {
    { constant_rate, 1, "the optimizer has no group 1" },
    { constant_rate, -1, "the optimizer has no group -1" },
    { of_batch, 0, "a learning rate is a float32 scalar that does not depend on the batch" },
    { vector, 0, "a learning rate is a float32 scalar" },
    { wrong_schedule, 0, "initial_learning_rate" },
    { schedule_of_float, 0, "the step must be an int32 scalar" },
};

START_TEST(mistakes_are_told_with_their_place)
{
    training t;
    open_own(&t, mistakes[_i].rate);
    t.group = mistakes[_i].group;
    const char *message = traced_failure(data, step_of, &t);
    ck_assert_msg(strstr(message, mistakes[_i].words) != NULL, "%s", message);
    ck_assert_msg(strstr(message, "check_own_rates.c:") != NULL, "%s", message);
    ck_assert_msg(strstr(t.failure, mistakes[_i].words) != NULL, "%s", t.failure);
    cse_finish();
}
END_TEST

/* Levels and failures as a front end sees them. */
static cse_tensor *looked_at(cse_step *step, void *self)
{
    bool *right = self;
    cse_tensor *x = cse_input(step, "images");
    cse_tensor *sum = cse_batch_sum(cse_sum_all(x));
    right[0] = cse_tensor_is_batch(x) && !cse_tensor_is_batch(sum) &&
               !cse_tensor_is_batch(cse_constant(1)) && !cse_tensor_is_batch(NULL);
    right[1] = !cse_tensor_failed(x) && cse_step_failure(step) == NULL;
    cse_tensor *wrong = cse_add(x, cse_full(cse_shape_of(5), 0));
    right[2] = cse_tensor_failed(wrong) && cse_tensor_failed(NULL) &&
               strstr(cse_step_failure(step), "check_own_rates.c:") != NULL;
    return sum;
}

START_TEST(handles_tell_their_level_and_failures)
{
    bool right[3] = { false };
    open_session();
    traced_failure(data, looked_at, right);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(right[i], "case %d", i);
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("own_rates");
    TCase *tests = tcase_create("rates");
    tcase_add_test(tests, a_rate_of_the_program_has_the_bits_of_the_schedule);
    tcase_add_test(tests, a_weight_decay_of_the_program_has_the_bits_of_the_schedule);
    tcase_add_test(tests, an_optimizer_without_weight_decay_is_told);
    tcase_add_loop_test(tests, mistakes_are_told_with_their_place, 0,
                        (int)(sizeof mistakes / sizeof *mistakes));
    tcase_add_test(tests, handles_tell_their_level_and_failures);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
