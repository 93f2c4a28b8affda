/* Autodiff, simplify and partition on small graphs with known results. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/trace.h"

static cse_graph *graph;

static void start(void)
{
    graph = cse_graph_new(2, 4);
    cse_trace_begin(graph);
}

static void stop(void)
{
    cse_trace_end();
    cse_graph_destroy(&graph);
}

static cse_node *input(cse_shape shape)
{
    cse_attributes attributes = { .integer_count = 1,
                                  .integers = { graph->input_count },
                                  .text = "x" };
    cse_node *node = cse_graph_leaf(graph, &cse_op_input, &attributes, shape, CSE_FLOAT32);
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count++] =
        (cse_input_entry){ .name = "x", .shape = shape, .dtype = CSE_FLOAT32, .node = node };
    return node;
}

static int state(const char *name, cse_shape shape)
{
    int index;
    cse_state_entry entry = { .name = name, .shape = shape, .dtype = CSE_FLOAT32 };
    ck_assert_int_eq(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    return index;
}

static void fetch(cse_tensor *value)
{
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] = (cse_fetch_entry){ .name = "value", .value = value };
}

static cse_tensor *batch_sum(cse_tensor *x)
{
    return cse_trace_1(&cse_op_batch_sum, NULL, x);
}

static int count(const cse_op *op, cse_part part)
{
    int found = 0;
    for (int n = 0; n < graph->node_count; n++)
        found += graph->nodes[n]->op == op && graph->nodes[n]->part == part;
    return found;
}

static void run(cse_status (*pass)(cse_graph *, bool))
{
    cse_status status = pass(graph, true);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    status = cse_graph_verify(graph);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

static void run_to_partition(void)
{
    run(cse_pass_autodiff);
    run(cse_pass_expand);
    run(cse_pass_simplify);
    run(cse_pass_partition);
}

/* Linear regression by SGD with momentum: the whole shape of a training step. */
static void trace_regression(int *w, int *m, int *rate)
{
    cse_node *x = input(cse_shape_of(4, 3));
    *w = state("w", cse_shape_of(3, 2));
    *m = state("m", cse_shape_of(3, 2));
    *rate = state("rate", cse_scalar_shape);
    cse_node *weight = cse_graph_state_node(graph, *w), *lr = cse_graph_state_node(graph, *rate);
    cse_tensor *y = cse_matmul(x, weight, false, false);
    cse_tensor *loss = cse_mean_all(cse_mul(y, y));
    cse_tensor *g = batch_sum(cse_trace_2(&cse_op_gradient, NULL, loss, weight));
    cse_tensor *next_m =
        cse_add(cse_scale(cse_graph_state_node(graph, *m), 0.9), cse_scale(g, 0.5));
    graph->states[*m].next = next_m;
    graph->states[*w].next = cse_sub(weight, cse_mul(lr, next_m));
    graph->states[*rate].next = cse_scale(lr, 0.5);
    fetch(cse_scale(batch_sum(loss), 0.5));
    ck_assert_int_eq(cse_trace_status(graph), CSE_OK);
}

START_TEST(a_training_step_becomes_three_programs)
{
    int w, m, rate;
    trace_regression(&w, &m, &rate);
    run_to_partition();
    ck_assert_int_eq(graph->reduction_count, 2); /* the gradient and the loss */
    ck_assert_int_eq(count(&cse_op_partial, CSE_PART_REPLICA), 2);
    ck_assert_int_eq(count(cse_op_find("matmul"), CSE_PART_REPLICA),
                     2); /* forward, weight gradient */
    ck_assert_int_eq(count(cse_op_find("matmul"), CSE_PART_WEIGHTS), 0);
    ck_assert_int_eq(count(&cse_op_fetch, CSE_PART_WEIGHTS), 1);
    ck_assert_int_eq(count(&cse_op_assign, CSE_PART_UPDATE), 3);
    /* The rate is a scalar that changes: the update of w reads a copy, made before anything moves,
     * and the next rate is computed in WEIGHTS. */
    ck_assert_int_eq(count(&cse_op_materialize, CSE_PART_WEIGHTS), 2);
    ck_assert_ptr_eq(graph->states[w].next->op, &cse_op_assign);
}
END_TEST

START_TEST(states_that_read_each_other_are_updated_together_and_from_old_values)
{
    int p = state("p", cse_shape_of(100)), q = state("q", cse_shape_of(100));
    cse_node *old_p = cse_graph_state_node(graph, p), *old_q = cse_graph_state_node(graph, q);
    graph->states[p].next = cse_scale(old_q, 2);
    graph->states[q].next = cse_scale(old_p, 3);
    run_to_partition();
    /* Both read the other's old value at the same element: one group, nothing copied aside. */
    ck_assert_int_eq(count(&cse_op_materialize, CSE_PART_WEIGHTS), 0);
    ck_assert_ptr_eq(graph->states[p].next->inputs[0]->inputs[0], graph->states[q].read);
}
END_TEST

