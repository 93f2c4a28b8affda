/* Properties of fusion, execution order and the memory plan on random graphs. The lifetimes of
 * values are computed here independently, from the groups. */
#include <check.h>
#include <stdlib.h>

#include "engine/graph/passes/memory_plan.h"
#include "tests/support/random_graph.h"

enum { GRAPHS = 40, NODES = 120 };

static const char *const disabled[] = { "", "fusion", "order", "memory_plan", "simplify" };
enum { SETTINGS = sizeof disabled / sizeof disabled[0] };

static cse_graph *planned(int seed, const char *disable)
{
    cse_graph *graph = random_graph_new((uint64_t)seed, NODES);
    graph->microbatch_count = 1 + seed % 2;
    fixture_passes(graph, disable);
    return graph;
}

static int64_t bytes_of(const cse_node *node)
{
    return cse_shape_elements(node->shape) * (int64_t)cse_dtype_size(node->dtype);
}

/* Groups after which a value is read no more: what runs once a step is read for each microbatch. */
static int last_reader(const cse_graph *graph, const cse_node *node)
{
    int last = node->group;
    const bool per_step = graph->groups[node->group].per_step;
    for (int g = 0; g < graph->group_count; g++)
        for (int n = 0; n < graph->groups[g].node_count; n++)
            for (int i = 0; i < graph->groups[g].nodes[n]->input_count; i++)
                if (cse_node_storage(graph->groups[g].nodes[n]->inputs[i]) == node && g > last)
                    last = per_step && !graph->groups[g].per_step ? graph->group_count : g;
    return node->op == &cse_op_materialize ? graph->group_count : last;
}

START_TEST(every_node_with_code_is_in_one_group)
{
    cse_graph *graph = planned(_i, disabled[_i % SETTINGS]);
    int *seen = calloc(graph->next_id, sizeof *seen);
    for (int g = 0; g < graph->group_count; g++) {
        ck_assert_int_gt(graph->groups[g].node_count, 0);
        for (int n = 0; n < graph->groups[g].node_count; n++)
            seen[graph->groups[g].nodes[n]->id]++;
    }
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        bool code = node->part != CSE_PART_NONE &&
                    (node->op->kind != CSE_OP_RESHAPE || node->part == CSE_PART_UPDATE);
        ck_assert_int_eq(seen[node->id], code ? 1 : 0);
    }
    free(seen);
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(groups_read_what_ran_before_them)
{
    cse_graph *graph = planned(_i, disabled[_i % SETTINGS]);
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        ck_assert(g == 0 || group[-1].part <= group->part);
        for (int n = 0; n < group->node_count; n++)
            for (int i = 0; i < group->nodes[n]->input_count; i++) {
                const cse_node *input = cse_node_storage(group->nodes[n]->inputs[i]);
                bool earlier = input->group < g;
                for (int k = 0; k < n; k++)
                    earlier = earlier || group->nodes[k] == input;
                ck_assert(earlier);
                /* What another group reads has a place. */
                if (input->group >= 0 && input->group != g)
                    ck_assert_int_ne(input->space, CSE_SPACE_NONE);
            }
    }
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(living_values_do_not_overlap)
{
    cse_graph *graph = planned(_i, disabled[_i % SETTINGS]);
    for (int a = 0; a < graph->node_count; a++)
        for (int b = 0; b < graph->node_count; b++) {
            const cse_node *p = graph->nodes[a], *q = graph->nodes[b];
            if (p == q || p->space != q->space || p->group < 0 || q->group < 0 ||
                (p->space != CSE_SPACE_REPLICA && p->space != CSE_SPACE_WEIGHTS &&
                 p->space != CSE_SPACE_LENT))
                continue;
            ck_assert_int_le(p->offset_bytes + bytes_of(p), graph->space_bytes[p->space]);
            bool apart = p->offset_bytes + bytes_of(p) <= q->offset_bytes ||
                         q->offset_bytes + bytes_of(q) <= p->offset_bytes;
            int p_last = last_reader(graph, p), q_last = last_reader(graph, q);
            bool lives_together = p->group <= q_last && q->group <= p_last;
            /* A loop's result may stand where an input stood that it read for the last time. */
            const cse_node *later = p->group > q->group ? p : q;
            bool handed_on = p->offset_bytes == q->offset_bytes && bytes_of(p) == bytes_of(q) &&
                             (p->group > q->group ? q_last : p_last) == later->group &&
                             p->group != q->group &&
                             graph->groups[later->group].kind == CSE_GROUP_LOOP;
            ck_assert_msg(apart || !lives_together || handed_on, "seed %d: %%%u and %%%u", _i,
                          p->id, q->id);
        }
    cse_graph_destroy(&graph);
}
END_TEST

