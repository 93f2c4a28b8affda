/* Maximum pooling in windows of 2 x 2, which has loops of its own: the same bits as the op's
 * reference kernel on values full of ties, zeros of both signs, infinities and NaN, for even and
 * odd sizes, and as the general loops, which windows of 2 x 2 in steps of 1 go through. */
#include "tests/engine/kernels/fixture.h"

static const float palette[] = { 0.0f, -0.0f, 1.0f,     1.0f,      -1.0f,
                                 2.5f, -3.0f, INFINITY, -INFINITY, NAN };

static void fill(kernel_case *one, uint64_t seed)
{
    for (int n = 0; n < one->node_count; n++) {
        if (one->values[n] == NULL)
            continue;
        float *values = one->values[n];
        for (int64_t e = 0; e < cse_shape_elements(one->nodes[n]->shape); e++) {
            uint32_t counter[4] = { (uint32_t)e, (uint32_t)n, 3, 0 }, words[4];
            cse_philox(seed, counter, words);
            /* Gradients (the second leaf) are plain numbers: a NaN there says nothing of its place.
             */
            values[e] = n == 0 ? palette[words[0] % 10] : (float)(words[1] % 1000) - 500.0f;
        }
    }
}

static bool same(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void compare(kernel_case *one, cse_node *result)
{
    const void *inputs[2] = { one->values[0], one->values[1] };
    int64_t count = cse_shape_elements(result->shape);
    float *expected = cse_aligned_calloc((size_t)count * sizeof(float) + 64);
    float *computed = cse_aligned_calloc((size_t)count * sizeof(float) + 64);
    kernel_case_add(one, result);
    kernel_case_close(one);
    cse_kernel *kernel;
    ck_assert_msg(cse_kernel_new(one->graph, &one->graph->groups[0], &kernel) == CSE_OK, "%s",
                  cse_error_message());
    for (uint64_t seed = 0; seed < 20; seed++) {
        fill(one, seed);
        result->op->reference(
            &(cse_reference){ .node = result, .inputs = inputs, .output = expected });
        kernel->run(kernel, inputs, computed);
        for (int64_t e = 0; e < count; e++)
            ck_assert_msg(same(expected[e], computed[e]), "%s, element %lld: %g, expected %g",
                          result->op->name, (long long)e, (double)computed[e], (double)expected[e]);
    }
    cse_kernel_destroy(&kernel);
    free(expected);
    free(computed);
}

static const int64_t sizes[][2] = { { 4, 6 }, { 5, 7 }, { 2, 2 }, { 3, 2 }, { 12, 33 } };

START_TEST(maxima_of_pairs_are_the_references)
{
    for (int64_t stride = 1; stride <= 2; stride++) {
        kernel_case one;
        kernel_case_begin(&one);
        cse_node *x =
            kernel_case_leaf(&one, cse_shape_of(2, 3, sizes[_i][0], sizes[_i][1]), CSE_FLOAT32);
        cse_node *y = cse_max_pool2d(
            x, &(cse_pool2d_options){ .kernel = { 2, 2 }, .stride = { stride, stride } });
        compare(&one, y);
        kernel_case_end(&one);
    }
}
END_TEST

START_TEST(gradients_of_pairs_are_the_references)
{
    for (int64_t stride = 1; stride <= 2; stride++) {
        const int64_t rows = (sizes[_i][0] - 2) / stride + 1;
        const int64_t columns = (sizes[_i][1] - 2) / stride + 1;
        kernel_case one;
        kernel_case_begin(&one);
        cse_node *x =
            kernel_case_leaf(&one, cse_shape_of(2, 3, sizes[_i][0], sizes[_i][1]), CSE_FLOAT32);
        cse_node *dy = kernel_case_leaf(&one, cse_shape_of(2, 3, rows, columns), CSE_FLOAT32);
        cse_node *y = cse_max_pool2d(
            x, &(cse_pool2d_options){ .kernel = { 2, 2 }, .stride = { stride, stride } });
        compare(&one, cse_max_pool2d_gradient(x, dy, y));
        kernel_case_end(&one);
    }
}
END_TEST

int main(void)
{
    const int count = (int)(sizeof sizes / sizeof sizes[0]);
    Suite *suite = suite_create("pooling");
    TCase *cases = tcase_create("pooling");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, maxima_of_pairs_are_the_references, 0, count);
    tcase_add_loop_test(cases, gradients_of_pairs_are_the_references, 0, count);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
