/* GraphAMP: the presets, the worked examples of its description as golden files, each rule of the
 * algorithm on a small graph, and what holds for any graph. */
#include <stdio.h>

#include "tests/engine/graph/precision/fixture.h"
#include "tests/support/random_graph.h"

/* ---- presets ---- */

static bool stands_in(const char *list, const char *name)
{
    char word[80];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(list, word) != NULL;
}

/* The lists of the presets' description: mp1 allows products and lets data movement follow; mp2
 * adds the neutral ops; mp0 denies everything. */
START_TEST(presets_are_what_their_description_says)
{
    static const char products[] = " matmul conv2d conv2d_gradient_input conv2d_gradient_weight "
                                   "scaled_dot_product_attention "
                                   "scaled_dot_product_attention_gradient "
                                   "fused_attention fused_attention_gradient "
                                   "expert_matmul expert_outer packed_linear "
                                   "paged_attention ";
    static const char movement[] =
        " reshape transpose broadcast_to slice concat pad gather embedding ";
    static const char neutral[] = " relu gelu silu tanh sigmoid dropout add mul sub maximum "
                                  "minimum neg abs where ";
    static const char sensitive[] = " exp log pow reciprocal rsqrt div sum softmax log_softmax "
                                    "layer_norm cross_entropy ";
    static const char fixed[] = " cast scatter_add stochastic_round random_key bernoulli one_hot ";
    ck_assert_msg(cse_presets_check() == CSE_OK, "%s", cse_error_message());
    for (int i = 0; cse_ops[i] != NULL; i++) {
        const cse_op *op = cse_ops[i];
        ck_assert_int_eq(cse_preset_class(op, 0), CSE_DENY);
        ck_assert_msg((cse_preset_class(op, 1) == CSE_ALLOW) == stands_in(products, op->name), "%s",
                      op->name);
        if (stands_in(movement, op->name))
            ck_assert_msg(cse_preset_class(op, 1) == CSE_INFER, "%s", op->name);
        if (stands_in(neutral, op->name)) {
            ck_assert_msg(cse_preset_class(op, 1) == CSE_DENY, "%s", op->name);
            ck_assert_msg(cse_preset_class(op, 2) == CSE_INFER, "%s", op->name);
        }
        if (stands_in(fixed, op->name))
            ck_assert_msg(cse_preset_class(op, 4) == CSE_DENY, "%s", op->name);
        if (stands_in(sensitive, op->name)) {
            ck_assert_msg(cse_preset_class(op, 3) == CSE_DENY, "%s", op->name);
            ck_assert_msg(cse_preset_class(op, 4) != CSE_DENY, "%s", op->name);
        }
    }
    for (int preset = 0; preset < CSE_PRESET_COUNT; preset++)
        ck_assert_int_eq(cse_preset_class(&cse_op_batch_sum, preset), CSE_DENY);
}
END_TEST

/* ---- the worked examples ---- */

static void check_golden(const char *name)
{
    char path[1024], wanted[4096];
    const char *root = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/golden/%s", root ? root : ".", name);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    size_t size = fread(wanted, 1, sizeof wanted - 1, file);
    wanted[size] = '\0';
    fclose(file);
    cse_text text = { 0 };
    cse_graph_print(graph, &text);
    ck_assert_str_eq(text.data, wanted);
    cse_text_clear(&text);
}

/* "matmuls in mixed precision (BF16 inputs, output in FP32), all other operators unchanged". */
START_TEST(first_example)
{
    cse_tensor *a = input("a", cse_shape_of(4, 8));
    cse_tensor *b = state("b", cse_shape_of(8, 6)), *c = state("c", cse_shape_of(6, 5));
    cse_tensor *activation = cse_gelu(cse_matmul(a, b, false, false), false);
    result(cse_gelu(cse_matmul(activation, c, false, false), false));
    paint("{fp16_type: bfloat16, graphamp: {preset: mp1}}");
    check_golden("graphamp_example_1.txt");
}
END_TEST

/* The second product and GELU are taken out and cast by hand: "run the second GELU in BF16 while
 * leaving all other GELUs in FP32". */
