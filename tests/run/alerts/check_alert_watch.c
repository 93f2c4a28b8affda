/* Alerts of a store: reading it as it grows and reading it whole give the same, also where a later
 * attempt does steps again; silences count while a run trains. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "run/alerts/alert_list.h"
#include "tests/support/temporary_folder.h"

static const char *const conditions[] = {
    "loss > 2 * median(loss, 10)",    "loss < min(loss, 20) + 0.01", "no step for 5 s",
    "val_loss > 1.1 * min(val_loss)", "skipped_steps > 2 in 30",
};
enum { CONDITIONS = 5 };

static char folder[64];
static int64_t begun_ms;

static void set_up(void)
{
    snprintf(folder, sizeof folder, "check_alert_watch_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void tear_down(void)
{
    ck_assert(temporary_folder_remove(folder));
}

static cse_store *open_store(void)
{
    cse_store *store = NULL;
    ck_assert_msg(cse_store_open(folder, NULL, &store) == CSE_OK, "%s", cse_error_message());
    ck_assert_int_eq(cse_store_transition(store, CSE_RUN_COMPILING, NULL, NULL), CSE_OK);
    ck_assert_int_eq(cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL), CSE_OK);
    ck_assert_int_eq(cse_store_transition(store, CSE_RUN_RUNNING, NULL, NULL), CSE_OK);
    begun_ms = cse_unix_ms();
    return store;
}

static void add(cse_store *store, const char *name, int64_t step, int64_t time_ms, double value)
{
    const int series = cse_store_series(store, name);
    cse_store_points(
        store,
        &(cse_step_points){
            .step = step, .time_ms = time_ms, .count = 1, .series = &series, .values = &value });
}

/* Steps as of a run: mostly 100 ms apart, sometimes a long while. */
static int64_t add_steps(cse_store *store, int64_t first, int64_t last, int64_t time_ms)
{
    int skipped = 0;
    for (int64_t step = first; step <= last; step++) {
        time_ms += rand() % 40 == 0 ? 7000 : 100;
        skipped += rand() % 12 == 0;
        add(store, "loss", step, time_ms, (double)(rand() % 1000 + 1) / 300);
        add(store, "samples_per_second", step, time_ms, 10);
        add(store, "skipped_steps", step, time_ms, skipped);
        if (step % 7 == 0)
            add(store, "val_loss", step, time_ms + 50, (double)(rand() % 100 + 50) / 100);
    }
    return time_ms;
}

static cse_alert_watch *new_watch(void)
{
    cse_alert_watch *watch = cse_alert_watch_new();
    for (int i = 0; i < CONDITIONS; i++)
        ck_assert_int_eq(cse_alert_watch_add(watch, conditions[i]), CSE_OK);
    return watch;
}

static void take(void *self, const cse_alert_change *change)
{
    ck_assert_str_eq(change->condition, conditions[change->alert]);
    cse_text_add(self, "%d %s %lld %lld: %s\n", change->alert, change->begins ? "begins" : "over",
                 (long long)change->step, (long long)(change->time_ms - begun_ms), change->values);
}

static void look(cse_alert_watch *watch, cse_text *told)
{
    cse_store_reader *reader = NULL;
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_int_eq(cse_alert_watch_read(watch, reader, 0, take, told), CSE_OK);
    cse_store_reader_close(&reader);
}

static void look_at_all(cse_text *told)
{
    cse_alert_watch *watch = new_watch();
    look(watch, told);
    cse_alert_watch_destroy(&watch);
}

