/* Hosts without data: what they get of others, whoever dies or is lost, and what neither side takes
 * from a stranger. The hosts are those of host_play.h. */
#include <check.h>
#include <string.h>

#include "tests/support/host_play.h"
#include "workers/arena/arena_hosts.h"
#include "workers/arena/piece.h"

/* Microbatches of 192 bytes, in one frame or in three. */
static play_case case_without_data(uint64_t seed)
{
    play_case test = play_random_case(seed);
    test.with_data = 1 + (int)(seed / 5 % (uint64_t)(test.hosts - 1));
    test.frame_bytes = seed % 2 == 0 ? 64 : 0;
    return test;
}

static void expect_none_refused(const play *self)
{
    for (int h = 0; h < self->test->hosts; h++)
        for (int other = 0; other < self->test->hosts; other++)
            ck_assert_int_eq(atomic_load(&self->hosts[h].cluster->hosts->hosts[other].refused), 0);
}

START_TEST(test_hosts_without_data)
{
    for (uint64_t seed = 1; seed <= play_seeds(60); seed++) {
        const play_case test = case_without_data(seed);
        ck_assert_int_eq(play_run(&test, &(faults){ .percent = 0, .point = -1 }, seed), 0);
    }
}
END_TEST

/* What a host without data gets is what it computes, no more: each microbatch once. */
static void expect_input_traffic(const play *self)
{
    const cse_host_link_counts sent = memory_link_counts(1, 0);
    const int64_t input = fake_step_graph(self->step)->space_bytes[CSE_SPACE_INPUT];
    const int64_t elements = self->hosts[0].cluster->head->gradient_bytes / 4;
    const int64_t piece = play_wire_bytes(self->hosts[0].cluster, (const int64_t[]){ 0, elements });
    ck_assert_int_eq(sent.bytes_sent - CSE_PIECE_HEAD_BYTES * sent.frames_sent,
                     self->test->steps * (piece + self->test->microbatches / 2 * input));
    expect_none_refused(self);
}

START_TEST(test_bytes_of_input_equal_the_formula)
{
    const play_case test = { .microbatches = 16,
                             .hosts = 2,
                             .replicas = 2,
                             .payload = fake_payloads[0],
                             .steps = 6,
                             .large = 2000,
                             .with_data = 1,
                             .frame_bytes = 64 };
    play_run(&test, &(faults){ .percent = 0, .point = -1, .expect = expect_input_traffic }, 9);
}
END_TEST

START_TEST(test_deaths_and_breaks_without_data)
{
    long deaths = 0;
    for (uint64_t seed = 1; seed <= play_seeds(60); seed++) {
        const play_case test = case_without_data(seed);
        deaths += play_run(&test, &(faults){ .percent = 5, .point = -1, .breaks = 700 }, seed);
    }
    ck_assert_int_gt(deaths, 20);
}
END_TEST

START_TEST(test_deaths_at_each_point_of_input)
{
    static const int points[] = { CSE_FAILPOINT_FILL_CLAIMED, CSE_FAILPOINT_FILL_UNPUBLISHED,
                                  CSE_FAILPOINT_INPUT_ASKED, CSE_FAILPOINT_INPUT_SENT,
                                  CSE_FAILPOINT_INPUT_UNPUBLISHED };
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        long deaths = 0;
        for (uint64_t seed = 1; seed <= play_seeds(32); seed++) {
            const play_case test = case_without_data(seed);
            deaths += play_run(&test, &(faults){ .percent = 40, .point = points[i] }, seed);
        }
        ck_assert_msg(deaths > 0, "no death at point %d", points[i]);
    }
}
END_TEST

START_TEST(test_lost_hosts_without_data)
{
    for (uint64_t seed = 1; seed <= play_seeds(120); seed++) {
        play_case test = case_without_data(seed);
        test.steps = 12;
        play_run(&test,
                 &(faults){ .percent = seed % 3 == 0 ? 3 : 0,
                            .point = -1,
                            .breaks = seed % 2 ? 900 : 0,
                            .losses = 1 + (int)(seed % 2) * (test.hosts > 2) },
                 seed);
    }
}
END_TEST

/* One of two hosts, played by the test itself. */
typedef struct stranger {
    play play;
    cse_host_link_state *link;
    int self, other;
} stranger;

