/* Whole jobs with real worker processes: stopped and resumed runs give the same bits, and failures
 * have clear messages. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csengine/csengine.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "run/job/job_settings.h"
#include "run/session/session.h"
#include "tests/support/job_config.h"
#include "tests/support/temporary_folder.h"

static char folder[64], compile_dir[96], model_dir[96];

static const char train_data[] = "{data_processor: synthetic, samples: 512, features: [12], "
                                 "classes: 3, batch_size: 64, micro_batch_size: 16, shuffle: true}";
static const char val_data[] = "{data_processor: synthetic, samples: 128, features: [12], "
                               "classes: 3, batch_size: 64, micro_batch_size: 16}";
static const char model_settings[] = "{input_size: 12, hidden_sizes: [8], num_classes: 3, "
                                     "dropout: 0.1}";

static const char *configuration(void)
{
    static char yaml[4096];
    snprintf(yaml, sizeof yaml,
             "trainer:\n"
             "  init:\n"
             "    backend: {compile_dir: %s, cluster_config: {num_csx: 2}}\n"
             "    model_dir: %s\n"
             "    model: {name: fc_mnist, input_size: 12, hidden_sizes: [8], num_classes: 3, "
             "dropout: 0.1}\n"
             "    optimizer: {AdamW: {weight_decay: 0.01}}\n"
             "    schedulers:\n"
             "    - LinearLR: {initial_learning_rate: 0.001, end_learning_rate: 0.02, "
             "total_iters: 10}\n"
             "    - CosineDecayLR: {initial_learning_rate: 0.02, end_learning_rate: 0.001, "
             "total_iters: 30}\n"
             "    precision: {loss_scaling_factor: dynamic, steps_per_increase: 7, "
             "max_gradient_norm: 1}\n"
             "    loop: {num_steps: 40}\n"
             "    logging: {log_steps: 10}\n"
             "    seed: 3\n"
             "  fit:\n"
             "    train_dataloader: %s\n"
             "    val_dataloader: %s\n",
             compile_dir, model_dir, train_data, val_data);
    return yaml;
}

/* Of the test that runs; released by the next one and at the end. */
static job_config made;

static cse_job_settings changed_settings(const char *const (*overrides)[2])
{
    if (made.config != NULL)
        job_config_clear(&made);
    job_config_read(configuration(), overrides, &made);
    return made.settings;
}

static cse_job_settings job_settings(void)
{
    return changed_settings(NULL);
}

static void release_settings(void)
{
    if (made.config != NULL)
        job_config_clear(&made);
}

static cse_status try_job(const cse_job_settings *settings, cse_job_result *result)
{
    const cse_job_environment environment = cse_job_environment_of(settings);
    return cse_job_run(&environment, result);
}

