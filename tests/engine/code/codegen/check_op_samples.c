/* Every sample of every op, compiled, against the ops' reference kernels: all in one graph, so that
 * one compilation serves them, with fusion and without; in float32, and with its floats in each
 * 16-bit format where the op takes them. How the two are compared says run/contracts/op_code.h. */
#include <check.h>
#include <stdlib.h>

#include "engine/graph/trace/trace.h"
#include "run/contracts/op_code.h"
#include "tests/samples/samples.h"
#include "tests/support/temporary_folder.h"

/* Formats change what an op's loop holds, fusion which loops there are: each format once with it.
 */
static const struct {
    int format;
    const char *disabled;
} compilations[] = {
    { 0, NULL }, { 0, "fusion,order,memory_plan" }, { 1, NULL }, { 2, NULL }, { 3, NULL }
};

START_TEST(compiled_samples_are_as_the_reference)
{
    char folder[] = "/tmp/csengine-check-XXXXXX";
    int count = 0;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    cse_op_trial *trial = cse_op_trial_new(compilations[_i].format);
    for (const cse_op *const *op = cse_ops; *op != NULL; op++)
        count += cse_op_trial_add(trial, *op, cse_samples_of(*op));
    ck_assert_int_gt(count, 80);
    ck_assert_msg(cse_op_trial_run(trial, compilations[_i].disabled, folder) == CSE_OK, "%s",
                  cse_error_message());
    cse_op_trial_destroy(&trial);
    temporary_folder_remove(folder);
}
END_TEST

START_TEST(all_formats_are_tried)
{
    ck_assert_int_eq(cse_op_trial_format(compilations[4].format + 1), CSE_DTYPE_COUNT);
    ck_assert_int_eq(cse_op_trial_format(0), CSE_FLOAT32);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("op_samples");
    TCase *cases = tcase_create("op_samples");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, compiled_samples_are_as_the_reference, 0,
                        sizeof compilations / sizeof compilations[0]);
    tcase_add_test(cases, all_formats_are_tried);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