START_TEST(second_example)
{
    cse_tensor *a = input("a", cse_shape_of(4, 8)), *out = NULL;
    cse_tensor *b = state("b", cse_shape_of(8, 6)), *c = state("c", cse_shape_of(6, 5));
    cse_tensor *activation = cse_gelu(cse_matmul(a, b, false, false), false);
    CSE_DISABLE_GRAPHAMP(NULL)
    {
        cse_tensor *product =
            cse_matmul(cse_cast(activation, CSE_BFLOAT16), cse_cast(c, CSE_BFLOAT16), false, false);
        out = cse_gelu(product, false);
    }
    result(out);
    paint("{fp16_type: bfloat16, graphamp: {preset: mp1}}");
    check_golden("graphamp_example_2.txt");
}
END_TEST

/* ---- the rules ---- */

/* a gelu that a product and an op in deny read stays float32, with one cast for both products. */
START_TEST(mixed_readers_share_one_cast)
{
    cse_tensor *x = input("x", cse_shape_of(4, 8));
    cse_tensor *v = state("v", cse_shape_of(8, 6)), *w = state("w", cse_shape_of(8, 6));
    cse_tensor *y = cse_gelu(x, false);
    result(cse_exp(y));
    result(cse_matmul(y, v, false, false));
    result(cse_matmul(y, w, false, false));
    paint("{fp16_type: float16, graphamp: {preset: mp2}}");
    ck_assert_int_eq(only("gelu", false)->dtype, CSE_FLOAT32);
    ck_assert_ptr_eq(graph->fetches[1].value->inputs[0], graph->fetches[2].value->inputs[0]);
    ck_assert_int_eq(graph->fetches[1].value->inputs[0]->dtype, CSE_FLOAT16);
    ck_assert_int_eq(inserted_casts(), 3); /* of y, v and w */
}
END_TEST

/* product -> neutral -> product: stored in 16 bits on the way; product -> deny: float32. */
START_TEST(what_lies_between_products_follows_them)
{
    cse_tensor *x = input("x", cse_shape_of(4, 8));
    cse_tensor *v = state("v", cse_shape_of(8, 8)), *w = state("w", cse_shape_of(8, 8));
    cse_tensor *first = cse_matmul(x, v, false, false);
    cse_tensor *second = cse_matmul(cse_tanh(cse_neg(first)), w, false, false);
    cse_tensor *deny = cse_exp(second);
    result(deny);
    paint("{fp16_type: cbfloat16, graphamp: {preset: mp2}}");
    ck_assert_int_eq(first->dtype, CSE_CBFLOAT16);
    ck_assert_int_eq(only("neg", false)->dtype, CSE_CBFLOAT16);
    ck_assert_int_eq(only("tanh", false)->dtype, CSE_CBFLOAT16);
    ck_assert_int_eq(second->dtype, CSE_FLOAT32);
    ck_assert_int_eq(deny->dtype, CSE_FLOAT32);
    ck_assert_int_eq(inserted_casts(), 3);
}
END_TEST

/* Forward and backward read the weight through one cast; its gradient is float32. */
START_TEST(a_weight_is_cast_once_and_its_gradient_is_float32)
{
    cse_tensor *x = input("x", cse_shape_of(4, 8));
    cse_tensor *v = state("v", cse_shape_of(8, 8)), *w = state("w", cse_shape_of(8, 8));
    cse_tensor *y = cse_matmul(cse_tanh(cse_matmul(x, v, false, false)), w, false, false);
    cse_tensor *loss = cse_mean_all(cse_square(y));
    differentiate(loss, v);
    differentiate(loss, w);
    paint("{fp16_type: bfloat16, graphamp: {preset: mp2}}");
    int casts_of_w = 0;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        casts_of_w += node->inserted_cast && node->inputs[0] == w;
        if (node->op == &cse_op_batch_sum) {
            const cse_node *gradient = node->inputs[0];
            ck_assert_str_eq(gradient->op->name, "matmul");
            ck_assert_int_eq(gradient->dtype, CSE_FLOAT32);
            ck_assert_int_eq(gradient->inputs[0]->dtype, CSE_BFLOAT16);
            ck_assert_int_eq(gradient->inputs[1]->dtype, CSE_BFLOAT16);
        }
    }
    ck_assert_int_eq(casts_of_w, 1);
}
END_TEST

