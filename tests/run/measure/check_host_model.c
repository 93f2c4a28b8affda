/* The model of several hosts against cases that are computed by hand, in the comments. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "run/measure/host_model.h"

/* A piece has 2 * 4,000,000 + 4 * 500,000 = 10,000,000 bytes. */
static const cse_host_profile profile = { .microbatches = 64,
                                          .micro_batch_size = 8,
                                          .microbatch_s = 0.1,
                                          .update_s = 0.2,
                                          .save_s = 0.5,
                                          .save_steps = 10,
                                          .rounded_elements = 4000000,
                                          .exact_elements = 500000,
                                          .arena_bytes = 100000000,
                                          .partial_sum_bytes = 18000000,
                                          .process_bytes = 30000000 };

static cse_host_plan plan(int hosts, int replicas, double bytes_per_s, double failure_s)
{
    cse_host_plan made;
    const cse_host_plan_options options = { .hosts = hosts,
                                            .replicas = replicas,
                                            .bytes_per_s = bytes_per_s,
                                            .failure_s = failure_s,
                                            .lease_s = 10 };
    cse_host_plan_make(&profile, &options, &made);
    return made;
}

static void equal(double a, double b)
{
    ck_assert_double_eq_tol(a, b, 1e-9 * fabs(b));
}

/* 64 * 0.1 s, nothing sent, 0.2 s of update: 6.6 s a step. A save pauses 0.5 s of 66 s. One piece,
 * the whole tree. 512 samples a step. */
START_TEST(test_one_host)
{
    const cse_host_plan p = plan(1, 1, 1e6, 0);
    equal(cse_host_piece_bytes(&profile), 1e7);
    equal(p.compute_s, 6.4);
    ck_assert_double_eq(p.exposed_s, 0);
    equal(p.step_s, 6.6);
    ck_assert_int_eq(p.pieces, 1);
    ck_assert_double_eq(p.bytes_up, 0);
    ck_assert_double_eq(p.bytes_down, 0);
    equal(p.memory_bytes, 100e6 + 30e6 + 18e6);
    equal(p.goodput, 66 / 66.5);
    equal(p.samples_per_s, 512 / 6.65);
    equal(p.host_hours, 6.65 / 512 * 1e6 / 3600);
    /* A failure costs 5 + 1 steps, 39.6 s of each 1000 s. */
    equal(plan(1, 1, 1e6, 1000).goodput, 66 / 66.5 / 1.0396);
}
END_TEST

/* Four hosts with a node of 16 each; of a piece 3/4 go to the 3 others, and as much again of what
 * is joined: 15 MB at 100 MB/s are 0.15 s, all of it behind the last microbatch. As much arrives. A
 * failure costs 10 s + 1.95 s. */
START_TEST(test_four_hosts)
{
    const cse_host_plan p = plan(4, 1, 100e6, 36000);
    equal(p.compute_s, 1.6);
    equal(p.exposed_s, 0.15);
    equal(p.step_s, 1.95);
    ck_assert_int_eq(p.pieces, 4);
    ck_assert_int_eq(p.largest_share, 16);
    equal(p.bytes_up, 1.5e7);
    equal(p.bytes_down, 1.5e7);
    equal(p.memory_bytes, 100e6 + 30e6 + (3 + 1) * 18e6);
    equal(p.goodput, 19.5 / 20 / (1 + 4 / 36000. * 11.95));
    equal(p.host_hours, 4 / (512 / 1.95 * p.goodput) * 1e6 / 3600);
}
END_TEST

/* Three hosts, 2/3 of 10 MB a piece and as much of what is joined. At 2 GB/s (1/300 s each) the
 * least time has 22 microbatches on the largest share, and its last piece and the joined shard are
 * exposed: the pieces before it have a microbatch of time, 0.1 s, at least. At 10 MB/s (2/3 s each)
 * shares of 16, 24 and 24 make 1 + 2 + 2 pieces: the last one is complete at 2.4 s, when the one
 * before it is sent. Up: 3 * 2/3 of a piece; down, at the first host: (4 + 2) / 3. */
START_TEST(test_three_hosts)
{
    cse_host_plan p = plan(3, 1, 2e9, 0);
    equal(p.compute_s, 2.2);
    equal(p.exposed_s, 0.02 / 3);
    p = plan(3, 1, 10e6, 0);
    ck_assert_int_eq(p.pieces, 5);
    ck_assert_int_eq(p.working_hosts, 3);
    equal(p.compute_s, 2.4);
    equal(p.exposed_s, 4. / 3);
    equal(p.bytes_up, 2e7);
    equal(p.bytes_down, 2e7);
    /* At 1 MB/s (20/3 s each) one piece a host: 32, 16 and 16 microbatches. The planner alone would
     * leave one idle, where the pieces go whole: 3.2 s and 20 s. */
    p = plan(3, 1, 1e6, 0);
    ck_assert_int_eq(p.pieces, 3);
    equal(p.compute_s, 3.2);
    equal(p.exposed_s, 40. / 3);
}
END_TEST

