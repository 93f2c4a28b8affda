/* Mistakes in steps and sessions: each gives one message that names the mistake and the call. */
#undef CSE_BUILDING_LIBRARY /* the call's place in this file is part of what is tested */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "tests/support/traced_run.h"

static const char data[] = "{data_processor: synthetic, samples: 64, features: [8], classes: 3, "
                           "batch_size: 16, micro_batch_size: 8}";

static cse_model *model_of_8(void)
{
    return cse_compile(
        cse_model_new("fc_mnist", "{input_size: 8, hidden_sizes: [4], num_classes: 3}"));
}

static const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };

/* ---- steps that must not be traced ---- */

static cse_tensor *reads_a_value(cse_step *step, void *self)
{
    cse_tensor *images = cse_input(step, "images");
    (void)self;
    return cse_item(cse_sum_all(images)) > 0 ? cse_sum_all(images) : NULL;
}

static cse_tensor *makes_a_state(cse_step *step, void *self)
{
    (void)step;
    (void)self;
    cse_state_new("late", cse_shape_of(2), CSE_FLOAT32, zero);
    return NULL;
}

static cse_tensor *adds_unequal_shapes(cse_step *step, void *self)
{
    cse_tensor *images = cse_input(step, "images");
    (void)self;
    CSE_SCOPE(step, "encoder.block")
    {
        images = cse_add(images, cse_full(cse_shape_of(7), 1));
        images = cse_relu(images); /* poisoned: the first error is what counts */
    }
    return cse_mean_all(images);
}

static cse_tensor *asks_for_an_unknown_input(cse_step *step, void *self)
{
    (void)self;
    return cse_mean_all(cse_input(step, "pictures"));
}

static cse_tensor *hands_out_a_batch(cse_step *step, void *self)
{
    cse_step_closure(step, NULL, NULL, cse_input(step, "images"));
    return self;
}

static cse_tensor *assigns_a_batch(cse_step *step, void *self)
{
    cse_assign(self, cse_sum_all(cse_input(step, "images")));
    return NULL;
}

static cse_tensor *assigns_another_shape(cse_step *step, void *self)
{
    (void)step;
    cse_assign(self, cse_full(cse_shape_of(3), 0));
    return NULL;
}

static cse_tensor *sums_a_constant(cse_step *step, void *self)
{
    (void)step;
    (void)self;
    return cse_batch_sum(cse_constant(1));
}

static cse_tensor *steps_twice(cse_step *step, void *self)
{
    cse_tensor *loss = cse_model_loss(((cse_optimizer *)self)->model, step, NULL);
    cse_optimizer_step(step, loss, self, NULL, NULL);
    cse_optimizer_step(step, loss, self, NULL, NULL);
    return loss;
}

static cse_tensor *clips_twice(cse_step *step, void *self)
{
    cse_tensor *loss = cse_model_loss(((cse_optimizer *)self)->model, step, NULL);
    cse_optimizer_step(step, loss, self, NULL, &(cse_clip){ .max_norm = 1, .max_value = 1 });
    return loss;
}

static cse_tensor *minimizes_a_vector(cse_step *step, void *self)
{
    cse_tensor *outputs = cse_forward(((cse_optimizer *)self)->model, cse_input(step, "images"));
    cse_optimizer_step(step, outputs, self, NULL, NULL);
    return NULL;
}

static cse_tensor *saves(cse_step *step, void *self)
{
    (void)step;
    (void)self;
    cse_status status = cse_save("/nowhere/x.mdl");
    cse_input(step, status == CSE_USAGE ? "refused" : "saved");
    return NULL;
}

enum { NO_SELF, STATE, OPTIMIZER };

