/* Final elements: what a program's groups leave final, against a simulation of its writes; and what
 * a reader may believe of a node that is still computed. */
#include <check.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "tests/support/fake_step.h"
#include "workers/arena/final_elements.h"
#include "workers/arena/worker_side.h"

enum { GROUPS = 12, SUMS = 9, SEQUENCE = 5 };

static unsigned random_below(unsigned n)
{
    static uint64_t state = 99;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

/* Sums at random places, each written by one or two groups. */
static void check_random_program(void)
{
    static const cse_op any = { .name = "any" };
    cse_node nodes[2 * SUMS] = { { 0 } }, *list[2 * SUMS];
    cse_graph graph = { .nodes = list, .group_count = GROUPS };
    int64_t final[GROUPS], elements = 0;
    for (int s = 0; s < SUMS; s++) {
        const int64_t count = 16 * (1 + random_below(4));
        for (int writer = 0; writer < 1 + (int)random_below(2); writer++) {
            nodes[graph.node_count] = (cse_node){ .op = &any,
                                                  .shape = cse_shape_of(count),
                                                  .dtype = CSE_FLOAT32,
                                                  .space = CSE_SPACE_PARTIAL,
                                                  .offset_bytes = 4 * elements,
                                                  .group = (int)random_below(GROUPS) };
            list[graph.node_count] = &nodes[graph.node_count];
            graph.node_count++;
        }
        elements += count;
    }
    graph.space_bytes[CSE_SPACE_PARTIAL] = 4 * elements;
    cse_final_elements(&graph, final);
    for (int g = 0; g < GROUPS; g++) {
        int64_t first_written = elements;
        for (int n = 0; n < graph.node_count; n++)
            if (nodes[n].group > g && nodes[n].offset_bytes / 4 < first_written)
                first_written = nodes[n].offset_bytes / 4;
        ck_assert_int_eq(final[g], first_written);
    }
}

START_TEST(test_no_later_group_writes_what_is_final)
{
    for (int i = 0; i < 500; i++)
        check_random_program();
}
END_TEST

static cse_cluster *two_hosts(fake_step *step, unsigned char *states)
{
    const cse_host_set all = cse_hosts_first(2);
    cse_host_cut cut;
    cse_cluster *cluster;
    cse_host_cut_even(4, 2, &all, &cut);
    const cse_cluster_layout layout = { .graph = fake_step_graph(step),
                                        .states = states,
                                        .replica_count = 2,
                                        .num_steps = 9,
                                        .host_count = 2,
                                        .cut = &cut };
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_OK);
    return cluster;
}

START_TEST(test_a_claim_is_believed_until_it_changes)
{
    fake_step *step = fake_step_new(4, 1000, 100);
    unsigned char *states = fake_step_states(step);
    cse_cluster *cluster = two_hosts(step, states);
    const cse_tree_node node = cse_tree_left(cse_tree_root(4));
    cse_word *word = &cluster->nodes[node.heap];
    ck_assert_int_eq(cse_final_elements_claim(cluster, node, SEQUENCE, 0), 0);
    ck_assert(cse_word_claim(word, SEQUENCE, 0, 1));
    ck_assert_int_eq(cse_final_elements_claim(cluster, node, SEQUENCE, 0), 0); /* not begun */
    cse_final_elements_begin(cluster, node);
    ck_assert_int_eq(cse_final_elements_claim(cluster, node, SEQUENCE, 1), 0);
    cse_final_elements_tell(cluster, node, 64);
    const uint64_t claim = cse_final_elements_claim(cluster, node, SEQUENCE, 64);
    ck_assert_int_ne(claim, 0);
    ck_assert_int_eq(cse_final_elements_claim(cluster, node, SEQUENCE, 65), 0);
    ck_assert_int_eq(cse_final_elements_claim(cluster, node, SEQUENCE + 1, 64), 0);
    ck_assert(cse_final_elements_unchanged(cluster, node, claim));
    /* Its claimer dies, and the next one begins. */
    cse_word_publish(word, SEQUENCE - 1, CSE_WORD_DONE);
    ck_assert_int_eq(cse_final_elements_claim(cluster, node, SEQUENCE, 64), 0);
    ck_assert(!cse_final_elements_unchanged(cluster, node, claim));
    ck_assert(cse_word_claim(word, SEQUENCE, 1, 1));
    ck_assert_int_eq(cse_final_elements_claim(cluster, node, SEQUENCE, 64), 0);
    ck_assert(!cse_final_elements_unchanged(cluster, node, claim));
    cse_final_elements_begin(cluster, node);
    ck_assert_int_eq(cse_final_elements_claim(cluster, node, SEQUENCE, 64), 0);
    cse_final_elements_tell(cluster, node, 128);
    const uint64_t next = cse_final_elements_claim(cluster, node, SEQUENCE, 64);
    ck_assert(next != 0 && next != claim);
    ck_assert(!cse_final_elements_unchanged(cluster, node, claim));
    /* What its claimer completes is what it has told of. */
    cse_word_publish(word, SEQUENCE, CSE_WORD_DONE);
    ck_assert(cse_final_elements_unchanged(cluster, node, next));
    ck_assert(!cse_final_elements_unchanged(cluster, node, claim));
    cse_cluster_destroy(&cluster);
    free(states);
    fake_step_destroy(&step);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("final_elements");
    TCase *tests = tcase_create("final_elements");
    tcase_add_test(tests, test_no_later_group_writes_what_is_final);
    tcase_add_test(tests, test_a_claim_is_believed_until_it_changes);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