/* 16 bits widened by the model and wanted in 16 bits again are the value itself. */
START_TEST(an_exact_pair_of_casts_is_dropped)
{
    cse_tensor *x = cse_cast(input("x", cse_shape_of(4, 8)), CSE_BFLOAT16);
    cse_tensor *w = state("w", cse_shape_of(8, 6));
    result(cse_matmul(cse_cast(x, CSE_FLOAT32), w, false, false));
    paint("{fp16_type: bfloat16, graphamp: {preset: mp1}}");
    ck_assert_ptr_eq(graph->fetches[0].value->inputs[0], x);
    ck_assert_int_eq(inserted_casts(), 1);
}
END_TEST

/* A rounding that the model wrote is not undone: float32 -> 16 bits -> float32 stays. */
START_TEST(a_written_rounding_stays)
{
    cse_tensor *x = input("x", cse_shape_of(4, 8));
    cse_tensor *rounded = cse_cast(cse_cast(x, CSE_BFLOAT16), CSE_FLOAT32);
    result(cse_exp(rounded));
    paint("{fp16_type: bfloat16, graphamp: {preset: mp1}}");
    ck_assert_ptr_eq(graph->fetches[0].value->inputs[0], rounded);
    ck_assert_int_eq(rounded->inputs[0]->dtype, CSE_BFLOAT16);
}
END_TEST

/* where: its condition has no say and both choices have one type; gather: the table alone. */
START_TEST(only_value_ports_are_cast)
{
    cse_tensor *x = input("x", cse_shape_of(4, 8)), *w = state("w", cse_shape_of(8, 6));
    cse_tensor *ids = fixture_input(graph, "ids", cse_shape_of(4), CSE_INT32);
    cse_tensor *rows = cse_gather(state("table", cse_shape_of(9, 8)), ids);
    cse_tensor *zero = cse_constant(0);
    cse_tensor *chosen = cse_where(cse_greater(x, zero), rows, zero);
    result(cse_matmul(chosen, w, false, false));
    paint("{fp16_type: bfloat16, graphamp: {preset: mp2}}");
    ck_assert_int_eq(chosen->dtype, CSE_BFLOAT16);
    ck_assert_int_eq(chosen->inputs[0]->dtype, CSE_BOOL);
    ck_assert_int_eq(chosen->inputs[0]->inputs[0]->dtype, CSE_FLOAT32);
    ck_assert_int_eq(rows->dtype, CSE_BFLOAT16);
    ck_assert_int_eq(rows->inputs[0]->dtype, CSE_BFLOAT16);
    ck_assert_int_eq(rows->inputs[1]->dtype, CSE_INT32);
}
END_TEST

/* The gradient of tanh is four ops: they compute in float32, and one cast ends them. */
START_TEST(a_gradient_rule_rounds_once)
{
    cse_tensor *x = input("x", cse_shape_of(4, 8));
    cse_tensor *v = state("v", cse_shape_of(8, 8)), *w = state("w", cse_shape_of(8, 8));
    cse_tensor *inner = cse_matmul(x, v, false, false);
    cse_tensor *y = cse_matmul(cse_tanh(inner), w, false, false);
    differentiate(cse_mean_all(cse_square(y)), v);
    paint("{fp16_type: bfloat16, graphamp: {preset: mp2}}");
    ck_assert_int_eq(inner->dtype, CSE_BFLOAT16);
    int slope = 0;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        if (node->gradient_of == NULL || strcmp(node->gradient_of->op->name, "tanh") != 0)
            continue;
        slope++;
        ck_assert_int_eq(node->dtype, CSE_FLOAT32);
    }
    ck_assert_int_ge(slope, 3);
}
END_TEST

/* The gradient of an activation reads what the activation reads, as it is stored: a sum of it in
 * float32, as for a bias, does not make the forward pass keep float32. */
START_TEST(a_gradient_asks_nothing_of_the_forward_pass)
{
    cse_tensor *x = input("x", cse_shape_of(4, 8)), *b = state("b", cse_shape_of(8));
    cse_tensor *v = state("v", cse_shape_of(8, 8)), *w = state("w", cse_shape_of(8, 8));
    cse_tensor *inner = cse_add(cse_matmul(x, v, false, false), b);
    cse_tensor *y = cse_matmul(cse_gelu(inner, false), w, false, false);
    cse_tensor *loss = cse_mean_all(cse_square(y));
    differentiate(loss, v);
    differentiate(loss, b);
    paint("{fp16_type: bfloat16, graphamp: {preset: mp2}}");
    ck_assert_int_eq(inner->dtype, CSE_BFLOAT16);
    cse_node *slope = only("gelu_gradient", true);
    ck_assert_int_eq(slope->dtype, CSE_FLOAT32);
    ck_assert_ptr_eq(slope->inputs[0]->inputs[0], inner); /* widened, which is exact */
}
END_TEST

