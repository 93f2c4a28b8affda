/* Which values of a step the recorder stores, and how it reports those that it drops. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "csengine/csengine.h"
#include "run/record/recorder.h"
#include "run/record/series.h"
#include "store/reader.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

enum { VALUES = CSE_MOST_SERIES + 44, STEPS = 3 };

static const char data[] = "{data_processor: synthetic, samples: 8, features: [2], classes: 2, "
                           "batch_size: 1}";
static const char *const no_labels[] = { NULL };

/* As many named values as `self` says: value i is i + 0.5. */
static cse_tensor *step_function(cse_step *step, void *self)
{
    for (int i = 0; i < *(const int *)self; i++) {
        char name[32];
        snprintf(name, sizeof name, "value_%d", i);
        cse_step_fetch(step, name, cse_constant((double)i + 0.5));
    }
    return NULL;
}

static void count_row(void *self, const cse_row *row)
{
    (void)row;
    ++*(int *)self;
}

static int64_t dropped_of(cse_store_reader *reader)
{
    cse_text text = { 0 };
    ck_assert(cse_store_reader_key(reader, "dropped_series", &text));
    int64_t dropped = strtoll(text.data, NULL, 10);
    cse_text_clear(&text);
    return dropped;
}

static void record(char *folder, int values)
{
    const cse_configuration configuration = { .model_dir = folder, .job_labels = no_labels };
    const cse_session_report report = { .last_step = STEPS };
    traced_run traced;
    cse_recorder *recorder = NULL;
    open_session();
    traced_run_open(&traced, data, step_function, &values);
    traced.step->training = true;
    ck_assert_msg(cse_recorder_open(&(cse_recorder_options){ .configuration = &configuration,
                                                             .model_name = "none",
                                                             .run_directory = folder },
                                    &recorder) == CSE_OK,
                  "%s", cse_error_message());
    const cse_session_observer observer = cse_recorder_observer(recorder);
    observer.on_start(observer.self, traced.step, &report);
    for (int step = 0; step < STEPS; step++) {
        traced_run_step(&traced);
        observer.on_step(
            observer.self,
            &(cse_record){ .step = step, .fetched = traced.run.spaces[CSE_SPACE_FETCH] });
    }
    cse_recorder_close(&recorder, &(cse_recorder_end){ .weights_digest = "" });
    traced_run_close(&traced);
    cse_finish();
}

static const struct {
    int values, recorded, dropped;
} cases[] = { { 3, 3, 0 },
              { CSE_MOST_SERIES, CSE_MOST_SERIES, 0 },
              { VALUES, CSE_MOST_SERIES, VALUES - CSE_MOST_SERIES } };

START_TEST(values_beyond_the_bound_are_counted_and_said)
{
    char folder[] = "check_recorder_XXXXXX", last[32];
    cse_store_reader *reader = NULL;
    cse_point point;
    int lines = 0;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    record(folder, cases[_i].values);
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    for (int i = 0; i < cases[_i].values; i++) {
        snprintf(last, sizeof last, "value_%d", i);
        bool found = cse_store_reader_last_point(reader, last, &point);
        ck_assert_msg(found == (i < cases[_i].recorded), "%s", last);
        if (found)
            ck_assert_double_eq(point.value, (double)i + 0.5);
    }
    ck_assert_int_eq(dropped_of(reader), cases[_i].dropped);
    const char *const warning[] = { "warning", NULL };
    ck_assert_int_eq(
        cse_store_reader_rows(reader, CSE_ROW_LOG,
                              &(cse_store_query){ .filters = { { "level", warning } } }, count_row,
                              &lines),
        CSE_OK);
    ck_assert_int_eq(lines, cases[_i].dropped > 0);
    cse_store_reader_close(&reader);
    ck_assert(temporary_folder_remove(folder));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recorder");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, values_beyond_the_bound_are_counted_and_said, 0,
                        sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