START_TEST(what_is_read_piece_by_piece_is_what_is_read_at_once)
{
    cse_text pieces = { 0 }, whole = { 0 };
    cse_store *store = open_store();
    cse_alert_watch *watch = new_watch();
    int64_t time_ms = begun_ms;
    for (int64_t first = 1; first < 400;) {
        const int64_t last = first + rand() % 30;
        time_ms = add_steps(store, first, last, time_ms);
        first = last + 1;
        ck_assert_int_eq(cse_store_flush(store), CSE_OK);
        look(watch, &pieces);
    }
    cse_store_close(&store);
    look_at_all(&whole);
    for (int i = 0; i < CONDITIONS; i++) {
        char line[32];
        snprintf(line, sizeof line, "\n%d begins", i);
        ck_assert_msg(strstr(whole.data, line) != NULL, "no alert %d in\n%s", i, whole.data);
    }
    ck_assert_str_eq(pieces.data, whole.data);
    cse_alert_watch_destroy(&watch);
    cse_text_clear(&pieces);
    cse_text_clear(&whole);
}
END_TEST

/* What was read before the attempt that repeats steps does not count for what comes after. */
START_TEST(steps_that_are_done_again_are_read_again)
{
    cse_text told = { 0 }, again = { 0 }, whole = { 0 };
    cse_store *store = open_store();
    cse_alert_watch *watch = new_watch();
    int64_t time_ms = add_steps(store, 1, 100, begun_ms);
    cse_store_flush(store);
    look(watch, &told);
    cse_store_close(&store);
    const int64_t begun_before_ms = begun_ms;
    store = open_store();
    begun_ms = begun_before_ms;
    cse_store_steps_from(store, 51);
    add_steps(store, 51, 150, time_ms + 1000);
    cse_store_flush(store);
    look(watch, &again);
    cse_store_close(&store);
    look_at_all(&whole);
    /* The whole history begins with what was told of steps 1 to 50, and ends with what came. */
    ck_assert(again.size > 0 && again.size < whole.size);
    ck_assert_str_eq(whole.data + whole.size - again.size, again.data);
    cse_alert_watch_destroy(&watch);
    cse_text_clear(&told);
    cse_text_clear(&again);
    cse_text_clear(&whole);
}
END_TEST

/* The run is compiled when a look finds the steps of the attempt before, of which some are done
 * again then. */
START_TEST(steps_that_are_done_again_after_a_first_look_are_read)
{
    cse_text told = { 0 }, again = { 0 }, whole = { 0 };
    cse_store *store = open_store();
    int64_t time_ms = add_steps(store, 1, 100, begun_ms);
    cse_store_close(&store);
    const int64_t begun_before_ms = begun_ms;
    store = open_store();
    begun_ms = begun_before_ms;
    cse_store_flush(store);
    cse_alert_watch *watch = new_watch();
    look(watch, &told);
    cse_store_steps_from(store, 51);
    time_ms = add_steps(store, 51, 80, time_ms + 1000);
    cse_store_flush(store);
    look(watch, &again);
    add_steps(store, 81, 150, time_ms);
    cse_store_flush(store);
    look(watch, &again);
    cse_store_close(&store);
    look_at_all(&whole);
    ck_assert(again.size > 0 && again.size < whole.size);
    ck_assert_str_eq(whole.data + whole.size - again.size, again.data);
    cse_alert_watch_destroy(&watch);
    cse_text_clear(&told);
    cse_text_clear(&again);
    cse_text_clear(&whole);
}
END_TEST

START_TEST(nothing_is_told_of_what_was_before)
{
    cse_text told = { 0 };
    cse_store *store = open_store();
    cse_alert_watch *watch = new_watch();
    const int64_t time_ms = add_steps(store, 1, 200, begun_ms);
    cse_store_close(&store);
    cse_alert_watch_told(watch, time_ms + 50);
    look(watch, &told);
    ck_assert_int_eq((int)told.size, 0);
    cse_alert_watch_destroy(&watch);
    cse_text_clear(&told);
}
END_TEST