static void run(const cse_job_settings *settings, cse_job_result *result)
{
    cse_status status = try_job(settings, result);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

static void fresh_folder(void)
{
    temporary_folder_remove(model_dir);
}

/* ---- the same bits ---- */

static int logged;

static void count_logged(void *self, const cse_job_event *event)
{
    (void)self;
    if (event->kind == CSE_JOB_STEP)
        logged = (int)event->step;
}

static int stop_early(void *self)
{
    (void)self;
    return logged >= 20;
}

/* Many, so that a request to stop comes before the end. */
enum { STEPS = 4000 };

START_TEST(a_run_has_one_result_however_it_is_cut)
{
    cse_job_result whole, wide, stopped, rest, cut;
    cse_job_settings settings = job_settings();
    fresh_folder();
    settings.loop.num_steps = STEPS;
    run(&settings, &whole);
    ck_assert_int_eq(whole.steps, STEPS);
    ck_assert_int_eq(whole.metric_count, 2);
    ck_assert_double_gt(whole.metrics[1].value, 0.5); /* three classes: guessing gives a third */

    fresh_folder();
    settings.session.num_csx = 3;
    settings.session.num_workers_per_csx = 2;
    run(&settings, &wide);
    ck_assert_str_eq(wide.weights_digest, whole.weights_digest);
    ck_assert(wide.metrics[0].value == whole.metrics[0].value);

    fresh_folder();
    cse_job_environment watched = cse_job_environment_of(&settings);
    watched.on_event = count_logged;
    watched.stop_requested = stop_early;
    ck_assert_int_eq(cse_job_run(&watched, &stopped), CSE_OK);
    ck_assert(stopped.stopped && stopped.steps < STEPS);
    run(&settings, &rest);
    ck_assert_int_eq(rest.steps, STEPS);
    ck_assert_int_eq(rest.steps_run, STEPS - stopped.steps);
    ck_assert_str_eq(rest.weights_digest, whole.weights_digest);

    fresh_folder();
    settings.eval_frequency = STEPS / 3.0;
    run(&settings, &cut);
    ck_assert_str_eq(cut.weights_digest, whole.weights_digest);
    run(&settings, &rest); /* finished: nothing is left to run */
    ck_assert_int_eq(rest.steps_run, 0);
    ck_assert_str_eq(rest.weights_digest, whole.weights_digest);
    ck_assert(rest.metrics[1].value == whole.metrics[1].value);

    settings.mode = CSE_JOB_EVALUATE;
    run(&settings, &rest);
    ck_assert_str_eq(rest.weights_digest, whole.weights_digest);
    ck_assert(rest.metrics[0].value == whole.metrics[0].value);
}
END_TEST

/* ---- ends ---- */

static void expect_failure(const cse_job_settings *settings, cse_status expected, const char *word)
{
    cse_job_result result;
    cse_status status = try_job(settings, &result);
    ck_assert_msg(status == expected, "status %d, %s", (int)status, cse_error_message());
    ck_assert_msg(strstr(cse_error_message(), word) != NULL, "'%s' is missing in: %s", word,
                  cse_error_message());
}

START_TEST(a_job_that_cannot_go_on_says_why)
{
    cse_job_result result;
    cse_job_settings settings = job_settings();
    fresh_folder();
    settings.loop.num_steps = 4;
    settings.save_initial_checkpoint = true;
    run(&settings, &result);
    char initial[160];
    snprintf(initial, sizeof initial, "%s/checkpoint_0.mdl", model_dir);
    ck_assert_int_eq(access(initial, R_OK), 0);

    settings = changed_settings((const char *const[][2]){ { "model.hidden_sizes", "[9]" }, { 0 } });
    expect_failure(&settings, CSE_DATA, "belongs to another model");
    settings =
        changed_settings((const char *const[][2]){ { "model.hidden_sizes", "[8, 8]" }, { 0 } });
    expect_failure(&settings, CSE_DATA, "model.fc_layers.1.weight");
    settings = changed_settings(
        (const char *const[][2]){ { "optimizer", "{SGD: {momentum: 0.9}}" }, { 0 } });
    expect_failure(&settings, CSE_DATA, "another optimizer");
    settings.checkpoint_path = "/nowhere/checkpoint.mdl";
    expect_failure(&settings, CSE_NO_INPUT, "/nowhere/checkpoint.mdl");
    settings.checkpoint_path = NULL;
    settings.session.model_dir = "/proc/nowhere";
    expect_failure(&settings, CSE_CANNOT_CREATE, "/proc/nowhere");
}
END_TEST

START_TEST(a_loss_that_is_not_finite_ends_the_run)
{
    cse_job_settings settings =
        changed_settings((const char *const[][2]){ { "optimizer", "{SGD: {lr: 1e6}}" },
                                                   { "schedulers", "null" },
                                                   { "precision", "{}" },
                                                   { 0 } });
    fresh_folder();
    expect_failure(&settings, CSE_FAILED, "the loss is ");
}
END_TEST

START_TEST(validating_and_compiling_execute_nothing)
{
    cse_job_result result;
    cse_job_settings settings = job_settings();
    fresh_folder();
    settings.session.validate_only = true;
    run(&settings, &result);
    ck_assert_int_eq(result.steps, 0);
    ck_assert_str_eq(result.artefact_directory, "");
    settings.session.validate_only = false;
    settings.mode = CSE_JOB_COMPILE;
    run(&settings, &result);
    ck_assert_int_eq(result.steps, 0);
    ck_assert_str_ne(result.artefact_directory, "");
    ck_assert_int_ne(access(model_dir, F_OK), 0);
}
END_TEST

START_TEST(labels_are_kept_with_the_run)
{
    char path[160], text[2048] = "";
    cse_job_result result;
    cse_job_settings settings = job_settings();
    fresh_folder();
    settings.loop.num_steps = 4;
    settings.session.job_labels = (const char *const[]){ "team=vision", "try=2", NULL };
    run(&settings, &result);
    snprintf(path, sizeof path, "%s/run_meta.json", model_dir);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
    fclose(file);
    ck_assert_ptr_nonnull(strstr(text, "team=vision"));
    ck_assert_ptr_nonnull(strstr(text, "try=2"));
    ck_assert_ptr_nonnull(strstr(text, "\"last_step\": 4"));
}
END_TEST

/* The limit counts from the start of the run's first process: a coordinator that takes over late
 * has no time at all, and still ends with a checkpoint. */
START_TEST(a_successor_has_no_more_time)
{
    cse_job_result result;
    cse_job_settings settings = job_settings();
    fresh_folder();
    settings.loop.num_steps = 1000000;
    settings.session.job_time_sec = 50;
    cse_job_environment late = cse_job_environment_of(&settings);
    late.started_ns = cse_clock_ns() - INT64_C(100000000000);
    ck_assert_int_eq(cse_job_run(&late, &result), CSE_TIME_LIMIT);
    ck_assert_msg(strstr(cse_error_message(), "the 50 s of the run are over") != NULL, "%s",
                  cse_error_message());
    ck_assert_int_lt(result.steps, 1000000);
    ck_assert(result.steps == 0 || access(result.checkpoint_path, F_OK) == 0);
    settings.loop.num_steps = 4;
    settings.autoload_last_checkpoint = false;
    fresh_folder();
    run(&settings, &result);
}
END_TEST

/* ---- what nothing read ---- */

START_TEST(values_that_nothing_read_are_listed)
{
    cse_job_result result;
    cse_job_settings settings = changed_settings((const char *const[][2]){
        { "precision.loss_scaling_factor", "128" }, { "loop.num_steps", "4" }, { 0 } });
    fresh_folder();
    run(&settings, &result);
    /* A static scale is never moved. */
    ck_assert_int_eq(result.unread_count, 1);
    ck_assert_str_eq(result.unread[0].path, "trainer.init.precision.steps_per_increase");
    ck_assert_str_eq(result.unread[0].place.source, "test.yaml");
    ck_assert_int_eq(result.unread[0].place.line, 10);
    ck_assert_int_eq(result.unread[0].place.column, 67);
}
END_TEST

/* ---- executions through the public calls ---- */

typedef struct small_run {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_status in_closure;
    int calls, checkpoint_calls;
} small_run;

static cse_status save_at_a_wrong_place(void *self, const cse_values *values)
{
    small_run *r = self;
    ck_assert_int_eq(cse_values_count(values), 1);
    ck_assert(isfinite(cse_value(values, 0)) && isnan(cse_value(values, 1)));
    r->calls++;
    r->in_closure = cse_save("/nowhere/x.mdl");
    return CSE_OK;
}

static cse_status count_checkpoint(void *self, const cse_values *values)
{
    small_run *r = self;
    (void)values;
    r->checkpoint_calls++;
    return CSE_OK;
}

static cse_tensor *small_step(cse_step *step, void *self)
{
    small_run *r = self;
    cse_tensor *loss = cse_model_loss(r->model, step, NULL);
    cse_step_closure(step, save_at_a_wrong_place, self, loss);
    cse_checkpoint_closure(step, count_checkpoint, self);
    return loss;
}

static cse_status report_full_disk(void *self, const cse_values *values)
{
    (void)self;
    return cse_fail(CSE_IO, "step %lld is where the disk is full",
                    (long long)cse_values_step(values));
}

static cse_tensor *failing_step(cse_step *step, void *self)
{
    cse_tensor *loss = cse_model_loss(((small_run *)self)->model, step, NULL);
    cse_step_closure(step, report_full_disk, NULL, loss);
    return loss;
}

static cse_tensor *limited_step(cse_step *step, void *self)
{
    small_run *r = self;
    cse_tensor *loss = cse_model_loss(r->model, step, NULL);
    cse_optimizer_step(step, loss, r->optimizer, NULL, NULL);
    cse_checkpoint_closure(step, count_checkpoint, self);
    return loss;
}

START_TEST(closures_and_changes_between_executions)
{
    float bias[3] = { 1, 2, 3 };
    cse_executor_options options = { .input = val_data, .num_steps = 6, .activation_steps = 4 };
    ck_assert_int_eq(
        cse_configure(&(cse_configuration){ .model_dir = model_dir, .compile_dir = compile_dir }),
        CSE_OK);
    small_run r = { .model = cse_compile(cse_model_new("fc_mnist", model_settings)) };
    cse_state *last_bias = cse_parameter_at(r.model, 3);
    cse_eval_mode(r.model);
    ck_assert_int_eq(cse_state_set(last_bias, bias, sizeof bias), CSE_OK);
    ck_assert_msg(cse_run(cse_executor_new(&options), small_step, &r) == CSE_OK, "%s",
                  cse_error_message());
    ck_assert_int_eq(r.calls, 2); /* steps 4 and 6 */
    ck_assert_int_eq(r.checkpoint_calls, 0);
    ck_assert_int_eq(r.in_closure, CSE_USAGE);
    ck_assert_int_eq(cse_state_set(last_bias, bias, sizeof bias), CSE_USAGE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "checkpoint on its last step"));

    options.checkpoint_steps = 4;
    ck_assert_int_eq(cse_run(cse_executor_new(&options), small_step, &r), CSE_OK);
    ck_assert_int_eq(r.checkpoint_calls, 2);
    ck_assert_int_eq(cse_state_set(last_bias, bias, sizeof bias), CSE_OK);

    ck_assert_int_eq(cse_run(cse_executor_new(&options), failing_step, &r), CSE_IO);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "step 4 is where"));
    cse_finish();
}
END_TEST

