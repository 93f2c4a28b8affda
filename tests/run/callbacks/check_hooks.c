/* The hooks of a callback in whole runs with real worker processes: their order, what they are
 * told, a stop in the middle of a part, and hooks that fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "csengine/callback.h"
#include "csengine/generated/ops.h"
#include "engine/base/text.h"
#include "run/job/job_settings.h"
#include "store/reader.h"
#include "tests/support/job_config.h"
#include "tests/support/temporary_folder.h"

static const char yaml[] =
    "trainer:\n"
    "  init:\n"
    "    backend: {compile_dir: %s/compiled, cluster_config: {num_csx: 2}}\n"
    "    model_dir: %s/run\n"
    "    model: {name: fc_mnist, input_size: 12, hidden_sizes: [8], num_classes: 3}\n"
    "    optimizer: {SGD: {lr: 0.25}}\n"
    "    loop: {num_steps: 8, eval_frequency: 4}\n"
    "    checkpoint: {steps: 4, save_initial_checkpoint: true}\n"
    "    logging: {log_steps: 2}\n"
    "  fit:\n"
    "    train_dataloader: {data_processor: synthetic, samples: 512, features: [12], classes: 3, "
    "batch_size: 64, micro_batch_size: 16}\n"
    "    val_dataloader: {data_processor: synthetic, samples: 128, features: [12], classes: 3, "
    "batch_size: 64, micro_batch_size: 16}\n";

static char folder[64];

/* A callback that writes down what it is told, and does as a test says. */
static cse_text seen;
static int64_t stop_step, fail_step;
static double traced_sum, rate;
static cse_callback_host *host_of_run;

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    (void)settings;
    *self = host_of_run = host;
    cse_text_add(&seen, "setup ");
    return CSE_OK;
}

static void finalize(void *self)
{
    (void)self;
    cse_text_add(&seen, "finalize ");
}

#define HOOK(name, word)                                    \
    static cse_status name(void *self, int64_t step)        \
    {                                                       \
        (void)self;                                         \
        cse_text_add(&seen, word "%lld ", (long long)step); \
        return CSE_OK;                                      \
    }
HOOK(on_fit_start, "fit")
HOOK(on_fit_end, "end")
HOOK(on_train_start, "train")
HOOK(on_train_end, "trained")

static void on_fit_exception(void *self, int64_t step, const char *message)
{
    (void)self;
    cse_text_add(&seen, "exception%lld(%.14s) ", (long long)step, message);
}

static void trace(void *self, const cse_callback_trace *t)
{
    (void)self;
    cse_text_add(&seen, "trace%d ", t->count);
    cse_callback_fetch(t, "first_bias", cse_sum_all(t->gradients[1]));
}

static cse_status on_train_step_end(void *self, const cse_callback_step *step)
{
    double value = 0;
    (void)self;
    cse_text_add(&seen, "step%lld/%lld/%lld ", (long long)step->step,
                 (long long)step->loop_last_step, (long long)step->last_step);
    ck_assert_int_eq(step->batch_size, 64);
    ck_assert(step->seconds >= 0);
    ck_assert(cse_callback_value(step, "loss", &value) && value == step->loss);
    ck_assert(cse_callback_value(step, "first_bias", &value));
    ck_assert(!cse_callback_value(step, "last_bias", &value));
    ck_assert(cse_callback_optimizer_setting(host_of_run, "lr", 0, &rate));
    traced_sum += value;
    if (step->step == fail_step)
        return cse_fail(CSE_DATA, "as the test wants");
    if (step->step == stop_step)
        cse_callback_stop(host_of_run, "the test wants it");
    return CSE_OK;
}

static cse_status on_validate_start(void *self, const cse_callback_validation *v)
{
    (void)self;
    cse_text_add(&seen, "validate%lld ", (long long)v->step);
    return CSE_OK;
}

static cse_status on_validate_end(void *self, const cse_callback_validation *v)
{
    (void)self;
    cse_text_add(&seen, "%s%lld(%s,%s) ", v->replayed ? "replayed" : "validated",
                 (long long)v->step, v->metrics[0].name, v->metrics[1].name);
    return CSE_OK;
}

static cse_status checkpoint_hook(const char *word, const cse_callback_checkpoint *checkpoint)
{
    const char *name = strrchr(checkpoint->path, '/') + 1;
    cse_text_add(&seen, "%s(%.*s) ", word, (int)strcspn(name, "."), name);
    return CSE_OK;
}
static cse_status on_save(void *self, const cse_callback_checkpoint *checkpoint)
{
    (void)self;
    return checkpoint_hook("save", checkpoint);
}
static cse_status on_saved(void *self, const cse_callback_checkpoint *checkpoint)
{
    (void)self;
    return checkpoint_hook("saved", checkpoint);
}
static cse_status on_load(void *self, const cse_callback_checkpoint *checkpoint)
{
    (void)self;
    return checkpoint_hook("load", checkpoint);
}

static const cse_setting no_settings[] = { { .name = NULL } };