static const play_case two_hosts = { .microbatches = 4,
                                     .hosts = 2,
                                     .replicas = 1,
                                     .steps = 12,
                                     .large = 500,
                                     .with_data = 1,
                                     .frame_bytes = 64 };

/* Without the replicas of the other one: it stays in step 0. */
static void turn_other(stranger *s, int turns)
{
    host *place = &s->play.hosts[s->other];
    cse_host_link_event event;
    for (int i = 0; i < turns; i++) {
        ck_assert_int_ne(cse_mover_once(place->mover, 0), CSE_WORK_FAILED);
        for (int slot = 0; slot < place->count; slot++)
            if (cse_cluster_slot_kind(place->cluster, slot) == CSE_ROLE_INPUT)
                cse_work_once(place->works[slot]);
        ck_assert_int_eq(memory_link.next(s->link, 0, &event), CSE_OK);
    }
}

static stranger *stranger_open(int self)
{
    static stranger s;
    s = (stranger){ .self = self, .other = 1 - self };
    play_open(&s.play, &two_hosts, 3);
    memory_link_reset(2, 4, 16);
    cse_mover_destroy(&s.play.hosts[self].mover);
    const cse_host_link_options options = { .host = self, .host_count = 2, .session = 5 };
    ck_assert_int_eq(memory_link.open(&options, &s.link), CSE_OK);
    turn_other(&s, 20);
    ck_assert(s.play.hosts[s.other].mover != NULL);
    return &s;
}

static void stranger_close(stranger *s)
{
    memory_link.close(&s->link);
    play_close(&s->play);
}

static int64_t refused(const stranger *s)
{
    return atomic_load(&s->play.hosts[s->other].cluster->hosts->hosts[s->self].refused);
}

/* Sends one frame, and says how many are refused of it. */
static int64_t refused_of(stranger *s, const cse_piece_frame *frame, const void *payload,
                          size_t bytes)
{
    const int64_t before = refused(s);
    unsigned char head[CSE_PIECE_HEAD_BYTES];
    cse_piece_encode(frame, head);
    ck_assert_int_eq(memory_link.send(s->link, s->other, head, sizeof head, payload, bytes),
                     CSE_OK);
    turn_other(s, 20);
    return refused(s) - before;
}

/* A host with data believes nothing of who asks. */
START_TEST(test_strange_wishes)
{
    stranger *s = stranger_open(0);
    const cse_cluster *cluster = s->play.hosts[1].cluster;
    const int64_t bytes = cluster->head->input_bytes, laps = cluster->head->ring_count / 4;
    const struct {
        int32_t node;
        int64_t step, first, count, refused;
        size_t payload;
    } wishes[] = {
        { 0, 0, 0, bytes, 0, 0 },
        { 4, 0, 0, bytes, 1, 0 },
        { INT32_MAX, 0, 0, bytes, 1, 0 },
        { 0, INT64_MAX, 0, bytes, 1, 0 },
        { 0, 12, 0, bytes, 1, 0 },
        { 0, 9, 0, bytes, 1, 0 },
        { 1, 0, 0, bytes + 1, 1, 0 },
        { 1, 0, 0, bytes - 1, 1, 0 },
        { 1, 0, 0, 0, 1, 0 },
        { 1, 0, 0, bytes, 1, 8 },
        { 1, 0, 0, bytes, 0, 0 },
    };
    ck_assert_int_eq(laps, 8);
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
        ck_assert_msg(refused_of(s,
                                 &(cse_piece_frame){ .kind = CSE_PIECE_ASK,
                                                     .node = wishes[i].node,
                                                     .step = wishes[i].step,
                                                     .first = wishes[i].first,
                                                     .count = wishes[i].count },
                                 "strangers", wishes[i].payload) == wishes[i].refused,
                      "wish %zu", i);
    /* Of the step after those that the ring has places for: they are kept, as many as that. */
    const cse_piece_frame wish = { .kind = CSE_PIECE_ASK, .node = 2, .count = bytes, .step = 8 };
    int64_t more = 0;
    for (int i = 0; i < 2 * cluster->head->ring_count; i++)
        more += refused_of(s, &wish, NULL, 0);
    ck_assert_int_eq(more, cluster->head->ring_count);
    /* A host with data is never sent any. */
    ck_assert_int_eq(
        refused_of(s, &(cse_piece_frame){ .kind = CSE_PIECE_INPUT, .count = 8 }, "stranger", 8), 1);
    stranger_close(s);
}
END_TEST

