/* A loss that is a ratio of sums over the global batch: value and gradient by
 * cse_cross_entropy_sums are those of the whole batch, however it is cut into microbatches, where
 * the rows that count are spread unevenly. By hand in double. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/straight_run.h"

enum { ROWS = 6, FEATURES = 2, CLASSES = 3 };

static const float features[ROWS][FEATURES] = { { 1, -0.5F },     { 0.25F, 2 }, { -1.5F, 0.75F },
                                                { 0.5F, 0.125F }, { 2, -1 },    { -0.25F, -2 } };
static const int labels[ROWS] = { 2, -100, -100, -100, 0, 1 };
static const float class_weights[CLASSES] = { 0.5F, 2, 1.5F };
static const float weight[CLASSES][FEATURES] = { { 0.5F, -1 }, { 0.25F, 0.75F }, { -0.5F, 0.5F } };

static cse_node *input(cse_graph *graph, const char *name, cse_shape shape, cse_dtype dtype)
{
    cse_attributes attributes = { .integer_count = 1,
                                  .integers = { graph->input_count },
                                  .text = name };
    cse_node *node = cse_graph_leaf(graph, &cse_op_input, &attributes, shape, dtype);
    int64_t offset = graph->space_bytes[CSE_SPACE_INPUT];
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count++] = (cse_input_entry){
        .name = name, .shape = shape, .dtype = dtype, .node = node, .offset_bytes = offset
    };
    graph->space_bytes[CSE_SPACE_INPUT] += cse_aligned_bytes(cse_node_bytes(node));
    return node;
}

static void fetch(cse_graph *graph, const char *name, cse_tensor *value)
{
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] = (cse_fetch_entry){ .name = name, .value = value };
}

static cse_tensor *over_batch(cse_tensor *x)
{
    return cse_trace_1(&cse_op_batch_sum, NULL, x);
}

/* Fetches the ratio and its gradient. */
static cse_graph *ratio_graph(int samples)
{
    int index;
    cse_tensor *sums[2];
    cse_graph *graph = cse_graph_new(ROWS / samples, samples);
    cse_trace_begin(graph);
    const cse_state_entry entry = { .name = "w",
                                    .shape = cse_shape_of(CLASSES, FEATURES),
                                    .dtype = CSE_FLOAT32 };
    ck_assert_int_eq(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    cse_node *w = cse_graph_state_node(graph, index);
    cse_node *x = input(graph, "x", cse_shape_of(samples, FEATURES), CSE_FLOAT32);
    cse_node *y = input(graph, "y", cse_shape_of(samples), CSE_INT32);
    cse_tensor *parts[CLASSES];
    for (int c = 0; c < CLASSES; c++)
        parts[c] = cse_full(cse_shape_of(1), (double)class_weights[c]);
    cse_cross_entropy_sums(
        cse_linear(x, w, NULL), y,
        &(cse_cross_entropy_options){ .class_weights = cse_concat(parts, CLASSES, 0) }, sums);
    cse_tensor *count = over_batch(sums[1]);
    cse_tensor *gradient = over_batch(cse_trace_2(&cse_op_gradient, NULL, sums[0], w));
    fetch(graph, "ratio", cse_div(over_batch(sums[0]), count));
    fetch(graph, "gradient", cse_div(gradient, count));
    cse_trace_end();
    ck_assert_msg(cse_trace_status(graph) == CSE_OK, "%s", cse_error_message());
    ck_assert_msg(cse_passes_run(graph, NULL) == CSE_OK, "%s", cse_error_message());
    return graph;
}

static double by_hand(double gradient[CLASSES * FEATURES])
{
    double sum = 0, count = 0;
    for (int i = 0; i < CLASSES * FEATURES; i++)
        gradient[i] = 0;
    for (int r = 0; r < ROWS; r++) {
        double scores[CLASSES], total = 0;
        if (labels[r] < 0)
            continue;
        const double own = (double)class_weights[labels[r]];
        for (int c = 0; c < CLASSES; c++) {
            scores[c] = 0;
            for (int f = 0; f < FEATURES; f++)
                scores[c] += (double)weight[c][f] * (double)features[r][f];
            total += exp(scores[c]);
        }
        count += own;
        sum += own * (log(total) - scores[labels[r]]);
        for (int c = 0; c < CLASSES; c++)
            for (int f = 0; f < FEATURES; f++)
                gradient[c * FEATURES + f] +=
                    own * (exp(scores[c]) / total - (c == labels[r])) * (double)features[r][f];
    }
    for (int i = 0; i < CLASSES * FEATURES; i++)
        gradient[i] /= count;
    return sum / count;
}

START_TEST(the_ratio_is_that_of_the_global_batch)
{
    const int samples = _i;
    unsigned char *inputs[ROWS];
    double gradient[CLASSES * FEATURES], ratio = by_hand(gradient);
    cse_executable *executable;
    straight_run run;
    cse_graph *graph = ratio_graph(samples);
    ck_assert_int_eq(cse_executable_interpret(graph, &executable), CSE_OK);
    straight_run_init(&run, executable, 1);
    memcpy(straight_run_state(&run, "w"), weight, sizeof weight);
    for (int m = 0; m < ROWS / samples; m++) {
        inputs[m] = cse_aligned_calloc((size_t)graph->space_bytes[CSE_SPACE_INPUT]);
        memcpy(inputs[m] + graph->inputs[0].offset_bytes, features[m * samples],
               (size_t)samples * sizeof features[0]);
        memcpy(inputs[m] + graph->inputs[1].offset_bytes, &labels[m * samples],
               (size_t)samples * sizeof labels[0]);
    }
    straight_run_step(&run, inputs);
    const float *got =
        (const float *)(const void *)(run.spaces[CSE_SPACE_FETCH] + graph->fetches[1].offset_bytes);
    ck_assert_double_eq_tol((double)straight_run_fetched(&run, 0), ratio, 1e-6);
    for (int i = 0; i < CLASSES * FEATURES; i++)
        ck_assert_double_eq_tol((double)got[i], gradient[i], 1e-6);
    for (int m = 0; m < ROWS / samples; m++)
        free(inputs[m]);
    straight_run_clear(&run);
    cse_executable_destroy(&executable);
    cse_graph_destroy(&graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loss ratio");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, the_ratio_is_that_of_the_global_batch, 1, 4); /* 1, 2, 3 samples */
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
