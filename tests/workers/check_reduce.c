/* Sums over segments: pieces and joins against the plainest loops, for both payloads, lengths that
 * are no multiples of a vector, and values at the edges of rounding. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/types/dtype.h"
#include "tests/support/fake_step.h"
#include "workers/reduce.h"

enum { ELEMENTS = 5000, LEAVES = 7 };

static const cse_segment mixed[] = { { 0, 2050, 1 }, { 2064, 1, 0 }, { 2080, 2900, 1 } };

static float value_of(int leaf, int i)
{
    static const float edges[] = { 0.0f,     -0.0f,  1.0f,   1.00390625f, 3.3e38f,
                                   -3.3e38f, 1e-30f, 257.0f, INFINITY };
    unsigned hash = (unsigned)(leaf * 7919 + i) * 2654435761u;
    if (hash % 97 == 0)
        return edges[hash / 97 % 9];
    return ((float)(hash >> 8) * 0x1p-24f - 0.5f) * ldexpf(1, (int)(hash % 20) - 10);
}

static float round_bfloat16(float value)
{
    return cse_float_from_format(CSE_BFLOAT16, cse_round_to_bits(CSE_BFLOAT16, value));
}

static bool is_rounded(int payload, int i)
{
    return payload && ((i < 2050) || (i >= 2080 && i < 4980));
}

/* The sum over a node by definition. */
static float expected(int payload, cse_tree_node node, int i)
{
    float sum = node.size == 1 ? value_of(node.first, i)
                               : expected(payload, cse_tree_left(node), i) +
                                     expected(payload, cse_tree_right(node), i);
    return is_rounded(payload, i) ? round_bfloat16(sum) : sum;
}

typedef struct pieces {
    unsigned char *bytes[LEAVES];
    int sizes[LEAVES]; /* of the piece that starts at this leaf; 0: none */
} pieces;

static const unsigned char *lookup(void *self, cse_tree_node node)
{
    pieces *all = self;
    return all->sizes[node.first] == node.size ? all->bytes[node.first] : NULL;
}

static cse_segments segments_for(int payload)
{
    static const cse_segment exact[] = { { 0, 2050, 0 }, { 2064, 1, 0 }, { 2080, 2900, 0 } };
    return (cse_segments){ payload ? mixed : exact, 3 };
}

static void make_piece(pieces *all, int payload, cse_tree_node node, unsigned char *leaf)
{
    cse_segments segments = segments_for(payload);
    for (int m = node.first; m < node.first + node.size; m++) {
        for (int i = 0; i < ELEMENTS; i++)
            ((float *)(void *)leaf)[i] = value_of(m, i);
        cse_piece_set(segments, all->bytes[m], leaf);
        all->sizes[m] = 1;
    }
    /* Folded as a binary counter, with the leaf added directly where it can be. */
    int held[8], count = 0;
    for (int m = node.first; m < node.first + node.size; m++) {
        int carries = cse_tree_carries(m - node.first + 1);
        if (carries > 0) {
            for (int i = 0; i < ELEMENTS; i++)
                ((float *)(void *)leaf)[i] = value_of(m, i);
            cse_piece_add_leaf(segments, all->bytes[held[count - 1]], leaf);
        } else {
            held[count++] = m;
        }
        for (int carry = 1; carry < carries; carry++, count--)
            cse_piece_add(segments, all->bytes[held[count - 2]], all->bytes[held[count - 1]]);
    }
    for (; count > 1; count--)
        cse_piece_add(segments, all->bytes[held[count - 2]], all->bytes[held[count - 1]]);
    for (int m = node.first; m < node.first + node.size; m++)
        all->sizes[m] = m == node.first ? node.size : 0;
}

static void check_partition(int payload, int replicas)
{
    pieces all = { .sizes = { 0 } };
    unsigned char *leaf = cse_aligned_calloc(ELEMENTS * 4);
    unsigned char *reduced = cse_aligned_calloc(ELEMENTS * 4);
    cse_join_step steps[2 * LEAVES];
    cse_join join = { .steps = steps };
    join.blocks =
        cse_aligned_calloc(sizeof(float) * CSE_JOIN_BLOCK * ((size_t)cse_tree_depth(LEAVES) + 1));
    for (int m = 0; m < LEAVES; m++)
        all.bytes[m] = cse_aligned_calloc(ELEMENTS * 4);
    for (int r = 0; r < replicas; r++) {
        cse_tree_node found[LEAVES];
        int first, end;
        cse_tree_share(LEAVES, replicas, r, &first, &end);
        int count = cse_tree_pieces(LEAVES, first, end, found);
        for (int i = 0; i < count; i++)
            make_piece(&all, payload, found[i], leaf);
    }
    cse_join_plan(&join, LEAVES, lookup, &all);
    for (int64_t chunk = 0; chunk < ELEMENTS; chunk += 1536)
        cse_join_run(&join, segments_for(payload), reduced, chunk, chunk + 1536);
    for (int i = 0; i < 4980; i++) {
        if ((i >= 2050 && i < 2064) || (i > 2064 && i < 2080))
            continue; /* padding */
        float want = expected(payload, cse_tree_root(LEAVES), i);
        float got = ((float *)(void *)reduced)[i];
        ck_assert_msg((isnan(want) && isnan(got)) || cse_float_bits(want) == cse_float_bits(got),
                      "payload %d, %d replicas, element %d: %a, not %a", payload, replicas, i,
                      (double)got, (double)want);
    }
    for (int m = 0; m < LEAVES; m++)
        free(all.bytes[m]);
    free(leaf);
    free(reduced);
    free(join.blocks);
}

START_TEST(test_any_partition_gives_the_same_bits)
{
    for (int payload = 0; payload < 2; payload++)
        for (int replicas = 1; replicas <= LEAVES; replicas++)
            check_partition(payload, replicas);
}
END_TEST

START_TEST(test_segments_of_a_graph)
{
    fake_step *step = fake_step_new(4, 1000, 100);
    cse_graph *graph = fake_step_graph(step);
    cse_segment *items = cse_calloc((size_t)graph->node_count, sizeof *items);
    int count;
    ck_assert_int_eq(cse_segments_find(graph, CSE_FLOAT32, items, &count), CSE_OK);
    /* 1000 values, one at 1008, 100 at 1024: all float32, with padding only between them. */
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(items[0].first, 0);
    ck_assert_int_eq(items[0].count, 1124);
    ck_assert(cse_segments_exact((cse_segments){ items, count }));
    ck_assert_int_eq(cse_segments_find(graph, CSE_BFLOAT16, items, &count), CSE_OK);
    ck_assert_int_eq(count, 3);
    ck_assert(items[0].rounded && items[0].count == 1000);
    ck_assert(!items[1].rounded && items[1].first == 1008 && items[1].count == 1);
    ck_assert(items[2].rounded && items[2].first == 1024 && items[2].count == 100);
    graph->nodes[0]->offset_bytes = 64; /* over the large tensor */
    ck_assert_int_eq(cse_segments_find(graph, CSE_FLOAT32, items, &count), CSE_INTERNAL);
    graph->nodes[0]->offset_bytes = graph->space_bytes[CSE_SPACE_PARTIAL];
    ck_assert_int_eq(cse_segments_find(graph, CSE_FLOAT32, items, &count), CSE_INTERNAL);
    free(items);
    fake_step_destroy(&step);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    TCase *tests = tcase_create("reduce");
    tcase_add_test(tests, test_any_partition_gives_the_same_bits);
    tcase_add_test(tests, test_segments_of_a_graph);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
