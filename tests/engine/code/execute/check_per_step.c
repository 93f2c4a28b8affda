/* Groups that depend on states and the step alone run once a step: on random graphs, the
 * microbatches after the first give the bits that they give by themselves, in workspaces of any
 * content. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random_graph.h"

enum { GRAPHS = 8, NODES = 150, MICROBATCHES = 3 };

static const char *const disabled[] = { "", "fusion", "order", "memory_plan", "simplify" };
enum { SETTINGS = sizeof disabled / sizeof disabled[0] };

static cse_graph *planned(uint64_t seed, int microbatches, const char *disable)
{
    cse_graph *graph = random_graph_new(seed, NODES);
    graph->microbatch_count = microbatches;
    fixture_passes(graph, disable);
    return graph;
}

/* By definition, without the passes: no input of the microbatch is needed for it. */
static bool needs_microbatch(const cse_node *node)
{
    bool needs = node->op == &cse_op_input || node->op == &cse_op_sample_index;
    for (int i = 0; !needs && i < node->input_count; i++)
        needs = needs_microbatch(node->inputs[i]);
    return needs;
}

static int count_per_step(const cse_graph *graph)
{
    int count = 0;
    for (int g = 0; g < graph->group_count; g++)
        count += graph->groups[g].per_step;
    return count;
}

START_TEST(they_come_first_and_need_no_microbatch)
{
    cse_graph *graph = planned((uint64_t)_i, MICROBATCHES, disabled[_i % SETTINGS]);
    const int count = count_per_step(graph);
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        ck_assert_int_eq(group->per_step, g < count);
        for (int n = 0; group->per_step && n < group->node_count; n++) {
            ck_assert_int_eq(group->part, CSE_PART_REPLICA);
            ck_assert_ptr_ne(group->nodes[n]->op, &cse_op_partial);
            ck_assert(!needs_microbatch(group->nodes[n]));
        }
    }
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(most_graphs_have_some)
{
    int some = 0;
    for (int seed = 0; seed < 40; seed++) {
        cse_graph *graph = planned((uint64_t)seed, MICROBATCHES, "");
        some += count_per_step(graph) > 0;
        cse_graph_destroy(&graph);
    }
    ck_assert_int_gt(some, 20);
}
END_TEST

START_TEST(a_step_of_one_microbatch_has_none)
{
    cse_graph *graph = planned((uint64_t)_i, 1, disabled[_i % SETTINGS]);
    ck_assert_int_eq(count_per_step(graph), 0);
    cse_graph_destroy(&graph);
}
END_TEST

/* Runs REPLICA for a microbatch of its own inputs, and keeps its terms. */
static unsigned char *terms_of(cse_executable *executable, fixture_memory *memory, int microbatch,
                               bool prepared)
{
    const cse_graph *graph = executable->graph;
    const size_t bytes = (size_t)graph->space_bytes[CSE_SPACE_PARTIAL];
    fixture_memory inputs = *memory, states = *memory;
    unsigned char *terms = cse_aligned_calloc(bytes + 64);
    states.base[CSE_SPACE_INPUT] =
        cse_aligned_calloc((size_t)graph->space_bytes[CSE_SPACE_INPUT] + 64);
    random_graph_fill(graph, &states, 7);
    free(states.base[CSE_SPACE_INPUT]);
    inputs.base[CSE_SPACE_STATE] =
        cse_aligned_calloc((size_t)graph->space_bytes[CSE_SPACE_STATE] + 64);
    random_graph_fill(graph, &inputs, 20 + (uint64_t)microbatch);
    free(inputs.base[CSE_SPACE_STATE]);
    cse_frame frame = fixture_frame(memory);
    frame.first_sample = microbatch * graph->micro_batch_size;
    frame.prepared = prepared;
    frame.base[CSE_SPACE_PARTIAL] = terms;
    executable->replica(executable, &frame);
    return terms;
}

static void check_microbatches(cse_executable *executable)
{
    const cse_graph *graph = executable->graph;
    fixture_memory shared, own;
    fixture_memory_init(&shared, graph);
    for (int m = 0; m < MICROBATCHES; m++) {
        fixture_memory_init(&own, graph);
        memset(own.base[CSE_SPACE_REPLICA], 0xee, (size_t)graph->space_bytes[CSE_SPACE_REPLICA]);
        unsigned char *alone = terms_of(executable, &own, m, false);
        unsigned char *after = terms_of(executable, &shared, m, m > 0);
        ck_assert_mem_eq(alone, after, (size_t)graph->space_bytes[CSE_SPACE_PARTIAL]);
        free(alone);
        free(after);
        fixture_memory_clear(&own);
    }
    fixture_memory_clear(&shared);
}

START_TEST(later_microbatches_have_the_same_bits)
{
    cse_graph *graph = planned(300 + (uint64_t)_i, MICROBATCHES, disabled[_i % SETTINGS]);
    cse_executable *compiled = fixture_compile(graph), *interpreter;
    ck_assert_int_eq(cse_executable_interpret(graph, &interpreter), CSE_OK);
    check_microbatches(compiled);
    check_microbatches(interpreter);
    cse_executable_destroy(&compiled);
    cse_executable_destroy(&interpreter);
    cse_graph_destroy(&graph);
    fixture_remove_directories();
}
END_TEST

/* With times for each group, the groups that are skipped have none. */
START_TEST(skipped_groups_take_no_time)
{
    cse_graph *graph = planned(400, MICROBATCHES, "");
    cse_executable *executables[2] = { fixture_compile(graph), NULL };
    fixture_memory memory;
    fixture_memory_init(&memory, graph);
    int64_t *ns = cse_calloc((size_t)graph->group_count, sizeof *ns);
    ck_assert_int_eq(cse_executable_interpret(graph, &executables[1]), CSE_OK);
    for (int e = 0; e < 2; e++)
        for (int prepared = 0; prepared < 2; prepared++) {
            cse_frame frame = fixture_frame(&memory);
            frame.prepared = prepared != 0;
            executables[e]->timed(executables[e], &frame, CSE_PART_REPLICA, ns);
            for (int g = 0; g < graph->group_count; g++)
                if (graph->groups[g].part == CSE_PART_REPLICA)
                    ck_assert_int_eq(ns[g] >= 0, !prepared || !graph->groups[g].per_step);
        }
    free(ns);
    fixture_memory_clear(&memory);
    for (int e = 0; e < 2; e++)
        cse_executable_destroy(&executables[e]);
    cse_graph_destroy(&graph);
    fixture_remove_directories();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("groups that run once a step");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, they_come_first_and_need_no_microbatch, 0, 40);
    tcase_add_test(cases, most_graphs_have_some);
    tcase_add_loop_test(cases, a_step_of_one_microbatch_has_none, 0, 10);
    tcase_add_loop_test(cases, later_microbatches_have_the_same_bits, 0, GRAPHS);
    tcase_add_test(cases, skipped_groups_take_no_time);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
