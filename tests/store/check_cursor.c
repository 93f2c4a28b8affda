/* Cursors over the run store: rows by step and in execution order, only the last attempt of a
 * resumed run, and the first values that were not finite. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/cursor.h"
#include "tests/support/temporary_folder.h"

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "check_cursor_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    ck_assert(temporary_folder_remove(folder));
}

static cse_store *open_store(void)
{
    cse_store *store = NULL;
    ck_assert_msg(cse_store_open(folder, &(cse_store_options){ .queue_bytes = 0 }, &store) ==
                      CSE_OK,
                  "%s", cse_error_message());
    return store;
}

static cse_store_reader *open_reader(void)
{
    cse_store_reader *reader = NULL;
    ck_assert_msg(cse_store_reader_open(folder, &reader) == CSE_OK, "%s", cse_error_message());
    return reader;
}

static int64_t add_tensor(cse_store *store, const char *name, const char *kind)
{
    return cse_store_tensor(store, &(cse_tensor_row){ .name = name,
                                                      .scope = "model",
                                                      .op = "cast",
                                                      .kind = kind,
                                                      .source_dtype = "float32",
                                                      .dtype = "float16",
                                                      .file = "model.c",
                                                      .line = 12 });
}

static void add_numbers(cse_store *store, int64_t tensor, int64_t step, int64_t inf,
                        int64_t microbatch)
{
    const unsigned char digest[8] = { (unsigned char)step },
                        histogram[16] = { 5, 0, 0, 0, 0, 0, 0, 0, 7, 1 };
    cse_store_numerics(store, &(cse_numerics_row){ .tensor = tensor,
                                                   .step = step,
                                                   .count = 100,
                                                   .inf = inf,
                                                   .first_microbatch = microbatch,
                                                   .digest = digest,
                                                   .histogram = histogram,
                                                   .histogram_bytes = sizeof histogram });
}

/* "10a1 10b1 20a2 ": step, name and attempt of each row. */
static void list(const cse_numbers_query *query, char *text, size_t size)
{
    cse_store_reader *reader = open_reader();
    cse_cursor *cursor;
    cse_numbers n;
    bool found;
    text[0] = '\0';
    ck_assert_int_eq(cse_cursor_numbers(reader, query, &cursor), CSE_OK);
    while (cse_cursor_next_numbers(cursor, &n, &found) == CSE_OK && found) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%d%s%d ", (int)n.step, n.name, (int)n.attempt);
        ck_assert_str_eq(n.file, "model.c");
        ck_assert_int_eq(n.digest[0], (int)n.step);
        ck_assert_int_eq(n.bins, query->histograms ? 2 : 0);
        if (query->histograms)
            ck_assert(n.histogram[0] == 5 && n.histogram[8] == 7);
    }
    cse_cursor_close(&cursor);
    cse_store_reader_close(&reader);
}

START_TEST(a_resumed_run_is_shown_as_done_last)
{
    char text[256];
    for (int attempt = 1; attempt <= 2; attempt++) {
        cse_store *store = open_store();
        int64_t a = add_tensor(store, "a", "cast"), b = add_tensor(store, "b", "cast");
        int series = cse_store_series(store, "loss");
        for (int64_t step = attempt == 1 ? 10 : 20; step <= (attempt == 1 ? 40 : 30); step += 10) {
            add_numbers(store, b, step, 0, -1);
            add_numbers(store, a, step, 0, -1);
            cse_store_point(store, series, step, (double)step + attempt);
        }
        cse_store_close(&store);
    }
    list(&(cse_numbers_query){ .histograms = true }, text, sizeof text);
    ck_assert_str_eq(text, "10a1 10b1 20a2 20b2 30a2 30b2 ");
    list(&(cse_numbers_query){ .first_step = 20, .last_step = 20 }, text, sizeof text);
    ck_assert_str_eq(text, "20a2 20b2 ");
    cse_store_reader *reader = open_reader();
    cse_cursor *cursor;
    cse_point point;
    bool found;
    static const double expected[][2] = { { 10, 11 }, { 20, 22 }, { 30, 32 } };
    ck_assert_int_eq(cse_cursor_points(reader, "loss", &cursor), CSE_OK);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(cse_cursor_next_point(cursor, &point, &found), CSE_OK);
        ck_assert(found && point.step == (int64_t)expected[i][0]);
        ck_assert_double_eq(point.value, expected[i][1]);
    }
    ck_assert_int_eq(cse_cursor_next_point(cursor, &point, &found), CSE_OK);
    ck_assert(!found);
    cse_cursor_close(&cursor);
    ck_assert_int_eq(cse_cursor_points(reader, "no such series", &cursor), CSE_OK);
    ck_assert_int_eq(cse_cursor_next_point(cursor, &point, &found), CSE_OK);
    ck_assert(!found);
    cse_cursor_close(&cursor);
    cse_store_reader_close(&reader);
}
END_TEST

START_TEST(the_first_that_is_not_finite_is_of_the_least_microbatch)
{
    cse_store *store = open_store();
    int64_t a = add_tensor(store, "a", "cast"), b = add_tensor(store, "b", "cast");
    int64_t c = add_tensor(store, "c", "cast"), g = add_tensor(store, "g", "gradient");
    add_numbers(store, a, 1, 0, -1);
    add_numbers(store, g, 2, 9, -1); /* a sum of finite microbatches */
    add_numbers(store, a, 2, 3, 5);
    add_numbers(store, b, 2, 4, 1);
    add_numbers(store, c, 2, 5, 1);
    add_numbers(store, a, 3, 6, 0);
    cse_store_close(&store);
    cse_store_reader *reader = open_reader();
    cse_numbers first;
    cse_text texts = { 0 };
    bool found = false;
    ck_assert_int_eq(cse_reader_first_nonfinite(reader, &first, &texts, &found), CSE_OK);
    ck_assert(found);
    ck_assert_str_eq(first.name, "b");
    ck_assert_str_eq(first.file, "model.c");
    ck_assert(first.step == 2 && first.inf == 4 && first.first_microbatch == 1 && first.line == 12);
    cse_text_clear(&texts);
    cse_store_reader_close(&reader);
}
END_TEST

START_TEST(where_all_is_finite_there_is_no_first)
{
    cse_store *store = open_store();
    add_numbers(store, add_tensor(store, "a", "cast"), 1, 0, -1);
    cse_store_close(&store);
    cse_store_reader *reader = open_reader();
    cse_numbers first;
    cse_text texts = { 0 };
    bool found = true;
    ck_assert_int_eq(cse_reader_first_nonfinite(reader, &first, &texts, &found), CSE_OK);
    ck_assert(!found);
    cse_text_clear(&texts);
    cse_store_reader_close(&reader);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cursor");
    TCase *cases = tcase_create("cursor");
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, a_resumed_run_is_shown_as_done_last);
    tcase_add_test(cases, the_first_that_is_not_finite_is_of_the_least_microbatch);
    tcase_add_test(cases, where_all_is_finite_there_is_no_first);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
