/* POL: the level of each op by the table of levels and the nesting of regions, and its effect on
 * the graph and its JSON. */
#include "tests/engine/graph/precision/fixture.h"

enum { LONG = 256, TILE = 64 };

/* A layer's product, [4, 256] x [256, 256], and attention's, [2, 4, 256] x [2, 256, 4]. */
static cse_tensor *layer(cse_tensor *x, const char *name)
{
    return cse_matmul(x, state(name, cse_shape_of(LONG, LONG)), false, true);
}

static cse_tensor *attention(void)
{
    cse_tensor *q = input("q", cse_shape_of(4, 4, LONG)), *k = input("k", cse_shape_of(4, 4, LONG));
    return cse_matmul(q, k, false, true);
}

static void check_sum(const cse_node *node, cse_dtype across)
{
    ck_assert_msg(node->accumulation.across == across, "%s: %s", node->op->name,
                  cse_dtype_name(node->accumulation.across));
    ck_assert_int_eq(node->accumulation.tile_length, across == CSE_FLOAT32 ? 0 : TILE);
    ck_assert(!node->accumulation.stochastic);
}

/* Rows: level; columns: what a layer's product, attention's, and a softmax round to between tiles.
 */
START_TEST(levels_are_what_their_table_says)
{
    static const struct {
        const char *yaml;
        cse_dtype product, attention, softmax;
    } rows[] = {
        { "{fp16_type: bfloat16, precision_opt_level: 0}", CSE_FLOAT32, CSE_FLOAT32, CSE_FLOAT32 },
        { "{fp16_type: bfloat16}", CSE_BFLOAT16, CSE_FLOAT32, CSE_FLOAT32 },
        { "{fp16_type: float16, precision_opt_level: 1}", CSE_FLOAT16, CSE_FLOAT32, CSE_FLOAT32 },
        { "{fp16_type: cbfloat16, precision_opt_level: 2}", CSE_CBFLOAT16, CSE_CBFLOAT16,
          CSE_CBFLOAT16 },
    };
    cse_tensor *product = layer(input("x", cse_shape_of(4, LONG)), "w");
    cse_tensor *scores = attention();
    cse_tensor *softmax = cse_softmax(layer(product, "u"), -1);
    result(layer(softmax, "v"));
    result(scores);
    paint(rows[_i].yaml);
    check_sum(product, rows[_i].product);
    check_sum(scores, rows[_i].attention);
    check_sum(softmax, rows[_i].softmax);
}
END_TEST

/* With one tile nothing is ever rounded between tiles. */
START_TEST(short_sums_stay_in_float32)
{
    cse_tensor *x = input("x", cse_shape_of(4, TILE));
    cse_tensor *y = cse_matmul(x, state("w", cse_shape_of(TILE, 8)), false, false);
    result(y);
    paint("{fp16_type: bfloat16, precision_opt_level: 2}");
    check_sum(y, CSE_FLOAT32);
}
END_TEST

START_TEST(tiling_accum_wins_over_every_level)
{
    cse_tensor *y = layer(input("x", cse_shape_of(4, LONG)), "w"), *scores = attention();
    result(y);
    result(scores);
    paint("{fp16_type: float16, precision_opt_level: 0, tiling_accum: bf16sr, tile_length: 32}");
    for (int i = 0; i < 2; i++) {
        const cse_node *product = i == 0 ? y : scores;
        ck_assert_int_eq(product->accumulation.across, CSE_BFLOAT16);
        ck_assert(product->accumulation.stochastic);
        ck_assert_int_eq(product->accumulation.tile_length, 32);
    }
}
END_TEST

START_TEST(tiling_accum_in_float32_wins_too)
{
    cse_tensor *y = layer(input("x", cse_shape_of(4, LONG)), "w");
    result(y);
    paint("{fp16_type: bfloat16, precision_opt_level: 2, tiling_accum: fp32}");
    check_sum(y, CSE_FLOAT32);
}
END_TEST

/* A product in float32 has nothing to round to: POL is a permission for 16-bit numbers. */
START_TEST(float32_products_are_left_alone)
{
    cse_tensor *y = layer(input("x", cse_shape_of(4, LONG)), "w");
    result(y);
    paint("{fp16_type: bfloat16, precision_opt_level: 2, graphamp: {preset: mp0}}");
    check_sum(y, CSE_FLOAT32);
}
END_TEST

/* ---- regions ---- */

