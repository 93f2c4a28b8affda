/* The calls that the reference system's documents write, as C: each starts, which is traced and
 * checked in a session with validate_only; and what the precision text of the C API says is what
 * the calls of their own say. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/base/log.h"
#include "run/session/traced_step.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const char data[] = "{data_processor: synthetic, samples: 64, features: [8], classes: 3, "
                           "batch_size: 16, micro_batch_size: 8}";

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
    const cse_clip *clip;
    cse_state *weight;
    cse_metric *accuracy;
    char fingerprint[33]; /* of what the step traced */
} training;

static int warnings;

static void count_warnings(void *self, const cse_log_record *record)
{
    (void)self;
    warnings += record->level == CSE_LOG_WARNING;
}

static cse_status configure(const char *precision)
{
    static const char *const labels[] = { "model=fc", "team=a", NULL };
    return cse_configure(&(cse_configuration){ .model_dir = "./model_dir",
                                               .compile_dir = "./cached_compile",
                                               .validate_only = true,
                                               .num_csx = 1,
                                               .max_wgt_servers = 24,
                                               .num_workers_per_csx = 1,
                                               .precision = precision,
                                               .job_priority = "p2",
                                               .job_time_sec = 86400,
                                               .job_labels = labels });
}

static void begin(training *t, const char *precision)
{
    cse_status status = configure(precision);
    ck_assert_msg(status == CSE_OK, "%s: %s", precision, cse_error_message());
    *t = (training){ .model = cse_compile(cse_model_new(
                         "fc_mnist", "{input_size: 8, hidden_sizes: [4], num_classes: 3}")) };
    t->optimizer = cse_configure_optimizer("SGD", t->model, "{lr: 0.001, momentum: 0.5}");
}

static cse_status ignore(void *self, const cse_values *values)
{
    (void)self;
    (void)values;
    return CSE_OK;
}

/* The training step of the documents' full example. */
static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *outputs = cse_forward(t->model, cse_input(step, "images"));
    cse_tensor *loss = cse_cross_entropy(outputs, cse_input(step, "labels"));
    cse_optimizer_step(step, loss, t->optimizer, t->scaler, t->clip);
    cse_step_closure(step, ignore, NULL, loss);
    cse_checkpoint_closure(step, ignore, NULL);
    cse_graph_fingerprint(step->graph, t->fingerprint);
    return loss;
}

static cse_status run_with(cse_step_function *function, const cse_executor_options *options,
                           training *t)
{
    return cse_run(cse_executor_new(options), function, t);
}

static void start(cse_step_function *function, training *t, const char *what)
{
    cse_status status = run_with(
        function,
        &(cse_executor_options){ .input = data, .num_steps = 1000, .checkpoint_steps = 100 }, t);
    ck_assert_msg(status == CSE_OK, "%s: %s", what, cse_error_message());
    cse_finish();
}

/* ---- precision: MixedPrecision(...) as text, and the same by calls ---- */

static const struct {
    const char *precision; /* all of it in the text */
    const char *without;   /* the same without what the calls say; NULL: none */
    const char *scaler;    /* GradScaler(...) */
    cse_clip clip;         /* of optimizer_step(...) */
    int warnings;
} precisions[] = {
    { "{fp16_type: cbfloat16}", "{fp16_type: cbfloat16}", NULL, { 0, 0 }, 1 },
    { "{fp16_type: float16}", "{fp16_type: float16}", "{loss_scale: 0.0}", { 0, 0 }, 0 },
    { "{fp16_type: bfloat16}", "{fp16_type: bfloat16}", NULL, { 0, 0 }, 0 },
    { "{fp16_type: cbfloat16, loss_scaling_factor: dynamic}",
      "{fp16_type: cbfloat16}",
      "{loss_scale: dynamic}",
      { 0, 0 },
      0 },
    { "{fp16_type: cbfloat16, loss_scaling_factor: 1024.0}",
      "{fp16_type: cbfloat16}",
      "{loss_scale: 1024.0}",
      { 0, 0 },
      1 },
    { "{fp16_type: cbfloat16, loss_scaling_factor: 0.0}",
      "{fp16_type: cbfloat16}",
      "{loss_scale: 0.0}",
      { 0, 0 },
      1 },
    { "{fp16_type: cbfloat16, loss_scaling_factor: dynamic, max_gradient_norm: 1.0}",
      "{fp16_type: cbfloat16}",
      "{loss_scale: dynamic}",
      { 1.0, 0 },
      0 },
    { "{fp16_type: cbfloat16, loss_scaling_factor: dynamic, max_gradient_value: 2.0}",
      "{fp16_type: cbfloat16}",
      "{loss_scale: dynamic}",
      { 0, 2.0 },
      0 },
    { "{fp16_type: cbfloat16, loss_scaling_factor: dynamic, max_gradient_norm: 1.0, "
      "precision_opt_level: 1}",
      "{fp16_type: cbfloat16, precision_opt_level: 1}",
      "{loss_scale: dynamic}",
      { 1.0, 0 },
      0 },
    { "{loss_scaling_factor: dynamic, initial_loss_scale: 4096, steps_per_increase: 7, "
      "min_loss_scale: 2, max_loss_scale: 8192, overflow_tolerance: 0.05}",
      NULL,
      "{loss_scale: dynamic, init_scale: 4096, steps_per_increase: 7, min_loss_scale: 2, "
      "max_loss_scale: 8192, overflow_tolerance: 0.05}",
      { 0, 0 },
      0 },
};

