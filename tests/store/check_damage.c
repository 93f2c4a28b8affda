/* A damaged run.db is set aside and a new one has what could be read of it; files that are removed
 * or replaced under an open store are made anew with all that it had. */
#include <check.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "store/reader.h"
#include "store/run_lock.h"
#include "store/store.h"
#include "tests/support/temporary_folder.h"

enum { STEPS = 3000, PAGE = 4096, FLIPS = 800, SEEDS = 4 };

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "check_damage_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    cse_log_set_level(CSE_LOG_ERROR); /* each damage is warned of */
}

static void remove_folder(void)
{
    ck_assert(temporary_folder_remove(folder));
}

static const char *in_folder(const char *name)
{
    static char paths[4][160];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static cse_store *open_store(void)
{
    cse_store *store = NULL;
    cse_status status = cse_store_open(
        folder, &(cse_store_options){ .commit_interval_ms = 20, .look_interval_ms = 50 }, &store);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    return store;
}

/* A run of STEPS steps, with a checkpoint and lines. */
static void report_steps(cse_store *store, int first, int last)
{
    const int loss = cse_store_series(store, "loss");
    for (int step = first; step <= last; step++)
        cse_store_point(store, loss, step, 1.0 / step);
}

static void make_run(void)
{
    cse_store *store = open_store();
    cse_store_transition(store, CSE_RUN_COMPILING, NULL, NULL);
    cse_store_set(store, "model", "fc_mnist");
    report_steps(store, 1, STEPS);
    for (int i = 0; i < 100; i++)
        cse_store_log(store, &(cse_log_record){ .time_ms = 1,
                                                .level = CSE_LOG_INFO,
                                                .text = "a line of the log of the run" });
    cse_store_close(&store);
}

static int64_t number_in(const char *path, const char *sql)
{
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    if (sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return value;
}

static int64_t number(const char *sql)
{
    return number_in(in_folder("run.db"), sql);
}

static char *read_file(const char *path, long *size)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    char *bytes = malloc((size_t)*size + 1);
    rewind(file);
    ck_assert_int_eq((long)fread(bytes, 1, (size_t)*size, file), *size);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const char *bytes, long size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq((long)fwrite(bytes, 1, (size_t)size, file), size);
    fclose(file);
}

static bool exists(const char *name)
{
    struct stat about;
    return lstat(in_folder(name), &about) == 0;
}

/* The run goes on: a further attempt is recorded in a sound file. */
static void goes_on(void)
{
    cse_store *store = open_store();
    ck_assert_int_eq(cse_store_attempt(store), 2);
    report_steps(store, STEPS + 1, STEPS + 10);
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    cse_store_close(&store);
    ck_assert_int_eq(number("SELECT count(*) FROM pragma_integrity_check WHERE "
                            "integrity_check = 'ok'"),
                     1);
    ck_assert_int_eq(number("SELECT count(*) FROM points WHERE step > 3000"), 10);
}

static void forget(void)
{
    char name[64];
    static const char *const parts[] = { "", "-wal", "-shm" };
    for (int part = 0; part < 3; part++) {
        snprintf(name, sizeof name, "run.db%s", parts[part]);
        unlink(in_folder(name));
        snprintf(name, sizeof name, "run.db.damaged-1%s", parts[part]);
        unlink(in_folder(name));
    }
    unlink(in_folder("logs/attempt_2.log"));
}

static void was_set_aside(void)
{
    ck_assert(exists("run.db.damaged-1"));
    ck_assert_int_eq(number("SELECT count(*) FROM events WHERE type = 'damaged' AND "
                            "json_extract(payload, '$.set_aside') LIKE '%run.db.damaged-1'"),
                     1);
    ck_assert_int_eq(number("SELECT count(*) FROM logs WHERE message LIKE '%set aside as "
                            "run.db.damaged-1%'"),
                     1);
}

START_TEST(an_empty_file_is_set_aside)
{
    make_run();
    ck_assert_int_eq(truncate(in_folder("run.db"), 0), 0);
    goes_on();
    was_set_aside();
}
END_TEST

START_TEST(a_file_cut_anywhere_is_set_aside)
{
    long size;
    make_run();
    char *whole = read_file(in_folder("run.db"), &size);
    ck_assert_int_gt(size, 20 * PAGE);
    for (long page = 1; page < size / PAGE; page += page < 8 ? 1 : 7)
        for (long off = -1; off <= 1; off++) {
            forget();
            write_file(in_folder("run.db"), whole, page * PAGE + off);
            goes_on();
            was_set_aside();
        }
    free(whole);
}
END_TEST

START_TEST(a_header_that_is_overwritten_costs_no_row)
{
    make_run();
    const int64_t points = number("SELECT count(*) FROM points");
    const int file = open(in_folder("run.db"), O_WRONLY);
    ck_assert_int_eq(pwrite(file,
                            "something else entirely, and more of it than a header has: its "
                            "hundred bytes are all gone, every single one of them",
                            100, 0),
                     100);
    close(file);
    goes_on();
    was_set_aside();
    ck_assert_int_eq(number("SELECT count(*) FROM points WHERE attempt = 1"), points);
    ck_assert_int_eq(number("SELECT count(*) FROM logs WHERE message LIKE 'a line of%'"), 100);
}
END_TEST

/* One page of the points: the others' rows stay. */
START_TEST(a_page_that_is_lost_costs_its_own_rows)
{
    make_run();
    const int64_t page = number("SELECT max(pageno) FROM dbstat WHERE name = 'points' AND "
                                "pagetype = 'leaf' AND pageno < (SELECT max(pageno) FROM dbstat "
                                "WHERE name = 'points' AND pagetype = 'leaf')");
    ck_assert_int_gt(page, 1);
    char garbage[PAGE];
    memset(garbage, 0xa5, sizeof garbage);
    const int file = open(in_folder("run.db"), O_WRONLY);
    ck_assert_int_eq(pwrite(file, garbage, PAGE, (off_t)(page - 1) * PAGE), PAGE);
    close(file);
    goes_on();
    was_set_aside();
    const int64_t kept = number("SELECT count(*) FROM points WHERE attempt = 1");
    ck_assert_int_lt(kept, STEPS);
    ck_assert_int_gt(kept, STEPS - 400);
    ck_assert_int_eq(number("SELECT max(step) FROM points WHERE attempt = 1"), STEPS);
    ck_assert_int_eq(number("SELECT count(*) FROM logs WHERE message LIKE 'a line of%'"), 100);
}
END_TEST

/* A store is opened, or refused as one of a later version: the marks of a file have no check. */
START_TEST(flipped_bytes_never_end_a_run)
{
    long size;
    make_run();
    char *whole = read_file(in_folder("run.db"), &size);
    for (int seed = 0; seed < SEEDS; seed++) {
        unsigned state = (unsigned)seed * 7919 + 1;
        for (int round = 0; round < 10; round++) {
            char *flipped = malloc((size_t)size);
            memcpy(flipped, whole, (size_t)size);
            for (int flip = 0; flip < FLIPS / 10 / SEEDS; flip++) {
                const long at = rand_r(&state) % size;
                if (at < 60 || at >= 72) /* version, application */
                    flipped[at] = (char)(flipped[at] ^ 1 << rand_r(&state) % 8);
            }
            forget();
            write_file(in_folder("run.db"), flipped, size);
            free(flipped);
            goes_on();
        }
    }
    free(whole);
}
END_TEST

START_TEST(a_damaged_log_costs_its_own_rows)
{
    char garbage[40000];
    make_run();
    memset(garbage, 0x37, sizeof garbage);
    write_file(in_folder("run.db-wal"), garbage, sizeof garbage);
    goes_on();
    ck_assert_int_eq(number("SELECT count(*) FROM points WHERE attempt = 1"), STEPS);
}
END_TEST

/* The log of another run would be taken for this one's. */
START_TEST(the_log_of_another_run_is_set_aside)
{
    long size;
    make_run();
    char *first = read_file(in_folder("run.db"), &size);
    forget();
    unlink(in_folder("logs/attempt_1.log"));
    cse_store *other = open_store();
    cse_store_set(other, "model", "other");
    ck_assert_int_eq(cse_store_flush(other), CSE_OK);
    long log_size;
    char *log = read_file(in_folder("run.db-wal"), &log_size);
    cse_store_close(&other);
    forget();
    write_file(in_folder("run.db"), first, size);
    write_file(in_folder("run.db-wal"), log, log_size);
    goes_on();
    was_set_aside();
    ck_assert_int_eq(number("SELECT count(*) FROM points WHERE attempt = 1"), STEPS);
    ck_assert_int_eq(number("SELECT count(*) FROM run WHERE key = 'model' AND value = 'fc_mnist'"),
                     1);
    free(first);
    free(log);
}
END_TEST

START_TEST(a_later_version_and_another_database_are_refused)
{
    cse_store *store = NULL;
    make_run();
    number("PRAGMA user_version = 99");
    ck_assert_int_eq(cse_store_open(folder, NULL, &store), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "version 99"));
    forget();
    number_in(in_folder("run.db"), "SELECT 1");
    sqlite3 *handle;
    ck_assert_int_eq(sqlite3_open(in_folder("run.db"), &handle), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(handle, "CREATE TABLE t(a)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
    ck_assert_int_eq(cse_store_open(folder, NULL, &store), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "no run store"));
    ck_assert(!exists("run.db.damaged-1"));
    forget();
    ck_assert_int_eq(mkdir(in_folder("run.db"), 0777), 0);
    ck_assert_int_eq(cse_store_open(folder, NULL, &store), CSE_CANNOT_CREATE);
    rmdir(in_folder("run.db"));
}
END_TEST

START_TEST(a_link_to_a_damaged_file_is_set_aside)
{
    make_run();
    ck_assert_int_eq(rename(in_folder("run.db"), in_folder("real.db")), 0);
    ck_assert_int_eq(symlink("real.db", in_folder("run.db")), 0);
    ck_assert_int_eq(truncate(in_folder("real.db"), 9000), 0);
    goes_on();
    was_set_aside();
    ck_assert(exists("real.db"));
}
END_TEST

START_TEST(readers_say_it_and_change_nothing)
{
    cse_store_reader *reader = NULL;
    struct stat before, after;
    make_run();
    ck_assert_int_eq(truncate(in_folder("run.db"), 9000), 0);
    stat(in_folder("run.db"), &before);
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "malformed"));
    ck_assert_ptr_nonnull(strstr(cse_error_last()->hint, "next start"));
    stat(in_folder("run.db"), &after);
    ck_assert_int_eq(after.st_ino, before.st_ino);
    ck_assert_int_eq(after.st_size, 9000);
    ck_assert(!exists("run.db.damaged-1"));
}
END_TEST

