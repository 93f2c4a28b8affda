/* Two checkpoints compared: each number by its formula, paging, and damaged files. */
#include <check.h>
#include <math.h>

#include "engine/formats/checkpoint/compare.h"
#include "tests/engine/formats/checkpoint/fixture.h"

enum { MANY = 200001 }; /* more than a block of a file holds */

static char directory[PATH_MAX], paths[2][PATH_MAX + 64];
static cse_tensor_difference found[64];
static char names[64][32];
static int found_count;

static void set_up(void)
{
    ck_assert_ptr_nonnull(make_directory(directory));
    for (int k = 0; k < 2; k++)
        snprintf(paths[k], sizeof paths[k], "%s/checkpoint_%d.mdl", directory, k);
    found_count = 0;
}

static void tear_down(void)
{
    remove_directory(directory);
}

static void take(void *self, const cse_tensor_difference *difference)
{
    (void)self;
    ck_assert_int_lt(found_count, 64);
    snprintf(names[found_count], sizeof names[found_count], "%s", difference->name);
    found[found_count++] = *difference;
}

static cse_comparison_result compare(int64_t skip, int64_t limit, int64_t most_bytes)
{
    cse_comparison_result result;
    const cse_comparison wanted = { paths[0], paths[1], skip, limit, most_bytes };
    ck_assert_msg(cse_checkpoint_compare(&wanted, &result, take, NULL) == CSE_OK, "%s",
                  cse_error_message());
    return result;
}

static void save(int k, cse_checkpoint_tensor *tensors, int count)
{
    const cse_checkpoint checkpoint = { .tensors = tensors, .tensor_count = count };
    ck_assert_msg(cse_checkpoint_save(&checkpoint, paths[k]) == CSE_OK, "%s", cse_error_message());
}

#define VECTOR(length)                   \
    (cse_shape)                          \
    {                                    \
        .rank = 1, .dims = { (length) }, \
    }

START_TEST(each_number_is_as_its_formula_says)
{
    static float many[2][MANY];
    for (int i = 0; i < MANY; i++)
        many[0][i] = many[1][i] = (float)i + 1;
    many[1][0] = 3;          /* |1 - 3| / 3 */
    many[1][MANY - 1] += 16; /* 16 / (MANY + 16), in the last block */
    many[1][100000] = -many[0][100000];
    const float odd[2][4] = { { 0, INFINITY, NAN, 1 }, { -0.0f, 1, NAN, 1 } };
    const uint16_t half[2][2] = { { 0x3f80, 0x4000 }, { 0x3f80, 0x4040 } }; /* bf16: 2 and 3 */
    const int32_t integers[2][2] = { { INT32_MIN, 5 }, { INT32_MAX, 5 } };
    const uint8_t flags[2][2] = { { 1, 0 }, { 1, 1 } };
    for (int k = 0; k < 2; k++) {
        cse_checkpoint_tensor tensors[] = {
            { "many", CSE_FLOAT32, VECTOR(MANY), many[k] },
            { "odd", CSE_FLOAT32, VECTOR(4), odd[k] },
            { "half", CSE_BFLOAT16, VECTOR(2), half[k] },
            { "integers", CSE_INT32, VECTOR(2), integers[k] },
            { "flags", CSE_BOOL, VECTOR(2), flags[k] },
            { "same", CSE_FLOAT32, VECTOR(4), odd[0] },
        };
        save(k, tensors, 6);
    }
    cse_comparison_result result = compare(0, 64, 0);
    ck_assert_int_eq(result.tensors, 6);
    ck_assert_int_eq(result.same, 1);
    ck_assert_int_eq(result.differing, 5);
    static const struct {
        const char *name;
        int64_t elements, differing, non_finite;
        double absolute, relative;
    } expected[] = {
        { "flags", 2, 1, 0, 1, 1 },
        { "half", 2, 1, 0, 1, 1.0 / 3 },
        { "integers", 2, 1, 0, 4294967295.0, 4294967295.0 / 2147483648.0 },
        { "many", MANY, 3, 0, 200002, 2 },
        { "odd", 4, 2, 1, 0, 0 },
    };
    ck_assert_int_eq(found_count, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_str_eq(names[i], expected[i].name);
        ck_assert_int_eq(found[i].kind, CSE_DIFFERENT_VALUES);
        ck_assert_int_eq(found[i].elements, expected[i].elements);
        ck_assert_int_eq(found[i].differing, expected[i].differing);
        ck_assert_int_eq(found[i].non_finite, expected[i].non_finite);
        ck_assert_double_eq(found[i].max_absolute, expected[i].absolute);
        ck_assert_double_eq(found[i].max_relative, expected[i].relative);
    }
}
END_TEST