START_TEST(text_and_calls_say_the_same)
{
    training by_text, by_calls;
    warnings = 0;
    cse_log_set_sink(count_warnings, NULL);
    begin(&by_text, precisions[_i].precision);
    start(training_step, &by_text, precisions[_i].precision);
    ck_assert_int_eq(warnings, precisions[_i].warnings);
    begin(&by_calls, precisions[_i].without);
    if (precisions[_i].scaler != NULL)
        by_calls.scaler = cse_grad_scaler_new(precisions[_i].scaler);
    by_calls.clip = &precisions[_i].clip;
    start(training_step, &by_calls, precisions[_i].scaler);
    ck_assert_int_eq(warnings, 2 * precisions[_i].warnings);
    ck_assert_str_eq(by_text.fingerprint, by_calls.fingerprint);
    cse_log_set_sink(NULL, NULL);
}
END_TEST

/* That equal fingerprints mean something: what differs above differs in them. */
START_TEST(precisions_differ)
{
    static const char *const different[] = { NULL,
                                             "{loss_scaling_factor: dynamic}",
                                             "{loss_scaling_factor: 1024}",
                                             "{max_gradient_norm: 1.0}",
                                             "{max_gradient_value: 1.0}",
                                             "{weight_update: bf16_kahan}" };
    char fingerprints[COUNT(different)][33];
    for (int i = 0; i < COUNT(different); i++) {
        training t;
        begin(&t, different[i]);
        start(training_step, &t, different[i]);
        memcpy(fingerprints[i], t.fingerprint, sizeof t.fingerprint);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(fingerprints[i], fingerprints[j]);
    }
}
END_TEST

static const struct {
    const char *precision, *message;
} refused[] = {
    { "{max_gradient_norm: 1.0, max_gradient_value: 2.0}", "exclude each other" },
    { "{loss_scaling_factor: dinamic}", "a number, 0 for none, or dynamic" },
    { "{precision_opt_level: 3}", "precision_opt_level: \"3\" is out of range" },
    { "{fp16_type: cb16}", "fp16_type: \"cb16\" is not accepted here" },
    { "{loss_scale: 1}", "unknown setting \"loss_scale\"; write precision.loss_scaling_factor" },
};

START_TEST(wrong_precisions_are_refused)
{
    ck_assert_int_eq(configure(refused[_i].precision), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), refused[_i].message) != NULL, "%s",
                  cse_error_message());
}
END_TEST

START_TEST(what_is_given_twice_must_agree)
{
    cse_configuration twice = { .validate_only = true,
                                .weight_grad_reduce = "bf16",
                                .precision = "{weight_grad_reduce: bf16}" };
    ck_assert_int_eq(cse_configure(&twice), CSE_OK);
    cse_finish();
    twice.weight_grad_reduce = "fp32";
    ck_assert_int_eq(cse_configure(&twice), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "give one of them"));
    training t;
    begin(&t, "{loss_scaling_factor: dynamic}");
    ck_assert_ptr_null(cse_grad_scaler_new("{loss_scale: 8}"));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "keep one of them"));
    cse_finish();
}
END_TEST

/* ---- the learning rate: a number, a dictionary, a list of dictionaries ---- */

static const char *const schedules[] = {
    "0.1",
    "{scheduler: ConstantLR, learning_rate: 0.1}",
    "[{scheduler: LinearLR, initial_learning_rate: 0.0, end_learning_rate: 0.1, total_iters: 10}, "
    "{scheduler: CosineDecayLR, initial_learning_rate: 0.1, end_learning_rate: 0.0, "
    "total_iters: 90}]",
};

START_TEST(schedules_start)
{
    training t;
    begin(&t, NULL);
    ck_assert_ptr_nonnull(cse_configure_schedule(t.optimizer, schedules[_i]));
    start(training_step, &t, schedules[_i]);
}
END_TEST

/* ---- the data: num_steps and max_steps, num_epochs and steps_per_epoch ---- */

