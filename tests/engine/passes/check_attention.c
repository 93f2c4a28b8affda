/* When one kernel computes an attention: what a step with it gives against the same step of
 * products and a softmax, that its plan holds nothing for each pair of a query and a key, and which
 * configurations keep the products. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/precision/graphamp.h"
#include "engine/trace/arguments.h"
#include "engine/trace/trace.h"
#include "tests/support/compiled_graph.h"
#include "tests/support/expect.h"

enum { HEADS = 2, HEAD = 16, CHANNELS = HEADS * HEAD, VALUES = 1 + 3 * CHANNELS * CHANNELS };

typedef struct options {
    const char *precision, *disable; /* NULL: float32 throughout; none */
    int64_t time;
    double dropout;
} options;

static cse_tensor *split(cse_tensor *x, int64_t time)
{
    x = cse_reshape(x, cse_shape_of(2, time, HEADS, HEAD));
    return cse_transpose(x, cse_axes(0, 2, 1, 3));
}

static cse_tensor *attend(const options *o, cse_tensor *x, cse_tensor *w)
{
    cse_tensor *parts[3];
    const cse_attention_options how = { .causal = true, .dropout = o->dropout };
    for (int i = 0; i < 3; i++) {
        cse_tensor *weight = cse_slice_axis(w, 0, i * CHANNELS, (i + 1) * CHANNELS);
        parts[i] = split(cse_matmul(x, weight, false, true), o->time);
    }
    cse_tensor *y = cse_scaled_dot_product_attention(parts[0], parts[1], parts[2], &how);
    return cse_reshape(cse_transpose(y, cse_axes(0, 2, 1, 3)), cse_shape_of(2, o->time, CHANNELS));
}

/* A layer of causal attention as models write it, and the gradient of its only weight, through q, k
 * and v. */
static cse_graph *layer(const options *o, cse_precision **precision)
{
    cse_graph *graph = cse_graph_new(1, 2);
    int index;
    *precision = NULL;
    if (o->precision != NULL)
        ck_assert_msg(cse_precision_parse(o->precision, precision) == CSE_OK, "%s",
                      cse_error_message());
    graph->precision = *precision;
    cse_trace_begin(graph);
    const cse_state_entry entry = { .name = "w",
                                    .shape = cse_shape_of(3 * CHANNELS, CHANNELS),
                                    .dtype = CSE_FLOAT32,
                                    .initializer = { CSE_INIT_TRUNCATED_NORMAL, 0, 0.2 },
                                    .trainable = true };
    ck_assert_int_eq(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    cse_node *w = cse_graph_state_node(graph, index);
    cse_node *x = fixture_input(graph, "x", cse_shape_of(2, o->time, CHANNELS), CSE_FLOAT32);
    cse_tensor *loss = cse_mean_all(cse_square(cse_sub(attend(o, x, w), x)));
    fixture_fetch(graph, "loss", loss);
    cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, loss, w);
    fixture_fetch(graph, "gradient", cse_trace_1(&cse_op_batch_sum, NULL, gradient));
    if (*precision != NULL)
        ck_assert_int_eq(cse_precision_apply_patterns(*precision, graph, false), CSE_OK);
    cse_trace_end();
    fixture_passes(graph, o->disable != NULL ? o->disable : "");
    return graph;
}

static int count_of(const cse_graph *graph, const char *op)
{
    int count = 0;
    for (int n = 0; n < graph->node_count; n++)
        count += strcmp(graph->nodes[n]->op->name, op) == 0;
    return count;
}

/* ---- what it computes ---- */

static void run_layer(const options *o, float values[VALUES])
{
    cse_precision *precision;
    fixture_memory memory;
    cse_graph *graph = layer(o, &precision);
    cse_executable *executable = fixture_compile(graph);
    fixture_memory_init(&memory, graph);
    float *x = (float *)(void *)memory.base[CSE_SPACE_INPUT];
    for (int64_t e = 0; e < 2 * o->time * CHANNELS; e++)
        x[e] = fixture_random(5, (uint32_t)e, -2, 2);
    cse_states_initialize(graph, 9, memory.base[CSE_SPACE_STATE]);
    fixture_run(executable, &memory);
    memcpy(values, memory.base[CSE_SPACE_FETCH] + graph->fetches[0].offset_bytes, sizeof(float));
    memcpy(values + 1, memory.base[CSE_SPACE_FETCH] + graph->fetches[1].offset_bytes,
           sizeof(float) * (VALUES - 1));
    fixture_memory_clear(&memory);
    cse_executable_destroy(&executable);
    cse_graph_destroy(&graph);
    cse_precision_destroy(&precision);
}

/* Norm of the difference relative to the norm. */
static double distance(const float *a, const float *b)
{
    double difference = 0, norm = 0;
    for (int e = 0; e < VALUES; e++) {
        difference += pow((double)a[e] - (double)b[e], 2);
        norm += pow((double)b[e], 2);
    }
    return sqrt(difference / norm);
}

static const char bfloat16[] = "{fp16_type: bfloat16, graphamp: {preset: mp2}}";

/* float32: two orders of sums of at most 70 terms. bfloat16: the kernel is no further from float32
 * than the products are, but for the scatter of the roundings. */
