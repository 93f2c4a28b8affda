/* States that are cut over hosts: the bits of one process alone, whoever dies; each host has its
 * part and what all read, and touches nothing else; a host that is lost is no loss where each part
 * is on two; and the leading host gets all of them at the end. The hosts are those of
 * host_play.h. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/host_play.h"
#include "workers/arena/state_gather.h"
#include "workers/arena/state_ranges.h"

static play_case random_cut(uint64_t seed)
{
    play_case test = play_random_case(seed);
    test.large = seed % 3 == 0 ? 90000 : 40000; /* three chunks, or two: some hosts have none */
    test.steps = 3 + (int)(seed % 3);
    test.copies = 1 + (int)(seed / 2 % 2);
    return test;
}

START_TEST(test_each_host_has_one_run_of_chunks)
{
    for (int hosts = 1; hosts <= 7; hosts++)
        for (int chunks = 1; chunks < 40; chunks++) {
            cse_host_set set = { { 0 } };
            int counts[64] = { 0 }, before = -1;
            for (int h = 0; h < hosts; h++)
                cse_hosts_add(&set, 3 * h + 1);
            for (int c = 0; c < chunks; c++) {
                const int owner = cse_state_owner(&set, chunks, c, 0);
                const int second = cse_state_owner(&set, chunks, c, 1);
                ck_assert(cse_hosts_have(&set, owner) && cse_hosts_have(&set, second));
                ck_assert_int_ge(owner, before);
                ck_assert(hosts == 1 || second != owner);
                before = owner;
                counts[owner]++;
            }
            for (int h = 0; h < hosts; h++) {
                ck_assert_int_ge(counts[3 * h + 1], chunks / hosts);
                ck_assert_int_le(counts[3 * h + 1], (chunks + hosts - 1) / hosts);
            }
        }
}
END_TEST

START_TEST(test_without_faults)
{
    for (uint64_t seed = 1; seed <= play_seeds(8); seed++) {
        const play_case test = random_cut(seed);
        ck_assert_int_eq(play_run(&test, &(faults){ .percent = 0, .point = -1 }, seed), 0);
    }
}
END_TEST

START_TEST(test_deaths_and_breaks)
{
    long deaths = 0;
    /* Fewer seeds, as with sanitizers, may have too few. */
    for (uint64_t seed = 1; seed <= play_seeds(8) || (deaths <= 20 && seed <= 12); seed++) {
        const play_case test = random_cut(seed);
        deaths += play_run(&test, &(faults){ .percent = 5, .point = -1, .breaks = 2000 }, seed);
    }
    ck_assert_int_gt(deaths, 20);
}
END_TEST

START_TEST(test_deaths_at_each_point)
{
    for (int point = CSE_FAILPOINT_STATES_SENT; point <= CSE_FAILPOINT_STATES_UNPUBLISHED;
         point++) {
        long deaths = 0;
        /* A case of few hosts or chunks may not come by the point. */
        for (uint64_t seed = 1; seed <= play_seeds(3) || (deaths == 0 && seed <= 12); seed++) {
            const play_case test = random_cut(seed);
            deaths += play_run(&test, &(faults){ .percent = 100, .point = point }, seed);
        }
        ck_assert_msg(deaths > 0, "no death at point %d", point);
    }
}
END_TEST

/* One host: with its second owner each part is there. */
START_TEST(test_a_lost_host_with_two_copies)
{
    for (uint64_t i = 1; i <= play_seeds(12); i++) {
        /* With seed 22 a host that learnt of the loss late once dropped what came in its place. */
        const uint64_t seed = i == 1 ? 22 : i;
        play_case test = random_cut(seed);
        test.copies = 2;
        test.steps = 10;
        play_run(&test,
                 &(faults){ .percent = seed % 3 == 0 ? 3 : 0,
                            .point = -1,
                            .breaks = seed % 2 ? 2500 : 0,
                            .losses = 1 },
                 seed);
    }
}
END_TEST

/* With momentum, half of what an update assigns is read by it alone. */
static void expect_parts(const play *self)
{
    const play_case *test = self->test;
    for (int h = 0; h < test->hosts; h++) {
        const cse_cluster *cluster = self->hosts[h].cluster;
        int64_t states = 0, own = 0;
        for (int c = 0; c < cluster->head->update_chunks; c++) {
            const int64_t bytes = cse_chunk_bytes(cluster, c, CSE_STATES_SHARED);
            states += bytes;
            own += cse_chunk_is_kept(cluster, c) ? bytes : 0;
            ck_assert_int_eq(cse_chunk_bytes(cluster, c, CSE_STATES_OWN), bytes);
        }
        ck_assert_int_eq(states, 4 * (int64_t)(test->large + 100));
        ck_assert(test->hosts == 1 || own < states);
    }
}

START_TEST(test_parts_are_parts)
{
    const play_case test = { .microbatches = 4,
                             .hosts = 3,
                             .replicas = 1,
                             .payload = fake_payloads[0],
                             .steps = 2,
                             .large = 200000,
                             .copies = 1 };
    play_run(&test, &(faults){ .percent = 0, .point = -1, .expect = expect_parts }, 3);
}
END_TEST

