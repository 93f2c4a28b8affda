/* Ops and their gradients against PyTorch and SciPy, whose values are stored with the script that
 * made them (tests/reference/make_reference_values.py); and random ops against Philox in Python. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "engine/base/random.h"
#include "engine/graph/trace/arguments.h"
#include "tests/support/evaluate.h"

enum { MOST_INPUTS = 3 };

typedef struct reference_tensor {
    cse_shape shape;
    cse_dtype dtype;
    const double *values; /* NULL: not given */
} reference_tensor;

typedef struct reference_case {
    const char *op;
    cse_attributes attributes;
    int input_count;
    reference_tensor inputs[MOST_INPUTS];
    reference_tensor output;
    reference_tensor upstream; /* weights of the outputs in the scalar that is differentiated */
    reference_tensor gradients[MOST_INPUTS];
} reference_case;

#include "tests/reference/op_values.h"
#include "tests/reference/op_values_axes.h"

enum {
    PLAIN_CASES = sizeof plain_cases / sizeof *plain_cases,
    AXES_CASES = sizeof axes_cases / sizeof *axes_cases
};

static cse_node *leaf(evaluation *values, cse_graph *graph, const reference_tensor *tensor)
{
    int64_t count = cse_shape_elements(tensor->shape);
    cse_node *node = cse_graph_leaf(graph, &cse_op_input, NULL, tensor->shape, tensor->dtype);
    float *data = cse_calloc((size_t)count + 1, sizeof *data);
    for (int64_t i = 0; i < count; i++)
        cse_write_element(tensor->dtype, data, i, tensor->values[i]);
    evaluation_set(values, node, data);
    free(data);
    return node;
}

/* Kernels compute in double and round once (2^-24 relative); gradients are traced as several ops,
 * each of which rounds: allow `tolerance` relative to max(1, |expected|). */
static void compare(const char *op, evaluation *values, cse_node *node,
                    const reference_tensor *expected, double tolerance)
{
    ck_assert_msg(cse_shape_equal(node->shape, expected->shape), "%s: shape", op);
    ck_assert_msg(node->dtype == expected->dtype, "%s: type", op);
    const void *data = evaluation_values(values, node);
    for (int64_t i = 0; i < cse_shape_elements(node->shape); i++) {
        double value = cse_read_element(node->dtype, data, i), wanted = expected->values[i];
        bool same = isnan(wanted) ? isnan(value)
                                  : value == wanted ||
                                        fabs(value - wanted) <= tolerance * fmax(1, fabs(wanted));
        ck_assert_msg(same, "%s, element %lld: %.9g, expected %.9g", op, (long long)i, value,
                      wanted);
    }
}

START_TEST(values_and_gradients_are_those_of_pytorch)
{
    const reference_case *at = _i < PLAIN_CASES ? &plain_cases[_i] : &axes_cases[_i - PLAIN_CASES];
    cse_graph *graph = cse_graph_new(1, 1);
    evaluation *values = evaluation_new(graph, 0, 0, 0);
    cse_node *inputs[MOST_INPUTS], *gradients[CSE_MAX_INPUTS] = { NULL };
    cse_trace_begin(graph);
    const cse_op *op = cse_op_find(at->op);
    ck_assert_msg(op != NULL, "no op %s", at->op);
    for (int i = 0; i < at->input_count; i++)
        inputs[i] = leaf(values, graph, &at->inputs[i]);
    cse_node *node = cse_trace(op, &at->attributes, at->input_count, inputs);
    ck_assert_msg(cse_trace_status(graph) == CSE_OK, "%s", cse_error_message());
    compare(at->op, values, node, &at->output, 0x1p-23);
    if (at->upstream.values != NULL) {
        ck_assert_ptr_nonnull(op->gradient);
        op->gradient(node, leaf(values, graph, &at->upstream), gradients);
        for (int i = 0; i < at->input_count; i++)
            if (at->gradients[i].values != NULL) {
                ck_assert_msg(gradients[i] != NULL, "%s: no gradient %d", at->op, i);
                compare(at->op, values, gradients[i], &at->gradients[i], 2e-6);
            }
    }
    evaluation_destroy(&values);
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(random_words_are_those_of_philox)
{
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++) {
        uint32_t words[4];
        cse_draw_words(draws[i].seed, draws[i].step, draws[i].stream, (uint32_t)draws[i].sample,
                       draws[i].element, words);
        ck_assert_uint_eq(words[0], draws[i].words[0]);
        ck_assert_uint_eq(words[1], draws[i].words[1]);
    }
}
END_TEST

