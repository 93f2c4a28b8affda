/* The step graph: building, compaction, both text forms, and the errors for malformed files. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/trace/trace.h"

/* y = x w with a state w that moves by -g; one fetch. */
static cse_graph *small_graph(void)
{
    cse_graph *graph = cse_graph_new(3, 4);
    cse_trace_begin(graph);
    int index;
    cse_state_entry entry = { .name = "model.w",
                              .shape = cse_shape_of(5, 2),
                              .dtype = CSE_FLOAT32,
                              .initializer = { CSE_INIT_UNIFORM, -0.1, 0.1 },
                              .trainable = true };
    ck_assert_int_eq(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    cse_attributes attributes = { .integer_count = 1, .text = "x" };
    cse_node *x =
        cse_graph_leaf(graph, &cse_op_input, &attributes, cse_shape_of(4, 5), CSE_FLOAT32);
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count++] =
        (cse_input_entry){ .name = "x", .shape = x->shape, .dtype = x->dtype, .node = x };
    cse_node *w = cse_graph_state_node(graph, index);
    cse_tensor *loss = cse_mean_all(cse_exp(cse_matmul(x, w, false, false)));
    cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, loss, w);
    cse_tensor *sum = cse_trace_1(&cse_op_batch_sum, NULL, gradient);
    graph->states[index].next = cse_sub(w, sum);
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] =
        (cse_fetch_entry){ .name = "loss", .value = cse_trace_1(&cse_op_batch_sum, NULL, loss) };
    cse_trace_end();
    ck_assert_int_eq(cse_trace_status(graph), CSE_OK);
    return graph;
}

static char *printed(const cse_graph *graph)
{
    cse_text text = { 0 };
    cse_graph_print(graph, &text);
    return text.data;
}

