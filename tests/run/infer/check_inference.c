/* A pass of a trained model is computed in the floating-point mode of training's workers, whatever
 * the program has set, which it finds again. */
#include <check.h>
#include <stdlib.h>

#include "csengine/csengine.h"
#include "csengine/generated/ops.h"
#include "engine/base/float_mode.h"
#include "run/infer/inference.h"
#include "tests/support/temporary_folder.h"

static char folder[] = "/tmp/check_inference.XXXXXX";

/* Squares of the input. */
static void trace(cse_inference *inference, void *self)
{
    (void)self;
    cse_tensor *x =
        cse_inference_input(inference, &(cse_stream){ "x", cse_shape_of(4), CSE_FLOAT32 });
    cse_inference_output(inference, "squares", cse_mul(x, x));
}

START_TEST(results_that_are_subnormal_are_zero_and_the_mode_is_found_again)
{
    static const float values[] = { 1e-20f, 1e-18f, 2, -1e-21f };
    const cse_configuration configuration = { .model_dir = folder, .seed = 3 };
    const cse_inference_options options = { .batch = 1, .trace = trace };
    cse_inference *inference = NULL;
    ck_assert_msg(cse_configure(&configuration) == CSE_OK, "%s", cse_error_message());
    ck_assert_msg(cse_inference_new(&options, &inference) == CSE_OK, "%s", cse_error_message());
    float *x = cse_inference_input_memory(inference, 0);
    for (int i = 0; i < 4; i++)
        x[i] = values[i];
    const cse_float_mode mode = cse_float_mode_of_thread();
    ck_assert_int_eq(cse_inference_run(inference), CSE_OK);
    ck_assert(cse_float_mode_of_thread() == mode);
    const float *squares = cse_inference_output_view(inference, 0, NULL, NULL);
    ck_assert(squares[0] == 0 && squares[1] == 1e-18f * 1e-18f && squares[2] == 4 &&
              squares[3] == 0);
    const volatile float small = 1e-20f;
    ck_assert(small * small != 0); /* here a subnormal number is one */
    cse_inference_destroy(&inference);
    cse_finish();
}
END_TEST

int main(void)
{
    if (mkdtemp(folder) == NULL)
        return EXIT_FAILURE;
    Suite *suite = suite_create("inference");
    TCase *cases = tcase_create("inference");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, results_that_are_subnormal_are_zero_and_the_mode_is_found_again);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(folder);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
