/* Roofline: the operations and bytes of known graphs against formulas by hand, over sizes that fit
 * no vector; the limit of a kernel on a made-up machine; the loops that measure this one. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/graph/trace/trace.h"
#include "run/measure/roofline.h"
#include "tests/support/compiled_graph.h"

static const int64_t sizes[][3] = { { 5, 7, 3 }, { 33, 65, 17 }, { 128, 10, 300 } };
enum { SIZES = 3, FLOAT = 4 };

typedef struct total {
    double product, attention_product, other;
    int64_t bytes;
} total;

/* The work of all groups of a part that hold an op of this name (NULL: any). */
static total work_with(const cse_graph *graph, const char *op)
{
    total sum = { 0 };
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        bool wanted = op == NULL;
        for (int n = 0; n < group->node_count; n++)
            wanted = wanted || strcmp(group->nodes[n]->op->name, op) == 0;
        if (!wanted || group->part != CSE_PART_REPLICA)
            continue;
        cse_group_work work;
        cse_group_work_of(graph, group, &work);
        if (work.work_class == CSE_WORK_ATTENTION_PRODUCT)
            sum.attention_product += work.product_flop;
        else
            sum.product += work.product_flop;
        sum.other += work.other_flop;
        sum.bytes += work.bytes;
    }
    return sum;
}

static cse_graph *begin(void)
{
    cse_graph *graph = cse_graph_new(1, 1);
    cse_trace_begin(graph);
    return graph;
}

static void finish(cse_graph *graph, cse_node *value)
{
    fixture_fetch(graph, "y", cse_sum_all(value));
    cse_trace_end();
    ck_assert_int_eq(cse_trace_status(graph), CSE_OK);
    fixture_passes(graph, "");
}