START_TEST(levels_end_at_the_sum_over_the_batch)
{
    cse_graph *graph = small_graph();
    ck_assert_int_eq(cse_graph_verify(graph), CSE_OK);
    ck_assert(graph->inputs[0].node->batch);
    ck_assert(!graph->states[0].next->batch);
    ck_assert(!graph->fetches[0].value->batch);
    ck_assert(graph->fetches[0].value->inputs[0]->batch);
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(a_state_is_declared_once)
{
    cse_graph *graph = small_graph();
    int index;
    cse_state_entry entry = { .name = "model.w", .shape = cse_shape_of(1), .dtype = CSE_FLOAT32 };
    ck_assert_int_ne(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "model.w"));
    entry.name = "model.half";
    entry.dtype = CSE_FLOAT16;
    ck_assert_int_ne(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(compaction_drops_what_nobody_needs_and_follows_replacements)
{
    cse_graph *graph = small_graph();
    cse_trace_begin(graph);
    cse_tensor *dead = cse_exp(cse_constant(1.0));
    cse_node *loss = graph->fetches[0].value;
    int before = graph->node_count;
    cse_graph_compact(graph);
    ck_assert_int_lt(graph->node_count, before);
    for (int n = 0; n < graph->node_count; n++)
        ck_assert_ptr_ne(graph->nodes[n], dead);
    cse_tensor *doubled = cse_add(loss, loss), *negated = cse_neg(doubled);
    graph->fetches[0].value = negated;
    cse_graph_replace(negated, doubled);
    cse_graph_compact(graph);
    ck_assert_ptr_eq(graph->fetches[0].value, doubled);
    ck_assert_int_eq(cse_graph_verify(graph), CSE_OK);
    cse_trace_end();
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(json_brings_back_the_same_graph)
{
    cse_graph *graph = small_graph(), *back = NULL;
    cse_text json = { 0 };
    cse_graph_compact(graph);
    cse_graph_to_json(graph, &json);
    ck_assert_int_eq(cse_graph_from_json(json.data, json.size, &back), CSE_OK);
    char *text = printed(graph), *again = printed(back);
    ck_assert_str_eq(text, again);
    char digits[33], digits_back[33];
    cse_graph_fingerprint(graph, digits);
    cse_graph_fingerprint(back, digits_back);
    ck_assert_str_eq(digits, digits_back);
    free(text);
    free(again);
    cse_text_clear(&json);
    cse_graph_destroy(&graph);
    cse_graph_destroy(&back);
}
END_TEST

/* Any cut and any changed byte gives a graph that passes the grammar, or an error: never a crash.
 */
START_TEST(hostile_json_is_refused)
{
    cse_graph *graph = small_graph();
    cse_text json = { 0 };
    cse_graph_compact(graph);
    cse_graph_to_json(graph, &json);
    uint32_t random = 7;
    for (int round = 0; round < 600; round++) {
        cse_graph *back = NULL;
        random = random * 1664525u + 1013904223u;
        size_t at = random % json.size;
        char kept = json.data[at];
        json.data[at] = "0123456789-[]{},\"x"[(random >> 20) % 18];
        size_t size = round % 3 == 0 ? at : json.size;
        if (cse_graph_from_json(json.data, size, &back) == CSE_OK)
            ck_assert_int_eq(cse_graph_verify(back), CSE_OK);
        else
            ck_assert_ptr_null(back);
        json.data[at] = kept;
        cse_graph_destroy(&back);
    }
    cse_text_clear(&json);
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(fingerprints_leave_out_what_nobody_needs)
{
    cse_graph *a = small_graph(), *b = small_graph();
    char first[33], second[33];
    cse_trace_begin(b);
    cse_exp(cse_reshape(b->inputs[0].node, cse_shape_of(20)));
    cse_trace_end();
    ck_assert_int_gt(b->node_count, a->node_count);
    cse_graph_fingerprint(a, first);
    cse_graph_fingerprint(b, second);
    ck_assert_str_eq(first, second);
    b->fetches[0].value = cse_graph_constant(b, CSE_FLOAT32, 0);
    cse_graph_fingerprint(b, second);
    ck_assert_str_ne(first, second);
    cse_graph_destroy(&a);
    cse_graph_destroy(&b);
}
END_TEST

/* The mean loss of rows [2, 3, 5] with labels [2, 3], as it stands or of rows that were merged. */
static void fingerprint_losses(bool merges, char digits[33])
{
    cse_graph *graph = cse_graph_new(1, 2);
    cse_trace_begin(graph);
    cse_tensor *made[2];
    const cse_shape shapes[] = { cse_shape_of(2, 3, 5), cse_shape_of(2, 3) };
    for (int i = 0; i < 2; i++) {
        const cse_dtype dtype = i == 0 ? CSE_FLOAT32 : CSE_INT32;
        const cse_attributes attributes = { .integer_count = 1, .integers = { i } };
        made[i] = cse_graph_leaf(graph, &cse_op_input, &attributes, shapes[i], dtype);
        CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
        graph->inputs[graph->input_count++] = (cse_input_entry){
            .name = i == 0 ? "x" : "labels", .shape = shapes[i], .dtype = dtype, .node = made[i]
        };
    }
    const int64_t starts[3] = { 0 }, stops[] = { 2, INT64_MAX, 5 };
    if (merges) {
        made[0] = cse_reshape(cse_slice(made[0], starts, stops, NULL), cse_shape_of(-1, 5));
        made[1] = cse_reshape(made[1], cse_shape_of(-1));
    }
    cse_tensor *losses = cse_cross_entropy_per_sample(made[0], made[1]);
    ck_assert(cse_shape_equal(losses->shape, made[1]->shape));
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] =
        (cse_fetch_entry){ .name = "loss",
                           .value = cse_trace_1(&cse_op_batch_sum, NULL, cse_mean_all(losses)) };
    cse_trace_end();
    ck_assert_int_eq(cse_trace_status(graph), CSE_OK);
    cse_graph_fingerprint(graph, digits);
    cse_graph_destroy(&graph);
}

START_TEST(losses_of_merged_rows_are_the_same_graph)
{
    char first[33], second[33];
    fingerprint_losses(false, first);
    fingerprint_losses(true, second);
    ck_assert_str_eq(first, second);
}
END_TEST

START_TEST(fingerprints_tell_graphs_apart)
{
    cse_graph *a = small_graph(), *b = small_graph();
    char first[33], second[33];
    cse_graph_fingerprint(a, first);
    cse_graph_fingerprint(b, second);
    ck_assert_str_eq(first, second);
    b->states[0].initializer.b = 0.2; /* where a state begins is not what the step computes */
    cse_graph_fingerprint(b, second);
    ck_assert_str_eq(first, second);
    b->states[0].name = "model.other";
    cse_graph_fingerprint(b, second);
    ck_assert_str_ne(first, second);
    cse_graph_destroy(&a);
    cse_graph_destroy(&b);
}
END_TEST

/* The digest that a node has in its graph. */
static cse_node_digest digest_of(cse_graph *graph, const cse_node *node)
{
    cse_node_digest *digests = calloc((size_t)graph->node_count, sizeof *digests);
    cse_graph_node_digests(graph, digests);
    const cse_node_digest digest = digests[node->scratch];
    free(digests);
    return digest;
}

static bool same_digest(cse_graph *const graphs[2], const cse_node *a, const cse_node *b)
{
    const cse_node_digest first = digest_of(graphs[0], a), second = digest_of(graphs[1], b);
    return memcmp(&first, &second, sizeof first) == 0;
}

START_TEST(digests_of_nodes_follow_what_they_compute)
{
    cse_graph *graphs[2] = { small_graph(), small_graph() };
    cse_graph *a = graphs[0], *b = graphs[1];
    cse_node *x[2] = { a->inputs[0].node, b->inputs[0].node };
    cse_trace_begin(a);
    cse_node *sum_a = cse_add(cse_exp(x[0]), cse_full(cse_shape_of(), 2));
    cse_trace_end();
    cse_trace_begin(b);
    cse_node *between = cse_sqrt(x[1]);
    cse_node *two = cse_full(cse_shape_of(), 2);
    cse_node *sum_b = cse_add(cse_exp(x[1]), two);
    cse_node *three = cse_add(cse_exp(x[1]), cse_full(cse_shape_of(), 3));
    cse_trace_end();
    ck_assert(same_digest(graphs, sum_a, sum_b));
    ck_assert(!same_digest(graphs, sum_a, three));
    ck_assert(!same_digest(graphs, sum_a, between));
    ck_assert(same_digest(graphs, a->states[0].next, b->states[0].next));
    /* Of another state's value they are others. */
    b->states[0].name = "model.other";
    ck_assert(!same_digest(graphs, a->states[0].next, b->states[0].next));
    ck_assert(same_digest(graphs, sum_a, sum_b));
    cse_graph_destroy(&graphs[0]);
    cse_graph_destroy(&graphs[1]);
}
END_TEST

START_TEST(the_first_error_is_kept_with_its_place)
{
    cse_graph *graph = small_graph();
    cse_trace_begin(graph);
    cse_trace_enter("encoder", CSE_MODULE_PLAIN);
    cse_at("model.c", 42);
    cse_tensor *bad = cse_add(cse_full(cse_shape_of(2, 3), 1), cse_full(cse_shape_of(4), 1));
    ck_assert(cse_trace_is_poison(bad));
    cse_at("model.c", 43);
    cse_item(graph->nodes[0]);
    ck_assert(cse_trace_is_poison(cse_exp(bad)));
    ck_assert_int_eq(cse_trace_status(graph), CSE_SHAPE);
    const char *message = cse_error_message();
    ck_assert_ptr_nonnull(strstr(message, "model.c:42"));
    ck_assert_ptr_nonnull(strstr(message, "add([2, 3] float32, [4] float32)"));
    ck_assert_ptr_nonnull(strstr(message, "encoder"));
    cse_trace_end();
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(reading_a_value_inside_a_step_is_an_error)
{
    cse_graph *graph = small_graph();
    cse_trace_begin(graph);
    cse_at("model.c", 7);
    ck_assert_double_eq(cse_item(graph->nodes[0]), 0);
    ck_assert_int_eq(cse_trace_status(graph), CSE_USAGE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "model.c:7"));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "step closure"));
    cse_trace_end();
    cse_graph_destroy(&graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *cases = tcase_create("graph");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, levels_end_at_the_sum_over_the_batch);
    tcase_add_test(cases, a_state_is_declared_once);
    tcase_add_test(cases, compaction_drops_what_nobody_needs_and_follows_replacements);
    tcase_add_test(cases, json_brings_back_the_same_graph);
    tcase_add_test(cases, hostile_json_is_refused);
    tcase_add_test(cases, fingerprints_tell_graphs_apart);
    tcase_add_test(cases, fingerprints_leave_out_what_nobody_needs);
    tcase_add_test(cases, losses_of_merged_rows_are_the_same_graph);
    tcase_add_test(cases, digests_of_nodes_follow_what_they_compute);
    tcase_add_test(cases, the_first_error_is_kept_with_its_place);
    tcase_add_test(cases, reading_a_value_inside_a_step_is_an_error);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