START_TEST(a_list_has_as_many_as_are_asked_for_and_their_number)
{
    cse_store_reader *reader = NULL;
    cse_alert_list all = { .most = 0 }, some = { .most = 3 };
    cse_store *store = open_store();
    add_steps(store, 1, 200, begun_ms);
    cse_store_close(&store);
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_int_eq(cse_alerts_try(reader, conditions, CONDITIONS, &all), CSE_OK);
    ck_assert_int_eq(cse_alerts_try(reader, conditions, CONDITIONS, &some), CSE_OK);
    ck_assert_int_gt(all.total, 3);
    ck_assert_int_eq(all.total, (int64_t)json_array_size(all.alerts));
    ck_assert_int_eq(some.total, all.total);
    ck_assert_uint_eq(json_array_size(some.alerts), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert(json_equal(json_array_get(some.alerts, i), json_array_get(all.alerts, i)));
    json_decref(all.alerts);
    json_decref(some.alerts);
    cse_store_reader_close(&reader);
}
END_TEST

static void take_silence(void *self, const cse_alert_change *change)
{
    cse_text_add(self, "%s%lld ", change->begins ? "+" : "-",
                 (long long)(change->time_ms - begun_ms));
}

START_TEST(silence_counts_while_a_run_trains)
{
    cse_text told = { 0 };
    cse_store *store = open_store();
    cse_alert_watch *watch = cse_alert_watch_new();
    cse_store_reader *reader = NULL;
    cse_store_set_integer(store, "run_last_step", 10);
    ck_assert_int_eq(cse_alert_watch_add(watch, "no step for 5 s"), CSE_OK);
    add(store, "samples_per_second", 1, begun_ms + 1000, 1);
    add(store, "samples_per_second", 2, begun_ms + 20000, 1);
    cse_store_flush(store);
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_int_eq(cse_alert_watch_read(watch, reader, begun_ms + 21000, take_silence, &told),
                     CSE_OK);
    ck_assert_str_eq(told.data, "+6000 -20000 ");
    told.size = 0;
    ck_assert_int_eq(cse_alert_watch_read(watch, reader, begun_ms + 26000, take_silence, &told),
                     CSE_OK);
    ck_assert_str_eq(told.data, "+25000 ");
    told.size = 0;
    /* The last step: nothing is expected any more. */
    add(store, "samples_per_second", 10, begun_ms + 30000, 1);
    cse_store_flush(store);
    ck_assert_int_eq(cse_alert_watch_read(watch, reader, begun_ms + 90000, take_silence, &told),
                     CSE_OK);
    ck_assert_str_eq(told.data, "-30000 ");
    cse_store_reader_close(&reader);
    cse_alert_watch_destroy(&watch);
    cse_store_close(&store);
    cse_text_clear(&told);
}
END_TEST

START_TEST(a_name_without_a_value_is_known)
{
    cse_text told = { 0 };
    cse_store *store = open_store();
    cse_alert_watch *watch = cse_alert_watch_new();
    ck_assert_int_eq(cse_alert_watch_add(watch, "loss > 3 and lost > 2"), CSE_OK);
    ck_assert_int_eq(cse_alert_watch_add(watch, "loss > 3"), CSE_OK);
    add(store, "loss", 1, begun_ms, 1);
    cse_store_close(&store);
    look(watch, &told);
    ck_assert_str_eq(cse_alert_watch_unknown(watch, 0), "lost");
    ck_assert_ptr_null(cse_alert_watch_unknown(watch, 1));
    cse_alert_watch_destroy(&watch);
    cse_text_clear(&told);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("alerts of a store");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, what_is_read_piece_by_piece_is_what_is_read_at_once);
    tcase_add_test(cases, steps_that_are_done_again_are_read_again);
    tcase_add_test(cases, steps_that_are_done_again_after_a_first_look_are_read);
    tcase_add_test(cases, nothing_is_told_of_what_was_before);
    tcase_add_test(cases, a_list_has_as_many_as_are_asked_for_and_their_number);
    tcase_add_test(cases, silence_counts_while_a_run_trains);
    tcase_add_test(cases, a_name_without_a_value_is_known);
    Suite *suite = suite_create("alerts of a store");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