/* Two hosts with 3 replicas: ceil(32 / 3) = 11 microbatches, 1.1 s; one piece of 10 MB at 10 MB/s;
 * a third of the update. A host has the other's piece and the nodes of shares of 10, 11, 11:
 * [0, 10) are 8 + 2; [10, 21) are 2 + 4 + 4 + 1; [21, 32) are 1 + 2 + 8: nine. The other host's
 * [32, 64) is cut the same way. */
START_TEST(test_replicas)
{
    const cse_host_plan p = plan(2, 3, 10e6, 0);
    ck_assert_int_eq(p.cut.bounds[1], 32);
    equal(p.compute_s, 1.1);
    equal(p.exposed_s, 1);
    equal(p.step_s, 1.1 + 1 + 0.2 / 3);
    equal(p.memory_bytes, 100e6 + 3 * 30e6 + (1 + 9) * 18e6);
}
END_TEST

START_TEST(test_no_saves)
{
    cse_host_profile without = profile;
    without.save_steps = 0;
    cse_host_plan p;
    cse_host_plan_make(
        &without, &(cse_host_plan_options){ .hosts = 1, .replicas = 1, .bytes_per_s = 1e9 }, &p);
    ck_assert_double_eq(p.goodput, 1);
    cse_host_plan_make(
        &without,
        &(cse_host_plan_options){ .hosts = 1, .replicas = 1, .bytes_per_s = 1e9, .failure_s = 1e5 },
        &p);
    ck_assert_double_nan(p.goodput);
}
END_TEST

/* More hosts than microbatches: what is left is idle. */
START_TEST(test_idle_hosts)
{
    cse_host_profile few = profile;
    few.microbatches = 3;
    cse_host_plan p;
    cse_host_plan_make(
        &few, &(cse_host_plan_options){ .hosts = 64, .replicas = 1, .bytes_per_s = 1e12 }, &p);
    ck_assert_int_eq(p.working_hosts, 3);
    ck_assert_int_eq(p.pieces, 3);
    ck_assert_int_eq(p.largest_share, 1);
    equal(p.compute_s, 0.1);
}
END_TEST

/* Half of a gradient is final 0.06 s before the end of its microbatch, 7/16 0.01 s before it, the
 * last sixteenth at the end. At 100 MB/s a piece takes 0.1 s: it begins 0.06 s before the end, and
 * the link is never idle. So it is at 1 MB/s, where a piece takes 10 s. At 1 GB/s each part has
 * left when the next one is final: one sixteenth of 0.01 s is left. Four hosts send 3/4 of a piece
 * and of what is joined, 0.15 s. */
START_TEST(test_pieces_leave_while_they_are_computed)
{
    cse_host_profile early = profile;
    for (int part = 0; part < CSE_HOST_PIECE_PARTS; part++)
        early.early[part] = part < 8 ? 0.6 : part < 15 ? 0.1 : 0;
    const struct {
        int hosts;
        double bytes_per_s, exposed_s;
    } cases[] = {
        { 2, 100e6, 0.04 }, { 2, 1e6, 10 - 0.06 }, { 2, 1e9, 0.01 / 16 }, { 4, 100e6, 0.09 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cse_host_plan made, late;
        const cse_host_plan_options options = { .hosts = cases[i].hosts,
                                                .replicas = 1,
                                                .bytes_per_s = cases[i].bytes_per_s,
                                                .lease_s = 10 };
        cse_host_plan_make(&early, &options, &made);
        cse_host_plan_make(&profile, &options, &late);
        ck_assert_int_eq(made.pieces, cases[i].hosts);
        equal(made.exposed_s, cases[i].exposed_s);
        equal(made.step_s - made.exposed_s, late.step_s - late.exposed_s);
        equal(made.bytes_up, late.bytes_up);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host model");
    TCase *tests = tcase_create("host model");
    tcase_add_test(tests, test_one_host);
    tcase_add_test(tests, test_pieces_leave_while_they_are_computed);
    tcase_add_test(tests, test_four_hosts);
    tcase_add_test(tests, test_three_hosts);
    tcase_add_test(tests, test_replicas);
    tcase_add_test(tests, test_no_saves);
    tcase_add_test(tests, test_idle_hosts);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
