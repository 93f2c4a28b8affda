/* Sums over rows of more columns than a fused loop keeps, compiled, against sums in double: the
 * gradient of learned positions is one. With few rows, and with so many that they are added in
 * double. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "engine/graph/trace/arguments.h"
#include "tests/support/compiled_graph.h"

static const struct {
    int64_t rows, columns;
} cases[] = { { 4, 16384 }, { 4, 16385 }, { 3, 200000 }, { 1100, 20000 } };

START_TEST(sums_of_any_width)
{
    const int64_t rows = cases[_i].rows, columns = cases[_i].columns;
    cse_graph *graph = cse_graph_new(1, rows);
    fixture_memory memory;
    cse_trace_begin(graph);
    cse_tensor *x = fixture_input(graph, "x", cse_shape_of(rows, columns), CSE_FLOAT32);
    fixture_fetch(graph, "sum",
                  cse_trace_1(&cse_op_batch_sum, NULL, cse_sum(x, cse_axes(0), false)));
    cse_trace_end();
    ck_assert_msg(cse_trace_status(graph) == CSE_OK, "%s", cse_error_message());
    fixture_passes(graph, "");
    cse_executable *executable = fixture_compile(graph);
    fixture_memory_init(&memory, graph);
    float *values = (float *)(void *)memory.base[CSE_SPACE_INPUT];
    for (int64_t i = 0; i < rows * columns; i++)
        values[i] = (float)fixture_random(3, (uint32_t)i, -1, 1);
    for (int again = 0; again < 2; again++) {
        fixture_run(executable, &memory);
        const float *sums = (const float *)(const void *)(memory.base[CSE_SPACE_FETCH] +
                                                          graph->fetches[0].offset_bytes);
        for (int64_t c = 0; c < columns; c++) {
            double sum = 0;
            for (int64_t r = 0; r < rows; r++)
                sum += (double)values[r * columns + c];
            ck_assert_double_eq_tol((double)sums[c], sum, 1e-4);
        }
    }
    cse_executable_destroy(&executable);
    fixture_memory_clear(&memory);
    cse_graph_destroy(&graph);
    fixture_remove_directories();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wide_sums");
    TCase *tests = tcase_create("wide_sums");
    tcase_add_loop_test(tests, sums_of_any_width, 0, sizeof cases / sizeof cases[0]);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
