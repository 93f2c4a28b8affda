/* The host of a log line in the run store: of the record, else of this host in a run of several;
 * filtered by; and without one in stores of an earlier version, which are read and go on. */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader.h"
#include "store/store.h"
#include "tests/support/temporary_folder.h"

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "check_log_hosts_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    ck_assert(temporary_folder_remove(folder));
}

static cse_store *open_store(void)
{
    cse_store *store = NULL;
    const cse_status status = cse_store_open(folder, NULL, &store);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    return store;
}

static void run_sql(const char *sql)
{
    char path[128];
    sqlite3 *handle;
    snprintf(path, sizeof path, "%s/run.db", folder);
    ck_assert_int_eq(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(handle));
    sqlite3_close(handle);
}

static void add(cse_store *store, const char *host, const char *text)
{
    cse_store_log(store, &(cse_log_record){ .level = CSE_LOG_INFO, .host = host, .text = text });
}

static void take(void *self, const cse_row *row)
{
    cse_text *found = self;
    ck_assert_int_eq(row->count, 7);
    cse_text_add(found, "%s%s@%s", found->size > 0 ? " " : "", row->fields[5].text,
                 row->fields[6].text != NULL ? row->fields[6].text : "-");
}

/* "MESSAGE@HOST" of each line; `host` NULL: of all. */
static void assert_lines(const char *host, const char *expected)
{
    cse_text found = { 0 };
    cse_store_reader *reader = NULL;
    const char *const hosts[] = { host, NULL };
    const cse_store_query query = { .filters[0] = { host != NULL ? "host" : NULL, hosts } };
    cse_text_add(&found, "%s", "");
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    const cse_status status = cse_store_reader_rows(reader, CSE_ROW_LOG, &query, take, &found);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    ck_assert_str_eq(found.data, expected);
    cse_store_reader_close(&reader);
    cse_text_clear(&found);
}

START_TEST(lines_have_the_host)
{
    char path[128], line[256];
    cse_store *store = open_store();
    add(store, NULL, "before");
    cse_log_name_own_host("a");
    add(store, NULL, "own");
    add(store, "b", "other");
    cse_log_name_own_host(NULL);
    cse_store_close(&store);
    assert_lines(NULL, "before@- own@a other@b");
    assert_lines("b", "other@b");
    assert_lines("a", "own@a");
    assert_lines("c", "");
    snprintf(path, sizeof path, "%s/logs/attempt_1.log", folder);
    FILE *file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    fclose(file);
    ck_assert_ptr_nonnull(strstr(line, "coordinator 0: host b: other\n"));
}
END_TEST

/* Version 4 did not store the host. */
START_TEST(a_store_of_version_4_is_read_and_goes_on)
{
    cse_store *store = open_store();
    add(store, "b", "old");
    cse_store_close(&store);
    run_sql("ALTER TABLE logs DROP COLUMN host; PRAGMA user_version = 4");
    assert_lines(NULL, "old@-");
    assert_lines("b", "");
    store = open_store();
    add(store, "b", "new");
    cse_store_close(&store);
    assert_lines(NULL, "old@- new@b");
    assert_lines("b", "new@b");
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("hosts");
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, lines_have_the_host);
    tcase_add_test(cases, a_store_of_version_4_is_read_and_goes_on);
    Suite *suite = suite_create("log hosts");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
