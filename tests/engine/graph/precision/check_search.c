/* The search over layers and levels with predicates whose result is known. */
#include "engine/graph/precision/search.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST_LAYERS = 64, LEVELS = 4 };

typedef struct judged {
    int layers, asked;
    int lowest[MOST_LAYERS];       /* the lowest level that each layer bears */
    int cost[MOST_LAYERS][LEVELS]; /* ascending in the level */
    int budget;                    /* of all layers together */
    int fail_at;
    int most_left; /* what the search says before each call */
    int bound;     /* the least of calls made and left so far */
} judged;

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static bool bears(const judged *j, const int *levels)
{
    int cost = 0;
    for (int i = 0; i < j->layers; i++) {
        cost += j->cost[i][levels[i]];
        if (levels[i] > j->lowest[i])
            return false;
    }
    return cost <= j->budget;
}

static cse_status judge(void *self, const int *levels, bool *within)
{
    judged *j = self;
    if (++j->asked == j->fail_at)
        return cse_fail(CSE_INTERRUPTED, "interrupted");
    ck_assert_int_ge(j->most_left, 0);
    if (j->asked == 1 || j->asked + j->most_left < j->bound)
        j->bound = j->asked + j->most_left;
    *within = bears(j, levels);
    return CSE_OK;
}

static cse_status search(judged *j, int *levels)
{
    const cse_precision_search wanted = { .layer_count = j->layers,
                                          .level_count = LEVELS,
                                          .judge = judge,
                                          .self = j,
                                          .most_left = &j->most_left };
    cse_status status = cse_precision_search_run(&wanted, levels);
    /* No call said of fewer calls than there were. */
    ck_assert(status != CSE_OK || j->asked == 0 || j->asked <= j->bound);
    return status;
}

START_TEST(each_layer_gets_the_lowest_level_that_it_bears)
{
    uint32_t state = 1;
    for (int round = 0; round < 500; round++) {
        judged j = { .layers = (int)(next(&state) % MOST_LAYERS) };
        int levels[MOST_LAYERS];
        for (int i = 0; i < j.layers; i++)
            j.lowest[i] = (int)(next(&state) % LEVELS);
        ck_assert_int_eq(search(&j, levels), CSE_OK);
        for (int i = 0; i < j.layers; i++)
            ck_assert_int_eq(levels[i], j.lowest[i]);
        /* Halving asks at most about each node of a binary tree, once a level. */
        ck_assert_int_le(j.asked, 2 * j.layers * (LEVELS - 1));
    }
}
END_TEST

START_TEST(a_shared_budget_leaves_no_layer_that_could_go_lower)
{
    uint32_t state = 2;
    for (int round = 0; round < 500; round++) {
        judged j = { .layers = 1 + (int)(next(&state) % 20) };
        int levels[MOST_LAYERS];
        for (int i = 0; i < j.layers; i++) {
            j.lowest[i] = LEVELS - 1;
            for (int l = 1; l < LEVELS; l++)
                j.cost[i][l] = j.cost[i][l - 1] + (int)(next(&state) % 10);
        }
        j.budget = (int)(next(&state) % (uint32_t)(10 * j.layers));
        ck_assert_int_eq(search(&j, levels), CSE_OK);
        ck_assert(bears(&j, levels));
        /* A layer that was accepted at a level had been refused at all lower ones. */
        for (int i = 0; i < j.layers; i++) {
            int kept = levels[i];
            for (levels[i] = kept + 1; levels[i] < LEVELS; levels[i]++)
                ck_assert(!bears(&j, levels));
            levels[i] = kept;
        }
    }
}
END_TEST

START_TEST(one_bad_layer_among_many_is_found_in_few_trainings)
{
    judged j = { .layers = 64, .budget = 0 };
    int levels[MOST_LAYERS];
    for (int i = 0; i < j.layers; i++)
        j.lowest[i] = i == 37 ? 0 : LEVELS - 1;
    ck_assert_int_eq(search(&j, levels), CSE_OK);
    ck_assert_int_eq(levels[37], 0);
    /* All, 6 halvings of two each; then it alone at the two levels above. */
    ck_assert_int_le(j.asked, 1 + 2 * 6 + 2);
}
END_TEST

START_TEST(no_layers_and_a_failure)
{
    judged none = { .layers = 0 }, fails = { .layers = 4, .lowest = { 3, 0, 3, 3 }, .fail_at = 2 };
    int levels[MOST_LAYERS];
    ck_assert_int_eq(search(&none, levels), CSE_OK);
    ck_assert_int_eq(none.asked, 0);
    ck_assert_int_eq(search(&fails, levels), CSE_INTERRUPTED);
    ck_assert_int_eq(fails.asked, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("precision search");
    TCase *all = tcase_create("all");
    tcase_add_test(all, each_layer_gets_the_lowest_level_that_it_bears);
    tcase_add_test(all, a_shared_budget_leaves_no_layer_that_could_go_lower);
    tcase_add_test(all, one_bad_layer_among_many_is_found_in_few_trainings);
    tcase_add_test(all, no_layers_and_a_failure);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