START_TEST(a_step_is_that_of_the_products)
{
    float *values = cse_calloc((size_t)4 * VALUES, sizeof *values);
    options o = { .time = _i ? 69 : 32 };
    run_layer(&o, values);
    o.disable = "attention";
    run_layer(&o, values + VALUES);
    cse_expect(distance(values, values + VALUES) < 2e-6, "float32: %.3g",
               distance(values, values + VALUES));
    o.precision = bfloat16;
    run_layer(&o, values + (size_t)2 * VALUES);
    o.disable = NULL;
    run_layer(&o, values + (size_t)3 * VALUES);
    double products = distance(values + (size_t)2 * VALUES, values + VALUES);
    double whole = distance(values + (size_t)3 * VALUES, values + VALUES);
    cse_expect(products < 2e-2 && whole < 1.1 * products, "bfloat16: %.3g, by products %.3g", whole,
               products);
    free(values);
}
END_TEST

/* ---- what it stores ---- */

START_TEST(nothing_is_stored_for_each_pair)
{
    cse_precision *precision;
    const options o = { .time = 1024, .precision = _i ? bfloat16 : NULL };
    cse_graph *graph = layer(&o, &precision);
    ck_assert_int_eq(count_of(graph, "fused_attention"), 2);
    ck_assert_int_eq(count_of(graph, "fused_attention_gradient"), 3);
    ck_assert_int_eq(count_of(graph, "transpose"), 0);
    int runs = 0;
    for (int g = 0; g < graph->group_count; g++)
        runs += strncmp(graph->groups[g].nodes[0]->op->name, "fused_", 6) == 0;
    ck_assert_int_eq(runs, 2);
    for (int n = 0; n < graph->node_count; n++)
        cse_expect(cse_shape_elements(graph->nodes[n]->shape) < o.time * o.time,
                   "%s has %lld elements", graph->nodes[n]->op->name,
                   (long long)cse_shape_elements(graph->nodes[n]->shape));
    cse_graph_destroy(&graph);
    cse_precision_destroy(&precision);
}
END_TEST

/* ---- where it applies ---- */

static const struct {
    const char *precision;
    double dropout;
    bool forward, backward;
} choices[] = {
    { NULL, 0, true, true },
    { NULL, 0.5, false, false },
    { "{fp16_type: bfloat16, graphamp: {preset: mp0}}", 0, true, true },
    { "{fp16_type: bfloat16, graphamp: {preset: mp1}}", 0, true, true },
    { bfloat16, 0, true, true },
    { "{fp16_type: bfloat16, graphamp: {preset: mp3}}", 0, false, false },
    { "{fp16_type: bfloat16, graphamp: {preset: mp4}}", 0, false, false },
    { "{fp16_type: float16, graphamp: {preset: mp2}}", 0, false, false },
    { "{fp16_type: cbfloat16, graphamp: {preset: mp2}}", 0, false, false },
    { "{fp16_type: float16, graphamp: {preset: mp0}}", 0, true, true },
    { "{fp16_type: bfloat16, graphamp: {preset: mp2, infer: [mul, softmax]}}", 0, false, false },
    { "{fp16_type: bfloat16, graphamp: {preset: mp2, deny: [sub]}}", 0, false, false },
    { "{fp16_type: bfloat16, graphamp: {preset: mp2, deny: [gelu]}}", 0, true, true },
    { "{fp16_type: bfloat16, graphamp: {preset: mp2, deny: [scaled_dot_product_attention]}}", 0,
      true, true },
    { "{fp16_type: bfloat16, graphamp: {preset: mp2}, precision_opt_level: 2}", 0, false, false },
    { "{fp16_type: bfloat16, graphamp: {preset: mp2}, emulate_accumulation: true}", 0, true, true },
    { "{fp16_type: bfloat16, graphamp: {preset: mp2}, emulate_accumulation: true, "
      "tiling_accum: bf16}",
      0, false, false },
};

START_TEST(a_choice_about_what_is_inside_keeps_the_products)
{
    cse_precision *precision;
    const options o = { .time = 8,
                        .precision = choices[_i].precision,
                        .dropout = choices[_i].dropout };
    cse_graph *graph = layer(&o, &precision);
    bool forward = false, backward = count_of(graph, "fused_attention_gradient") > 0;
    for (int n = 0; n < graph->node_count; n++)
        forward = forward || strcmp(graph->nodes[n]->op->name, "fused_attention") == 0;
    cse_expect(forward == choices[_i].forward && backward == choices[_i].backward,
               "%s, dropout %g: forward %d, backward %d",
               choices[_i].precision ? choices[_i].precision : "float32", choices[_i].dropout,
               forward, backward);
    cse_graph_destroy(&graph);
    cse_precision_destroy(&precision);
}
END_TEST

int main(void)
{
    const int choice_count = (int)(sizeof choices / sizeof choices[0]);
    Suite *suite = suite_create("attention pass");
    TCase *cases = tcase_create("attention");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, a_step_is_that_of_the_products, 0, 2);
    tcase_add_loop_test(cases, nothing_is_stored_for_each_pair, 0, 2);
    tcase_add_loop_test(cases, a_choice_about_what_is_inside_keeps_the_products, 0, choice_count);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    fixture_remove_directories();
    return failed != 0;
}
