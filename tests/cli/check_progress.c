/* Progress lines compared exactly: the reference Trainer's format, the smoothed rate, JSON. */
#include "cli/terminal/confusion.c"
#include "cli/terminal/json_values.c"
#include "cli/terminal/live_line.c"
#include "cli/terminal/printing.c"
#include "cli/terminal/progress.c"
#include "cli/terminal/progress_line.c"
#include "cli/terminal/report.c"

#include <check.h>
#include <stdlib.h>

static char *shown; /* what was printed last */

static void capture(cse_progress *progress, size_t *size)
{
    progress->out = open_memstream(&shown, size);
}

START_TEST(the_rate_is_smoothed)
{
    size_t size = 0;
    cse_progress progress = { .json = false };
    capture(&progress, &size);
    cse_job_event event = { .kind = CSE_JOB_STEP,
                            .step = 50,
                            .last_step = 150,
                            .loop_last_step = 60,
                            .batch_size = 100,
                            .more_loops = true,
                            .loss = 7.61475f,
                            .samples_per_second = 100,
                            .global_samples_per_second = 20 };
    cse_progress_event(&progress, &event);
    /* 10 and 100 steps of 100 samples at 20 samples/s: 50 s and 500 s. */
    ck_assert_str_eq(shown, "| Train Device=CPU, Step=50, Loss=7.61475, Rate=100.00 samples/sec, "
                            "GlobalRate=20.00 samples/sec, LoopTimeRemaining=0:00:50, "
                            "TimeRemaining>0:08:20\n");
    event.step = 100;
    event.samples_per_second = 50;
    event.more_loops = false;
    cse_progress_event(&progress, &event);
    /* 0.6 * 50 + 0.4 * 100. */
    ck_assert_ptr_nonnull(strstr(shown, "Step=100, Loss=7.61475, Rate=70.00 samples/sec"));
    ck_assert_ptr_nonnull(strstr(shown, "TimeRemaining=0:04:10\n"));
    fclose(progress.out);
    free(shown);
}
END_TEST

START_TEST(quiet_shows_the_end_alone)
{
    size_t size = 0;
    cse_progress progress = { .quiet = true };
    capture(&progress, &size);
    for (int kind = CSE_JOB_LOG; kind <= CSE_JOB_PROGRESS; kind++) {
        cse_job_event event = { .step = 1, .last_step = 2, .text = "text" };
        event.kind = kind;
        cse_progress_event(&progress, &event);
    }
    fflush(progress.out);
    ck_assert_uint_eq(size, 0);
    cse_job_result result = { .steps_run = 2, .weights_digest = "ab" };
    cse_progress_end(&progress, CSE_JOB_TRAIN, CSE_OK, &result);
    ck_assert_ptr_nonnull(strstr(shown, "Weights digest: ab\n"));
    fclose(progress.out);
    free(shown);
}
END_TEST

START_TEST(json_steps_say_where_the_run_is)
{
    size_t size = 0;
    cse_progress progress = { .json = true };
    capture(&progress, &size);
    /* 0.15625 = 1.01b * 2^-3: 0x3e200000 (the example of the IEEE 754 article). */
    cse_job_event event = { .kind = CSE_JOB_STEP,
                            .step = 3,
                            .last_step = 9,
                            .loss = 0.15625f,
                            .epoch = 1.5,
                            .last_epoch = 4.5,
                            .learning_rate = 0.25,
                            .samples_per_second = 64.5,
                            .time_ms = 1700000000123 };
    cse_progress_event(&progress, &event);
    ck_assert_str_eq(shown, "{\"event\":\"step\",\"step\":3,\"loss\":0.15625,"
                            "\"loss_bits\":\"3e200000\",\"epoch\":1.5,\"learning_rate\":0.25,"
                            "\"samples_per_second\":64.5,\"time_ms\":1700000000123}\n");
    fclose(progress.out);
    free(shown);
    capture(&progress, &size);
    event.loss = INFINITY;
    event.learning_rate = (double)NAN;
    event.last_epoch = 0;
    cse_progress_event(&progress, &event);
    ck_assert_str_eq(shown, "{\"event\":\"step\",\"step\":3,\"loss\":null,"
                            "\"loss_bits\":\"7f800000\",\"epoch\":null,\"learning_rate\":null,"
                            "\"samples_per_second\":64.5,\"time_ms\":1700000000123}\n");
    fclose(progress.out);
    free(shown);
    capture(&progress, &size);
    event.kind = CSE_JOB_EVAL_STEP;
    event.loss = 0.15625f;
    cse_progress_event(&progress, &event);
    ck_assert_str_eq(shown, "{\"event\":\"eval_step\",\"step\":3,\"loss\":0.15625,"
                            "\"loss_bits\":\"3e200000\",\"samples_per_second\":64.5,"
                            "\"time_ms\":1700000000123}\n");
    fclose(progress.out);
    free(shown);
}
END_TEST

static const struct {
    cse_status status;
    bool stopped;
    const char *state;
} ends[] = {
    { CSE_OK, false, "\"state\":\"SUCCEEDED\"" },
    { CSE_OK, true, "\"state\":\"CANCELLED\"" },
    { CSE_INTERRUPTED, true, "\"state\":\"CANCELLED\"" },
    { CSE_FAILED, false, "\"state\":\"FAILED\"" },
};

START_TEST(json_ends_with_the_state)
{
    size_t size = 0;
    cse_progress progress = { .json = true };
    capture(&progress, &size);
    cse_job_result result = { .stopped = ends[_i].stopped,
                              .steps = 7,
                              .train_seconds = 2,
                              .samples_per_second = 0.5,
                              .metric_count = 1,
                              .metrics = { { "accuracy", 0.75 } },
                              .weights_digest = "ab",
                              .checkpoint_path = "c.mdl" };
    cse_progress_end(&progress, CSE_JOB_TRAIN, ends[_i].status, &result);
    ck_assert_ptr_nonnull(strstr(shown, ends[_i].state));
    ck_assert_ptr_nonnull(strstr(shown,
                                 "\"steps\":7,\"train_seconds\":2.0,"
                                 "\"samples_per_second\":0.5,\"metrics\":{\"accuracy\":0.75},"
                                 "\"weights_digest\":\"ab\",\"checkpoint\":\"c.mdl\""));
    fclose(progress.out);
    free(shown);
}
END_TEST

START_TEST(durations)
{
    char text[32];
    ck_assert_str_eq(cse_duration_text(489, text, sizeof text), "0:08:09");
    ck_assert_str_eq(cse_duration_text(14398.6, text, sizeof text), "3:59:59");
    ck_assert_str_eq(cse_duration_text(0, text, sizeof text), "0:00:00");
    ck_assert_str_eq(cse_duration_text(NAN, text, sizeof text), "0:00:00");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("progress");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, the_rate_is_smoothed);
    tcase_add_test(cases, quiet_shows_the_end_alone);
    tcase_add_test(cases, json_steps_say_where_the_run_is);
    tcase_add_loop_test(cases, json_ends_with_the_state, 0, sizeof ends / sizeof ends[0]);
    tcase_add_test(cases, durations);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