/* ---- under an open store ---- */

static void wait_for_look(cse_store *store)
{
    const int64_t until_ns = cse_clock_ns() + INT64_C(200000000);
    while (cse_clock_ns() < until_ns) {
        cse_store_flush(store);
        cse_sleep_ns(20000000);
    }
}

typedef void under(void);

static void with_open_store(under *change, bool whole)
{
    cse_store *store = open_store();
    cse_store_transition(store, CSE_RUN_COMPILING, NULL, NULL);
    report_steps(store, 1, STEPS);
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    change();
    wait_for_look(store);
    report_steps(store, STEPS + 1, STEPS + 10);
    cse_store_close(&store);
    if (whole)
        ck_assert_int_eq(number("SELECT count(*) FROM points"), STEPS + 10);
    ck_assert_int_eq(number("SELECT count(*) FROM points WHERE step > 3000"), 10);
    ck_assert_int_eq(number("SELECT count(*) FROM pragma_integrity_check WHERE "
                            "integrity_check = 'ok'"),
                     1);
}

static void remove_database(void)
{
    unlink(in_folder("run.db"));
    unlink(in_folder("run.db-wal"));
    unlink(in_folder("run.db-shm"));
}

static void remove_log(void)
{
    unlink(in_folder("run.db-wal"));
}

