/* The rows of a weight that makes queries, keys and values: 4 heads of 2 rows, each row a byte that
 * says whose it is. And weights that are transposed. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/map_fused.h"
#include "engine/formats/weights/map_rows.h"

typedef struct layout_case {
    cse_fused fused;
    const char *theirs;   /* two equal letters are a head of theirs */
    const char *parts[3]; /* of ours */
} layout_case;

static const layout_case cases[] = {
    { { CSE_FUSED_BLOCKS, 4, 2, 2 }, "aabbccddKKLLVVWW", { "aabbccdd", "KKLL", "VVWW" } },
    { { CSE_FUSED_BLOCKS, 4, 1, 2 }, "aabbccddKKVV", { "aabbccdd", "KK", "VV" } },
    { { CSE_FUSED_GROUPS, 4, 2, 2 }, "aabbKKVVccddLLWW", { "aabbccdd", "KKLL", "VVWW" } },
    { { CSE_FUSED_GROUPS, 4, 1, 2 }, "aabbccddKKVV", { "aabbccdd", "KK", "VV" } },
    { { CSE_FUSED_GROUPS, 2, 2, 2 }, "aaKKVVbbLLWW", { "aabb", "KKLL", "VVWW" } },
    { { CSE_FUSED_QUARTERS, 4, 4, 1 }, "aVKbWLcXMdYN", { "abcd", "KLMN", "VWXY" } },
    { { CSE_FUSED_QUARTERS, 8, 8, 1 },
      "abABqrcdCDstefEFuvghGHwx",
      { "abcdefgh", "qrstuvwx", "ABCDEFGH" } },
};

START_TEST(test_split)
{
    const layout_case *c = &cases[_i];
    for (int part = 0; part < CSE_FUSED_PARTS; part++) {
        unsigned char ours[32] = { 0 };
        cse_fused_split(&c->fused, part, 1, (const unsigned char *)c->theirs, ours);
        ck_assert_str_eq((const char *)ours, c->parts[part]);
    }
}
END_TEST

START_TEST(test_join)
{
    const layout_case *c = &cases[_i];
    unsigned char theirs[32] = { 0 };
    for (int part = 0; part < CSE_FUSED_PARTS; part++)
        cse_fused_join(&c->fused, part, 1, (const unsigned char *)c->parts[part], theirs);
    ck_assert_str_eq((const char *)theirs, c->theirs);
}
END_TEST

/* Sizes around whole squares and lines, each width of elements, into a part of a whole. */
START_TEST(test_transpose)
{
    static const int64_t sizes[] = { 1, 3, 4, 5, 15, 16, 17, 33 };
    enum { SIZES = sizeof sizes / sizeof sizes[0], MORE = 3 };
    const int64_t rows = sizes[_i % SIZES], columns = sizes[_i / SIZES];
    for (size_t width = 1; width <= 8; width *= 2) {
        const size_t bytes = (size_t)(rows * columns) * width;
        const int64_t stride = rows + MORE;
        unsigned char *from = malloc(bytes);
        unsigned char *to = calloc((size_t)(stride * columns), width);
        for (size_t i = 0; i < bytes; i++)
            from[i] = (unsigned char)(1 + i % 251);
        cse_map_transpose_into(from, (const int64_t[]){ rows, columns }, width, stride, to);
        for (int64_t c = 0; c < columns; c++)
            for (int64_t r = 0; r < stride; r++) {
                static const unsigned char none[8];
                const unsigned char *wanted =
                    r < rows ? from + (size_t)(r * columns + c) * width : none;
                ck_assert_mem_eq(to + (size_t)(c * stride + r) * width, wanted, width);
            }
        free(from);
        free(to);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("map_fused");
    TCase *tests = tcase_create("layouts");
    tcase_add_loop_test(tests, test_split, 0, (int)(sizeof cases / sizeof cases[0]));
    tcase_add_loop_test(tests, test_join, 0, (int)(sizeof cases / sizeof cases[0]));
    tcase_add_loop_test(tests, test_transpose, 0, 64);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
