/* The newest records of a host that follows: what is kept of them, and from which step on. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "run/record/record_tail.h"

static void add(cse_record_tail *tail, int64_t step, size_t bytes)
{
    unsigned char fetched[16];
    memset(fetched, (int)(step % 251), sizeof fetched);
    cse_record_tail_add(
        tail, &(cse_record){ .step = step, .fetched = fetched, .committed_ns = 7 * step }, bytes);
}

static void expect(const cse_record_tail *tail, int64_t step)
{
    const cse_record record = cse_record_tail_of(tail, step);
    ck_assert_int_eq(record.step, step);
    ck_assert_int_eq(record.committed_ns, 7 * step);
    ck_assert_int_eq(record.fetched[0], step % 251);
    ck_assert_ptr_null(record.statistics);
}

START_TEST(the_newest_are_kept)
{
    cse_record_tail *tail = cse_record_tail_new();
    ck_assert_int_eq(cse_record_tail_first(tail, 0, 10), 10);
    ck_assert_int_eq(cse_record_tail_end(tail), 0);
    for (int64_t step = 100; step < 10000; step++)
        add(tail, step, 16);
    const int64_t first = cse_record_tail_first(tail, 0, 10000);
    ck_assert_int_eq(first, 10000 - 4096);
    ck_assert_int_eq(cse_record_tail_end(tail), 10000);
    for (int64_t step = first; step < 10000; step++)
        expect(tail, step);
    ck_assert_int_eq(cse_record_tail_first(tail, 9000, 9500), 9000);
    ck_assert_int_eq(cse_record_tail_first(tail, 9500, 9500), 9500);
    ck_assert_int_eq(cse_record_tail_first(tail, 10000, 10500), 10500);
    cse_record_tail_destroy(&tail);
}
END_TEST

/* A run that goes on elsewhere, or with other values, begins anew. */
START_TEST(a_gap_begins_anew)
{
    cse_record_tail *tail = cse_record_tail_new();
    for (int64_t step = 0; step < 50; step++)
        add(tail, step, 16);
    for (int64_t step = 60; step < 70; step++)
        add(tail, step, 16);
    ck_assert_int_eq(cse_record_tail_first(tail, 0, 70), 60);
    expect(tail, 60);
    expect(tail, 69);
    add(tail, 70, 8);
    ck_assert_int_eq(cse_record_tail_first(tail, 0, 71), 70);
    expect(tail, 70);
    add(tail, 65, 8);
    ck_assert_int_eq(cse_record_tail_first(tail, 0, 66), 65);
    ck_assert_int_eq(cse_record_tail_end(tail), 66);
    cse_record_tail_destroy(&tail);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record tail");
    TCase *tcase = tcase_create("record tail");
    tcase_add_test(tcase, the_newest_are_kept);
    tcase_add_test(tcase, a_gap_begins_anew);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