static const cse_executor_options limits[] = {
    { .input = data, .num_steps = 1000, .checkpoint_steps = 100 },
    { .input = data, .num_steps = 1000, .max_steps = 10 },
    { .input = data, .num_epochs = 2 },
    { .input = data, .num_epochs = 2, .steps_per_epoch = 3, .max_steps = 5 },
};

START_TEST(executors_start)
{
    training t;
    begin(&t, NULL);
    ck_assert_msg(run_with(training_step, &limits[_i], &t) == CSE_OK, "%s", cse_error_message());
    cse_finish();
}
END_TEST

/* ---- code of the step ---- */

/* Levels of regions and of one call, for both passes or one: pol(level=0), pol(bwd_level=0). */
static cse_tensor *levels_of_layers(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *images = cse_input(step, "images"), *outputs = NULL, *again = NULL;
    CSE_POL(step, .level = 0)
    {
        outputs = cse_relu(cse_forward(t->model, images));
    }
    CSE_POL(step, .bwd_level = 0) again = cse_forward(t->model, images);
    cse_tensor *loss = cse_mean_all(cse_square(cse_sub(outputs, again)));
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

/* out = gelu(matmul(gelu(matmul(a, b)), c)), the second product outside of GraphAMP. */
static cse_tensor *graphamp_disabled(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *c = cse_read(t->weight), *out = NULL;
    cse_tensor *activation = cse_gelu(cse_forward(t->model, cse_input(step, "images")), false);
    CSE_DISABLE_GRAPHAMP(step)
    {
        cse_tensor *product =
            cse_matmul(cse_cast(activation, CSE_BFLOAT16), cse_cast(c, CSE_BFLOAT16), false, false);
        out = cse_gelu(product, false);
    }
    cse_tensor *loss = cse_mean_all(cse_cast(out, CSE_FLOAT32));
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

/* step += 1; where(step < 10, a, b), and a rate that is a tensor. */
static cse_tensor *choice_by_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *images = cse_input(step, "images");
    cse_tensor *count = cse_add(cse_read(t->weight), cse_constant(1));
    cse_assign(t->weight, count);
    cse_tensor *rate = cse_where(cse_greater(count, cse_constant(1000)),
                                 cse_mul(count, cse_constant(0.0001)), cse_constant(0.0002));
    cse_tensor *chosen =
        cse_where(cse_less(count, cse_constant(10)), images, cse_mul(images, rate));
    return cse_mean_all(chosen);
}

/* if input.max() < 0: a value cannot be read while the step is traced. */
static cse_tensor *choice_by_value(cse_step *step, void *self)
{
    cse_tensor *images = cse_input(step, "images");
    (void)self;
    return cse_item(cse_max(images, cse_axes(0, 1), false)) < 0 ? NULL : cse_mean_all(images);
}

static cse_tensor *evaluation(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *outputs = cse_forward(t->model, cse_input(step, "images"));
    cse_tensor *labels = cse_input(step, "labels");
    cse_metric_update(t->accuracy, labels, cse_argmax(outputs, -1));
    return cse_cross_entropy(outputs, labels);
}

static const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };

START_TEST(steps_start)
{
    training t;
    begin(&t, "{fp16_type: bfloat16}");
    start(levels_of_layers, &t, "levels of layers");
    begin(&t, "{fp16_type: bfloat16, graphamp: {preset: mp1}, tiling_accum: bf16, "
              "weight_grad_reduce: bf16, weight_update: fp32}");
    t.weight = cse_state_new("c", cse_shape_of(3, 5), CSE_FLOAT32, zero);
    start(graphamp_disabled, &t, "GraphAMP disabled");
    begin(&t, NULL);
    t.weight = cse_state_new("count", cse_scalar_shape, CSE_FLOAT32, zero);
    start(choice_by_step, &t, "a choice by the step");
    begin(&t, NULL);
    t.accuracy = cse_metric_new("accuracy", "accuracy");
    cse_eval_mode(t.model);
    start(evaluation, &t, "an evaluation");
    begin(&t, NULL);
    ck_assert_int_ne(
        run_with(choice_by_value, &(cse_executor_options){ .input = data, .num_steps = 1 }, &t),
        CSE_OK);
    ck_assert_msg(strstr(cse_error_message(), "has no value while the step is traced") != NULL,
                  "%s", cse_error_message());
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reference calls");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, text_and_calls_say_the_same, 0, COUNT(precisions));
    tcase_add_test(cases, precisions_differ);
    tcase_add_loop_test(cases, wrong_precisions_are_refused, 0, COUNT(refused));
    tcase_add_test(cases, what_is_given_twice_must_agree);
    tcase_add_loop_test(cases, schedules_start, 0, COUNT(schedules));
    tcase_add_loop_test(cases, executors_start, 0, COUNT(limits));
    tcase_add_test(cases, steps_start);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