static void expect_request(const cse_node *node, int forward, int backward)
{
    ck_assert_int_eq((int)node->request.pol_forward - 1, forward);
    ck_assert_int_eq((int)node->request.pol_backward - 1, backward);
}

START_TEST(the_innermost_region_wins_for_each_pass)
{
    cse_tensor *x = input("x", cse_shape_of(4, LONG));
    expect_request(cse_neg(x), -1, -1);
    CSE_POL(NULL, .level = 0)
    {
        expect_request(cse_neg(x), 0, 0);
        CSE_POL(NULL, .bwd_level = 2) expect_request(cse_neg(x), 0, 2);
        CSE_POL(NULL, .level = 1, .bwd_level = 2)
        {
            expect_request(cse_neg(x), 1, 2);
            CSE_POL(NULL, .level = 0, .enable_bwd = false) expect_request(cse_neg(x), 0, 2);
            CSE_POL(NULL, .level = 0, .enable_fwd = false) expect_request(cse_neg(x), 1, 0);
        }
        expect_request(cse_neg(x), 0, 0);
    }
    expect_request(cse_neg(x), -1, -1);
}
END_TEST

START_TEST(forward_and_backward_have_levels_of_their_own)
{
    cse_tensor *x = input("x", cse_shape_of(LONG, LONG)), *w = state("w", cse_shape_of(LONG, LONG));
    cse_tensor *y = NULL;
    CSE_POL(NULL, .level = 0, .bwd_level = 1) y = cse_matmul(x, w, false, true);
    result(y);
    differentiate(cse_mean_all(cse_square(y)), w);
    paint("{fp16_type: bfloat16, precision_opt_level: 2, graphamp: {preset: mp1}}");
    check_sum(y, CSE_FLOAT32);
    check_sum(only("matmul", true), CSE_BFLOAT16);
}
END_TEST

/* The head's gradients: level 0 in a model of level 1, level 2 in one of level 2; asked for, as
 * asked. */
START_TEST(a_language_head_is_spared_backward)
{
    static const struct {
        const char *yaml;
        cse_dtype forward, backward;
    } rows[] = {
        { "{fp16_type: bfloat16}", CSE_BFLOAT16, CSE_FLOAT32 },
        { "{fp16_type: bfloat16, precision_opt_level: 2}", CSE_BFLOAT16, CSE_BFLOAT16 },
        { "{fp16_type: bfloat16, pol: [{scope: '*lm_head', bwd_level: 1}]}", CSE_BFLOAT16,
          CSE_BFLOAT16 },
    };
    cse_tensor *x = input("x", cse_shape_of(LONG, LONG)), *w = state("w", cse_shape_of(LONG, LONG));
    cse_trace_enter("model", CSE_MODULE_PLAIN);
    cse_trace_enter("lm_head", CSE_MODULE_HEAD);
    cse_tensor *y = cse_matmul(x, w, false, true);
    cse_trace_leave();
    cse_trace_leave();
    result(y);
    differentiate(cse_mean_all(cse_square(y)), w);
    configure(rows[_i].yaml);
    ck_assert_int_eq(cse_precision_apply_patterns(precision, graph, true), CSE_OK);
    paint(rows[_i].yaml);
    check_sum(y, rows[_i].forward);
    check_sum(only("matmul", true), rows[_i].backward);
}
END_TEST

START_TEST(a_level_outside_of_the_range_fails_the_step)
{
    CSE_POL(NULL, .level = 3) cse_neg(input("x", cse_shape_of(4)));
    ck_assert_int_ne(graph->error, CSE_OK);
    ck_assert_ptr_nonnull(strstr(graph->error_message, "CSE_POL: level is 3"));
}
END_TEST

/* Patterns: the last match wins, over an earlier one and over the code. */
START_TEST(patterns_ask_for_scopes)
{
    cse_tensor *x = input("x", cse_shape_of(4, LONG));
    cse_trace_enter("model", CSE_MODULE_PLAIN);
    cse_trace_enter("layers.0", CSE_MODULE_PLAIN);
    cse_tensor *first = NULL;
    CSE_POL(NULL, .level = 2) first = cse_neg(x);
    cse_trace_leave();
    cse_trace_enter("layers.1", CSE_MODULE_PLAIN);
    cse_tensor *second = cse_neg(x);
    configure("{fp16_type: bfloat16, disable_graphamp: ['model.layers.1'],"
              " pol: [{scope: 'model.*', level: 0}, {scope: '*.1', level: 1, bwd_level: 0}]}");
    ck_assert_int_eq(cse_precision_apply_patterns(precision, graph, true), CSE_OK);
    expect_request(first, 0, 0);
    ck_assert(!first->request.graphamp_off);
    expect_request(second, 1, 0);
    ck_assert(second->request.graphamp_off);
}
END_TEST

