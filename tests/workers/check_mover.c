/* The sums of several hosts: the bits of one process alone, whoever dies or is lost, and no byte
 * more than the formula. The hosts are those of host_play.h. */
#include <check.h>

#include "tests/support/host_play.h"
#include "workers/arena/piece.h"
#include "workers/arena/shards.h"

static int64_t shard_bytes(const cse_cluster *cluster, const cse_host_set *owners, int owner)
{
    const cse_stripes shard = cse_shard_of(owners, owner, cluster->head->gradient_bytes / 4);
    int64_t stripe[2], bytes = 0;
    for (int round = 0; round < shard.rounds; round++) {
        cse_stripe_of(&shard, round, stripe);
        bytes += play_wire_bytes(cluster, stripe);
    }
    return bytes;
}

/* What a host must send in a step: with two hosts its pieces, with more of each piece the shards of
 * the others, and its own joined shard to each of them. */
static int64_t formula(const cse_cluster *cluster, int hosts, int self, int pieces)
{
    const int64_t elements = cluster->head->gradient_bytes / 4;
    const cse_host_set owners = cse_hosts_first(hosts);
    int64_t bytes = 0;
    if (hosts == 2)
        return pieces * play_wire_bytes(cluster, (const int64_t[]){ 0, elements });
    const int64_t own = shard_bytes(cluster, &owners, self);
    for (int h = 0; h < hosts; h++)
        if (h != self)
            bytes += pieces * shard_bytes(cluster, &owners, h) + own;
    return bytes;
}

static void expect_traffic(const play *self)
{
    const play_case *test = self->test;
    cse_tree_node nodes[128];
    cse_host_cut cut;
    const cse_host_set all = cse_hosts_first(test->hosts);
    cse_host_cut_even(test->microbatches, test->hosts, &all, &cut);
    for (int h = 0; h < test->hosts; h++) {
        const cse_cluster *cluster = self->hosts[h].cluster;
        const int pieces =
            cse_tree_cover(test->microbatches, cut.bounds[h], cut.bounds[h + 1], nodes);
        int64_t sent = 0;
        for (int other = 0; other < test->hosts; other++) {
            const cse_host_link_counts counts = memory_link_counts(h, other);
            sent += counts.bytes_sent - CSE_PIECE_HEAD_BYTES * counts.frames_sent;
        }
        ck_assert_int_eq(sent, test->steps * formula(cluster, test->hosts, h, pieces));
    }
}

/* Without faults nothing is sent twice, and nothing that nobody needs. */
START_TEST(test_bytes_equal_the_formula)
{
    static const int counts[] = { 2, 3, 4, 5 };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (int payload = 0; payload < FAKE_PAYLOADS; payload++) {
            const play_case test = { .microbatches = 16,
                                     .hosts = counts[i],
                                     .replicas = 2,
                                     .payload = fake_payloads[payload],
                                     .steps = 4,
                                     .large = 9000 };
            play_run(&test, &(faults){ .percent = 0, .point = -1, .expect = expect_traffic }, 5);
        }
}
END_TEST

/* A frame that is refused is lost: what it said is known when the other host's coordinator says it,
 * which takes far longer than a step. */
static void expect_no_refusal(const play *self)
{
    for (int h = 0; h < self->test->hosts; h++)
        for (int other = 0; other < self->test->hosts; other++)
            ck_assert_int_eq(atomic_load(&self->hosts[h].cluster->hosts->hosts[other].refused), 0);
}

/* Hosts without microbatches among them, which have nothing to wait for but the others' steps. */
START_TEST(test_nothing_is_refused_without_faults)
{
    for (uint64_t seed = 1; seed <= play_seeds(20); seed++) {
        const play_case test = { .microbatches = 2 + (int)(seed % 4),
                                 .hosts = 2 + (int)(seed % 5),
                                 .replicas = 1,
                                 .payload = fake_payloads[0],
                                 .steps = 12,
                                 .large = 1500 };
        play_run(&test, &(faults){ .percent = 0, .point = -1, .expect = expect_no_refusal }, seed);
    }
}
END_TEST

START_TEST(test_hosts_alone)
{
    for (uint64_t seed = 1; seed <= play_seeds(60); seed++) {
        const play_case test = play_random_case(seed);
        ck_assert_int_eq(play_run(&test, &(faults){ .percent = 0, .point = -1 }, seed), 0);
    }
    ck_assert_int_gt(memory_link_delivered(), 0);
}
END_TEST