START_TEST(a_value_of_another_shape_is_computed_whole)
{
    int p = state("p", cse_shape_of(8)), q = state("q", cse_shape_of(8, 8));
    cse_node *old_p = cse_graph_state_node(graph, p), *old_q = cse_graph_state_node(graph, q);
    graph->states[p].next = cse_sum(old_q, (int[]){ 0 }, 1, false);
    graph->states[q].next = cse_mul(old_q, old_p); /* p broadcast over rows */
    run_to_partition();
    ck_assert_int_eq(count(&cse_op_materialize, CSE_PART_WEIGHTS), 2);
    for (int n = 0; n < graph->node_count; n++)
        if (graph->nodes[n]->part == CSE_PART_UPDATE)
            ck_assert_int_eq(graph->nodes[n]->op->kind, CSE_OP_ELEMENTWISE);
}
END_TEST

START_TEST(a_state_that_keeps_its_value_is_not_assigned)
{
    int p = state("p", cse_shape_of(8));
    graph->states[p].next = cse_mul(cse_graph_state_node(graph, p), cse_constant(1.0));
    run_to_partition();
    ck_assert_ptr_null(graph->states[p].next);
    ck_assert_int_eq(graph->node_count, 0);
}
END_TEST

START_TEST(a_value_of_one_microbatch_cannot_be_kept)
{
    int p = state("p", cse_shape_of(4));
    graph->states[p].next = input(cse_shape_of(4));
    ck_assert_int_eq(cse_pass_partition(graph, true), CSE_SHAPE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "'p'"));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "cse_batch_sum"));
}
END_TEST

START_TEST(simplify_shares_and_folds)
{
    cse_node *x = input(cse_shape_of(4, 4));
    cse_tensor *same = cse_add(cse_exp(x), cse_mul(cse_exp(x), cse_constant(1.0)));
    cse_tensor *folded = cse_add(cse_mul(cse_constant(2), cse_constant(3)), cse_constant(1));
    cse_tensor *turned = cse_transpose(x, (int[]){ 1, 0 }, 2);
    cse_tensor *product = cse_matmul(cse_neg(cse_neg(turned)), x, false, false);
    fetch(batch_sum(cse_add(cse_mul(same, folded), product)));
    run(cse_pass_simplify);
    ck_assert_int_eq(count(cse_op_find("exp"), CSE_PART_NONE), 1);
    ck_assert_int_eq(count(cse_op_find("neg"), CSE_PART_NONE), 0);
    ck_assert_int_eq(count(cse_op_find("transpose"), CSE_PART_NONE), 0);
    int constants = 0;
    for (int n = 0; n < graph->node_count; n++)
        if (graph->nodes[n]->op == &cse_op_constant) {
            constants++;
            ck_assert_double_eq(graph->nodes[n]->attributes.numbers[0], 7);
        }
    ck_assert_int_eq(constants, 1);
}
END_TEST

START_TEST(a_loss_behind_an_op_without_gradient_is_an_error)
{
    cse_node *x = input(cse_shape_of(4));
    int p = state("p", cse_shape_of(4));
    cse_node *w = cse_graph_state_node(graph, p);
    cse_tensor *loss = batch_sum(cse_mean_all(cse_mul(x, w)));
    graph->states[p].next = cse_trace_2(&cse_op_gradient, NULL, loss, w);
    ck_assert_int_ne(cse_pass_autodiff(graph, true), CSE_OK);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "batch_sum is not differentiable"));
}
END_TEST

START_TEST(a_loss_that_ignores_a_state_gives_zeros)
{
    cse_node *x = input(cse_shape_of(4));
    int p = state("p", cse_shape_of(3));
    cse_node *w = cse_graph_state_node(graph, p);
    graph->states[p].next =
        cse_add(w, batch_sum(cse_trace_2(&cse_op_gradient, NULL, cse_mean_all(x), w)));
    run(cse_pass_autodiff);
    cse_node *sum = graph->states[p].next->inputs[1];
    ck_assert_ptr_eq(sum->inputs[0]->inputs[0]->op, &cse_op_constant);
    ck_assert_double_eq(sum->inputs[0]->inputs[0]->attributes.numbers[0], 0);
}
END_TEST

START_TEST(passes_are_switched_off_by_known_names_alone)
{
    cse_passes_options options = { .disable = "fusoin" };
    ck_assert_int_eq(cse_passes_run(graph, &options), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "did you mean 'fusion'"));
    options.disable = "simplify,autodiff";
    ck_assert_int_eq(cse_passes_run(graph, &options), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "autodiff"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partition");
    TCase *cases = tcase_create("partition");
    tcase_add_checked_fixture(cases, start, stop);
    tcase_add_test(cases, a_training_step_becomes_three_programs);
    tcase_add_test(cases, states_that_read_each_other_are_updated_together_and_from_old_values);
    tcase_add_test(cases, a_value_of_another_shape_is_computed_whole);
    tcase_add_test(cases, a_state_that_keeps_its_value_is_not_assigned);
    tcase_add_test(cases, a_value_of_one_microbatch_cannot_be_kept);
    tcase_add_test(cases, simplify_shares_and_folds);
    tcase_add_test(cases, a_loss_behind_an_op_without_gradient_is_an_error);
    tcase_add_test(cases, a_loss_that_ignores_a_state_gives_zeros);
    tcase_add_test(cases, passes_are_switched_off_by_known_names_alone);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