/* Movers stay for what the leading host wants of the last states. */
static void expect_gathered(const play *self)
{
    const play_case *test = self->test;
    cse_cluster *leading = self->hosts[0].cluster;
    const size_t bytes = (size_t)leading->head->state_bytes;
    const int64_t steps[] = { 0, test->steps };
    float fetched[MOST_STEPS][FAKE_FETCHES];
    unsigned char *expected = fake_step_states(self->step);
    bool whole = false;
    fake_step_reference(self->step, test->payload, steps, expected, fetched);
    for (int h = 1; h < test->hosts; h++) {
        bool over = true;
        ck_assert_int_eq(cse_cluster_gather(self->hosts[h].cluster, test->steps, true, &over),
                         CSE_OK);
        ck_assert_msg(!over, "host %d leaves before its part was asked for", h);
    }
    for (int turns = 0; !whole && turns < 100000; turns++) {
        ck_assert_int_ne(cse_mover_once(self->hosts[turns % test->hosts].mover, 0), CSE_WORK_ENDED);
        ck_assert_int_eq(cse_cluster_gather(leading, test->steps, true, &whole), CSE_OK);
    }
    ck_assert(whole);
    ck_assert(memcmp(cse_cluster_states_view(leading), expected, bytes) == 0);
    bool over = false;
    for (int turns = 0; !over && turns < 100000; turns++) {
        cse_mover_once(self->hosts[turns % test->hosts].mover, 0);
        cse_cluster_gather(self->hosts[1].cluster, test->steps, true, &over);
    }
    ck_assert_msg(over, "another host is not told that it may leave");
    free(expected);
}

static play_case random_gradients(uint64_t seed)
{
    play_case test = random_cut(seed);
    test.large = 40000;
    test.cuts_gradients = true;
    test.unclipped = seed / 4 % 2 == 0;
    return test;
}

START_TEST(test_gradients_are_cut)
{
    for (uint64_t seed = 1; seed <= play_seeds(8); seed++) {
        const play_case test = random_gradients(seed);
        play_run(&test, &(faults){ .percent = seed % 2 ? 5 : 0, .point = -1, .breaks = 2000 },
                 seed);
    }
}
END_TEST

START_TEST(test_gradients_of_a_lost_host)
{
    for (uint64_t seed = 1; seed <= play_seeds(6); seed++) {
        play_case test = random_gradients(seed);
        test.copies = 2;
        test.steps = 10;
        play_run(&test,
                 &(faults){ .percent = seed % 3 == 0 ? 3 : 0,
                            .point = -1,
                            .breaks = seed % 2 ? 2500 : 0,
                            .losses = 1 },
                 seed);
    }
}
END_TEST

/* Of what other hosts have made, there is the own part: what was sent, beside the 0xa5 of before,
 * and as many bytes on the way as three hosts with a third each need. */
static void expect_parts_of_sums(const play *self)
{
    const play_case *test = self->test;
    for (int h = 0; h < test->hosts; h++) {
        const cse_cluster *cluster = self->hosts[h].cluster;
        const cse_arena_head *head = cluster->head;
        const cse_host_cut *cut = cse_arena_cut(cluster, 0);
        ck_assert_int_eq(head->gradient_cut, CSE_GRADIENTS_BY_PARTS);
        for (int m = 0; m < test->microbatches; m++) {
            const float *sum = (const float *)(const void *)cse_arena_partial_sum(cluster, m);
            const int64_t all = head->gradient_bytes / 4;
            int64_t here = 0;
            for (int64_t i = 0; i < all; i++)
                here += memcmp(&sum[i], "\xa5\xa5\xa5\xa5", 4) != 0;
            if (m >= cut->bounds[h] && m < cut->bounds[h + 1])
                ck_assert_int_gt(here, all * 9 / 10);
            else
                ck_assert_msg(here > all / 4 && here < all * 2 / 5,
                              "host %d has %lld of %lld of "
                              "microbatch %d",
                              h, (long long)here, (long long)all, m);
        }
    }
}

START_TEST(test_parts_of_sums_are_parts)
{
    const play_case test = { .microbatches = 3,
                             .hosts = 3,
                             .replicas = 1,
                             .payload = fake_payloads[0],
                             .steps = 2,
                             .large = 400000,
                             .copies = 1,
                             .cuts_gradients = true,
                             .unclipped = true };
    play_run(&test, &(faults){ .percent = 0, .point = -1, .expect = expect_parts_of_sums }, 3);
}
END_TEST

START_TEST(test_the_leading_host_gets_all_parts)
{
    for (uint64_t seed = 1; seed <= play_seeds(6); seed++) {
        const play_case test = random_cut(seed);
        play_run(&test, &(faults){ .percent = 0, .point = -1, .expect = expect_gathered }, seed);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("state_cut");
    TCase *tests = tcase_create("hosts");
    tcase_add_test(tests, test_each_host_has_one_run_of_chunks);
    tcase_add_test(tests, test_without_faults);
    tcase_add_test(tests, test_deaths_and_breaks);
    tcase_add_test(tests, test_deaths_at_each_point);
    tcase_add_test(tests, test_a_lost_host_with_two_copies);
    tcase_add_test(tests, test_parts_are_parts);
    tcase_add_test(tests, test_gradients_are_cut);
    tcase_add_test(tests, test_gradients_of_a_lost_host);
    tcase_add_test(tests, test_parts_of_sums_are_parts);
    tcase_add_test(tests, test_the_leading_host_gets_all_parts);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
