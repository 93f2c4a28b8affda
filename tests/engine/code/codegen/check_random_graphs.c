/* Random graphs, compiled with and without fusion, against the interpreter; updates with the
 * undo log. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random_graph.h"

enum { GRAPHS = 4, NODES = 150 };

/* Chains of up to a hundred float operations, each off by some 2^-24, over sums of at most 1050
 * terms near 1 in another order. */
#define TOLERANCE 5e-5

static void compare_space(const cse_graph *graph, cse_space space, const fixture_memory *ours,
                          const fixture_memory *theirs)
{
    const float *a = (const float *)(const void *)ours->base[space];
    const float *b = (const float *)(const void *)theirs->base[space];
    for (int64_t i = 0; i < graph->space_bytes[space] / 4; i++)
        ck_assert_msg(fabs((double)a[i] - (double)b[i]) <= TOLERANCE * fmax(1, fabs((double)b[i])),
                      "space %d, float %lld: %.9g compiled, %.9g by reference", (int)space,
                      (long long)i, (double)a[i], (double)b[i]);
}

static void update_all(cse_executable *executable, const fixture_memory *memory,
                       const cse_undo_log *undo)
{
    const cse_graph *graph = executable->graph;
    cse_frame frame = fixture_frame(memory);
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        const int64_t lines[2] = { 0,
                                   (group->elements + CSE_LINE_ELEMENTS - 1) / CSE_LINE_ELEMENTS };
        if (group->part == CSE_PART_UPDATE)
            executable->update(executable, &frame, g, lines, undo);
    }
}

static const char *const disabled[] = { "", "fusion,simplify,order,memory_plan" };

START_TEST(compiled_random_graphs_are_as_interpreted)
{
    uint64_t seed = (uint64_t)(1000 + _i / 2);
    cse_graph *graph = random_graph_new(seed, NODES);
    cse_executable *interpreter;
    fixture_memory ours, theirs;
    fixture_passes(graph, disabled[_i % 2]);
    cse_executable *compiled = fixture_compile(graph);
    ck_assert_int_eq(cse_executable_interpret(graph, &interpreter), CSE_OK);
    fixture_memory_init(&ours, graph);
    fixture_memory_init(&theirs, graph);
    random_graph_fill(graph, &ours, seed);
    random_graph_fill(graph, &theirs, seed);
    fixture_run(compiled, &ours);
    fixture_run(interpreter, &theirs);
    compare_space(graph, CSE_SPACE_PARTIAL, &ours, &theirs);
    compare_space(graph, CSE_SPACE_FETCH, &ours, &theirs);
    update_all(compiled, &ours, NULL);
    update_all(interpreter, &theirs, NULL);
    compare_space(graph, CSE_SPACE_STATE, &ours, &theirs);
    fixture_memory_clear(&ours);
    fixture_memory_clear(&theirs);
    cse_executable_destroy(&compiled);
    cse_executable_destroy(&interpreter);
    cse_graph_destroy(&graph);
    fixture_remove_directories();
}
END_TEST

/* An update in several calls with the undo log must give the same bits, and at every line the log
 * must hold the old values. */
static void check_undo(cse_executable *executable, fixture_memory *memory, int g)
{
    const cse_graph *graph = executable->graph;
    const cse_group *group = &graph->groups[g];
    unsigned char kept[2][CSE_MAX_ASSIGNS * CSE_LINE_ELEMENTS * 4];
    volatile uint64_t progress = 0;
    cse_frame frame = fixture_frame(memory);
    const cse_undo_log undo = { .lines = { kept[0], kept[1] },
                                .progress = &progress,
                                .dirty_base = 700 };
    for (int64_t line = 0; line * CSE_LINE_ELEMENTS < group->elements; line++) {
        const int64_t lines[2] = { line, line + 1 };
        int64_t first = line * CSE_LINE_ELEMENTS;
        int64_t count = group->elements - first;
        unsigned char before[CSE_LINE_ELEMENTS * 4];
        count = count < CSE_LINE_ELEMENTS ? count : CSE_LINE_ELEMENTS;
        const cse_node *assign = NULL;
        for (int n = 0; assign == NULL; n++)
            assign = group->nodes[n]->op == &cse_op_assign ? group->nodes[n] : NULL;
        unsigned char *place = memory->base[CSE_SPACE_STATE] + assign->offset_bytes + first * 4;
        memcpy(before, place, (size_t)count * 4);
        executable->update(executable, &frame, g, lines, &undo);
        ck_assert_mem_eq(kept[line & 1], before, (size_t)count * 4);
        ck_assert_mem_ne(place, before, (size_t)count * 4);
        ck_assert_uint_eq(progress, 700 + (uint64_t)line);
    }
}

START_TEST(undo_keeps_old_values_and_the_same_bits)
{
    cse_graph *graph = random_graph_new(77, 40);
    fixture_memory whole, lines;
    fixture_passes(graph, "");
    cse_executable *compiled = fixture_compile(graph);
    fixture_memory_init(&whole, graph);
    fixture_memory_init(&lines, graph);
    random_graph_fill(graph, &whole, 77);
    random_graph_fill(graph, &lines, 77);
    fixture_run(compiled, &whole);
    fixture_run(compiled, &lines);
    update_all(compiled, &whole, NULL);
    for (int g = 0; g < graph->group_count; g++)
        if (graph->groups[g].part == CSE_PART_UPDATE)
            check_undo(compiled, &lines, g);
    ck_assert_mem_eq(whole.base[CSE_SPACE_STATE], lines.base[CSE_SPACE_STATE],
                     (size_t)graph->space_bytes[CSE_SPACE_STATE]);
    fixture_memory_clear(&whole);
    fixture_memory_clear(&lines);
    cse_executable_destroy(&compiled);
    cse_graph_destroy(&graph);
    fixture_remove_directories();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_graphs");
    TCase *cases = tcase_create("random_graphs");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, compiled_random_graphs_are_as_interpreted, 0, GRAPHS * 2);
    tcase_add_test(cases, undo_keeps_old_values_and_the_same_bits);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
