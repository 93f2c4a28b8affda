/* The contract of every callback: its own samples, in a run that this test invents, and that a run
 * that is resumed after any validation ends where the uninterrupted one does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "run/callbacks/callbacks.h"
#include "run/job/callback_set.h"
#include "tests/support/temporary_folder.h"

enum { MOST_SAMPLES = 256, MOST_LINES = 512, STEPS = 10 };

typedef struct sampled {
    const cse_callback_descriptor *callback;
    const cse_callback_sample *sample;
} sampled;

/* What a run came to. */
typedef struct outcome {
    cse_status status;
    int64_t stopped_at;
    int log_count, tell_count;
    char logs[MOST_LINES][128], tells[MOST_LINES][512];
} outcome;

static sampled all[MOST_SAMPLES];
static int count;
static char folder[64];
static cse_settings *optimizer;

static const cse_setting optimizer_table[] = {
    { .name = "momentum", .type = CSE_SETTING_NUMBER, .default_value = "0.9" },
    { .name = "weight_decay", .type = CSE_SETTING_NUMBER, .default_value = "0.01" },
    { .name = "nesterov", .type = CSE_SETTING_BOOL, .default_value = "false" },
    { .name = NULL },
};

static void list_samples(void)
{
    for (int k = 0; cse_callbacks[k] != NULL; k++)
        for (const cse_callback_sample *s = cse_callbacks[k]->samples;
             s != NULL && s->settings != NULL; s++) {
            if (count == MOST_SAMPLES)
                abort();
            all[count++] = (sampled){ cse_callbacks[k], s };
        }
}

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_callbacks_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(cse_settings_parse(optimizer_table, "optimizer", "{}", &optimizer), CSE_OK);
    ck_assert_int_eq(cse_configure(&(cse_configuration){ .model_dir = folder }), CSE_OK);
}

static void end(void)
{
    cse_finish();
    cse_settings_destroy(&optimizer);
    temporary_folder_remove(folder);
}

static void take_log(void *self, const char *name, int64_t step, double value)
{
    outcome *o = self;
    if (o->log_count < MOST_LINES)
        snprintf(o->logs[o->log_count++], sizeof o->logs[0], "%s %lld %.6g", name, (long long)step,
                 value);
}

static void take_line(void *self, const char *line)
{
    outcome *o = self;
    if (o->tell_count < MOST_LINES)
        snprintf(o->tells[o->tell_count++], sizeof o->tells[0], "%s", line);
}

static cse_status save_nothing(void *self, const char *path, const char *const *states)
{
    (void)self;
    (void)path;
    (void)states;
    return CSE_OK;
}

static cse_status train_to(cse_callback_set *set, int64_t first, int64_t from, int64_t last)
{
    CSE_TRY(cse_callback_set_train(set, from, true));
    for (int64_t s = from + 1; s <= from + STEPS; s++)
        CSE_TRY(
            cse_callback_set_step(set, &(cse_callback_step){ .step = s,
                                                             .last_step = last,
                                                             .loop_last_step = from + STEPS,
                                                             .first_step = first,
                                                             .loss = 1.0 / (double)s,
                                                             .batch_size = 64,
                                                             .seconds = 0.1 * (double)(s - first),
                                                             .samples_per_second = 640,
                                                             .global_samples_per_second = 640 }));
    return cse_callback_set_train(set, from + STEPS, false);
}

static cse_status validate(cse_callback_set *set, int64_t step, double value, bool replayed)
{
    const cse_callback_metric metric = { "val_loss", value };
    cse_callback_validation v = { .step = step, .loader_count = 1, .replayed = replayed };
    if (!replayed)
        CSE_TRY(cse_callback_set_validation(set, &v, true));
    v.metric_count = 1;
    v.metrics = &metric;
    return cse_callback_set_validation(set, &v, false);
}

/* The hooks of a run that is resumed after `resumed` validations, which it is told. */
static cse_status run_hooks(const sampled *at, int resumed, cse_callback_host *host,
                            cse_callback_set *set)
{
    outcome *o = host->self;
    int validations = 0;
    while (validations < 8 && at->sample->val_losses[validations] != 0)
        validations++;
    const int64_t first = (int64_t)resumed * STEPS, last = (int64_t)validations * STEPS;
    CSE_TRY(cse_callback_set_fit_start(set, first));
    for (int v = 0; v < resumed; v++)
        CSE_TRY(validate(set, (int64_t)(v + 1) * STEPS, at->sample->val_losses[v], true));
    o->stopped_at = host->stops ? first : 0;
    for (int v = resumed; v < validations && !host->stops; v++) {
        CSE_TRY(train_to(set, first, (int64_t)v * STEPS, last));
        CSE_TRY(validate(set, (int64_t)(v + 1) * STEPS, at->sample->val_losses[v], false));
        o->stopped_at = host->stops ? (int64_t)(v + 1) * STEPS : 0;
    }
    return cse_callback_set_fit_end(set, last, CSE_OK);
}