START_TEST(a_product_with_bias_and_relu)
{
    const int64_t m = sizes[_i][0], n = sizes[_i][1], k = sizes[_i][2];
    cse_graph *graph = begin();
    cse_node *x = fixture_input(graph, "x", cse_shape_of(m, k), CSE_FLOAT32);
    cse_node *w = fixture_input(graph, "w", cse_shape_of(n, k), CSE_FLOAT32);
    cse_node *b = fixture_input(graph, "b", cse_shape_of(n), CSE_FLOAT32);
    finish(graph, cse_relu(cse_linear(x, w, b)));
    const total work = work_with(graph, "matmul");
    ck_assert_double_eq(work.product, 2.0 * (double)(m * n * k));
    ck_assert_double_eq(work.attention_product, 0);
    ck_assert_double_eq(work.other, 2.0 * (double)(m * n)); /* the bias and relu */
    ck_assert_int_eq(work.bytes, FLOAT * (m * k + n * k + n + m * n));
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(a_batch_of_products_is_attention)
{
    const int64_t m = sizes[_i][0], n = sizes[_i][1], k = sizes[_i][2];
    cse_graph *graph = begin();
    cse_node *q = fixture_input(graph, "q", cse_shape_of(3, m, k), CSE_FLOAT32);
    cse_node *p = fixture_input(graph, "p", cse_shape_of(3, k, n), CSE_FLOAT32);
    finish(graph, cse_matmul(q, p, false, false));
    const total work = work_with(graph, "matmul");
    ck_assert_double_eq(work.attention_product, 3 * 2.0 * (double)(m * n * k));
    ck_assert_double_eq(work.product, 0);
    ck_assert_int_eq(work.bytes, FLOAT * 3 * (m * k + k * n + m * n));
    cse_graph_destroy(&graph);
}
END_TEST

/* exp(x) * y, then its sum: three operations an element, in however many groups. */
START_TEST(elementwise_ops_and_sums)
{
    const int64_t count = sizes[_i][0] * sizes[_i][1];
    cse_graph *graph = begin();
    cse_node *x = fixture_input(graph, "x", cse_shape_of(count), CSE_FLOAT32);
    cse_node *y = fixture_input(graph, "y", cse_shape_of(count), CSE_FLOAT32);
    finish(graph, cse_mul(cse_exp(x), y));
    const total work = work_with(graph, NULL);
    ck_assert_double_eq(work.product, 0);
    ck_assert_double_eq(work.other, 3.0 * (double)count);
    ck_assert_int_ge(work.bytes, 2 * FLOAT * count);
    cse_graph_destroy(&graph);
}
END_TEST

/* Of a large table only the rows that are looked up are read; of a small one at most all. */
START_TEST(rows_of_a_table)
{
    const int64_t rows = _i == 0 ? 1000 : 2, channels = 13, looked_up = 9;
    cse_graph *graph = begin();
    cse_node *table = fixture_input(graph, "table", cse_shape_of(rows, channels), CSE_FLOAT32);
    cse_node *tokens = fixture_input(graph, "tokens", cse_shape_of(looked_up), CSE_INT32);
    finish(graph, cse_embedding(table, tokens));
    const total work = work_with(graph, "gather");
    const int64_t from_table = rows < looked_up ? rows : looked_up;
    const int64_t bytes = FLOAT * (from_table * channels + looked_up + looked_up * channels);
    ck_assert_int_ge(work.bytes, bytes);
    ck_assert_int_le(work.bytes, bytes + 64); /* the sum may be in the same group */
    cse_graph_destroy(&graph);
}
END_TEST

/* 3 x 3 windows, 4 channels to 6, stride 1, same size. */
START_TEST(a_convolution)
{
    const cse_conv2d_options same = { .stride = { 1, 1 }, .padding = { 1, 1 } };
    cse_graph *graph = begin();
    cse_node *x = fixture_input(graph, "x", cse_shape_of(2, 4, 9, 7), CSE_FLOAT32);
    cse_node *w = fixture_input(graph, "w", cse_shape_of(6, 4, 3, 3), CSE_FLOAT32);
    finish(graph, cse_conv2d(x, w, NULL, &same));
    const total work = work_with(graph, "conv2d");
    ck_assert_double_eq(work.product, 2.0 * (2 * 6 * 9 * 7) * (4 * 3 * 3));
    ck_assert_int_eq(work.bytes, FLOAT * (2 * 4 * 9 * 7 + 6 * 4 * 3 * 3 + 2 * 6 * 9 * 7));
    cse_graph_destroy(&graph);
}
END_TEST

/* ---- limits ---- */

static const cse_machine_limits machine = { .peaks = { 200, 400, 0 },
                                            .reads = { 300, 100, 50, 10 },
                                            .triad = 20 };

START_TEST(the_longer_of_operations_and_bytes)
{
    cse_roofline_row row = { .work = { .product_flop = 8000, .bytes = 1000 } };
    const int64_t beyond = INT64_MAX;
    ck_assert_double_eq(cse_roofline_limit_ns(&machine, 1000, &row), 8000 / 200.0);
    ck_assert(row.compute_bound && row.level == CSE_LEVEL_1_CACHE);
    ck_assert_double_eq(cse_roofline_limit_ns(&machine, beyond, &row), 1000 / 20.0);
    ck_assert(!row.compute_bound && row.level == CSE_MAIN_MEMORY);
    /* Two bfloat16 operands: the fastest instruction there is; other operations stay float32. */
    row.work.operands[0] = row.work.operands[1] = CSE_BFLOAT16;
    row.work.other_flop = 400;
    ck_assert_double_eq(cse_roofline_limit_ns(&machine, 1000, &row), 8000 / 400.0 + 400 / 200.0);
    ck_assert_int_eq(row.peak, CSE_PEAK_BFLOAT16_DOTS);
    row.work.operands[1] = CSE_FLOAT16;
    cse_roofline_limit_ns(&machine, 1000, &row);
    ck_assert_int_eq(row.peak, CSE_PEAK_FLOAT32);
}
END_TEST

/* Shares and sums of a bench with invented times. */
START_TEST(rows_and_their_sums)
{
    const int64_t m = 64, n = 32, k = 48;
    cse_graph *graph = begin();
    cse_node *x = fixture_input(graph, "x", cse_shape_of(m, k), CSE_FLOAT32);
    cse_node *w = fixture_input(graph, "w", cse_shape_of(k, n), CSE_FLOAT32);
    finish(graph, cse_matmul(x, w, false, false));
    int product = 0;
    while (graph->groups[product].kind != CSE_GROUP_LIBRARY)
        product++;
    cse_kernel_times times = {
        .kernel = product, .alike = 2, .part = CSE_PART_REPLICA, .calls = 6, .ns = 12000, .share = 1
    };
    const cse_kernel_bench bench = { .step_ms = 0.018, .rows = &times, .count = 1 };
    cse_roofline *roofline = cse_roofline_new(graph, &bench, &machine);
    const double flop = 6 * 2.0 * (double)(m * n * k);
    const double bytes = 6.0 * FLOAT * (double)(m * k + k * n + m * n);
    const cse_roofline_row *row = &roofline->rows[0];
    ck_assert_double_eq(row->flop, flop);
    ck_assert_double_eq(row->bytes, bytes);
    ck_assert_str_eq(row->work.sizes, "64x32x48");
    ck_assert_double_eq_tol(row->intensity, flop / bytes, 1e-9);
    ck_assert_double_eq_tol(row->gflop_per_second, flop / 12000, 1e-9);
    ck_assert_double_eq_tol(row->limit_gflop_per_second, fmin(200, 300 * flop / bytes), 1e-9);
    ck_assert_double_eq_tol(row->share, row->gflop_per_second / row->limit_gflop_per_second, 1e-9);
    ck_assert_double_eq_tol(roofline->class_ms[CSE_WORK_PRODUCT], 0.012, 1e-12);
    ck_assert_double_eq_tol(roofline->over_products, 1.5, 1e-9);
    ck_assert_double_eq(roofline->update_ms, 0);
    ck_assert_double_eq_tol(roofline->over_peak, 0.018 / (flop / 200 * 1e-6), 1e-9);
    cse_roofline_destroy(&roofline);
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(this_machine_has_limits)
{
    cse_machine_limits limits = { .triad = 0 };
    cse_machine_limits_measure(&limits);
    for (cse_peak peak = 0; peak < CSE_PEAK_COUNT; peak++)
        ck_assert_int_eq(limits.peaks[peak] > 0, cse_peak_is_here(peak));
    ck_assert(limits.peaks[CSE_PEAK_FLOAT32] > 0 && limits.triad > 0);
    for (cse_memory_level level = 0; level < CSE_MEMORY_LEVEL_COUNT; level++)
        ck_assert(limits.reads[level] > 0);
    ck_assert_int_lt(cse_memory_level_bytes(CSE_LEVEL_2_CACHE),
                     cse_memory_level_bytes(CSE_MAIN_MEMORY));
    const cse_machine_limits first = limits;
    cse_machine_limits_measure(&limits); /* only ever raises */
    for (cse_peak peak = 0; peak < CSE_PEAK_COUNT; peak++)
        ck_assert(limits.peaks[peak] >= first.peaks[peak]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("roofline");
    TCase *counts = tcase_create("counts"), *limits = tcase_create("limits");
    tcase_add_loop_test(counts, a_product_with_bias_and_relu, 0, SIZES);
    tcase_add_loop_test(counts, a_batch_of_products_is_attention, 0, SIZES);
    tcase_add_loop_test(counts, elementwise_ops_and_sums, 0, SIZES);
    tcase_add_loop_test(counts, rows_of_a_table, 0, 2);
    tcase_add_test(counts, a_convolution);
    tcase_add_test(limits, the_longer_of_operations_and_bytes);
    tcase_add_test(limits, rows_and_their_sums);
    tcase_add_test(limits, this_machine_has_limits);
    suite_add_tcase(suite, counts);
    suite_add_tcase(suite, limits);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