static int stop_now(void *self)
{
    (void)self;
    return 2;
}

typedef struct failing_training {
    cse_model *model;
    cse_optimizer *optimizer;
    bool fails;
} failing_training;

static cse_tensor *training_step(cse_step *step, void *self)
{
    const failing_training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    if (t->fails)
        cse_step_closure(step, report_full_disk, NULL, loss);
    return loss;
}

/* A failure leaves the states of the last whole step; one that ends the run at once leaves none, as
 * they may be half updated. */
START_TEST(a_failed_training_leaves_its_last_step)
{
    char path[sizeof folder + 16], later[sizeof folder + 16];
    float before[3], after[3];
    cse_executor_options options = { .input = val_data, .num_steps = 6, .activation_steps = 4 };
    ck_assert_int_eq(
        cse_configure(&(cse_configuration){ .model_dir = model_dir, .compile_dir = compile_dir }),
        CSE_OK);
    failing_training t = { .model = cse_compile(cse_model_new("fc_mnist", model_settings)) };
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{learning_rate: 0.1, momentum: 0.9}");
    cse_state *bias = cse_parameter_at(t.model, 3);
    snprintf(path, sizeof path, "%s/before.mdl", folder);
    snprintf(later, sizeof later, "%s/later.mdl", folder);
    ck_assert_int_eq(cse_run(cse_executor_new(&options), training_step, &t), CSE_OK);
    ck_assert_int_eq(cse_state_get(bias, before, sizeof before), CSE_OK);
    ck_assert_int_eq(cse_save(path), CSE_OK);

    t.fails = true;
    ck_assert_int_eq(cse_run(cse_executor_new(&options), training_step, &t), CSE_IO);
    ck_assert_int_ge(cse_global_step(), 10);
    ck_assert_int_eq(cse_state_get(bias, after, sizeof after), CSE_OK);
    ck_assert_mem_ne(after, before, sizeof before);
    ck_assert_int_eq(cse_save(later), CSE_OK);

    t.fails = false;
    cse_session_open_view("check_job")->hooks.stop_requested = stop_now;
    ck_assert_int_eq(cse_run(cse_executor_new(&options), training_step, &t), CSE_INTERRUPTED);
    cse_session_open_view("check_job")->hooks.stop_requested = NULL;
    ck_assert_int_eq(cse_state_get(bias, after, sizeof after), CSE_USAGE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "load a checkpoint"));
    ck_assert_int_eq(cse_save(path), CSE_USAGE);
    ck_assert_int_eq(cse_run(cse_executor_new(&options), training_step, &t), CSE_USAGE);

    ck_assert_msg(cse_load(path) == CSE_OK, "%s", cse_error_message());
    ck_assert_int_eq(cse_state_get(bias, after, sizeof after), CSE_OK);
    ck_assert_mem_eq(after, before, sizeof before);
    ck_assert_int_eq(cse_run(cse_executor_new(&options), training_step, &t), CSE_OK);
    ck_assert_int_eq(cse_state_get(bias, after, sizeof after), CSE_OK);
    ck_assert_mem_ne(after, before, sizeof before);
    cse_finish();
}
END_TEST

