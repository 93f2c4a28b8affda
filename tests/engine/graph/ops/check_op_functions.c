/* Public functions that are made of other ops: their values, written out, and their errors. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "engine/graph/trace/arguments.h"
#include "tests/support/evaluate.h"

enum { MOST = 16 };

static cse_graph *graph;
static evaluation *values;

static void set_up(void)
{
    graph = cse_graph_new(1, 1);
    values = evaluation_new(graph, 0, 0, 0);
    cse_trace_begin(graph);
}

static void tear_down(void)
{
    evaluation_destroy(&values);
    cse_trace_end();
    cse_graph_destroy(&graph);
}

static cse_tensor *given(cse_shape shape, cse_dtype dtype, const double *data)
{
    float stored[MOST];
    cse_tensor *leaf = cse_graph_leaf(graph, &cse_op_input, NULL, shape, dtype);
    for (int64_t i = 0; i < cse_shape_elements(shape); i++)
        cse_write_element(dtype, stored, i, data[i]);
    evaluation_set(values, leaf, stored);
    return leaf;
}

static void expect(cse_tensor *got, cse_shape shape, cse_dtype dtype, const double *wanted)
{
    ck_assert_msg(cse_trace_status(graph) == CSE_OK, "%s", cse_error_message());
    ck_assert(cse_shape_equal(got->shape, shape) && got->dtype == dtype);
    const void *data = evaluation_values(values, got);
    for (int64_t i = 0; i < cse_shape_elements(shape); i++)
        ck_assert_double_eq(cse_read_element(dtype, data, i), wanted[i]);
}

#define VALUES(...)  \
    (const double[]) \
    {                \
        __VA_ARGS__  \
    }
#define FLOATS(shape, ...) given(shape, CSE_FLOAT32, VALUES(__VA_ARGS__))

START_TEST(extremes_and_truths_over_axes)
{
    cse_tensor *x = FLOATS(cse_shape_of(2, 3), 3, -1, 0, 5, 2, 2);
    expect(cse_min(x, cse_axes(1), false), cse_shape_of(2), CSE_FLOAT32, VALUES(-1, 2));
    expect(cse_min(x, cse_axes(0), true), cse_shape_of(1, 3), CSE_FLOAT32, VALUES(3, -1, 0));
    expect(cse_argmin(x, 1), cse_shape_of(2), CSE_INT32, VALUES(1, 1));
    expect(cse_any(x, cse_axes(1), false), cse_shape_of(2), CSE_BOOL, VALUES(1, 1));
    expect(cse_all(x, cse_axes(1), false), cse_shape_of(2), CSE_BOOL, VALUES(0, 1));
    expect(cse_all(cse_greater(x, cse_constant(1)), cse_axes(0), false), cse_shape_of(3), CSE_BOOL,
           VALUES(1, 0, 0));
    expect(cse_any(cse_less(x, cse_constant(-3)), NULL, 0, false), cse_scalar_shape, CSE_BOOL,
           VALUES(0));
}
END_TEST

/* No finite difference shows it: at a tie the maximum has no derivative. */
START_TEST(equal_maxima_share_the_gradient)
{
    cse_tensor *gradients[CSE_MAX_INPUTS] = { NULL };
    cse_tensor *x = FLOATS(cse_shape_of(2, 3), 3, 3, 0, 5, 2, 5);
    cse_tensor *rows = cse_max(x, cse_axes(1), false);
    rows->op->gradient(rows, FLOATS(cse_shape_of(2), 1, 4), gradients);
    expect(gradients[0], cse_shape_of(2, 3), CSE_FLOAT32, VALUES(0.5, 0.5, 0, 2, 0, 2));
}
END_TEST

START_TEST(elements_move_along_an_axis)
{
    cse_tensor *x = FLOATS(cse_shape_of(2, 3), 0, 1, 2, 3, 4, 5);
    expect(cse_roll(x, 1, 1), cse_shape_of(2, 3), CSE_FLOAT32, VALUES(2, 0, 1, 5, 3, 4));
    expect(cse_roll(x, -1, -4), cse_shape_of(2, 3), CSE_FLOAT32, VALUES(1, 2, 0, 4, 5, 3));
    expect(cse_roll(x, 0, 2), cse_shape_of(2, 3), CSE_FLOAT32, VALUES(0, 1, 2, 3, 4, 5));
    expect(cse_flip(x, cse_axes(-1, 0)), cse_shape_of(2, 3), CSE_FLOAT32, VALUES(5, 4, 3, 2, 1, 0));
    cse_tensor *indices = given(cse_shape_of(2), CSE_INT32, VALUES(2, 0));
    expect(cse_index_select(x, -1, indices), cse_shape_of(2, 2), CSE_FLOAT32, VALUES(2, 0, 5, 3));
    expect(cse_index_select(x, 0, given(cse_shape_of(1), CSE_INT32, VALUES(1))), cse_shape_of(1, 3),
           CSE_FLOAT32, VALUES(3, 4, 5));
}
END_TEST

START_TEST(numbers_in_a_row_and_in_order)
{
    cse_tensor *x = FLOATS(cse_shape_of(5), 2, -1, NAN, 2, 7);
    expect(cse_iota(4, 10, -3), cse_shape_of(4), CSE_INT32, VALUES(10, 7, 4, 1));
    expect(cse_argsort(x, 0, false), cse_shape_of(5), CSE_INT32, VALUES(1, 0, 3, 4, 2));
    expect(cse_argsort(x, 0, true), cse_shape_of(5), CSE_INT32, VALUES(2, 4, 0, 3, 1));
    expect(cse_top_k(x, -1, 2), cse_shape_of(2), CSE_INT32, VALUES(2, 4));
    cse_tensor *rows = FLOATS(cse_shape_of(2, 3), 3, 1, 2, -1, 9, 4);
    expect(cse_sort(rows, 1, true), cse_shape_of(2, 3), CSE_FLOAT32, VALUES(3, 2, 1, 9, 4, -1));
    expect(cse_sort(rows, 0, false), cse_shape_of(2, 3), CSE_FLOAT32, VALUES(-1, 1, 2, 3, 9, 4));
}
END_TEST

START_TEST(wrong_arguments_are_told)
{
    cse_tensor *x = FLOATS(cse_shape_of(2, 2), 1, 2, 3, 4);
    const char *expected[] = { "outside rank 2", "an axis of x", "1 to all", "at least 1",
                               "must be int32" };
    cse_tensor *made[] = { NULL, NULL, NULL, NULL, NULL };
    made[_i] = _i == 0   ? cse_roll(x, 2, 1)
               : _i == 1 ? cse_index_select(x, 0, x)
               : _i == 2 ? cse_top_k(x, 0, 3)
               : _i == 3 ? cse_iota(0, 0, 1)
                         : cse_bitwise_not(x);
    ck_assert_ptr_nonnull(made[_i]);
    ck_assert_int_eq(cse_trace_status(graph), CSE_SHAPE);
    ck_assert_msg(strstr(cse_error_message(), expected[_i]) != NULL, "%s", cse_error_message());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("op functions");
    TCase *functions = tcase_create("functions");
    tcase_add_checked_fixture(functions, set_up, tear_down);
    tcase_add_test(functions, extremes_and_truths_over_axes);
    tcase_add_test(functions, equal_maxima_share_the_gradient);
    tcase_add_test(functions, elements_move_along_an_axis);
    tcase_add_test(functions, numbers_in_a_row_and_in_order);
    tcase_add_loop_test(functions, wrong_arguments_are_told, 0, 5);
    suite_add_tcase(suite, functions);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
