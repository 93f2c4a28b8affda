/* Sums over segments: partial sums and their combination against simple loops, for all payloads,
 * lengths that are no multiple of a vector, and values at rounding boundaries. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/random.h"
#include "engine/base/types/dtype.h"
#include "tests/support/fake_step.h"
#include "workers/arena/reduce.h"

enum { ELEMENTS = 5000, LEAVES = 7 };

enum { SEED = 12345, STEP = 678 };

static const cse_segment mixed[] = { { 0, 2050, 1, 91 },
                                     { 2064, 1, 0, 92 },
                                     { 2080, 2900, 1, 93 } };

static float value_of(int leaf, int i)
{
    static const float edges[] = { 0.0f,     -0.0f,  1.0f,   1.00390625f, 3.3e38f,
                                   -3.3e38f, 1e-30f, 257.0f, INFINITY };
    unsigned hash = (unsigned)(leaf * 7919 + i) * 2654435761u;
    if (hash % 97 == 0)
        return edges[hash / 97 % 9];
    return ((float)(hash >> 8) * 0x1p-24f - 0.5f) * ldexpf(1, (int)(hash % 20) - 10);
}

static float rounded(int payload, cse_tree_node node, int i, float value)
{
    cse_dtype format = fake_payloads[payload].format;
    if (payload == 0 || (i >= 2050 && i < 2080) || i >= 4980)
        return value;
    if (!fake_payloads[payload].stochastic)
        return cse_float_from_format(format, cse_round_to_bits(format, value));
    uint64_t key =
        cse_hash_key(SEED, STEP, i < 2050 ? 91 : 93, (uint32_t)node.first, (uint32_t)node.size);
    uint32_t random = cse_hash_bits(key, (uint32_t)(i < 2050 ? i : i - 2080));
    return cse_round_stochastic(format, value, random);
}

/* The sum over a node by definition. */
static float expected(int payload, cse_tree_node node, int i)
{
    float sum = node.size == 1 ? value_of(node.first, i)
                               : expected(payload, cse_tree_left(node), i) +
                                     expected(payload, cse_tree_right(node), i);
    return rounded(payload, node, i, sum);
}

typedef struct partials {
    unsigned char *bytes[LEAVES];
    int sizes[LEAVES]; /* of the partial sum that starts at this microbatch; 0: none */
} partials;

static const unsigned char *lookup(void *self, cse_tree_node node)
{
    partials *all = self;
    return all->sizes[node.first] == node.size ? all->bytes[node.first] : NULL;
}

static cse_segments segments_for(int payload)
{
    static const cse_segment exact[] = { { 0, 2050, 0, 0 },
                                         { 2064, 1, 0, 0 },
                                         { 2080, 2900, 0, 0 } };
    return (cse_segments){ .items = payload ? mixed : exact,
                           .count = 3,
                           .payload = fake_payloads[payload],
                           .seed = SEED,
                           .step = STEP };
}

/* The next operation is done in two parts, which meet anywhere. */
static int64_t parts[2][2];

static void cut_anywhere(void)
{
    static uint32_t number;
    const int64_t cut = 16 * (int64_t)(cse_hash_bits(SEED, number++) % (ELEMENTS / 16 + 1));
    parts[0][0] = 0;
    parts[0][1] = parts[1][0] = cut;
    parts[1][1] = ELEMENTS;
}

static void join_top(const cse_segments *segments, partials *all, cse_microbatch_range *held,
                     int *count)
{
    cse_microbatch_range *left = &held[*count - 2], *right = &held[*count - 1];
    left->size += right->size;
    cut_anywhere();
    for (int part = 0; part < 2; part++)
        cse_partial_sum_add(segments, parts[part], all->bytes[left->first],
                            all->bytes[right->first], *left);
    --*count;
}

static void make_partial(partials *all, int payload, cse_tree_node node, unsigned char *leaf)
{
    cse_segments segments = segments_for(payload);
    for (int m = node.first; m < node.first + node.size; m++) {
        for (int i = 0; i < ELEMENTS; i++)
            ((float *)(void *)leaf)[i] = value_of(m, i);
        cut_anywhere();
        for (int part = 0; part < 2; part++)
            cse_partial_sum_set(&segments, parts[part], all->bytes[m], leaf, m);
        all->sizes[m] = 1;
    }
    /* Folded as a binary counter, with the leaf added directly where it can be. */
    cse_microbatch_range held[8];
    int count = 0;
    for (int m = node.first; m < node.first + node.size; m++) {
        int carries = cse_tree_carries(m - node.first + 1);
        if (carries > 0) {
            for (int i = 0; i < ELEMENTS; i++)
                ((float *)(void *)leaf)[i] = value_of(m, i);
            held[count - 1].size++;
            cut_anywhere();
            for (int part = 0; part < 2; part++)
                cse_partial_sum_add_gradient(&segments, parts[part],
                                             all->bytes[held[count - 1].first], leaf,
                                             held[count - 1]);
        } else {
            held[count++] = (cse_microbatch_range){ m, 1 };
        }
        for (int carry = 1; carry < carries; carry++)
            join_top(&segments, all, held, &count);
    }
    while (count > 1)
        join_top(&segments, all, held, &count);
    for (int m = node.first; m < node.first + node.size; m++)
        all->sizes[m] = m == node.first ? node.size : 0;
}

static void check_partition(int payload, int replicas)
{
    partials all = { .sizes = { 0 } };
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
        int count = cse_tree_cover(LEAVES, first, end, found);
        for (int i = 0; i < count; i++)
            make_partial(&all, payload, found[i], leaf);
    }
    cse_join_plan(&join, cse_tree_root(LEAVES), lookup, &all);
    const cse_segments segments = segments_for(payload);
    for (int64_t chunk = 0; chunk < ELEMENTS; chunk += 1536)
        cse_join_run(&join, &segments, reduced, chunk, chunk + 1536);
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
    for (int payload = 0; payload < FAKE_PAYLOADS; payload++)
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
    ck_assert_int_eq(cse_segments_find(graph, fake_payloads[0], items, &count), CSE_OK);
    /* 1000 values, one at 1008, 100 at 1024: all float32, with padding only between them. */
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(items[0].first, 0);
    ck_assert_int_eq(items[0].count, 1124);
    ck_assert(cse_segments_exact((cse_segments){ .items = items, .count = count }));
    ck_assert_int_eq(cse_segments_find(graph, fake_payloads[1], items, &count), CSE_OK);
    ck_assert_int_eq(count, 3);
    ck_assert(items[0].rounded && items[0].count == 1000);
    ck_assert(!items[1].rounded && items[1].first == 1008 && items[1].count == 1);
    ck_assert(items[2].rounded && items[2].first == 1024 && items[2].count == 100);
    graph->nodes[0]->offset_bytes = 64; /* over the large tensor */
    ck_assert_int_eq(cse_segments_find(graph, fake_payloads[0], items, &count), CSE_INTERNAL);
    graph->nodes[0]->offset_bytes = graph->space_bytes[CSE_SPACE_PARTIAL];
    ck_assert_int_eq(cse_segments_find(graph, fake_payloads[0], items, &count), CSE_INTERNAL);
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
