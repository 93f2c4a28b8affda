/* The account of a run's time: sequences whose bins are known, and random ones, for which the bins
 * add up to the time that has passed and none is negative. */
#include <check.h>
#include <stdlib.h>

#include "run/record/goodput.h"

#define MS INT64_C(1000000)

static cse_goodput a;

typedef struct step_ms {
    int64_t end, computed, held_from, held_until, waited, exposed;
    int replicas;
    bool again;
} step_ms;

static void add_step(step_ms s)
{
    cse_goodput_step(&a, &(cse_goodput_step_times){ .committed_ns = s.end * MS,
                                                    .computed_ns = s.computed * MS,
                                                    .held_from_ns = s.held_from * MS,
                                                    .held_until_ns = s.held_until * MS,
                                                    .input_wait_ns = s.waited * MS,
                                                    .exposed_ns = s.exposed * MS,
                                                    .replicas = s.replicas,
                                                    .again = s.again });
}

#define STEP(...) add_step((step_ms){ __VA_ARGS__ })

static void enter(cse_goodput_bin doing, int64_t now_ms)
{
    cse_goodput_enter(&a, doing, now_ms * MS);
}

static void save(bool saving, int64_t now_ms)
{
    cse_goodput_save(&a, saving, now_ms * MS);
}

static void begin(void)
{
    cse_goodput_begin(&a, CSE_GOODPUT_STARTING, 0);
    enter(CSE_GOODPUT_COMPUTE, 100);
}

static int64_t of(cse_goodput_bin bin, int64_t now_ms)
{
    const cse_goodput until = cse_goodput_until(&a, now_ms * MS);
    int64_t ms[CSE_GOODPUT_BINS], sum_ms = 0;
    cse_goodput_milliseconds(&until, ms);
    for (int b = 0; b < CSE_GOODPUT_BINS; b++)
        sum_ms += ms[b];
    ck_assert_int_eq(sum_ms, now_ms);
    return ms[bin];
}