static void replace_database(void)
{
    write_file(in_folder("other"), "nothing", 7);
    rename(in_folder("other"), in_folder("run.db"));
}

static void cut_database(void)
{
    ck_assert_int_eq(truncate(in_folder("run.db"), 0), 0);
}

static void remove_all(void)
{
    ck_assert(temporary_folder_remove(folder));
}

static void rename_all(void)
{
    char now[80];
    snprintf(now, sizeof now, "%s.moved", folder);
    ck_assert_int_eq(rename(folder, now), 0);
}

static const struct {
    under *change;
    bool whole;
} changes[] = {
    { remove_database, true }, { remove_log, true }, { replace_database, true },
    { cut_database, false },   { remove_all, true }, { rename_all, true },
};

START_TEST(what_is_removed_under_a_store_is_made_anew)
{
    with_open_store(changes[_i].change, changes[_i].whole);
    if (changes[_i].change == rename_all) {
        char now[80];
        snprintf(now, sizeof now, "%s.moved", folder);
        ck_assert(temporary_folder_remove(now));
    }
}
END_TEST

START_TEST(a_second_run_is_refused_without_the_lock_file)
{
    cse_store *store = open_store(), *second = NULL;
    unlink(in_folder("run.lock"));
    ck_assert(cse_run_is_alive(folder));
    ck_assert_int_eq(cse_store_open(folder, NULL, &second), CSE_TEMPORARY);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "a run of this model_dir is under way"));
    wait_for_look(store);
    ck_assert(cse_run_is_alive(folder));
    unlink(in_folder("run.lock"));
    wait_for_look(store);
    ck_assert(exists("run.lock"));
    ck_assert(cse_run_is_alive(folder));
    cse_store_close(&store);
    ck_assert(!cse_run_is_alive(folder));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("damage");
    TCase *test_case = tcase_create("a damaged store");
    tcase_add_checked_fixture(test_case, make_folder, remove_folder);
    tcase_set_timeout(test_case, 120);
    tcase_add_test(test_case, an_empty_file_is_set_aside);
    tcase_add_test(test_case, a_file_cut_anywhere_is_set_aside);
    tcase_add_test(test_case, a_header_that_is_overwritten_costs_no_row);
    tcase_add_test(test_case, a_page_that_is_lost_costs_its_own_rows);
    tcase_add_test(test_case, flipped_bytes_never_end_a_run);
    tcase_add_test(test_case, a_damaged_log_costs_its_own_rows);
    tcase_add_test(test_case, the_log_of_another_run_is_set_aside);
    tcase_add_test(test_case, a_later_version_and_another_database_are_refused);
    tcase_add_test(test_case, a_link_to_a_damaged_file_is_set_aside);
    tcase_add_test(test_case, readers_say_it_and_change_nothing);
    tcase_add_loop_test(test_case, what_is_removed_under_a_store_is_made_anew, 0,
                        (int)(sizeof changes / sizeof changes[0]));
    tcase_add_test(test_case, a_second_run_is_refused_without_the_lock_file);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