/* A limit of time ends an execution as a request does, and says so: its states are those of a whole
 * step, and no later execution of the session has time. */
START_TEST(a_limit_of_time_ends_an_execution)
{
    float bias[3];
    cse_executor_options options = { .input = val_data,
                                     .num_steps = INT32_MAX,
                                     .checkpoint_steps = INT32_MAX,
                                     .activation_steps = INT32_MAX };
    cse_configuration configuration = { .model_dir = model_dir,
                                        .compile_dir = compile_dir,
                                        .compile_only = true };
    small_run r = { .calls = 0 };
    for (int i = 0; i < 2; i++) { /* the first session compiles, which takes time as well */
        ck_assert_int_eq(cse_configure(&configuration), CSE_OK);
        r.model = cse_compile(cse_model_new("fc_mnist", model_settings));
        r.optimizer = cse_configure_optimizer("SGD", r.model, "{lr: 0.1}");
        if (!configuration.compile_only)
            break;
        ck_assert_int_eq(cse_run(cse_executor_new(&options), limited_step, &r), CSE_OK);
        cse_finish();
        configuration.compile_only = false;
        configuration.job_time_sec = 3; /* of which a loaded machine takes one to start */
    }
    ck_assert_int_eq(cse_run(cse_executor_new(&options), limited_step, &r), CSE_TIME_LIMIT);
    ck_assert_msg(strstr(cse_error_message(), "job_time_sec: the 3 s of the run are over") != NULL,
                  "%s", cse_error_message());
    ck_assert_int_eq(r.checkpoint_calls, 1);
    ck_assert_int_gt(cse_global_step(), 0);
    ck_assert_int_lt(cse_global_step(), INT32_MAX);
    ck_assert_int_eq(cse_state_get(cse_parameter_at(r.model, 3), bias, sizeof bias), CSE_OK);
    options.num_steps = 1000;
    ck_assert_int_eq(cse_run(cse_executor_new(&options), limited_step, &r), CSE_TIME_LIMIT);
    cse_finish();
}
END_TEST