static const cse_callback_descriptor witness = {
    .name = "Witness",
    .summary = "writes down what it is told",
    .settings = no_settings,
    .setup = setup,
    .finalize = finalize,
    .on_fit_start = on_fit_start,
    .on_fit_end = on_fit_end,
    .on_fit_exception = on_fit_exception,
    .on_train_start = on_train_start,
    .on_train_end = on_train_end,
    .trace = trace,
    .on_train_step_end = on_train_step_end,
    .on_validate_start = on_validate_start,
    .on_validate_end = on_validate_end,
    .on_save_checkpoint = on_save,
    .on_after_save_checkpoint = on_saved,
    .on_before_load_checkpoint = on_load,
};

/* Runs the job in `folder`, and returns what the callback saw. */
static cse_status run(const char *const (*overrides)[2], cse_job_result *result)
{
    char text[4096];
    job_config config;
    seen.size = 0;
    cse_text_add(&seen, "%s", "");
    snprintf(text, sizeof text, yaml, folder, folder);
    job_config_read(text, overrides, &config);
    const cse_config_plugin plugin = { .name = "Witness", .descriptor = &witness };
    config.settings.callbacks = &plugin;
    config.settings.callback_count = 1;
    cse_job_environment environment = cse_job_environment_of(&config.settings);
    environment.run_store = true;
    cse_status status = cse_job_run(&environment, result);
    job_config_clear(&config);
    return status;
}

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_hooks_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    stop_step = fail_step = -1;
    traced_sum = 0;
}

static void end(void)
{
    cse_text_clear(&seen);
    temporary_folder_remove(folder);
}

START_TEST(hooks_come_in_order)
{
    cse_job_result result;
    ck_assert_msg(run(NULL, &result) == CSE_OK, "%s", cse_error_message());
    ck_assert_str_eq(
        seen.data,
        "setup fit0 save(checkpoint_0) saved(checkpoint_0) "
        "train0 trace4 step2/4/8 step4/4/8 save(checkpoint_4) saved(checkpoint_4) trained4 "
        "validate4 validated4(val_loss,val_accuracy) "
        "train4 trace4 step6/8/8 step8/8/8 save(checkpoint_8) saved(checkpoint_8) trained8 "
        "validate8 validated8(val_loss,val_accuracy) end8 finalize ");
    ck_assert_double_ne(traced_sum, 0);
    ck_assert_double_eq(rate, 0.25);
    /* Going on: a further part. */
    const char *const more[][2] = { { "loop.num_steps", "null" },
                                    { "loop.max_steps", "12" },
                                    { NULL, NULL } };
    ck_assert_msg(run(more, &result) == CSE_OK, "%s", cse_error_message());
    ck_assert_str_eq(seen.data,
                     "setup load(checkpoint_8) fit8 replayed4(val_loss,val_accuracy) "
                     "replayed8(val_loss,val_accuracy) train8 trace4 step10/12/12 step12/12/12 "
                     "save(checkpoint_12) saved(checkpoint_12) trained12 validate12 "
                     "validated12(val_loss,val_accuracy) end12 finalize ");
}
END_TEST

START_TEST(a_callback_ends_the_training_at_a_step)
{
    cse_job_result result;
    stop_step = 2;
    ck_assert_msg(run(NULL, &result) == CSE_OK, "%s", cse_error_message());
    /* After the step in flight, with a checkpoint and a validation; the run has succeeded. */
    ck_assert(!result.stopped);
    ck_assert_int_ge(result.steps, 2);
    ck_assert_int_lt(result.steps, 8);
    ck_assert_int_eq(result.metric_count, 2);
    char saved[64], last[64];
    snprintf(saved, sizeof saved, "saved(checkpoint_%lld)", (long long)result.steps);
    snprintf(last, sizeof last, "validated%lld(val_loss,val_accuracy) end%lld finalize ",
             (long long)result.steps, (long long)result.steps);
    ck_assert_msg(strstr(seen.data, saved) != NULL, "%s", seen.data);
    ck_assert_msg(strstr(seen.data, last) != NULL, "%s", seen.data);
    char path[128];
    cse_store_reader *reader = NULL;
    cse_run_status status;
    snprintf(path, sizeof path, "%s/run", folder);
    ck_assert_int_eq(cse_store_reader_open(path, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_status(reader, &status), CSE_OK);
    ck_assert_int_eq(status.state, CSE_RUN_SUCCEEDED);
    cse_store_reader_close(&reader);
}
END_TEST

START_TEST(a_hook_that_fails_ends_the_run)
{
    cse_job_result result;
    fail_step = 2;
    ck_assert_int_eq(run(NULL, &result), CSE_DATA);
    ck_assert_msg(strstr(cse_error_message(), "callback Witness: as the test wants") != NULL, "%s",
                  cse_error_message());
    ck_assert_msg(strstr(seen.data, "(callback Witne") != NULL ||
                      strstr(seen.data, "exception") != NULL,
                  "%s", seen.data);
    ck_assert_msg(strstr(seen.data, " finalize ") != NULL, "%s", seen.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hooks");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, hooks_come_in_order);
    tcase_add_test(cases, a_callback_ends_the_training_at_a_step);
    tcase_add_test(cases, a_hook_that_fails_ends_the_run);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
