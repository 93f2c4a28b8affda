/* The choice of the order of summation: what is asked for, what runs here, what the graph keeps. */
#include "engine/code/kernels/matrix_units.h"
#include "engine/code/kernels/product_order.h"
#include "tests/engine/code/kernels/narrow_fixture.h"

static void check_wish(const char *text, cse_product_order order, const char *way)
{
    setenv("CSE_MATMUL", text, 1);
    const cse_product_wish wish = cse_product_wish_read();
    ck_assert_msg(wish.order == order, "%s: order %s", text, cse_product_order_name(wish.order));
    ck_assert_msg((wish.way == NULL) == (way == NULL), "%s: way %s", text, wish.way);
    if (way != NULL)
        ck_assert_str_eq(wish.way, way);
    unsetenv("CSE_MATMUL");
}

START_TEST(wishes_are_read)
{
    check_wish("", CSE_PRODUCT_ORDER_OPEN, NULL);
    check_wish("onednn", CSE_PRODUCT_ORDER_OPEN, "onednn");
    check_wish("plain", CSE_PRODUCT_ORDER_OPEN, "plain");
    check_wish("avx512", CSE_PRODUCT_ORDER_OPEN, "avx512");
    check_wish("amx", CSE_PRODUCT_ORDER_PAIRS, "amx");
    check_wish("avx512_bf16", CSE_PRODUCT_ORDER_DOT, "avx512_bf16");
    check_wish("dot", CSE_PRODUCT_ORDER_DOT, NULL);
    check_wish("pairs:plain", CSE_PRODUCT_ORDER_PAIRS, "plain");
    check_wish("chain:avx512", CSE_PRODUCT_ORDER_CHAIN, "avx512");
    check_wish("dotted", CSE_PRODUCT_ORDER_OPEN, "dotted");
}
END_TEST

START_TEST(what_runs_here_decides_unless_it_must_not)
{
    const bool units = cse_matrix_units_run_here();
    ck_assert_int_eq(cse_product_order_choose(false),
                     units ? CSE_PRODUCT_ORDER_PAIRS : CSE_PRODUCT_ORDER_DOT);
    ck_assert_int_eq(cse_product_order_choose(true), CSE_PRODUCT_ORDER_DOT);
    setenv("CSE_MATMUL", "pairs", 1);
    ck_assert_int_eq(cse_product_order_choose(true), CSE_PRODUCT_ORDER_PAIRS);
    unsetenv("CSE_MATMUL");
}
END_TEST

/* A kernel of a graph that says its order computes in it, whatever the default is; the graph keeps
 * it in its JSON. */
START_TEST(the_graph_decides)
{
    static const cse_product_order kept[ORDERS] = { CSE_PRODUCT_ORDER_PAIRS,
                                                    CSE_PRODUCT_ORDER_DOT };
    const product p = { .batches = 1,
                        .m = 20,
                        .n = 30,
                        .k = 90,
                        .a = CSE_BFLOAT16,
                        .b = CSE_BFLOAT16,
                        .result = CSE_FLOAT32 };
    kernel_case one;
    build(&p, &one);
    draw(&one, 4, (spread){ -3, 6, 0 });
    void *got[ORDERS];
    for (int i = 0; i < ORDERS; i++) {
        one.graph->product_order = kept[i];
        got[i] = run_way(&one, "plain", "the graph's order");
        one.graph->product_order = CSE_PRODUCT_ORDER_OPEN;
        void *wanted = run_way(&one, orders[i], "the order");
        check_same(&one, got[i], wanted, orders[i]);
        free(wanted);
    }
    ck_assert_int_ne(memcmp(got[0], got[1], kernel_case_output_bytes(&one)), 0);
    free(got[0]);
    free(got[1]);
    kernel_case_end(&one);

    cse_graph *graph = cse_graph_new(1, 1), *again;
    cse_text text = { 0 };
    graph->portable = true;
    graph->product_order = CSE_PRODUCT_ORDER_DOT;
    cse_graph_to_json(graph, &text);
    ck_assert_int_eq(cse_graph_from_json(text.data, text.size, &again), CSE_OK);
    ck_assert(again->portable && again->product_order == CSE_PRODUCT_ORDER_DOT);
    cse_text_clear(&text);
    cse_graph_destroy(&graph);
    cse_graph_destroy(&again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("product order");
    TCase *cases = tcase_create("product order");
    tcase_add_test(cases, wishes_are_read);
    tcase_add_test(cases, what_runs_here_decides_unless_it_must_not);
    tcase_add_test(cases, the_graph_decides);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