/* The places of sums over the batch hold other values, until the first group that writes a sum. */
START_TEST(lent_places_are_free_until_a_sum_is_written)
{
    cse_graph *graph = planned(_i, disabled[_i % SETTINGS]);
    for (int a = 0; a < graph->node_count; a++)
        for (int b = 0; b < graph->node_count; b++) {
            const cse_node *p = graph->nodes[a], *q = graph->nodes[b];
            if (p->space != CSE_SPACE_LENT || q->space != CSE_SPACE_PARTIAL)
                continue;
            ck_assert_int_le(p->offset_bytes + bytes_of(p), graph->space_bytes[CSE_SPACE_LENT]);
            const int64_t end = q->offset_bytes + cse_aligned_bytes(bytes_of(q));
            if (p->offset_bytes + bytes_of(p) <= q->offset_bytes || end <= p->offset_bytes)
                continue;
            ck_assert_msg(last_reader(graph, p) < q->group, "seed %d: %%%u and %%%u", _i, p->id,
                          q->id);
            /* Padding is never written, and stays zero. */
            const bool has_padding = bytes_of(q) % 64 != 0;
            ck_assert(!has_padding || p->offset_bytes + cse_aligned_bytes(bytes_of(p)) <= end - 64);
        }
    ck_assert_int_le(graph->space_bytes[CSE_SPACE_LENT], graph->space_bytes[CSE_SPACE_PARTIAL]);
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(some_plans_lend)
{
    int lending = 0;
    for (int seed = 0; seed < GRAPHS; seed++) {
        cse_graph *graph = planned(seed, ""), *apart = planned(seed, "memory_plan");
        lending += graph->space_bytes[CSE_SPACE_LENT] > 0;
        ck_assert_int_eq(apart->space_bytes[CSE_SPACE_LENT], 0);
        cse_graph_destroy(&graph);
        cse_graph_destroy(&apart);
    }
    ck_assert_int_gt(lending, 0);
}
END_TEST

START_TEST(plans_are_not_wasteful)
{
    cse_graph *graph = planned(_i, "");
    cse_memory_figures figures = cse_memory_plan_figures(graph);
    ck_assert_int_ge(figures.workspace_bytes, figures.lower_bound_bytes);
    /* Greedy packing of intervals by size is known to stay well below twice the bound in practice.
     */
    ck_assert_int_le(figures.workspace_bytes, 2 * figures.lower_bound_bytes);
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(planning_is_a_function_of_the_graph)
{
    char a[33], b[33];
    cse_graph *first = planned(_i, ""), *second = planned(_i, "");
    cse_graph_fingerprint(first, a);
    cse_graph_fingerprint(second, b);
    ck_assert_str_eq(a, b);
    cse_graph_destroy(&first);
    cse_graph_destroy(&second);
}
END_TEST

START_TEST(fusion_makes_fewer_groups)
{
    cse_graph *fused = planned(_i, ""), *apart = planned(_i, "fusion");
    ck_assert_int_lt(fused->group_count * 2, apart->group_count);
    cse_graph_destroy(&fused);
    cse_graph_destroy(&apart);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plans");
    TCase *cases = tcase_create("plans");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, every_node_with_code_is_in_one_group, 0, GRAPHS);
    tcase_add_loop_test(cases, groups_read_what_ran_before_them, 0, GRAPHS);
    tcase_add_loop_test(cases, living_values_do_not_overlap, 0, GRAPHS);
    tcase_add_loop_test(cases, lent_places_are_free_until_a_sum_is_written, 0, GRAPHS);
    tcase_add_test(cases, some_plans_lend);
    tcase_add_loop_test(cases, plans_are_not_wasteful, 0, GRAPHS);
    tcase_add_loop_test(cases, planning_is_a_function_of_the_graph, 0, GRAPHS / 4);
    tcase_add_loop_test(cases, fusion_makes_fewer_groups, 0, GRAPHS / 4);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
