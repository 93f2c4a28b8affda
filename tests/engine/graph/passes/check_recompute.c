/* Activation recomputation: the gradients stay, the workspace becomes smaller, copies are read
 * by the backward pass alone, blocks and patterns mean the same, and a memory limit takes as few
 * regions as it needs. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/compiled_graph.h"
#include "tests/support/expect.h"

enum { LAYERS = 5, ROWS = 32, WIDTH = 48, WEIGHTS = LAYERS * WIDTH * WIDTH };

typedef enum form { KEPT, BLOCKS, NESTED_BLOCKS, PATTERN } form;

typedef struct options {
    form form;
    const char *pattern;   /* of PATTERN */
    int64_t limit_bytes;   /* 0: none */
    const char *precision; /* NULL: float32 */
    bool streams;          /* states are larger than memory */
} options;

/* What a layer computes: a product, dropout, a few elementwise ops and a norm over each row. */
static cse_tensor *transform(cse_tensor *x, cse_tensor *w, const char *stream)
{
    cse_tensor *y = cse_gelu(cse_matmul(x, w, false, true), false);
    y = cse_dropout(cse_tanh(y), 0.25, stream);
    return cse_add(x, cse_layer_norm(y, NULL, NULL, 1e-5));
}

static cse_tensor *trace_layer(const options *o, cse_tensor *x, cse_tensor *w, const char *stream)
{
    if (o->form == KEPT || o->form == PATTERN)
        return transform(x, w, stream);
    CSE_RECOMPUTE(NULL)
    {
        if (o->form == NESTED_BLOCKS) {
            CSE_RECOMPUTE(NULL) x = transform(x, w, stream);
        } else {
            x = transform(x, w, stream);
        }
    }
    return x;
}

static cse_node *add_weight(cse_graph *graph, int layer)
{
    char name[32];
    int index;
    snprintf(name, sizeof name, "w%d", layer);
    const cse_state_entry entry = { .name = name,
                                    .shape = cse_shape_of(WIDTH, WIDTH),
                                    .dtype = CSE_FLOAT32,
                                    .initializer = { CSE_INIT_NORMAL, 0, 0.1 },
                                    .trainable = true };
    ck_assert_int_eq(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    return cse_graph_state_node(graph, index);
}

static void trace_layers(const options *o, cse_graph *graph)
{
    cse_node *weights[LAYERS];
    cse_tensor *x = fixture_input(graph, "x", cse_shape_of(ROWS, WIDTH), CSE_FLOAT32);
    CSE_SCOPE(NULL, "model")
    {
        for (int l = 0; l < LAYERS; l++) {
            char name[32];
            snprintf(name, sizeof name, "layers.%d", l);
            weights[l] = add_weight(graph, l);
            CSE_SCOPE(NULL, name)
            {
                CSE_SCOPE(NULL, "inner") x = trace_layer(o, x, weights[l], name);
            }
        }
    }
    cse_tensor *loss = cse_mean_all(cse_square(x));
    fixture_fetch(graph, "loss", loss);
    for (int l = 0; l < LAYERS; l++) {
        cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, loss, weights[l]);
        fixture_fetch(graph, "gradient", cse_trace_1(&cse_op_batch_sum, NULL, gradient));
    }
}

/* `borrowed` has to live as long as the graph. */
typedef struct borrowed {
    cse_recompute_request request;
    const char *pattern, *origin;
    cse_precision *precision;
} borrowed;

static cse_graph *traced(const options *o, borrowed *b)
{
    cse_graph *graph = cse_graph_new(1, ROWS);
    *b = (borrowed){ .pattern = o->pattern, .origin = "test.yaml:3:5" };
    b->request = (cse_recompute_request){ .patterns = &b->pattern,
                                          .origins = &b->origin,
                                          .pattern_count = o->pattern != NULL,
                                          .memory_limit_bytes = o->limit_bytes };
    graph->recompute = o->form == PATTERN ? &b->request : NULL;
    if (o->precision != NULL)
        ck_assert_int_eq(cse_precision_parse(o->precision, &b->precision), CSE_OK);
    graph->precision = b->precision;
    graph->streams_states = o->streams;
    cse_trace_begin(graph);
    trace_layers(o, graph);
    cse_trace_end();
    return graph;
}

static cse_graph *planned(const options *o, borrowed *b)
{
    cse_graph *graph = traced(o, b);
    fixture_passes(graph, "");
    return graph;
}

static void release(cse_graph *graph, borrowed *b)
{
    cse_graph_destroy(&graph);
    cse_precision_destroy(&b->precision);
}