static void run_sample(const sampled *at, int resumed, outcome *o)
{
    static cse_model *model;
    cse_settings *settings = NULL;
    cse_callback_set *set = NULL;
    *o = (outcome){ .stopped_at = 0 };
    cse_callback_host host = { .self = o,
                               .log = take_log,
                               .tell = take_line,
                               .save_only = save_nothing,
                               .model_dir = folder,
                               .optimizer = optimizer };
    if (resumed == 0) /* one for all runs of the session */
        model = cse_compile(
            cse_model_new("fc_mnist", "{input_size: 16, hidden_sizes: [32], num_classes: 4}"));
    host.model = model;
    ck_assert_msg(cse_settings_parse(at->callback->settings, at->callback->name,
                                     at->sample->settings, &settings) == CSE_OK,
                  "%s", cse_error_message());
    const cse_config_plugin plugin = { .name = at->callback->name,
                                       .descriptor = at->callback,
                                       .settings = settings };
    o->status = cse_callback_set_new(&plugin, 1, &host, &set);
    if (o->status == CSE_OK)
        o->status = run_hooks(at, resumed, &host, set);
    cse_callback_set_destroy(&set);
    cse_settings_destroy(&settings);
}

static void check_lines(const sampled *at, const outcome *o)
{
    bool told = at->sample->tells == NULL;
    for (int i = 0; at->sample->logs[i] != NULL; i++) {
        ck_assert_msg(i < o->log_count, "%s: %s was not logged", at->callback->name,
                      at->sample->logs[i]);
        ck_assert_str_eq(o->logs[i], at->sample->logs[i]);
    }
    for (int i = 0; i < o->tell_count && !told; i++)
        told = strstr(o->tells[i], at->sample->tells) != NULL;
    ck_assert_msg(told, "%s: nothing told holds \"%s\"", at->callback->name, at->sample->tells);
}

START_TEST(samples_are_met)
{
    static outcome o;
    const sampled *at = &all[_i];
    run_sample(at, 0, &o);
    if (at->sample->refusal != NULL) {
        ck_assert_int_ne(o.status, CSE_OK);
        ck_assert_msg(strstr(cse_error_message(), at->sample->refusal) != NULL, "%s",
                      cse_error_message());
        return;
    }
    ck_assert_msg(o.status == CSE_OK, "%s: %s", at->callback->name, cse_error_message());
    ck_assert_ptr_nonnull(at->sample->source);
    ck_assert_int_eq(o.stopped_at, at->sample->stops_at);
    check_lines(at, &o);
}
END_TEST

START_TEST(a_resumed_run_ends_at_the_same_step)
{
    static outcome o;
    const sampled *at = &all[_i];
    if (at->sample->refusal != NULL)
        return;
    for (int resumed = 0; resumed < 8 && at->sample->val_losses[resumed] != 0; resumed++) {
        if (at->sample->stops_at > 0 && (int64_t)resumed * STEPS > at->sample->stops_at)
            break;
        run_sample(at, resumed, &o);
        ck_assert_int_eq(o.status, CSE_OK);
        ck_assert_msg(o.stopped_at == at->sample->stops_at,
                      "%s %s: resumed after %d validations it ends at %lld, not %lld",
                      at->callback->name, at->sample->settings, resumed, (long long)o.stopped_at,
                      (long long)at->sample->stops_at);
    }
}
END_TEST

START_TEST(a_descriptor_is_complete)
{
    for (int k = 0; cse_callbacks[k] != NULL; k++) {
        const cse_callback_descriptor *d = cse_callbacks[k];
        bool found = false;
        ck_assert(d->summary != NULL && d->summary[0] != '\0' && d->settings != NULL);
        for (int i = 0; i < count; i++)
            found = found || (all[i].callback == d && all[i].sample->refusal == NULL);
        ck_assert_msg(found, "callback %s has no sample", d->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("callbacks");
    TCase *cases = tcase_create("all");
    list_samples();
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, a_descriptor_is_complete);
    tcase_add_loop_test(cases, samples_are_met, 0, count);
    tcase_add_loop_test(cases, a_resumed_run_ends_at_the_same_step, 0, count);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
