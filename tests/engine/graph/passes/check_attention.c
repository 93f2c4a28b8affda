/* When one kernel computes an attention: what a step with it gives against the same step of
 * products and a softmax, that its plan holds nothing for each pair of a query and a key, and which
 * configurations keep the products. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/trace.h"
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

/* ---- options ---- */

/* Attention of 4 heads, over as many heads of keys and values as `kv_heads`, of inputs. */
static cse_graph *attention_with(int64_t kv_heads, cse_attention_options how)
{
    cse_graph *graph = cse_graph_new(1, 2);
    cse_trace_begin(graph);
    cse_tensor *q = fixture_input(graph, "q", cse_shape_of(2, 4, 8, HEAD), CSE_FLOAT32);
    cse_tensor *k = fixture_input(graph, "k", cse_shape_of(2, kv_heads, 8, HEAD), CSE_FLOAT32);
    cse_tensor *v = fixture_input(graph, "v", cse_shape_of(2, kv_heads, 8, HEAD), CSE_FLOAT32);
    if (how.key_lengths != NULL)
        how.key_lengths = fixture_input(graph, "lengths", cse_shape_of(2), CSE_INT32);
    if (how.spans != NULL)
        how.spans = fixture_input(graph, "spans", cse_shape_of(2, 2, 8), CSE_INT32);
    if (how.mask != NULL)
        how.mask = fixture_input(graph, "mask", cse_shape_of(8, 8), CSE_BOOL);
    fixture_fetch(graph, "y", cse_scaled_dot_product_attention(q, k, v, &how));
    cse_trace_end();
    fixture_passes(graph, "");
    return graph;
}

/* `given` stands for an input of the graph. */
static const cse_tensor given;
#define GIVEN (cse_tensor *)(uintptr_t)&given

static const struct {
    int64_t kv_heads;
    cse_attention_options how;
    int fused;
} with_options[] = {
    { 4, { .scale = 0.5 }, 1 },
    { 2, { .causal = true }, 1 },
    { 1, { .causal = true, .scale = 2 }, 1 },
    { 4, { .mask = GIVEN }, 0 },
    { 4, { .key_lengths = GIVEN }, 0 },
    { 2, { .causal = true, .spans = GIVEN }, 1 },
    { 4, { .spans = GIVEN, .cap = 3 }, 0 },
    { 4, { .spans = GIVEN, .mask = GIVEN }, 0 },
    { 2, { .causal = true, .window = 3 }, 0 },
};

START_TEST(one_kernel_takes_scales_grouped_heads_and_spans_but_no_masks)
{
    cse_graph *graph = attention_with(with_options[_i].kv_heads, with_options[_i].how);
    ck_assert_int_eq(count_of(graph, "fused_attention"), with_options[_i].fused);
    ck_assert_int_eq(count_of(graph, "max") > 0, with_options[_i].fused == 0);
    cse_graph_destroy(&graph);
}
END_TEST

/* Two queries on keys of ones: the outputs are sums of weights after dropout. The composite and the
 * products that a mask is traced as draw the same numbers. */
static void drop(bool masked, float values[4])
{
    cse_graph *graph = cse_graph_new(1, 2);
    fixture_memory memory;
    cse_trace_begin(graph);
    cse_tensor *x = fixture_input(graph, "x", cse_shape_of(2, 1, 2, 3), CSE_FLOAT32);
    cse_tensor *mask = fixture_input(graph, "mask", cse_shape_of(1, 2), CSE_BOOL);
    cse_tensor *y = cse_scaled_dot_product_attention(
        x, x, x, &(cse_attention_options){ .dropout = 0.5, .mask = masked ? mask : NULL });
    fixture_fetch(graph, "y", cse_slice_axis(y, 3, 0, 1));
    cse_trace_end();
    fixture_passes(graph, "");
    cse_executable *executable = fixture_compile(graph);
    fixture_memory_init(&memory, graph);
    unsigned char *inputs = memory.base[CSE_SPACE_INPUT];
    for (int i = 0; i < 12; i++)
        ((float *)(void *)(inputs + graph->inputs[0].offset_bytes))[i] = 1;
    memset(inputs + graph->inputs[1].offset_bytes, 1, 2);
    fixture_run(executable, &memory);
    memcpy(values, memory.base[CSE_SPACE_FETCH] + graph->fetches[0].offset_bytes,
           4 * sizeof *values);
    fixture_memory_clear(&memory);
    cse_executable_destroy(&executable);
    cse_graph_destroy(&graph);
}

START_TEST(dropout_is_the_same_with_a_mask)
{
    float plain[4], masked[4];
    drop(false, plain);
    drop(true, masked);
    for (int i = 0; i < 4; i++) {
        ck_assert(plain[i] == 0 || plain[i] == 1 || plain[i] == 2); /* halves, doubled */
        ck_assert_float_eq(plain[i], masked[i]);
    }
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
    tcase_add_loop_test(cases, one_kernel_takes_scales_grouped_heads_and_spans_but_no_masks, 0,
                        sizeof with_options / sizeof with_options[0]);
    tcase_add_test(cases, dropout_is_the_same_with_a_mask);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    fixture_remove_directories();
    return failed != 0;
}
