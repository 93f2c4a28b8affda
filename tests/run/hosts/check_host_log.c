/* Lines of an agent become lines of the leader's log: with host, process and level, in order, and
 * what is missing is counted. */
#include "run/hosts/host_log.c"

#include <check.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    char text[8][300];
    cse_log_record records[8];
    int count;
} seen;

static void take(void *self, const cse_log_record *record)
{
    (void)self;
    ck_assert_int_lt(seen.count, 8);
    snprintf(seen.text[seen.count], sizeof seen.text[0], "%s", record->text);
    seen.records[seen.count++] = *record;
}

static void begin(void)
{
    seen.count = 0;
    cse_log_set_sink(take, NULL);
}

START_TEST(lines_have_host_process_and_level)
{
    cse_host_log log = { 0 };
    begin();
    cse_host_log_pass(&log, "b", "csengine-log 1 csengine: warning: replica 3: it is slow");
    cse_host_log_pass(&log, "b", "csengine-log 2 csengine: info: weight server 0: here");
    cse_host_log_pass(&log, "b", "csengine-log 3 csengine: error: no room");
    cse_host_log_pass(&log, "b", "what a library printed");
    ck_assert_int_eq(seen.count, 4);
    ck_assert_str_eq(seen.text[0], "it is slow");
    ck_assert_int_eq(seen.records[0].level, CSE_LOG_WARNING);
    ck_assert_int_eq(seen.records[0].process.role, CSE_ROLE_REPLICA);
    ck_assert_int_eq(seen.records[0].process.rank, 3);
    ck_assert_int_eq(seen.records[1].process.role, CSE_ROLE_WEIGHT_SERVER);
    ck_assert_str_eq(seen.text[2], "no room");
    ck_assert_int_eq(seen.records[2].level, CSE_LOG_ERROR);
    ck_assert_int_eq(seen.records[2].process.role, CSE_ROLE_COORDINATOR);
    ck_assert_str_eq(seen.text[3], "what a library printed");
    for (int i = 0; i < seen.count; i++)
        ck_assert_str_eq(seen.records[i].host, "b");
    ck_assert_int_eq(log.lost, 0);
}
END_TEST

static void keep_printed(void *self, const char *line)
{
    snprintf(self, sizeof seen.text[0], "%s", line);
}

/* A line names its host where that is another one. */
START_TEST(the_host_is_printed)
{
    char line[sizeof seen.text[0]] = "";
    cse_log_record record = { .level = CSE_LOG_INFO,
                              .process = { .role = CSE_ROLE_REPLICA, .rank = 1 },
                              .host = "b",
                              .text = "here" };
    cse_log_set_printer(keep_printed, line);
    cse_log_print(&record);
    ck_assert_str_eq(line, "csengine: info: replica 1: host b: here\n");
    record.host = NULL;
    cse_log_name_own_host("a");
    ck_assert_str_eq(cse_log_own_host_view(), "a");
    cse_log_print(&record);
    ck_assert_str_eq(line, "csengine: info: replica 1: here\n");
    cse_log_name_own_host(NULL);
    ck_assert_ptr_null(cse_log_own_host_view());
    cse_log_set_printer(NULL, NULL);
}
END_TEST

START_TEST(missing_lines_are_counted)
{
    cse_host_log log = { 0 };
    begin();
    cse_host_log_pass(&log, "b", "csengine-log 1 csengine: info: first");
    cse_host_log_pass(&log, "b", "csengine-log 5 csengine: info: fifth");
    ck_assert_int_eq(seen.count, 3);
    ck_assert_str_eq(seen.text[1], "3 lines of its log were lost");
    ck_assert_str_eq(seen.text[2], "fifth");
    ck_assert_str_eq(seen.records[1].host, "b");
    ck_assert_int_eq(log.lost, 3);
}
END_TEST

START_TEST(numbers_that_are_none_are_text)
{
    static const char *const lines[] = { "csengine-log",      "csengine-log x y",
                                         "csengine-log -1 a", "csengine-log 99999999999999999999 a",
                                         "csengine-log 7",    "csengine: shouting: a" };
    cse_host_log log = { 0 };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        begin();
        cse_host_log_pass(&log, "b", lines[i]);
        ck_assert_int_eq(seen.count, 1);
        ck_assert_int_eq(seen.records[0].level, CSE_LOG_INFO);
    }
    ck_assert_int_eq(log.read, 0);
    ck_assert_int_eq(log.lost, 0);
}
END_TEST

/* What an agent prints is what the leader reads. */
START_TEST(agent_and_leader_agree)
{
    char path[] = "/tmp/check_host_log.XXXXXX", line[300] = "";
    const int file = mkstemp(path), before = dup(STDERR_FILENO);
    cse_host_log log = { 0 };
    ck_assert_int_ge(file, 0);
    unlink(path);
    cse_log_set_sink(NULL, NULL);
    cse_host_log_begin();
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    cse_log_pass(&(cse_log_record){ .level = CSE_LOG_WARNING,
                                    .process = { .role = CSE_ROLE_INPUT, .rank = 12 },
                                    .text = "it waits" });
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    ck_assert_int_gt(pread(file, line, sizeof line - 1, 0), 0);
    close(file);
    line[strcspn(line, "\n")] = '\0';
    begin();
    cse_host_log_pass(&log, "n7", line);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_str_eq(seen.text[0], "it waits");
    ck_assert_int_eq(seen.records[0].process.role, CSE_ROLE_INPUT);
    ck_assert_int_eq(seen.records[0].process.rank, 12);
    ck_assert_int_eq(log.read, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_log");
    TCase *cases = tcase_create("host_log");
    tcase_add_test(cases, lines_have_host_process_and_level);
    tcase_add_test(cases, the_host_is_printed);
    tcase_add_test(cases, missing_lines_are_counted);
    tcase_add_test(cases, numbers_that_are_none_are_text);
    tcase_add_test(cases, agent_and_leader_agree);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