START_TEST(json_keeps_requests_and_sums)
{
    cse_tensor *x = input("x", cse_shape_of(4, LONG)), *y = NULL;
    CSE_POL(NULL, .level = 2, .bwd_level = 1)
    CSE_DISABLE_GRAPHAMP(NULL) y = cse_neg(x);
    result(y);
    result(layer(cse_tanh(x), "w"));
    paint("{fp16_type: bfloat16, tiling_accum: bf16sr, emulate_accumulation: true}");
    cse_text text = { 0 }, again = { 0 };
    cse_graph *copy = NULL;
    cse_graph_to_json(graph, &text);
    cse_status status = cse_graph_from_json(text.data, text.size, &copy);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    cse_graph_to_json(copy, &again);
    ck_assert_str_eq(text.data, again.data);
    ck_assert_ptr_nonnull(strstr(text.data, "\"pol_forward\":2"));
    ck_assert_ptr_nonnull(strstr(text.data, "\"pol_backward\":1"));
    ck_assert_ptr_nonnull(strstr(text.data, "\"graphamp_off\":true"));
    ck_assert_ptr_nonnull(strstr(text.data, "\"tile_length\":64"));
    ck_assert_ptr_nonnull(strstr(text.data, "\"emulated\":true"));
    cse_text_clear(&text);
    cse_text_clear(&again);
    cse_graph_destroy(&copy);
}
END_TEST

/* A compiled step is found by its fingerprint: it must tell emulated sums from permitted ones, and
 * tiles and roundings from others. */
START_TEST(sums_are_part_of_the_fingerprint)
{
    static const char *const settings[] = {
        "{fp16_type: bfloat16}",
        "{fp16_type: bfloat16, emulate_accumulation: true}",
        "{fp16_type: bfloat16, emulate_accumulation: true, tile_length: 32}",
        "{fp16_type: bfloat16, emulate_accumulation: true, tiling_accum: bf16sr}",
    };
    enum { WAYS = sizeof settings / sizeof *settings };
    char digits[WAYS][33];
    for (int i = 0; i < WAYS; i++) {
        stop();
        start();
        result(layer(input("x", cse_shape_of(4, LONG)), "w"));
        paint(settings[i]);
        cse_graph_fingerprint(graph, digits[i]);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(digits[i], digits[j]);
    }
}
END_TEST

/* Each sum draws numbers of its own, and those of one model are the same every time. */
START_TEST(stochastic_sums_have_streams_of_their_own)
{
    uint32_t before[2] = { 0 };
    for (int round = 0; round < 2; round++) {
        stop();
        start();
        cse_tensor *x = input("x", cse_shape_of(4, LONG));
        cse_tensor *a = layer(x, "a"), *b = layer(x, "b");
        result(a);
        result(b);
        paint("{fp16_type: bfloat16, tiling_accum: bf16sr}");
        ck_assert_uint_ne(a->accumulation.stream, b->accumulation.stream);
        ck_assert(round == 0 ||
                  (a->accumulation.stream == before[0] && b->accumulation.stream == before[1]));
        before[0] = a->accumulation.stream;
        before[1] = b->accumulation.stream;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pol");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, start, stop);
    tcase_add_loop_test(cases, levels_are_what_their_table_says, 0, 4);
    tcase_add_test(cases, short_sums_stay_in_float32);
    tcase_add_test(cases, sums_are_part_of_the_fingerprint);
    tcase_add_test(cases, stochastic_sums_have_streams_of_their_own);
    tcase_add_test(cases, tiling_accum_wins_over_every_level);
    tcase_add_test(cases, tiling_accum_in_float32_wins_too);
    tcase_add_test(cases, float32_products_are_left_alone);
    tcase_add_test(cases, the_innermost_region_wins_for_each_pass);
    tcase_add_test(cases, forward_and_backward_have_levels_of_their_own);
    tcase_add_loop_test(cases, a_language_head_is_spared_backward, 0, 3);
    tcase_add_test(cases, a_level_outside_of_the_range_fails_the_step);
    tcase_add_test(cases, patterns_ask_for_scopes);
    tcase_add_test(cases, json_keeps_requests_and_sums);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
