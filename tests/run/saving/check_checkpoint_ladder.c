/* Which checkpoints stay, by property over random runs in which each is looked at as it is
 * written: no removal leaves a gap that the budget does not allow, the newest and those that must
 * stay are there, they get fewer with age, and no more could have gone. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/saving/checkpoint_ladder.h"

enum { MOST = 300, RUNS = 60 };

static uint64_t drawn;

static int64_t draw(int64_t first, int64_t last)
{
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return first + (int64_t)((drawn >> 33) % (uint64_t)(last - first + 1));
}

typedef struct run {
    cse_checkpoint_ladder ladder;
    int64_t steps[MOST]; /* that stay */
    bool pinned[MOST];
    int count;
    int64_t newest_written[MOST];
    int written;
} run;

static void look(run *r)
{
    bool stays[MOST];
    int kept = 0;
    memcpy(stays, r->pinned, (size_t)r->count * sizeof *stays);
    cse_checkpoint_ladder_choose(&r->ladder, r->steps, r->count, stays);
    for (int i = 0; i < r->count; i++)
        if (stays[i]) {
            r->pinned[kept] = r->pinned[i];
            r->steps[kept++] = r->steps[i];
        }
    r->count = kept;
}

static void write_checkpoint(run *r, int64_t step, bool pinned)
{
    r->steps[r->count] = step;
    r->pinned[r->count++] = pinned;
    r->newest_written[r->written++] = step;
    look(r);
}

static bool stays(const run *r, int64_t step)
{
    for (int i = 0; i < r->count; i++)
        if (r->steps[i] == step)
            return true;
    return false;
}

/* Whether they were written one after the other, so that no removal made the gap. */
static bool were_neighbours(const run *r, int64_t before, int64_t after)
{
    for (int i = 0; i < r->written; i++)
        if (r->newest_written[i] == after)
            return before == (i > 0 ? r->newest_written[i - 1] : 0);
    return false;
}

/* Without assertions of the framework, each of which takes a system call. */
static const char *fault(const run *r)
{
    const int64_t newest = r->steps[r->count - 1];
    for (int64_t i = 1; i <= r->ladder.newest && i <= r->written; i++)
        if (!stays(r, r->newest_written[r->written - i]))
            return "one of the newest is gone";
    for (int i = 0; i < r->count; i++) {
        const int64_t before = i > 0 ? r->steps[i - 1] : 0, gap = r->steps[i] - before;
        const bool made = !were_neighbours(r, before, r->steps[i]);
        if (made && gap > r->ladder.most_gap)
            return "a gap is longer than the budget allows";
        if (made && gap > newest - r->steps[i])
            return "a gap is longer than the younger one is old";
        if (i + 1 >= r->count || i >= r->count - r->ladder.newest || r->pinned[i])
            continue;
        const int64_t joined = r->steps[i + 1] - before;
        if (joined <= r->ladder.most_gap && joined <= newest - r->steps[i + 1])
            return "one more could have gone";
    }
    return NULL;
}

START_TEST(random_runs)
{
    static run r;
    for (int n = 0; n < RUNS; n++) {
        const int64_t every = draw(1, 50);
        int64_t step = 0;
        drawn = (uint64_t)n * 977 + 1;
        memset(&r, 0, sizeof r);
        r.ladder =
            (cse_checkpoint_ladder){ .newest = draw(1, 5),
                                     .most_gap = draw(0, 3) == 0 ? INT32_MAX : draw(1, 2000) };
        static int64_t pinned[MOST];
        int pinned_count = 0;
        for (int w = 0; w < MOST - 1; w++) {
            step += draw(0, 1) == 0 ? every : draw(1, 2 * every);
            const bool pin = draw(0, 40) == 0;
            if (pin)
                pinned[pinned_count++] = step;
            write_checkpoint(&r, step, pin);
            ck_assert_msg(fault(&r) == NULL, "run %d, step %d: %s", n, (int)step, fault(&r));
        }
        for (int i = 0; i < pinned_count; i++)
            ck_assert(stays(&r, pinned[i]));
        const int before = r.count;
        look(&r); /* what stays is what the next look leaves */
        ck_assert_int_eq(r.count, before);
    }
}
END_TEST

START_TEST(few_stay)
{
    static run r;
    for (int64_t gap = 20; gap <= INT32_MAX; gap *= 8) {
        memset(&r, 0, sizeof r);
        r.ladder = (cse_checkpoint_ladder){ .newest = 2, .most_gap = gap };
        int64_t step = 0;
        for (int i = 0; i < 4000; i++) {
            step += 10;
            r.written = 0;
            write_checkpoint(&r, step, false);
            const double most =
                4 + 2 * log2((double)step / 10 + 1) + 2.0 * (double)step / (double)gap;
            if (r.count > (int)most + 1)
                ck_abort_msg("%d stay after step %d", r.count, (int)step);
            if (r.count >= MOST - 1)
                break;
        }
    }
}
END_TEST

START_TEST(a_budget_of_no_gap_keeps_all)
{
    static run r;
    memset(&r, 0, sizeof r);
    r.ladder = (cse_checkpoint_ladder){ .newest = 1, .most_gap = 1 };
    for (int i = 1; i < 100; i++) {
        write_checkpoint(&r, i, false);
        ck_assert_int_eq(r.count, i);
    }
}
END_TEST

START_TEST(seconds_are_steps)
{
    ck_assert_int_eq(cse_checkpoint_ladder_gap(60, 0.5), 120);
    ck_assert_int_eq(cse_checkpoint_ladder_gap(60, 7), 8);
    ck_assert_int_eq(cse_checkpoint_ladder_gap(1, 7), 1);
    ck_assert_int_eq(cse_checkpoint_ladder_gap(1e9, 1e-9), INT32_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint_ladder");
    TCase *cases = tcase_create("checkpoint_ladder");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, random_runs);
    tcase_add_test(cases, few_stay);
    tcase_add_test(cases, a_budget_of_no_gap_keeps_all);
    tcase_add_test(cases, seconds_are_steps);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