/* A host without data takes what it has asked for, in its order, and nothing else. */
START_TEST(test_strange_input)
{
    stranger *s = stranger_open(1);
    cse_cluster *cluster = s->play.hosts[0].cluster;
    const int64_t bytes = cluster->head->input_bytes;
    unsigned char content[512], *place = cse_arena_input(cluster, 0);
    memset(content, 7, sizeof content);
    cse_piece_frame frame = { .kind = CSE_PIECE_INPUT, .count = 64 };
    memory_link_counts(0, 1);
    ck_assert_int_eq(refused(s), 0);
    frame.node = 3; /* of this host: the other one has not asked */
    ck_assert_int_eq(refused_of(s, &frame, content, 64), 1);
    frame.node = 4;
    ck_assert_int_eq(refused_of(s, &frame, content, 64), 1);
    frame.node = 0;
    frame.step = INT64_MAX;
    ck_assert_int_eq(refused_of(s, &frame, content, 64), 1);
    frame.step = 0;
    frame.first = 64; /* not the beginning */
    ck_assert_int_eq(refused_of(s, &frame, content, 64), 1);
    frame.first = 0;
    ck_assert_int_eq(refused_of(s, &frame, content, 63), 1);
    frame.count = 0;
    ck_assert_int_eq(refused_of(s, &frame, content, 0), 1);
    frame.count = bytes + 8;
    ck_assert_int_eq(refused_of(s, &frame, content, (size_t)bytes + 8), 1);
    ck_assert(!cse_ring_ready(cluster, 0));
    frame.count = 64;
    for (frame.first = 0; frame.first < bytes; frame.first += 64) {
        ck_assert(!cse_ring_ready(cluster, 0));
        ck_assert_int_eq(refused_of(s, &frame, content, 64), 0);
    }
    ck_assert(cse_ring_ready(cluster, 0));
    ck_assert_int_eq(memcmp(place, content, (size_t)bytes), 0);
    frame.first = 0; /* once more: it is not asked for any longer */
    memset(content, 8, sizeof content);
    ck_assert_int_eq(refused_of(s, &frame, content, 64), 1);
    ck_assert_int_eq(place[0], 7);
    /* Nor is it asked for anything. */
    ck_assert_int_eq(
        refused_of(s, &(cse_piece_frame){ .kind = CSE_PIECE_ASK, .count = bytes }, NULL, 0), 1);
    stranger_close(s);
}
END_TEST

/* Of what was on its way when a connection ended, the next one brings all again. */
START_TEST(test_input_after_a_break)
{
    stranger *s = stranger_open(1);
    cse_cluster *cluster = s->play.hosts[0].cluster;
    const int64_t bytes = cluster->head->input_bytes;
    unsigned char content[512];
    memset(content, 7, sizeof content);
    cse_piece_frame frame = { .kind = CSE_PIECE_INPUT, .node = 1, .count = 64 };
    ck_assert_int_eq(refused_of(s, &frame, content, 64), 0);
    memory_link_break(0, 1);
    turn_other(s, 20);
    frame.first = 64;
    ck_assert_int_eq(refused_of(s, &frame, content, 64), 1);
    for (frame.first = 0; frame.first < bytes; frame.first += 64)
        ck_assert_int_eq(refused_of(s, &frame, content, 64), 0);
    ck_assert(cse_ring_ready(cluster, 1));
    stranger_close(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mover_input");
    TCase *tests = tcase_create("hosts");
    tcase_add_test(tests, test_hosts_without_data);
    tcase_add_test(tests, test_bytes_of_input_equal_the_formula);
    tcase_add_test(tests, test_deaths_and_breaks_without_data);
    tcase_add_test(tests, test_deaths_at_each_point_of_input);
    tcase_add_test(tests, test_lost_hosts_without_data);
    tcase_add_test(tests, test_strange_wishes);
    tcase_add_test(tests, test_strange_input);
    tcase_add_test(tests, test_input_after_a_break);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