/* Inside a region nothing is touched, and nothing of its gradient. */
START_TEST(a_disabled_region_keeps_its_types_backward_too)
{
    cse_tensor *x = input("x", cse_shape_of(4, 8)), *w = state("w", cse_shape_of(8, 8));
    cse_tensor *y = NULL;
    CSE_DISABLE_GRAPHAMP(NULL)
    {
        y = cse_matmul(x, w, false, false);
    }
    cse_tensor *loss = cse_mean_all(cse_square(y));
    differentiate(loss, w);
    result(loss);
    paint("{fp16_type: bfloat16, graphamp: {preset: mp4}}");
    ck_assert_int_eq(y->inputs[0]->dtype, CSE_FLOAT32);
    ck_assert_int_eq(only("matmul", true)->inputs[0]->dtype, CSE_FLOAT32);
    ck_assert(only("matmul", true)->request.graphamp_off);
    ck_assert(!only("sum", false)->request.graphamp_off);
}
END_TEST

/* Norms compute in float32; at level 1 without a preset, and from mp3 on, they may store 16 bits.
 */
START_TEST(norms_store_low_where_the_preset_says)
{
    static const struct {
        const char *yaml;
        cse_dtype norm;
    } rows[] = { { "{fp16_type: bfloat16, precision_opt_level: 0}", CSE_FLOAT32 },
                 { "{fp16_type: bfloat16}", CSE_BFLOAT16 },
                 { "{fp16_type: bfloat16, graphamp: {preset: mp2}}", CSE_FLOAT32 },
                 { "{fp16_type: bfloat16, graphamp: {preset: mp3}}", CSE_BFLOAT16 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        cse_tensor *norm = cse_layer_norm(input("x", cse_shape_of(4, 8)), NULL, NULL, 1e-5);
        result(cse_matmul(norm, state("w", cse_shape_of(8, 8)), false, false));
        paint(rows[i].yaml);
        ck_assert_msg(norm->dtype == rows[i].norm, "%s", rows[i].yaml);
        ck_assert_int_eq(norm->inputs[0]->dtype, CSE_FLOAT32);
        run(cse_pass_expand);
        stop();
    }
}
END_TEST

/* ---- any graph ---- */

enum { GRAPHS = 24, NODES = 60 };

static const char *const presets[] = { "mp1", "mp2", "mp3", "mp4" };

/* A random graph with the gradients of one of its values with respect to all its states. */
static void trace_random(uint64_t seed)
{
    graph = random_graph_new(seed, NODES);
    cse_trace_begin(graph);
    for (int s = 0; s < graph->state_count; s++) {
        cse_tensor *loss = cse_constant(0);
        for (int n = graph->node_count - 1; n >= 0 && !loss->batch; n--)
            if (graph->nodes[n]->batch && graph->nodes[n]->dtype == CSE_FLOAT32)
                loss = cse_mean_all(graph->nodes[n]);
        cse_tensor *w = cse_graph_state_node(graph, s);
        fixture_fetch(graph, "gradient", cse_trace_2(&cse_op_gradient, NULL, loss, w));
    }
}

static char *printed(void)
{
    cse_text text = { 0 };
    cse_graph_print(graph, &text);
    return text.data;
}

static void check_types(const cse_node *node, cse_dtype low)
{
    cse_dtype out = node->dtype;
    for (int i = 0; i < node->input_count; i++) {
        cse_dtype in = node->inputs[i]->dtype;
        if (!cse_dtype_is_float(in))
            continue;
        if (node->precision_class == CSE_ALLOW)
            ck_assert_msg(in == low && (out == low || out == CSE_FLOAT32), "%s", node->op->name);
        else if (node->precision_class == CSE_INFER && cse_dtype_is_float(out))
            ck_assert_msg(in == out, "%s", node->op->name);
        else
            ck_assert_msg(in == CSE_FLOAT32, "%s", node->op->name);
    }
    bool may_be_low = node->precision_class != CSE_DENY || node->op->kind == CSE_OP_COMPOSITE;
    ck_assert_msg(out == low || !cse_dtype_is_float(out) || out == CSE_FLOAT32, "%s",
                  node->op->name);
    ck_assert_msg(may_be_low || !cse_dtype_is_float(out) || out == CSE_FLOAT32 ||
                      node->op == &cse_op_constant,
                  "%s", node->op->name);
}

static void check_casts(void)
{
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *cast = graph->nodes[n];
        if (!cast->inserted_cast)
            continue;
        ck_assert(cast->dtype != cast->inputs[0]->dtype);
        ck_assert(!cast->inputs[0]->inserted_cast);
        for (int m = 0; m < n; m++)
            ck_assert(!graph->nodes[m]->inserted_cast ||
                      graph->nodes[m]->inputs[0] != cast->inputs[0] ||
                      graph->nodes[m]->dtype != cast->dtype);
    }
}

