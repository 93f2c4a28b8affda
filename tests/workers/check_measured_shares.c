/* Shares by measured speeds: who is slow gets less, small differences change nothing, and equal
 * hosts that were not measured yet send few pieces. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "workers/group/measured_shares.h"

#define MS INT64_C(1000000)
enum { MICROBATCHES = 64 };

/* Hosts that compute a step one after the other in simulated time. */
typedef struct world {
    cse_measured_shares shares;
    cse_host_cut cut;
    cse_host_set present;
    int64_t now_ns, steps, microbatch_ns[CSE_MAX_HOSTS];
    cse_host_work work[CSE_MAX_HOSTS];
    int cuts;
} world;

static int share_of(const world *w, int host)
{
    return w->cut.bounds[host + 1] - w->cut.bounds[host];
}

static int pieces_of(const world *w)
{
    int pieces = 0;
    for (int h = 0; h < w->cut.host_count; h++)
        pieces += cse_host_cut_pieces(&w->cut, h);
    return pieces;
}

static void begin(world *w, int hosts, int64_t microbatch_ns)
{
    *w = (world){ .shares = { .host_count = hosts, .replicas = 1 }, .now_ns = 1 };
    for (int h = 0; h < hosts; h++) {
        cse_hosts_add(&w->present, h);
        w->microbatch_ns[h] = microbatch_ns;
    }
    cse_shares_plan(&w->shares, MICROBATCHES, &w->present, &w->cut);
}

/* What is sent takes `link_ns` after the slowest host has computed. */
static void run(world *w, int64_t for_ns, int64_t link_ns)
{
    for (const int64_t end_ns = w->now_ns + for_ns; w->now_ns < end_ns;) {
        int64_t slowest_ns = 1;
        for (int h = 0; h < w->cut.host_count; h++)
            if (share_of(w, h) * w->microbatch_ns[h] > slowest_ns)
                slowest_ns = share_of(w, h) * w->microbatch_ns[h];
        for (int h = 0; h < w->cut.host_count; h++) {
            const int64_t own_ns = share_of(w, h) * w->microbatch_ns[h];
            w->work[h].microbatches += share_of(w, h);
            w->work[h].compute_ns += own_ns;
            w->work[h].exposed_ns += slowest_ns - own_ns + link_ns;
        }
        w->now_ns += slowest_ns + link_ns;
        w->steps++;
        for (int h = 0; h < w->cut.host_count; h++)
            cse_shares_note(&w->shares, h, 1, &w->work[h]);
        if (!cse_shares_want_cut(&w->shares, &w->cut, &w->present, w->steps, w->now_ns))
            continue;
        cse_shares_plan(&w->shares, MICROBATCHES, &w->present, &w->cut);
        w->cut.first_step = w->steps + 2;
        w->cuts++;
    }
}

START_TEST(equal_hosts_send_few_pieces)
{
    world w;
    begin(&w, 3, 10 * MS);
    ck_assert_int_eq(pieces_of(&w), 5);
    w.shares.even = true;
    cse_shares_plan(&w.shares, MICROBATCHES, &w.present, &w.cut);
    ck_assert_int_eq(pieces_of(&w), 11);
    begin(&w, 4, 10 * MS);
    run(&w, 60000 * MS, 3 * MS);
    ck_assert_int_eq(pieces_of(&w), 4);
    ck_assert_int_eq(w.cuts, 0);
}
END_TEST

START_TEST(a_slow_host_gets_less_and_later_its_share_again)
{
    world w;
    cse_text line = { 0 };
    const char *const names[] = { "a", "b", "c" };
    begin(&w, 3, 10 * MS);
    const cse_host_cut before = w.cut;
    w.microbatch_ns[2] = 40 * MS;
    run(&w, 10000 * MS, 0);
    ck_assert_int_ge(w.cuts, 1);
    ck_assert_int_le(w.cuts, 2);
    ck_assert_int_ge(share_of(&w, 2), 5);
    ck_assert_int_le(share_of(&w, 2), 8);
    cse_shares_tell(&w.shares, names, &before, &w.cut, &line);
    ck_assert_ptr_nonnull(strstr(line.data, "host c "));
    ck_assert_ptr_nonnull(strstr(line.data, "slow: 40 ms for one, others 10 ms"));
    cse_text_clear(&line);
    w.microbatch_ns[2] = 10 * MS;
    run(&w, 10000 * MS, 0);
    ck_assert_int_ge(share_of(&w, 2), 20);
}
END_TEST

/* Less than the gain that is worth a new cut; and speeds that change from window to window. */
START_TEST(noise_changes_nothing)
{
    world w;
    begin(&w, 4, 10 * MS);
    for (int i = 0; i < 100; i++) {
        w.microbatch_ns[i % 4] = (i & 4) != 0 ? 10 * MS : 10 * MS + MS / 2;
        run(&w, 700 * MS, MS);
    }
    ck_assert_int_eq(w.cuts, 0);
    for (int i = 0; i < 100; i++) {
        w.microbatch_ns[i % 4] = 14 * MS;
        run(&w, 400 * MS, MS);
        w.microbatch_ns[i % 4] = 10 * MS;
        run(&w, 3000 * MS, MS);
    }
    ck_assert_int_eq(w.cuts, 0);
}
END_TEST

/* So slow that it gets nothing; it is tried again, more and more seldom, until it is fast. */
START_TEST(a_host_without_a_share_is_tried_again)
{
    world w;
    begin(&w, 3, 10 * MS);
    w.microbatch_ns[1] = 400 * MS;
    run(&w, 50000 * MS, 0);
    ck_assert_int_eq(share_of(&w, 1), 0);
    const int cuts = w.cuts;
    run(&w, 10000000 * MS, 0);
    ck_assert_int_ge(w.cuts, cuts + 2);
    ck_assert_int_le(w.cuts, cuts + 40);
    w.microbatch_ns[1] = 10 * MS;
    run(&w, 1500000 * MS, 0);
    ck_assert_int_ge(share_of(&w, 1), 20);
}
END_TEST

/* Only hosts that are there get microbatches, and a slow link takes nobody out. */
START_TEST(a_link_takes_no_host_out)
{
    world w;
    begin(&w, 5, MS);
    cse_hosts_remove(&w.present, 1);
    cse_shares_plan(&w.shares, MICROBATCHES, &w.present, &w.cut);
    ck_assert_int_eq(share_of(&w, 1), 0);
    ck_assert_int_eq(pieces_of(&w), 4);
    run(&w, 60000 * MS, 1000 * MS);
    for (int h = 0; h < 5; h++)
        ck_assert_int_eq(share_of(&w, h) > 0, h != 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("measured shares");
    TCase *tcase = tcase_create("measured shares");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, equal_hosts_send_few_pieces);
    tcase_add_test(tcase, a_slow_host_gets_less_and_later_its_share_again);
    tcase_add_test(tcase, noise_changes_nothing);
    tcase_add_test(tcase, a_host_without_a_share_is_tried_again);
    tcase_add_test(tcase, a_link_takes_no_host_out);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