/* The loss, and the gradients of all layers; returns the bytes of the workspace. */
static int64_t run(const options *o, float values[1 + WEIGHTS])
{
    borrowed b;
    fixture_memory memory;
    cse_graph *graph = planned(o, &b);
    cse_executable *executable = fixture_compile(graph);
    fixture_memory_init(&memory, graph);
    float *x = (float *)(void *)memory.base[CSE_SPACE_INPUT];
    for (int e = 0; e < ROWS * WIDTH; e++)
        x[e] = (float)fixture_random(5, (uint32_t)e, -2, 2);
    cse_states_initialize(graph, 9, memory.base[CSE_SPACE_STATE]);
    fixture_run(executable, &memory);
    for (int f = 0, at = 0; f < graph->fetch_count; f++) {
        const int count = f == 0 ? 1 : WIDTH * WIDTH;
        memcpy(values + at, memory.base[CSE_SPACE_FETCH] + graph->fetches[f].offset_bytes,
               sizeof(float) * (size_t)count);
        at += count;
    }
    const int64_t bytes = graph->space_bytes[CSE_SPACE_REPLICA];
    fixture_memory_clear(&memory);
    cse_executable_destroy(&executable);
    release(graph, &b);
    return bytes;
}

static int regions_in(const cse_graph *graph)
{
    bool seen[LAYERS + 1] = { false };
    int count = 0;
    for (int n = 0; n < graph->node_count; n++) {
        const int region = graph->nodes[n]->recomputed;
        ck_assert_int_le(region, LAYERS);
        count += region > 0 && !seen[region];
        seen[region] = true;
    }
    return count;
}

static const char *const precisions[] = { NULL, "{fp16_type: bfloat16, graphamp: {preset: mp2}}" };

/* The same values, summed in another order where loops are fused otherwise: gradients of up to 1
 * over 32 rows and 5 layers, in float32 within 1e-6 of their norm. */
static void expect_near(const float *kept, const float *again, int number)
{
    double difference = 0, norm = 0;
    for (int e = 0; e < 1 + WEIGHTS; e++) {
        difference += pow((double)kept[e] - (double)again[e], 2);
        norm += pow((double)kept[e], 2);
    }
    cse_expect(kept[0] == again[0], "form %d: another loss", number);
    cse_expect(sqrt(difference) < 1e-6 * sqrt(norm), "form %d: %.3g of %.3g", number,
               sqrt(difference), sqrt(norm));
}

START_TEST(the_values_stay_in_less_memory)
{
    float *values = cse_calloc((size_t)2 * (1 + WEIGHTS), sizeof *values);
    options o = { .form = KEPT, .precision = precisions[_i] };
    const int64_t kept = run(&o, values);
    cse_expect(values[1] != 0 && values[WEIGHTS] != 0, "the gradients are zero");
    const form forms[] = { BLOCKS, NESTED_BLOCKS, PATTERN };
    for (int f = 0; f < 3; f++) {
        o.form = forms[f];
        o.pattern = "model.layers.*";
        const int64_t bytes = run(&o, values + 1 + WEIGHTS);
        expect_near(values, values + 1 + WEIGHTS, f);
        cse_expect(bytes < kept * 3 / 4, "form %d needs %lld bytes, %lld without", f,
                   (long long)bytes, (long long)kept);
    }
    free(values);
}
END_TEST

/* Values of a weight's size that are made of states alone, in memory while the group runs. */
static int weights_at(const cse_graph *graph, int group)
{
    int count = 0;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        bool is_read = false;
        if (node->batch || node->part != CSE_PART_REPLICA || node->group < 0 ||
            node->group > group || cse_shape_elements(node->shape) != WIDTH * WIDTH)
            continue;
        for (int u = 0; u < graph->node_count; u++)
            for (int i = 0; i < graph->nodes[u]->input_count; i++)
                is_read = is_read ||
                          (graph->nodes[u]->inputs[i] == node && graph->nodes[u]->group >= group);
        count += is_read;
    }
    return count;
}

START_TEST(streamed_weights_are_rounded_where_they_are_read)
{
    float *values = cse_calloc((size_t)2 * (1 + WEIGHTS), sizeof *values);
    borrowed b;
    options o = { .form = _i == 0 ? KEPT : BLOCKS, .precision = precisions[1] };
    run(&o, values);
    o.streams = true;
    run(&o, values + 1 + WEIGHTS);
    ck_assert_mem_eq(values, values + 1 + WEIGHTS, sizeof *values * (1 + WEIGHTS));
    cse_graph *graph = planned(&o, &b);
    for (int g = 0; g < graph->group_count; g++)
        cse_expect(weights_at(graph, g) <= 1, "%d weights at group %d", weights_at(graph, g), g);
    release(graph, &b);
    free(values);
}
END_TEST

