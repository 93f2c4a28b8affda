/* Threads that share work: every item is computed once, whatever the sizes, whether members spin or
 * sleep when a call comes. */
#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/thread_team.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { MOST_ITEMS = 1000, MOST_THREADS = 6 };

typedef struct marks {
    cse_thread_team *team;
    int64_t unit;
    _Atomic int times[MOST_ITEMS];
    _Atomic int wrong;
} marks;

static void mark(void *self, int member, int64_t first, int64_t end)
{
    marks *m = self;
    if (member < 0 || member >= cse_thread_team_size(m->team) || first % m->unit != 0 ||
        end <= first || end > MOST_ITEMS)
        atomic_fetch_add(&m->wrong, 1);
    for (int64_t i = first; i < end; i++)
        atomic_fetch_add(&m->times[i], 1);
}

static void divide(cse_thread_team *team, int64_t count, int64_t unit)
{
    static marks m;
    memset(&m, 0, sizeof m);
    m.team = team;
    m.unit = unit;
    cse_thread_team_divide(team, &(cse_team_job){ mark, &m, count, unit });
    ck_assert_int_eq(m.wrong, 0);
    for (int64_t i = 0; i < MOST_ITEMS; i++)
        ck_assert_msg(m.times[i] == (i < count), "%d threads, %d items in units of %d: item %d",
                      cse_thread_team_size(team), (int)count, (int)unit, (int)i);
}

START_TEST(each_item_is_computed_once)
{
    static const int64_t counts[] = { 0, 1, 2, 7, 63, 64, 65, MOST_ITEMS };
    cse_thread_team *team = cse_thread_team_new(_i);
    ck_assert_int_eq(cse_thread_team_size(team), _i);
    ck_assert((team == NULL) == (_i == 1));
    for (int c = 0; c < 8; c++)
        for (int64_t unit = 1; unit < 100; unit = 3 * unit + 1)
            divide(team, counts[c], unit);
    cse_thread_team_destroy(&team);
    ck_assert_ptr_null(team);
}
END_TEST

/* Calls at once behind each other, and after members have gone to sleep. */
START_TEST(members_that_spin_and_that_sleep_are_called)
{
    cse_thread_team *team = cse_thread_team_new(3);
    for (int i = 0; i < 600; i++) {
        divide(team, 40, 1);
        if (i % 100 == 0)
            usleep(3000);
    }
    cse_thread_team_destroy(&team);
    for (int i = 0; i < 20; i++) { /* ended before members have looked for work at all */
        team = cse_thread_team_new(MOST_THREADS);
        cse_thread_team_destroy(&team);
    }
}
END_TEST

/* Each waits until all are there, so that they run at the same time; its memory is its own. */
typedef struct meeting {
    cse_thread_team *team;
    _Atomic int here, wrong;
    unsigned float_mode;
} meeting;

static void meet(void *self, int member, int64_t first, int64_t end)
{
    meeting *m = self;
    unsigned char *scratch = cse_thread_team_scratch(m->team, member, 1000);
    (void)end;
    memset(scratch, (int)first, 1000);
    if ((uintptr_t)scratch % 64 != 0)
        atomic_fetch_add(&m->wrong, 1);
#if defined(__x86_64__)
    if ((_mm_getcsr() & ~0x3fu) != m->float_mode)
        atomic_fetch_add(&m->wrong, 1);
#endif
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < cse_thread_team_size(m->team))
        usleep(10);
    for (int i = 0; i < 1000; i++)
        if (scratch[i] != (unsigned char)first)
            atomic_fetch_add(&m->wrong, 1);
}

START_TEST(members_run_together_in_the_callers_mode)
{
    meeting m = { .team = cse_thread_team_new(4) };
#if defined(__x86_64__)
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    m.float_mode = _mm_getcsr() & ~0x3fu;
#endif
    cse_thread_team_divide(m.team, &(cse_team_job){ meet, &m, 4, 1 });
    ck_assert_int_eq(m.here, 4);
    ck_assert_int_eq(m.wrong, 0);
#if defined(__x86_64__)
    _mm_setcsr(before);
#endif
    cse_thread_team_destroy(&m.team);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threads that share work");
    TCase *tests = tcase_create("team");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, each_item_is_computed_once, 1, MOST_THREADS + 1);
    tcase_add_test(tests, members_that_spin_and_that_sleep_are_called);
    tcase_add_test(tests, members_run_together_in_the_callers_mode);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
