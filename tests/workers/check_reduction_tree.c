/* The fixed-order reduction tree: its shape by definition; partial sums that are complete, disjoint
 * and maximal; and the order of a binary counter. */
#include <check.h>
#include <stdlib.h>

#include "workers/hosts/reduction_tree.h"

START_TEST(test_splits_at_powers_of_two)
{
    /* size, size of the left child: largest power of two below the size */
    static const int cases[][2] = { { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 4 },   { 6, 4 },
                                    { 7, 4 }, { 8, 4 }, { 9, 8 }, { 64, 32 }, { 65, 64 } };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        cse_tree_node root = cse_tree_root(cases[i][0]);
        cse_tree_node left = cse_tree_left(root), right = cse_tree_right(root);
        ck_assert_int_eq(left.size, cases[i][1]);
        ck_assert_int_eq(left.first, 0);
        ck_assert_int_eq(right.first, left.size);
        ck_assert_int_eq(left.size + right.size, cases[i][0]);
    }
}
END_TEST

static int visit(int leaves, cse_tree_node node, unsigned char *used)
{
    cse_tree_node found;
    ck_assert_int_lt(node.heap, cse_tree_places(leaves));
    ck_assert_int_eq(used[node.heap]++, 0);
    ck_assert(cse_tree_find(leaves, node.heap, &found));
    ck_assert_int_eq(found.first, node.first);
    ck_assert_int_eq(found.size, node.size);
    if (node.size == 1)
        return 1;
    return 1 + visit(leaves, cse_tree_left(node), used) + visit(leaves, cse_tree_right(node), used);
}

START_TEST(test_places_are_unique)
{
    for (int leaves = 1; leaves <= 70; leaves++) {
        unsigned char used[512] = { 0 };
        ck_assert_int_eq(visit(leaves, cse_tree_root(leaves), used), 2 * leaves - 1);
        int nodes = 0;
        for (int heap = 0; heap < 300; heap++) {
            cse_tree_node node;
            nodes += cse_tree_find(leaves, heap, &node);
        }
        ck_assert_int_eq(nodes, 2 * leaves - 1);
    }
}
END_TEST

static bool is_node(int leaves, int first, int size)
{
    cse_tree_node node;
    for (int heap = 1; heap < cse_tree_places(leaves); heap++)
        if (cse_tree_find(leaves, heap, &node) && node.first == first && node.size == size)
            return true;
    return false;
}

START_TEST(test_pieces_cover_ranges_with_maximal_nodes)
{
    cse_tree_node partials[40];
    for (int leaves = 1; leaves <= 17; leaves++)
        for (int first = 0; first <= leaves; first++)
            for (int end = first; end <= leaves; end++) {
                int count = cse_tree_cover(leaves, first, end, partials), next = first;
                for (int i = 0; i < count; i++) {
                    ck_assert_int_eq(partials[i].first, next);
                    ck_assert(is_node(leaves, partials[i].first, partials[i].size));
                    next += partials[i].size;
                    /* Maximal: no node contains this partial sum and stays inside the range. */
                    for (int size = partials[i].size + 1; size <= end - first; size++)
                        for (int at = first; at + size <= end; at++)
                            if (at <= partials[i].first && at + size >= next)
                                ck_assert(!is_node(leaves, at, size));
                }
                ck_assert_int_eq(next, end);
            }
}
END_TEST

START_TEST(test_shares_cover_everything)
{
    for (int leaves = 1; leaves <= 33; leaves++)
        for (int replicas = 1; replicas <= leaves; replicas++) {
            int next = 0;
            for (int r = 0; r < replicas; r++) {
                int first, end;
                cse_tree_share(leaves, replicas, r, &first, &end);
                ck_assert_int_eq(first, next);
                ck_assert_int_ge(end - first, leaves / replicas);
                ck_assert_int_le(end - first, (leaves + replicas - 1) / replicas);
                next = end;
            }
            ck_assert_int_eq(next, leaves);
        }
}
END_TEST

/* Published in the reference: M = 64 gives 11 partial sums for 3 replicas, 17 for 5, 18 for 6, 22
 * for 7. */
START_TEST(test_partial_counts)
{
    static const int cases[][2] = { { 1, 1 },  { 2, 2 },  { 3, 11 }, { 4, 4 },  { 5, 17 },
                                    { 6, 18 }, { 7, 22 }, { 8, 8 },  { 16, 16 } };
    cse_tree_node partials[64];
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        int total = 0;
        for (int r = 0; r < cases[i][0]; r++) {
            int first, end;
            cse_tree_share(64, cases[i][0], r, &first, &end);
            total += cse_tree_cover(64, first, end, partials);
        }
        ck_assert_int_eq(total, cases[i][1]);
    }
}
END_TEST

/* A hash that is neither commutative nor associative stands for rounded addition. */
static unsigned combine(unsigned left, unsigned right)
{
    return (left * 2654435761u) ^ (right + 0x9e3779b9u + (left << 6));
}

static unsigned by_definition(cse_tree_node node)
{
    if (node.size == 1)
        return (unsigned)node.first * 40503u + 7;
    return combine(by_definition(cse_tree_left(node)), by_definition(cse_tree_right(node)));
}

START_TEST(test_binary_counter_is_the_tree)
{
    for (int leaves = 1; leaves <= 130; leaves++) {
        unsigned stack[16];
        int held = 0, most = 0;
        for (int i = 0; i < leaves; i++) {
            stack[held++] = (unsigned)i * 40503u + 7;
            most = held > most ? held : most;
            for (int carry = cse_tree_carries(i + 1); carry > 0; carry--, held--)
                stack[held - 2] = combine(stack[held - 2], stack[held - 1]);
        }
        for (; held > 1; held--)
            stack[held - 2] = combine(stack[held - 2], stack[held - 1]);
        ck_assert_uint_eq(stack[0], by_definition(cse_tree_root(leaves)));
        ck_assert_int_le(most, cse_tree_depth(leaves));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree");
    TCase *tests = tcase_create("tree");
    tcase_add_test(tests, test_splits_at_powers_of_two);
    tcase_add_test(tests, test_places_are_unique);
    tcase_add_test(tests, test_pieces_cover_ranges_with_maximal_nodes);
    tcase_add_test(tests, test_shares_cover_everything);
    tcase_add_test(tests, test_partial_counts);
    tcase_add_test(tests, test_binary_counter_is_the_tree);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
