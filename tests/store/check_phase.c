/* The tables of states and phases; what a run does in its state, and what recoveries have cost, as
 * the run store keeps and publishes it. */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"
#include "tests/support/temporary_folder.h"

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "check_phase_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    ck_assert(temporary_folder_remove(folder));
}

static cse_store *open_store(void)
{
    cse_store *store = NULL;
    cse_status status = cse_store_open(folder, NULL, &store);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    return store;
}

/* One number or text out of the database, by SQLite alone. */
static void query(const char *sql, char *text, size_t size)
{
    char path[128];
    sqlite3 *handle;
    sqlite3_stmt *statement;
    snprintf(path, sizeof path, "%s/run.db", folder);
    ck_assert_int_eq(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(handle));
    text[0] = '\0';
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL)
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(handle);
}

static double number(const char *sql)
{
    char text[64];
    query(sql, text, sizeof text);
    return text[0] != '\0' ? strtod(text, NULL) : -1;
}

static void assert_text(const char *sql, const char *expected)
{
    char text[512];
    query(sql, text, sizeof text);
    ck_assert_str_eq(text, expected);
}

static void report_recovery(cse_store *store, int64_t lost_ms, int64_t milliseconds)
{
    cse_store_recovery(store, &(cse_recovery){ .process = "replica 1",
                                               .reason = "was \"killed\"",
                                               .lost_ms = lost_ms,
                                               .milliseconds = milliseconds });
}

#define PHASE(member) "SELECT json_extract(value, '$." member "') FROM run WHERE key = 'phase'"

/* The phase follows from state and activity; each change has an event and a time of its own. */
START_TEST(nothing_follows_an_end)
{
    for (int from = 0; from < CSE_RUN_STATE_COUNT; from++)
        for (int to = 0; to < CSE_RUN_STATE_COUNT; to++)
            ck_assert(!cse_run_state_is_terminal((cse_run_state)from) ||
                      !cse_run_state_may_follow((cse_run_state)from, (cse_run_state)to));
}
END_TEST

START_TEST(a_phase_follows_from_state_and_activity)
{
    cse_store *store = open_store();
    cse_store_transition(store, CSE_RUN_COMPILING, NULL, NULL);
    cse_store_activity(store, &(cse_activity){ .phase = CSE_RUN_PHASE_TRAIN });
    cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL);
    cse_store_transition(store, CSE_RUN_RUNNING, NULL, NULL);
    cse_store_activity(store, &(cse_activity){ .phase = CSE_RUN_PHASE_VALIDATE, .steps = 9 });
    cse_store_activity(store, &(cse_activity){ CSE_RUN_PHASE_VALIDATE, 4, 9 });
    cse_store_transition(store, CSE_RUN_PAUSING, NULL, NULL);
    cse_store_transition(store, CSE_RUN_PAUSED, NULL, NULL);
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    assert_text(PHASE("phase"), "paused");
    assert_text(PHASE("step"), "4");
    cse_store_transition(store, CSE_RUN_RUNNING, NULL, NULL);
    report_recovery(store, 1000, 500);
    report_recovery(store, 1200, 400); /* both were missing for 300 ms: these count once */
    cse_store_activity(store, &(cse_activity){ .phase = CSE_RUN_PHASE_SAVE });
    cse_store_transition(store, CSE_RUN_SUCCEEDED, NULL, NULL);
    cse_store_close(&store);
    assert_text(
        "SELECT group_concat(coalesce(json_extract(payload, '$.phase'), 'none')) FROM "
        "(SELECT payload FROM events WHERE type = 'phase' ORDER BY id)",
        "compile,start,train,validate,validate,paused,validate,validate,validate,save,none");
    ck_assert_int_eq((int)number("SELECT count(*) - count(DISTINCT time_ms) FROM transitions"), 0);
    ck_assert_int_eq((int)number("SELECT count(*) FROM transitions t, events e WHERE "
                                 "t.to_state = 'PAUSED' AND e.type = 'phase' AND t.time_ms = "
                                 "json_extract(e.payload, '$.since_ms')"),
                     1);
    store = open_store(); /* the next attempt counts on */
    report_recovery(store, 9000, 50);
    cse_store_close(&store);
    assert_text(PHASE("recovery.count"), "3");
    assert_text(PHASE("recovery.milliseconds"), "650");
    assert_text(PHASE("recovery.last.milliseconds"), "50");
    assert_text(PHASE("recovery.last.reason"), "was \"killed\"");
}
END_TEST