START_TEST(test_deaths_and_breaks)
{
    long deaths = 0;
    for (uint64_t seed = 1; seed <= play_seeds(60); seed++) {
        const play_case test = play_random_case(seed);
        deaths += play_run(&test, &(faults){ .percent = 5, .point = -1, .breaks = 700 }, seed);
    }
    ck_assert_int_gt(deaths, 20);
}
END_TEST

START_TEST(test_deaths_at_each_point_of_a_mover)
{
    for (int point = CSE_FAILPOINT_PIECE_SENT; point <= CSE_FAILPOINT_PIECES_SENT; point++) {
        long deaths = 0;
        for (uint64_t seed = 1; seed <= play_seeds(12); seed++) {
            const play_case test = play_random_case(seed);
            deaths += play_run(
                &test,
                &(faults){ .percent = point == CSE_FAILPOINT_PIECE_SENT ? 5 : 100, .point = point },
                seed);
        }
        ck_assert_msg(deaths > 0, "no death at point %d", point);
    }
}
END_TEST

START_TEST(test_lost_hosts)
{
    const uint64_t count = play_seeds(80);
    for (uint64_t i = 1; i <= count + 1; i++) {
        /* With seed 431 a host that had no microbatches once ran two steps ahead of another one. */
        const uint64_t seed = i <= count ? i : 431;
        play_case test = play_random_case(seed);
        test.steps = 12;
        const int losses = 1 + (int)(seed % 2) * (test.hosts > 2);
        play_run(&test,
                 &(faults){ .percent = seed % 3 == 0 ? 3 : 0,
                            .point = -1,
                            .breaks = seed % 2 ? 900 : 0,
                            .losses = losses },
                 seed);
    }
}
END_TEST

/* What is final of a node is sent while the rest is computed; whoever computes it may die then. */
START_TEST(test_frames_leave_before_their_node_is_done)
{
    const long before = play_sent_early;
    const int point = CSE_FAILPOINT_GRADIENT_PART;
    long deaths = 0;
    for (uint64_t seed = 1; seed <= play_seeds(24); seed++) {
        const play_case test = play_random_case(seed);
        deaths += play_run(&test, &(faults){ .percent = 60, .point = point }, seed);
    }
    ck_assert_int_gt(play_sent_early - before, 100);
    ck_assert_int_gt(deaths, 20);
}
END_TEST

/* More hosts than a word of a set has bits, some of them without microbatches or without data. */
static play_case case_of_many(uint64_t seed)
{
    const int hosts = seed % 4 == 1 ? MOST_HOSTS : 17 + (int)(seed * 13 % 49);
    return (play_case){ .microbatches = 24 + (int)(seed * 11 % 60),
                        .hosts = hosts,
                        .replicas = 1,
                        .payload = fake_payloads[seed % FAKE_PAYLOADS],
                        .steps = 2,
                        .large = 1000,
                        .with_data = seed % 3 == 0 ? 1 + hosts / 4 : 0 };
}

START_TEST(test_many_hosts)
{
    for (uint64_t seed = 1; seed <= play_seeds(5); seed++) {
        const play_case test = case_of_many(seed);
        play_run(&test,
                 &(faults){ .percent = seed % 2 == 0 ? 2 : 0,
                            .point = -1,
                            .breaks = seed % 2 ? 2000 : 0,
                            .losses = 1 + (int)(seed % 3) },
                 seed);
    }
}
END_TEST

START_TEST(test_bytes_of_many_hosts_equal_the_formula)
{
    for (int payload = 0; payload < 2; payload++) {
        const play_case test = { .microbatches = MOST_HOSTS + 14,
                                 .hosts = MOST_HOSTS,
                                 .replicas = 1,
                                 .payload = fake_payloads[payload],
                                 .steps = 1,
                                 .large = 90000 };
        play_run(&test, &(faults){ .percent = 0, .point = -1, .expect = expect_traffic }, 7);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mover");
    TCase *tests = tcase_create("hosts");
    tcase_add_test(tests, test_bytes_equal_the_formula);
    tcase_add_test(tests, test_nothing_is_refused_without_faults);
    tcase_add_test(tests, test_hosts_alone);
    tcase_add_test(tests, test_deaths_and_breaks);
    tcase_add_test(tests, test_deaths_at_each_point_of_a_mover);
    tcase_add_test(tests, test_lost_hosts);
    tcase_add_test(tests, test_frames_leave_before_their_node_is_done);
    tcase_add_test(tests, test_many_hosts);
    tcase_add_test(tests, test_bytes_of_many_hosts_equal_the_formula);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