#define EXPECT(bin, now_ms, expected_ms) \
    ck_assert_int_eq(of(CSE_GOODPUT_##bin, now_ms), expected_ms)

START_TEST(a_step_is_computing_and_then_updating)
{
    begin();
    STEP(.end = 150, .computed = 140, .replicas = 1);
    STEP(.end = 200, .computed = 185, .replicas = 1);
    EXPECT(STARTING, 200, 100);
    EXPECT(COMPUTE, 200, 40 + 35);
    EXPECT(UPDATE, 200, 10 + 15);
    EXPECT(COMPUTE, 220, 40 + 35 + 20); /* the step in flight */
}
END_TEST

/* Two replicas, of which one waited 20 ms: 10 ms of the run. A wait that is seen with a step which
 * was too short for it belongs to the next one as well. */
START_TEST(waits_are_part_of_the_time_before_the_sums_are_complete)
{
    begin();
    STEP(.end = 150, .computed = 140, .waited = 20, .replicas = 2);
    EXPECT(INPUT, 150, 10);
    EXPECT(COMPUTE, 150, 30);
    STEP(.end = 160, .computed = 155, .waited = 40, .exposed = 2, .replicas = 2);
    EXPECT(INPUT, 160, 15);
    EXPECT(COMMUNICATION, 160, 0);
    STEP(.end = 200, .computed = 200, .waited = 40, .exposed = 2, .replicas = 2);
    EXPECT(INPUT, 200, 20);
    EXPECT(COMMUNICATION, 200, 2);
    EXPECT(COMPUTE, 200, 30 + 40 - 5 - 2);
}
END_TEST

/* A step is held at 130 for a snapshot, which ends at 150; another one at 220 for no such
 * reason. */
START_TEST(steps_that_are_held_wait_for_the_save_or_the_coordinator)
{
    begin();
    STEP(.end = 110, .computed = 110, .replicas = 1);
    save(true, 145);
    save(false, 148);
    STEP(.end = 160, .computed = 125, .held_from = 130, .held_until = 150, .replicas = 1);
    EXPECT(SAVE, 160, 20);
    EXPECT(COMPUTE, 160, 10 + 15);
    EXPECT(UPDATE, 160, 5 + 10);
    STEP(.end = 230, .computed = 220, .held_from = 220, .held_until = 228, .replicas = 1);
    EXPECT(SAVE, 230, 20);
    EXPECT(IDLE, 230, 8);
}
END_TEST

/* Written by the coordinator, from 110 to 200, while steps go on until they are held at 140. */
START_TEST(what_lies_within_a_save_is_saving)
{
    begin();
    STEP(.end = 110, .computed = 110, .replicas = 1);
    save(true, 110);
    save(false, 200);
    STEP(.end = 120, .computed = 120, .replicas = 1);
    STEP(.end = 215, .computed = 140, .held_from = 140, .held_until = 205, .replicas = 1);
    EXPECT(SAVE, 215, 60);
    EXPECT(IDLE, 215, 5);
    EXPECT(UPDATE, 215, 10);
    enter(CSE_GOODPUT_IDLE, 215);
    save(true, 220);
    EXPECT(SAVE, 250, 60 + 30);
    save(false, 260);
    EXPECT(SAVE, 270, 60 + 40);
    EXPECT(IDLE, 270, 5 + 5 + 10);
}
END_TEST

/* The gradients of the step after the pause are computed before it, and count as paused. */
START_TEST(a_pause_begins_with_the_step_that_was_waited_for)
{
    begin();
    STEP(.end = 150, .computed = 140, .replicas = 1);
    enter(CSE_GOODPUT_PAUSED, 160);
    enter(CSE_GOODPUT_COMPUTE, 500);
    STEP(.end = 510, .computed = 170, .held_from = 172, .held_until = 502, .replicas = 1);
    EXPECT(PAUSED, 510, 350);
    EXPECT(COMPUTE, 510, 40);
    EXPECT(IDLE, 510, 2);
    EXPECT(UPDATE, 510, 10 + 8);
}
END_TEST

/* The counters are those of the steps since the run went on: they begin at 0. */
START_TEST(waits_before_the_steps_are_none_of_theirs)
{
    begin();
    STEP(.end = 150, .computed = 140, .waited = 30, .exposed = 4, .replicas = 1);
    EXPECT(INPUT, 150, 30);
    enter(CSE_GOODPUT_VALIDATION, 150);
    enter(CSE_GOODPUT_COMPUTE, 500);
    STEP(.end = 550, .computed = 550, .waited = 5, .exposed = 1, .replicas = 1);
    EXPECT(INPUT, 550, 30 + 5);
    EXPECT(COMMUNICATION, 550, 4 + 1);
    EXPECT(COMPUTE, 550, 6 + 44);
}
END_TEST

START_TEST(a_recovery_takes_what_is_done_in_it_and_what_is_done_again)
{
    begin();
    STEP(.end = 150, .computed = 150, .replicas = 2);
    enter(CSE_GOODPUT_RECOVERY, 170);
    STEP(.end = 165, .computed = 160, .replicas = 2); /* told late */
    STEP(.end = 230, .computed = 200, .replicas = 1);
    enter(CSE_GOODPUT_COMPUTE, 300);
    STEP(.end = 310, .computed = 305, .replicas = 2);
    EXPECT(RECOVERY, 310, 130);
    EXPECT(COMPUTE, 310, 50 + 20 + 5);
    STEP(.end = 330, .computed = 325, .replicas = 2, .again = true);
    EXPECT(RECOVERY, 330, 150);
    enter(CSE_GOODPUT_VALIDATION, 330);
    STEP(.end = 350, .computed = 345, .replicas = 2);
    EXPECT(VALIDATION, 360, 30);
}
END_TEST

/* What processes tell is not trusted: they may have overwritten it. */
START_TEST(any_sequence_adds_up)
{
    srandom((unsigned)_i + 1);
    const int64_t start_ns = random();
    int64_t now_ns = start_ns;
    cse_goodput_begin(&a, (cse_goodput_bin)(random() % CSE_GOODPUT_BINS), now_ns);
    for (int i = 0; i < 400; i++) {
        now_ns += random() % (5 * MS);
        const cse_goodput_step_times step = {
            .committed_ns = now_ns - random() % (9 * MS),
            .computed_ns = now_ns - random() % (9 * MS),
            .held_from_ns = random() % 4 ? 0 : now_ns - random() % (9 * MS),
            .held_until_ns = random() % 4 ? 0 : now_ns - random() % (9 * MS),
            .input_wait_ns = random() % (20 * MS) - MS,
            .exposed_ns = random() % (20 * MS) - MS,
            .replicas = (int)(random() % 5),
            .again = random() % 5 == 0,
        };
        switch (random() % 8) {
        case 0:
            cse_goodput_enter(&a, (cse_goodput_bin)(random() % CSE_GOODPUT_BINS), now_ns);
            break;
        case 1:
            cse_goodput_save(&a, random() % 2, now_ns);
            break;
        default:
            cse_goodput_step(&a, &step);
        }
        const cse_goodput until = cse_goodput_until(&a, now_ns);
        int64_t ms[CSE_GOODPUT_BINS], sum_ms = 0, sum_ns = 0;
        cse_goodput_milliseconds(&until, ms);
        for (int b = 0; b < CSE_GOODPUT_BINS; b++) {
            ck_assert(until.bin_ns[b] >= 0 && ms[b] >= 0);
            sum_ns += until.bin_ns[b];
            sum_ms += ms[b];
        }
        ck_assert_int_eq(sum_ns, now_ns - start_ns);
        ck_assert_int_eq(sum_ms, (now_ns - start_ns) / MS);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("goodput");
    TCase *cases = tcase_create("goodput");
    tcase_add_test(cases, a_step_is_computing_and_then_updating);
    tcase_add_test(cases, waits_are_part_of_the_time_before_the_sums_are_complete);
    tcase_add_test(cases, steps_that_are_held_wait_for_the_save_or_the_coordinator);
    tcase_add_test(cases, what_lies_within_a_save_is_saving);
    tcase_add_test(cases, a_pause_begins_with_the_step_that_was_waited_for);
    tcase_add_test(cases, waits_before_the_steps_are_none_of_theirs);
    tcase_add_test(cases, a_recovery_takes_what_is_done_in_it_and_what_is_done_again);
    tcase_add_loop_test(cases, any_sequence_adds_up, 0, 200);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