static const struct {
    cse_step_function *function;
    int self;
    const char *words[3];
} mistakes[] = {
    { reads_a_value, NO_SELF, { "check_session.c:", "sum", "step closure" } },
    { makes_a_state, NO_SELF, { "check_session.c:", "late", "before cse_run" } },
    { adds_unequal_shapes,
      NO_SELF,
      { "check_session.c:", "add([8, 8] float32, [7] float32)", "in scope 'encoder.block'" } },
    { asks_for_an_unknown_input, NO_SELF, { "pictures", "images, labels" } },
    { hands_out_a_batch, NO_SELF, { "check_session.c:", "float scalar", "cse_batch_sum" } },
    { assigns_a_batch,
      STATE,
      { "check_session.c:", "depends on the microbatch", "cse_batch_mean" } },
    { assigns_another_shape, STATE, { "cse_assign", "[3] float32", "state 'count'" } },
    { sums_a_constant, NO_SELF, { "does not depend on the batch" } },
    { steps_twice, OPTIMIZER, { "check_session.c:", "this is the second" } },
    { clips_twice, OPTIMIZER, { "exclude each other" } },
    { minimizes_a_vector, OPTIMIZER, { "float32 scalar, not [8, 3] float32", "take its mean" } },
    { saves, NO_SELF, { "no input 'refused'" } },
};

START_TEST(mistakes_in_a_step_are_named)
{
    open_session();
    void *self = NULL;
    if (mistakes[_i].self == STATE)
        self = cse_state_new("count", cse_scalar_shape, CSE_FLOAT32, zero);
    if (mistakes[_i].self == OPTIMIZER)
        self = cse_configure_optimizer("SGD", model_of_8(), "{lr: 0.1}");
    const char *message = traced_failure(data, mistakes[_i].function, self);
    for (int w = 0; w < 3 && mistakes[_i].words[w] != NULL; w++)
        ck_assert_msg(strstr(message, mistakes[_i].words[w]) != NULL, "'%s' is missing in: %s",
                      mistakes[_i].words[w], message);
    cse_finish();
}
END_TEST

/* ---- states in steps ---- */

static cse_tensor *counts(cse_step *step, void *self)
{
    cse_state *count = self;
    (void)step;
    cse_assign(count, cse_add(cse_read(count), cse_constant_int(1)));
    cse_assign(count, cse_add(cse_read(count), cse_constant_int(2))); /* reads what was assigned */
    return NULL;
}

START_TEST(a_state_is_carried_from_step_to_step)
{
    traced_run traced;
    open_session();
    cse_state *count = cse_state_new("count", cse_scalar_shape, CSE_INT32,
                                     (cse_initializer){ CSE_INIT_CONSTANT, 5, 0 });
    traced_run_open(&traced, data, counts, count);
    for (int s = 1; s <= 4; s++) {
        traced_run_step(&traced);
        ck_assert_int_eq(traced_int(&traced, "count"), 5 + 3 * s);
    }
    traced_run_close(&traced);
    cse_finish();
}
END_TEST

/* More states than the table has room for at first, each met by its assignment. */
enum { MANY = 40 };
static cse_tensor *assigns_many(cse_step *step, void *self)
{
    cse_state **states = self;
    (void)step;
    for (int i = 0; i < MANY; i++)
        cse_assign(states[i], cse_constant((double)i + 1));
    return NULL;
}

START_TEST(every_assigned_state_changes)
{
    cse_state *states[MANY];
    char name[16];
    traced_run traced;
    open_session();
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "s%d", i);
        states[i] = cse_state_new(name, cse_scalar_shape, CSE_FLOAT32, zero);
    }
    traced_run_open(&traced, data, assigns_many, states);
    traced_run_step(&traced);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "s%d", i);
        ck_assert_float_eq(traced_floats(&traced, name)[0], (float)i + 1);
    }
    traced_run_close(&traced);
    cse_finish();
}
END_TEST

START_TEST(state_values_go_in_and_out)
{
    float in[3] = { 1, 2, 3 }, out[3] = { 0 };
    open_session();
    cse_state *state = cse_state_new("x", cse_shape_of(3), CSE_FLOAT32,
                                     (cse_initializer){ CSE_INIT_CONSTANT, 7, 0 });
    ck_assert_int_eq(cse_state_get(state, out, sizeof out), CSE_OK);
    ck_assert(out[0] == 7 && out[2] == 7);
    ck_assert_int_eq(cse_state_set(state, in, sizeof in), CSE_OK);
    ck_assert_int_eq(cse_state_get(state, out, sizeof out), CSE_OK);
    ck_assert(memcmp(in, out, sizeof in) == 0);
    ck_assert_int_eq(cse_state_set(state, in, 8), CSE_SHAPE);
    ck_assert_ptr_null(cse_state_new("x", cse_shape_of(3), CSE_FLOAT32, zero));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "names are unique"));
    cse_finish();
}
END_TEST

