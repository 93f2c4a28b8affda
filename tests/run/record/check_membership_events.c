/* The hosts of a run, by its reports: who left and who joined, over a later start as well; and
 * which settings a start has that the one before had not. */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/record/membership_events.h"
#include "run/record/settings_change.h"
#include "store/reader.h"
#include "tests/support/temporary_folder.h"

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "check_membership_events_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    ck_assert(temporary_folder_remove(folder));
}

static cse_store *open_store(void)
{
    cse_store *store = NULL;
    ck_assert_msg(cse_store_open(folder, NULL, &store) == CSE_OK, "%s", cse_error_message());
    return store;
}

/* Hosts as "a present, b lost 1": name, state, losses. */
static void report(cse_host_membership *rows, const char *hosts)
{
    char text[256], *rest = text;
    json_t *list = json_array();
    snprintf(text, sizeof text, "%s", hosts);
    for (char *one; (one = strsep(&rest, ",")) != NULL;) {
        char name[16] = "", state[16] = "";
        int losses = 0;
        ck_assert_int_ge(sscanf(one, " %15s %15s %d", name, state, &losses), 2);
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:s}", "name", name, "state", state,
                                              "losses", losses, "why", "silent"));
    }
    json_t *whole = json_pack("{s:o, s:[]}", "hosts", list, "processes");
    char *json = json_dumps(whole, JSON_COMPACT);
    cse_host_membership_take(rows, json);
    free(json);
    json_decref(whole);
}

static void add_event(void *self, const cse_row *row)
{
    json_t *event = json_loadb(row->fields[3].text, row->fields[3].size, 0, NULL);
    ck_assert_ptr_nonnull(event);
    ck_assert_int_gt(json_integer_value(json_object_get(event, "time_ms")), 0);
    cse_text_add(self, "%s %s %s(%s); ", json_string_value(json_object_get(event, "what")),
                 json_string_value(json_object_get(event, "name")),
                 json_string_value(json_object_get(event, "change")),
                 json_string_value(json_object_get(event, "reason")));
    json_decref(event);
}

/* Closes the store first, so that all is written. */
static void assert_events(cse_store **store, const char *expected)
{
    static const char *const types[] = { "membership", NULL };
    cse_store_reader *reader = NULL;
    cse_text found = { 0 };
    cse_store_close(store);
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_rows(reader, CSE_ROW_EVENT,
                                           &(cse_store_query){ .filters = { { "type", types } } },
                                           add_event, &found),
                     CSE_OK);
    cse_store_reader_close(&reader);
    ck_assert_str_eq(found.data != NULL ? found.data : "", expected);
    cse_text_clear(&found);
}

START_TEST(hosts_that_a_run_waits_for_do_not_join)
{
    cse_store *store = open_store();
    cse_host_membership *rows = cse_host_membership_new(store, folder);
    cse_host_membership_take(rows, "{\"processes\":[]}");
    report(rows, "a present, b expected");
    report(rows, "a present, b present");
    report(rows, "a present, b present");
    cse_host_membership_destroy(&rows);
    assert_events(&store, "");
}
END_TEST

START_TEST(hosts_leave_and_join)
{
    cse_store *store = open_store();
    cse_host_membership *rows = cse_host_membership_new(store, folder);
    report(rows, "a present, b present");
    report(rows, "a present, b lost 1");
    report(rows, "a present, b lost 1");
    report(rows, "a present, b present 1");
    report(rows, "a present, b present 2"); /* lost and back between two reports */
    report(rows, "a present, b present 2, c expected");
    report(rows, "a present, b present 2, c present");
    report(rows, "a present, c present");
    cse_membership_replaced(store, &(cse_recovery){ .process = "replica 0",
                                                    .reason = "was killed",
                                                    .lost_ms = 5,
                                                    .milliseconds = 7 });
    cse_host_membership_destroy(&rows);
    assert_events(&store, "host b left(silent); host b joined(); host b left(silent); "
                          "host b joined(); host c joined(); "
                          "host b left(the run goes on with other hosts); "
                          "process replica 0 replaced(was killed); ");
}
END_TEST

START_TEST(a_later_start_is_compared_with_the_one_before)
{
    cse_store *store = open_store();
    cse_host_membership *rows = cse_host_membership_new(store, folder);
    report(rows, "a present, b present");
    cse_host_membership_destroy(&rows);
    cse_store_close(&store);
    store = open_store();
    rows = cse_host_membership_new(store, folder);
    report(rows, "a present, c expected");
    report(rows, "a present, c present");
    cse_host_membership_destroy(&rows);
    assert_events(&store, "host b left(the run goes on with other hosts); host c joined(); ");
}
END_TEST

static void assert_change(const char *resolved, const char *expected)
{
    cse_text message = { 0 };
    cse_settings_change(folder, resolved, &message);
    ck_assert_str_eq(message.data != NULL ? message.data : "", expected);
    cse_text_clear(&message);
}

START_TEST(settings_are_compared_by_name)
{
    static const char before[] = "trainer:\n  init: {seed: 1, lr: 0.1, sizes: [1, 2], gone: x}\n";
    cse_text many = { 0 };
    assert_change(before, ""); /* no store yet */
    cse_store *store = open_store();
    cse_store_artefact(store, "config.yaml", "application/yaml", before, strlen(before));
    cse_store_close(&store);
    assert_change(before, "");
    assert_change(NULL, "");
    assert_change("trainer:\n  init: {seed: 2, lr: 0.1, sizes: [1, 3], added: y}\n",
                  "settings changed: trainer.init.seed: 1 -> 2; trainer.init.sizes: [1, 2] -> "
                  "[1, 3]; trainer.init.gone: x -> none; trainer.init.added: none -> y");
    cse_text_add(&many, "trainer:\n  init: {seed: 1, lr: 0.1, sizes: [1, 2], gone: x");
    for (int i = 0; i < 8; i++)
        cse_text_add(&many, ", s%d: 1", i);
    cse_text_add(&many, "}\n");
    cse_text message = { 0 };
    cse_settings_change(folder, many.data, &message);
    ck_assert_ptr_nonnull(strstr(message.data, "trainer.init.s5: none -> 1; and 2 more"));
    cse_text_clear(&message);
    cse_text_clear(&many);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("membership_events");
    TCase *cases = tcase_create("membership_events");
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, hosts_that_a_run_waits_for_do_not_join);
    tcase_add_test(cases, hosts_leave_and_join);
    tcase_add_test(cases, a_later_start_is_compared_with_the_one_before);
    tcase_add_test(cases, settings_are_compared_by_name);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