START_TEST(copies_belong_to_the_backward_pass)
{
    borrowed b;
    const options o = { .form = BLOCKS };
    cse_graph *graph = planned(&o, &b);
    ck_assert_int_eq(regions_in(graph), LAYERS);
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        cse_expect(node->recomputed == 0 || node->backward, "a copy of the forward pass");
        for (int i = 0; i < node->input_count; i++)
            cse_expect(node->backward || node->part != CSE_PART_REPLICA ||
                           node->inputs[i]->recomputed == 0,
                       "%s of the forward pass reads a copy", node->op->name);
    }
    /* The last region is recomputed first: its groups stand before those of the others. */
    int last = LAYERS + 1;
    for (int g = 0; g < graph->group_count; g++) {
        const int region = graph->groups[g].nodes[0]->recomputed;
        cse_expect(region == 0 || region <= last, "region %d after region %d", region, last);
        last = region > 0 ? region : last;
    }
    release(graph, &b);
}
END_TEST

/* Copies of values that kernels compute: one for each region that is recomputed wholly. */
static int copied_products(const cse_graph *graph)
{
    int count = 0;
    for (int n = 0; n < graph->node_count; n++)
        count += graph->nodes[n]->recomputed > 0 && graph->nodes[n]->op->kind == CSE_OP_LIBRARY;
    return count;
}

START_TEST(a_limit_takes_as_little_as_it_needs)
{
    borrowed b;
    options o = { .form = PATTERN, .limit_bytes = INT64_MAX };
    int products = 0, light = 0, numbers = 0, regions = 0;
    cse_graph *graph = traced(&o, &b);
    /* Each limit is just too small for the extent before. */
    for (; cse_passes_run(graph, &(cse_passes_options){ .disable = "" }) == CSE_OK; numbers++) {
        const int64_t bytes = graph->space_bytes[CSE_SPACE_REPLICA];
        const int now = copied_products(graph);
        cse_expect(now >= products, "%d products after %d", now, products);
        cse_expect(numbers > 0 || regions_in(graph) == 0, "without need");
        cse_expect(now > 0 || regions_in(graph) >= regions, "%d regions after %d",
                   regions_in(graph), regions);
        products = now;
        light += now == 0 && regions_in(graph) > 0;
        regions = regions_in(graph);
        cse_expect(bytes <= o.limit_bytes, "%lld bytes for a limit of %lld", (long long)bytes,
                   (long long)o.limit_bytes);
        o.limit_bytes = bytes - 1;
        release(graph, &b);
        graph = traced(&o, &b);
    }
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "with all 5 regions recomputed"));
    cse_expect(numbers >= 4, "%d different extents", numbers);
    cse_expect(light > 0, "products are recomputed at once");
    cse_expect(products > 0, "no product is recomputed");
    release(graph, &b);
}
END_TEST

/* What is recomputed lightly gives the values, too. */
START_TEST(the_values_stay_with_light_recomputation)
{
    float *values = cse_calloc((size_t)2 * (1 + WEIGHTS), sizeof *values);
    options o = { .form = KEPT, .precision = precisions[_i] };
    const int64_t kept = run(&o, values);
    o.form = PATTERN;
    for (int part = 9; part > 5; part--) {
        o.limit_bytes = kept * part / 10;
        const int64_t bytes = run(&o, values + 1 + WEIGHTS);
        expect_near(values, values + 1 + WEIGHTS, part);
        cse_expect(bytes <= o.limit_bytes, "%lld bytes", (long long)bytes);
    }
    free(values);
}
END_TEST

START_TEST(a_pattern_without_a_scope_is_told)
{
    borrowed b;
    const options o = { .form = PATTERN, .pattern = "model.blocks.*" };
    cse_graph *graph = traced(&o, &b);
    ck_assert_int_eq(cse_passes_run(graph, NULL), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(),
                                 "test.yaml:3:5: the pattern \"model.blocks.*\" matches no scope"));
    release(graph, &b);
}
END_TEST

/* `*` stands for one name: a pattern is of one region for each scope that it names. */
START_TEST(a_pattern_names_whole_scopes)
{
    static const struct {
        const char *pattern;
        int regions;
    } cases[] = { { "model", 1 },
                  { "model.layers.*", LAYERS },
                  { "model.layers.[13]", 2 },
                  { "*.layers.2.inner", 1 },
                  { "model.layers.*.inner", LAYERS } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        borrowed b;
        const options o = { .form = PATTERN, .pattern = cases[i].pattern };
        cse_graph *graph = planned(&o, &b);
        cse_expect(regions_in(graph) == cases[i].regions, "%s: %d regions, expected %d",
                   cases[i].pattern, regions_in(graph), cases[i].regions);
        release(graph, &b);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recompute pass");
    TCase *cases = tcase_create("recompute");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, the_values_stay_in_less_memory, 0, 2);
    tcase_add_loop_test(cases, streamed_weights_are_rounded_where_they_are_read, 0, 2);
    tcase_add_test(cases, copies_belong_to_the_backward_pass);
    tcase_add_loop_test(cases, the_values_stay_with_light_recomputation, 0, 2);
    tcase_add_test(cases, a_limit_takes_as_little_as_it_needs);
    tcase_add_test(cases, a_pattern_without_a_scope_is_told);
    tcase_add_test(cases, a_pattern_names_whole_scopes);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    fixture_remove_directories();
    return failed != 0;
}