int main(void)
{
    if (getenv("CSENGINE_EXECUTABLE") == NULL) {
        printf("CSENGINE_EXECUTABLE is not set: skipped\n");
        return 77;
    }
    snprintf(folder, sizeof folder, "/tmp/cse_job_XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(compile_dir, sizeof compile_dir, "%s/compiled", folder);
    snprintf(model_dir, sizeof model_dir, "%s/model_dir", folder);
    Suite *suite = suite_create("job");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 600);
    tcase_add_checked_fixture(cases, NULL, release_settings);
    tcase_add_test(cases, a_run_has_one_result_however_it_is_cut);
    tcase_add_test(cases, a_job_that_cannot_go_on_says_why);
    tcase_add_test(cases, a_limit_of_time_ends_an_execution);
    tcase_add_test(cases, a_successor_has_no_more_time);
    tcase_add_test(cases, a_loss_that_is_not_finite_ends_the_run);
    tcase_add_test(cases, validating_and_compiling_execute_nothing);
    tcase_add_test(cases, labels_are_kept_with_the_run);
    tcase_add_test(cases, values_that_nothing_read_are_listed);
    tcase_add_test(cases, closures_and_changes_between_executions);
    tcase_add_test(cases, a_failed_training_leaves_its_last_step);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(folder);
    return failed == 0 ? 0 : 1;
}