/* ---- the session ---- */

static const struct {
    cse_configuration configuration;
    const char *message;
} wrong[] = {
    { { .num_csx = -1 }, "num_csx is -1" },
    { { .num_workers_per_csx = -2 }, "num_workers_per_csx" },
    { { .max_wgt_servers = -1 }, "max_wgt_servers" },
    { { .precision = "{fp16_type: int3}" }, "int3" },
    { { .weight_grad_reduce = "fp64" }, "accepted: fp32, bf16, bf16sr, fp16, cb16" },
    { { .job_priority = "p0" }, "job_priority is 'p0'; accepted: p1, p2, p3" },
    { { .job_time_sec = -1 }, "job_time_sec is -1" },
    { { .job_labels = (const char *const[]){ "team=a", "no label", NULL } }, "'no label'" },
};

START_TEST(wrong_configurations_are_named)
{
    ck_assert_int_eq(cse_configure(&wrong[_i].configuration), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), wrong[_i].message) != NULL, "%s",
                  cse_error_message());
    /* It is kept, and told to whoever goes on without looking. */
    cse_fail(CSE_IO, "another failure");
    ck_assert_int_eq(cse_run(NULL, NULL, NULL), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), wrong[_i].message) != NULL, "%s",
                  cse_error_message());
    ck_assert_int_eq(cse_save("/nowhere/x.mdl"), CSE_CONFIG);
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    open_session(); /* nothing of the failed one is left */
    ck_assert_int_eq(cse_session_status(), CSE_OK);
    ck_assert_int_eq(cse_configure(&(cse_configuration){ .seed = 2 }), CSE_USAGE);
    cse_finish();
}
END_TEST

START_TEST(nothing_works_without_a_session)
{
    ck_assert_ptr_null(cse_model_new("fc_mnist", NULL));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "call cse_configure first"));
    ck_assert_ptr_null(cse_metric_new("accuracy", "a"));
    ck_assert_int_eq(cse_save("x"), CSE_USAGE);
    ck_assert_int_eq(cse_run(NULL, NULL, NULL), CSE_USAGE);
    cse_finish();
}
END_TEST

/* The first failure is kept; NULL handles go through; cse_run reports it. */
START_TEST(the_first_failure_is_what_run_reports)
{
    open_session();
    cse_model *model = cse_compile(cse_model_new("no_such_model", NULL));
    cse_optimizer *optimizer = cse_configure_optimizer("SGD", model, "{lr: 0.1}");
    ck_assert_ptr_null(cse_configure_schedule(optimizer, "0.1"));
    cse_executor *executor = cse_executor_new(&(cse_executor_options){ .input = data });
    ck_assert_int_eq(cse_run(executor, steps_twice, optimizer), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "no_such_model"));
    cse_finish();
}
END_TEST

START_TEST(a_library_without_the_model_is_named)
{
    open_session();
    ck_assert_ptr_null(cse_model_load("/nowhere/none.so", "x", NULL));
    ck_assert_int_eq(cse_session_status(), CSE_NO_INPUT);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "/nowhere/none.so"));
    cse_finish();
}
END_TEST

static cse_status build_nothing(cse_model *model, const cse_settings *settings)
{
    (void)model;
    (void)settings;
    return CSE_OK;
}

START_TEST(a_model_of_another_contract_is_refused)
{
    static const cse_setting none[] = { { .name = NULL } };
    const cse_model_descriptor old = {
        .name = "old", .settings = none, .abi = 99, .build = build_nothing
    };
    open_session();
    ck_assert_ptr_null(cse_model_define(&old, NULL));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "version 99"));
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, mistakes_in_a_step_are_named, 0,
                        (int)(sizeof mistakes / sizeof mistakes[0]));
    tcase_add_test(cases, a_state_is_carried_from_step_to_step);
    tcase_add_test(cases, every_assigned_state_changes);
    tcase_add_test(cases, state_values_go_in_and_out);
    tcase_add_loop_test(cases, wrong_configurations_are_named, 0,
                        (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_test(cases, nothing_works_without_a_session);
    tcase_add_test(cases, the_first_failure_is_what_run_reports);
    tcase_add_test(cases, a_library_without_the_model_is_named);
    tcase_add_test(cases, a_model_of_another_contract_is_refused);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