START_TEST(types_are_what_the_sets_permit)
{
    char yaml[128];
    cse_dtype low = _i % 2 ? CSE_FLOAT16 : CSE_BFLOAT16;
    snprintf(yaml, sizeof yaml, "{fp16_type: %s, graphamp: {preset: %s}}", cse_dtype_name(low),
             presets[_i % 4]);
    trace_random((uint64_t)_i);
    paint(yaml);
    for (int n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n]->inserted_cast)
            check_types(graph->nodes[n], low);
    check_casts();
    for (int s = 0; s < graph->state_count; s++)
        ck_assert_int_eq(graph->states[s].next->dtype, CSE_FLOAT32);
    for (int f = 0; f < graph->fetch_count; f++)
        ck_assert_int_eq(graph->fetches[f].value->dtype, CSE_FLOAT32);
    ck_assert_int_gt(inserted_casts(), 0);
    stop();
}
END_TEST

START_TEST(mp0_and_disabled_change_nothing)
{
    static const char *const settings[] = { "{fp16_type: bfloat16, graphamp: {preset: mp0}}",
                                            "{fp16_type: bfloat16, enabled: false}", "{}" };
    trace_random((uint64_t)_i);
    run(cse_pass_autodiff);
    cse_text before = { 0 }, after = { 0 };
    cse_graph_to_json(graph, &before);
    configure(settings[_i % 3]);
    run(cse_pass_precision);
    cse_graph_to_json(graph, &after);
    ck_assert_str_eq(before.data, after.data);
    cse_text_clear(&before);
    cse_text_clear(&after);
    stop();
}
END_TEST

START_TEST(the_pass_is_deterministic_and_idempotent)
{
    char yaml[128], *texts[2];
    snprintf(yaml, sizeof yaml,
             "{fp16_type: bfloat16, precision_opt_level: 2, tile_length: 4, "
             "graphamp: {preset: %s}}",
             presets[_i % 4]);
    for (int i = 0; i < 2; i++) {
        trace_random((uint64_t)_i);
        paint(yaml);
        texts[i] = printed();
        if (i == 0)
            stop();
    }
    ck_assert_str_eq(texts[0], texts[1]);
    run(cse_pass_precision);
    char *again = printed();
    ck_assert_str_eq(texts[1], again);
    free(texts[0]);
    free(texts[1]);
    free(again);
    stop();
}
END_TEST

/* Rounding of the kernels' order of sums may flip one rounding to bfloat16 (2^-8), a few of them in
 * a row; a value that is read as another type is nowhere near. */
START_TEST(compiled_code_agrees_with_the_interpreter)
{
    char yaml[128];
    cse_executable *both[2] = { NULL, NULL };
    fixture_memory memory[2];
    snprintf(yaml, sizeof yaml, "{fp16_type: bfloat16, graphamp: {preset: %s}}", presets[_i % 4]);
    trace_random((uint64_t)_i + 100);
    configure(yaml);
    fixture_passes(graph, NULL);
    both[0] = fixture_compile(graph);
    ck_assert_int_eq(cse_executable_interpret(graph, &both[1]), CSE_OK);
    for (int i = 0; i < 2; i++) {
        fixture_memory_init(&memory[i], graph);
        random_graph_fill(graph, &memory[i], (uint64_t)_i);
        fixture_run(both[i], &memory[i]);
    }
    for (int f = 0; f < graph->fetch_count; f++) {
        const cse_fetch_entry *fetch = &graph->fetches[f];
        for (int64_t e = 0; e < cse_shape_elements(fetch->value->shape); e++) {
            const void *at[2];
            for (int i = 0; i < 2; i++)
                at[i] = memory[i].base[CSE_SPACE_FETCH] + fetch->offset_bytes + e * 4;
            double a = *(const float *)at[0], b = *(const float *)at[1];
            double scale = b < 0 ? -b : b;
            ck_assert_msg(a - b <= 0.05 * (1 + scale) && b - a <= 0.05 * (1 + scale),
                          "%s %s: %g and %g", fetch->name, presets[_i % 4], a, b);
        }
    }
    for (int i = 0; i < 2; i++) {
        fixture_memory_clear(&memory[i]);
        cse_executable_destroy(&both[i]);
    }
    stop();
    fixture_remove_directories();
}
END_TEST