/* x [samples, features] of a microbatch that begins at sample `first`, through `make`. */
static void draw_batch(int64_t samples, int64_t features, int64_t first,
                       cse_tensor *(*make)(cse_tensor *), float *result)
{
    cse_graph *graph = cse_graph_new(1, samples);
    evaluation *values = evaluation_new(graph, 11, 5, first);
    float *ones = cse_calloc((size_t)(samples * features), sizeof *ones);
    cse_trace_begin(graph);
    cse_node *x =
        cse_graph_leaf(graph, &cse_op_input, NULL, cse_shape_of(samples, features), CSE_FLOAT32);
    for (int64_t i = 0; i < samples * features; i++)
        ones[i] = 1;
    evaluation_set(values, x, ones);
    cse_node *drawn = make(x);
    ck_assert_int_eq(cse_trace_status(graph), CSE_OK);
    const float *data = evaluation_values(values, drawn);
    for (int64_t i = 0; i < samples * features; i++)
        result[i] = data[i];
    free(ones);
    evaluation_destroy(&values);
    cse_graph_destroy(&graph);
}

static cse_tensor *make_dropout(cse_tensor *x)
{
    return cse_dropout(x, 0.25, "a layer");
}

static cse_tensor *make_uniform(cse_tensor *x)
{
    return cse_random_uniform_like(x, "noise", -1, 2);
}

static cse_tensor *make_normal(cse_tensor *x)
{
    return cse_random_normal_like(x, "noise", 1, 2);
}

static cse_tensor *make_bernoulli(cse_tensor *x)
{
    return cse_bernoulli_like(x, "noise", 0.3);
}

/* Of ones: two queries on two keys with three channels a sample; sums of the weights that stay. */
static cse_tensor *make_attention(cse_tensor *x)
{
    const cse_attention_options options = { .dropout = 0.5, .dropout_stream = "a layer" };
    cse_shape shape = cse_tensor_shape(x);
    cse_tensor *heads = cse_reshape(x, cse_shape_of(shape.dims[0], 1, 2, 3));
    return cse_reshape(cse_scaled_dot_product_attention(heads, heads, heads, &options), shape);
}

static cse_tensor *(*const makers[])(cse_tensor *) = { make_dropout, make_uniform, make_normal,
                                                       make_bernoulli, make_attention };

START_TEST(a_sample_draws_the_same_in_any_split_of_the_batch)
{
    float whole[8 * 6], part[4 * 6];
    draw_batch(8, 6, 16, makers[_i], whole);
    draw_batch(4, 6, 20, makers[_i], part);
    for (int i = 0; i < 4 * 6; i++)
        ck_assert_float_eq(part[i], whole[4 * 6 + i]);
    int differing = 0;
    for (int i = 6; i < 8 * 6; i++)
        differing += whole[i % 6] != whole[i];
    ck_assert_int_gt(differing, 0);
}
END_TEST

/* [batch, time, channel] as [batch * time, channel], as attention layers do. */
static cse_tensor *make_dropout_of_rows(cse_tensor *x)
{
    cse_shape shape = cse_tensor_shape(x);
    cse_shape rows = cse_shape_of(2 * shape.dims[0], shape.dims[1] / 2);
    return cse_reshape(make_dropout(cse_reshape(x, rows)), shape);
}

START_TEST(a_sample_draws_the_same_however_its_elements_are_arranged)
{
    float plain[8 * 6], rows[8 * 6];
    draw_batch(8, 6, 16, make_dropout, plain);
    draw_batch(8, 6, 16, make_dropout_of_rows, rows);
    for (int i = 0; i < 8 * 6; i++)
        ck_assert_float_eq(plain[i], rows[i]);
}
END_TEST

/* Mean and variance of n = 65536 draws lie within 5 standard errors of theirs. */
START_TEST(moments_are_those_of_the_distribution)
{
    static float drawn[256 * 256];
    const double n = 256 * 256;
    /* dropout of ones: 4/3 with 3/4; uniform in [-1, 2); normal 1, 2; bernoulli 0.3. */
    const double means[] = { 1, 0.5, 1, 0.3 }, variances[] = { 1.0 / 3, 0.75, 4, 0.21 };
    const double fourths[] = { 7.0 / 27, 81.0 / 80, 48, 0.0777 };
    draw_batch(256, 256, 0, makers[_i], drawn);
    double mean = 0, variance = 0;
    for (int i = 0; i < 256 * 256; i++)
        mean += drawn[i] / n;
    for (int i = 0; i < 256 * 256; i++)
        variance += (drawn[i] - means[_i]) * (drawn[i] - means[_i]) / n;
    double spread = sqrt((fourths[_i] - variances[_i] * variances[_i]) / n);
    ck_assert_double_le(fabs(mean - means[_i]), 5 * sqrt(variances[_i] / n));
    ck_assert_double_le(fabs(variance - variances[_i]), 5 * spread + 1e-6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("op values");
    TCase *values = tcase_create("values");
    tcase_set_timeout(values, 60);
    tcase_add_loop_test(values, values_and_gradients_are_those_of_pytorch, 0,
                        PLAIN_CASES + AXES_CASES);
    tcase_add_test(values, random_words_are_those_of_philox);
    tcase_add_loop_test(values, a_sample_draws_the_same_in_any_split_of_the_batch, 0, 5);
    tcase_add_test(values, a_sample_draws_the_same_however_its_elements_are_arranged);
    tcase_add_loop_test(values, moments_are_those_of_the_distribution, 0, 4);
    suite_add_tcase(suite, values);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