START_TEST(tensors_that_have_no_counterpart_are_named)
{
    const float values[4] = { 1, 2, 3, 4 };
    const cse_shape square = { .rank = 2, .dims = { 2, 2 } };
    cse_checkpoint_tensor first[] = { { "b", CSE_FLOAT32, VECTOR(4), values },
                                      { "a", CSE_FLOAT32, VECTOR(4), values },
                                      { "c", CSE_FLOAT32, VECTOR(2), values } };
    cse_checkpoint_tensor second[] = { { "b", CSE_FLOAT32, square, values },
                                       { "c", CSE_INT32, VECTOR(2), values },
                                       { "d", CSE_FLOAT32, VECTOR(4), values } };
    static const struct {
        const char *name;
        cse_difference_kind kind;
    } expected[] = { { "a", CSE_ONLY_IN_FIRST },
                     { "b", CSE_DIFFERENT_FORM },
                     { "c", CSE_DIFFERENT_FORM },
                     { "d", CSE_ONLY_IN_SECOND } };
    save(0, first, 3);
    save(1, second, 3);
    /* A page at a time. */
    for (int i = 0; i < 4; i++) {
        cse_comparison_result result = compare(i, 1, 0);
        ck_assert_int_eq(result.taken, 1);
        ck_assert_int_eq(result.differing, 4);
        ck_assert_str_eq(names[i], expected[i].name);
        ck_assert_int_eq(found[i].kind, expected[i].kind);
    }
    ck_assert_int_eq(compare(4, 1, 0).taken, 0);
}
END_TEST

START_TEST(a_page_ends_where_enough_was_read)
{
    const float values[2][4] = { { 1, 2, 3, 4 }, { 1, 2, 3, 5 } };
    for (int k = 0; k < 2; k++) {
        cse_checkpoint_tensor tensors[] = { { "a", CSE_FLOAT32, VECTOR(4), values[k] },
                                            { "b", CSE_FLOAT32, VECTOR(4), values[k] },
                                            { "c", CSE_FLOAT32, VECTOR(4), values[k] } };
        save(k, tensors, 3);
    }
    /* One pair has 32 bytes: one that begins below the bound is finished. */
    ck_assert_int_eq(compare(0, 64, 1).taken, 1);
    ck_assert_int_eq(compare(0, 64, 33).taken, 2);
    ck_assert_int_eq(compare(1, 64, 1000).taken, 2);
    ck_assert_str_eq(names[3], "b");
}
END_TEST

START_TEST(damage_is_found)
{
    const float values[2][2] = { { 1, 2 }, { 1, 3 } };
    for (int k = 0; k < 2; k++) {
        cse_checkpoint_tensor tensors[] = { { "w", CSE_FLOAT32, VECTOR(2), values[k] } };
        save(k, tensors, 1);
    }
    size_t size;
    unsigned char *bytes = read_bytes(paths[1], &size);
    cse_comparison_result result;
    const cse_comparison wanted = { paths[0], paths[1], 0, 8, 0 };
    size_t at = 0;
    while (memcmp(bytes + at, values[1], sizeof values[1]) != 0)
        at++;
    bytes[at] ^= 1;
    write_bytes(paths[1], bytes, size);
    ck_assert_int_eq(cse_checkpoint_compare(&wanted, &result, take, NULL), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "tensor 'w' is damaged"));
    bytes[at] ^= 1;
    /* However the end is cut or the list is changed: an answer or a refusal, no more. */
    for (size_t cut = 1; cut < size; cut += 7) {
        write_bytes(paths[1], bytes, size - cut);
        ck_assert_int_eq(cse_checkpoint_compare(&wanted, &result, take, NULL), CSE_DATA);
    }
    for (size_t i = size > 400 ? size - 400 : 0; i < size; i++) {
        bytes[i] ^= 0x11;
        write_bytes(paths[1], bytes, size);
        found_count = 0;
        cse_status status = cse_checkpoint_compare(&wanted, &result, take, NULL);
        ck_assert(status == CSE_OK || status == CSE_DATA || status == CSE_IO);
        bytes[i] ^= 0x11;
    }
    free(bytes);
    ck_assert_int_eq(unlink(paths[1]), 0);
    ck_assert_int_eq(cse_checkpoint_compare(&wanted, &result, take, NULL), CSE_NO_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, each_number_is_as_its_formula_says);
    tcase_add_test(cases, tensors_that_have_no_counterpart_are_named);
    tcase_add_test(cases, a_page_ends_where_enough_was_read);
    tcase_add_test(cases, damage_is_found);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