/* Attention and a norm, forward and backward: each product reads 16 bits, the softmax between them
 * is float32 until mp3 stores it in 16 bits, and what the sets permit holds everywhere. */
START_TEST(attention_is_products_around_a_softmax)
{
    char yaml[128];
    start();
    const cse_shape heads = cse_shape_of(4, 2, 8, 16);
    cse_tensor *x = input("x", heads), *w = state("w", cse_shape_of(16, 16));
    cse_tensor *norm = cse_layer_norm(x, NULL, NULL, 1e-5);
    cse_tensor *q = cse_matmul(norm, w, false, true);
    const cse_attention_options options = { .causal = true };
    cse_tensor *y = cse_scaled_dot_product_attention(q, q, norm, &options);
    cse_tensor *loss = cse_mean_all(cse_exp(y));
    result(loss);
    differentiate(loss, w);
    snprintf(yaml, sizeof yaml, "{fp16_type: bfloat16, graphamp: {preset: %s}}", presets[_i]);
    paint(yaml);
    int products = 0;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        ck_assert_str_ne(node->op->name, "scaled_dot_product_attention");
        if (!node->inserted_cast)
            check_types(node, CSE_BFLOAT16);
        if (strcmp(node->op->name, "matmul") != 0)
            continue;
        products++;
        ck_assert_int_eq(node->inputs[0]->dtype, CSE_BFLOAT16);
        ck_assert_int_eq(node->inputs[1]->dtype, CSE_BFLOAT16);
    }
    ck_assert_int_ge(products, 7); /* three forward, four backward: dP, dQ, dK, dW */
    if (_i < 3)
        ck_assert_int_eq(only("softmax", false)->dtype, _i < 2 ? CSE_FLOAT32 : CSE_BFLOAT16);
    check_casts();
    run(cse_pass_expand);
    run(cse_pass_simplify);
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graphamp");
    TCase *cases = tcase_create("rules"), *any = tcase_create("any graph");
    tcase_add_checked_fixture(cases, start, stop);
    tcase_add_test(cases, presets_are_what_their_description_says);
    tcase_add_test(cases, first_example);
    tcase_add_test(cases, second_example);
    tcase_add_test(cases, mixed_readers_share_one_cast);
    tcase_add_test(cases, what_lies_between_products_follows_them);
    tcase_add_test(cases, a_weight_is_cast_once_and_its_gradient_is_float32);
    tcase_add_test(cases, an_exact_pair_of_casts_is_dropped);
    tcase_add_test(cases, a_written_rounding_stays);
    tcase_add_test(cases, only_value_ports_are_cast);
    tcase_add_test(cases, a_gradient_rule_rounds_once);
    tcase_add_test(cases, a_gradient_asks_nothing_of_the_forward_pass);
    tcase_add_test(cases, a_disabled_region_keeps_its_types_backward_too);
    tcase_add_loop_test(any, types_are_what_the_sets_permit, 0, GRAPHS);
    tcase_add_loop_test(any, mp0_and_disabled_change_nothing, 0, GRAPHS);
    tcase_add_loop_test(any, the_pass_is_deterministic_and_idempotent, 0, GRAPHS);
    tcase_add_loop_test(any, compiled_code_agrees_with_the_interpreter, 0, 4);
    tcase_add_loop_test(any, attention_is_products_around_a_softmax, 0, 4);
    tcase_add_test(any, norms_store_low_where_the_preset_says);
    tcase_set_timeout(any, 60);
    suite_add_tcase(suite, cases);
    suite_add_tcase(suite, any);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