START_TEST(the_table_of_states_is_sound)
{
    for (int p = CSE_RUN_PHASE_NONE; p < CSE_RUN_PHASE_COUNT; p++)
        ck_assert_int_eq(cse_run_phase_of(cse_run_phase_name((cse_run_phase)p)), p);

    for (int from = 0; from < CSE_RUN_STATE_COUNT; from++) {
        int followers = 0;
        for (int to = 0; to < CSE_RUN_STATE_COUNT; to++)
            followers += cse_run_state_may_follow((cse_run_state)from, (cse_run_state)to);
        ck_assert_int_eq(followers == 0, cse_run_state_is_terminal((cse_run_state)from));
        ck_assert_int_eq(cse_run_state_of(cse_run_state_name((cse_run_state)from)), from);
        ck_assert(cse_run_state_is_terminal((cse_run_state)from) ||
                  cse_run_state_may_follow((cse_run_state)from, CSE_RUN_FAILED));
    }
    /* The names of an allowed pair are in no other word by accident. */
    ck_assert(!cse_run_state_may_follow(CSE_RUN_PAUSING, CSE_RUN_PAUSING));
    ck_assert(cse_run_state_may_follow(CSE_RUN_PAUSING, CSE_RUN_PAUSED));
    ck_assert(!cse_run_state_may_follow(CSE_RUN_CANCELLING, CSE_RUN_RUNNING));
    for (int r = 0; r < CSE_RUN_REASON_COUNT; r++)
        ck_assert_int_eq(cse_run_reason_of(cse_run_reason_name((cse_run_reason)r)), r);
    ck_assert_int_eq(cse_run_reason_of_status(CSE_UNAVAILABLE, false), CSE_REASON_PEER_LOST);
}
END_TEST

/* What one table says may be tried again, the other says, too; each reason but two is that of a
 * status, and each exit code of a failure has a reason. */
START_TEST(reasons_and_statuses_agree)
{
    static const cse_status statuses[] = {
#define ROW(code, exit_code, retryable, text) code,
        CSE_STATUS_TABLE(ROW)
#undef ROW
    };
    bool reached[CSE_RUN_REASON_COUNT] = { [CSE_REASON_PROGRAM] = true };
    for (size_t i = 0; i < 2 * sizeof statuses / sizeof statuses[0]; i++) {
        const cse_status status = statuses[i / 2];
        if (status == CSE_OK)
            continue;
        const cse_run_reason reason = cse_run_reason_of_status(status, i % 2 == 1);
        char others[64], number[16];
        reached[reason] = true;
        ck_assert_msg(cse_run_reason_retryable(reason) == cse_status_retryable(status),
                      "status %d and %s", (int)status, cse_run_reason_name(reason));
        ck_assert_int_lt(cse_run_reason_of_exit_code(cse_status_exit_code(status)),
                         CSE_RUN_REASON_COUNT);
        cse_run_reason_other_exit_codes(reason, others, sizeof others);
        snprintf(number, sizeof number, "%d", cse_status_exit_code(status));
        ck_assert(cse_run_reason_exit_code(reason) == cse_status_exit_code(status) ||
                  strstr(others, number) != NULL);
    }
    for (int r = 0; r < CSE_RUN_REASON_COUNT; r++)
        ck_assert_msg(reached[r], "nothing reaches %s", cse_run_reason_name((cse_run_reason)r));
    ck_assert_int_eq(cse_run_reason_of_exit_code(2), CSE_RUN_REASON_COUNT);
    ck_assert_int_eq(cse_run_reason_of_exit_code(66), CSE_REASON_DATA);
    ck_assert_int_eq(cse_run_reason_of_exit_code(77), CSE_REASON_REFUSED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("phases of a run");
    TCase *cases = tcase_create("phases");
    tcase_add_test(cases, nothing_follows_an_end);
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, the_table_of_states_is_sound);
    tcase_add_test(cases, reasons_and_statuses_agree);
    tcase_add_test(cases, a_phase_follows_from_state_and_activity);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
