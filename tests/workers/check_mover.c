/* Several hosts in one thread: an arena, its workers and a mover for each, in random turns, with a
 * link in memory. Workers and movers die at the protocol's points, connections end, hosts are lost
 * for good, and the others go on with another cut. Every host that is left must have the bits that
 * one process alone computes. */
#include <check.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_step.h"
#include "tests/support/memory_link.h"
#include "workers/arena/arena_hosts.h"
#include "workers/arena/piece.h"
#include "workers/arena/shards.h"
#include "workers/arena/worker_side.h"
#include "workers/worker/mover.h"

enum { MOST_STEPS = 64, MOST_WORKERS = 16, MOST_HOSTS = 66 };

typedef struct host {
    cse_cluster *cluster;
    cse_work *works[MOST_WORKERS];
    cse_mover *mover;
    int count;
    int64_t recorded;
    bool gone;
    float fetched[MOST_STEPS][FAKE_FETCHES];
} host;

typedef struct play_case {
    int microbatches, hosts, replicas, servers;
    cse_rounding payload;
    int64_t steps;
    int large;
    int with_data;   /* so many hosts, the last ones; 0: all */
    int frame_bytes; /* of input */
} play_case;

typedef struct play {
    const play_case *test;
    fake_step *step;
    unsigned char *states;
    cse_mover_place place;
    host hosts[MOST_HOSTS];
    int64_t cut_step; /* the first step of the newest cut */
} play;

static jmp_buf death;
static uint64_t random_state;
static int death_percent, only_point;
static long deaths_at[CSE_FAILPOINT_COUNT];

static unsigned random_below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

static void on_failpoint(cse_failpoint point)
{
    if ((only_point >= 0 && (int)point != only_point) || (int)random_below(1000) >= death_percent)
        return;
    deaths_at[point]++;
    longjmp(death, 1);
}

static void seat(play *self, int h, int slot)
{
    host *place = &self->hosts[h];
    const cse_role kind = cse_cluster_slot_kind(place->cluster, slot);
    cse_cluster_attach(place->cluster, slot, 1000 + slot);
    if (kind == CSE_ROLE_MOVER) {
        cse_mover_destroy(&place->mover);
        self->place.host = h;
        ck_assert_int_eq(
            cse_mover_new(place->cluster, slot, &memory_link, &self->place, &place->mover), CSE_OK);
        return;
    }
    const bool input = kind == CSE_ROLE_INPUT;
    const cse_work_options options = { .cluster = place->cluster,
                                       .slot = slot,
                                       .executable =
                                           input ? NULL : fake_step_executable(self->step),
                                       .source = input ? fake_step_source(self->step) : NULL };
    cse_work_destroy(&place->works[slot]);
    ck_assert_int_eq(cse_work_new(&options, &place->works[slot]), CSE_OK);
}

static bool has_data(const play_case *test, int h)
{
    return test->with_data == 0 || h >= test->hosts - test->with_data;
}

static void open_host(play *self, int h, const cse_host_cut *cut)
{
    const play_case *test = self->test;
    host *place = &self->hosts[h];
    cse_host_set data = { { 0 } };
    for (int other = 0; other < test->hosts; other++)
        if (has_data(test, other))
            cse_hosts_add(&data, other);
    cse_cluster_layout layout = { .graph = fake_step_graph(self->step),
                                  .states = self->states,
                                  .replica_count = test->replicas,
                                  .weight_server_count = test->servers,
                                  .input_worker_count = has_data(test, h),
                                  .weight_grad_reduce = test->payload,
                                  .seed = 77,
                                  .num_steps = test->steps,
                                  .host = h,
                                  .host_count = test->hosts,
                                  .data_hosts = data,
                                  .cut = cut };
    ck_assert_int_eq(cse_cluster_create(&layout, &place->cluster), CSE_OK);
    place->count = cse_cluster_slot_count(place->cluster);
    for (int slot = 0; slot < place->count; slot++)
        seat(self, h, slot);
    cse_cluster_release(place->cluster, test->steps);
}

static void play_open(play *self, const play_case *test, uint64_t seed)
{
    *self = (play){ .test = test,
                    .step = fake_step_new(test->microbatches, test->large, 100),
                    .place = { .host_count = test->hosts,
                               .session = 5,
                               .frame_elements = 700,
                               .frame_input_bytes = test->frame_bytes } };
    self->states = fake_step_states(self->step);
    random_state = seed;
    memory_link_reset(test->hosts, seed + 1, 1 + (int)(seed % 5));
    cse_host_cut cut;
    const cse_host_set all = cse_hosts_first(test->hosts);
    cse_host_cut_even(test->microbatches, test->hosts, &all, &cut);
    for (int h = 0; h < test->hosts; h++)
        open_host(self, h, &cut);
}

static void close_host(host *place)
{
    cse_mover_destroy(&place->mover);
    for (int slot = 0; slot < place->count; slot++)
        cse_work_destroy(&place->works[slot]);
    cse_cluster_destroy(&place->cluster);
}

static void play_close(play *self)
{
    for (int h = 0; h < self->test->hosts; h++)
        close_host(&self->hosts[h]);
    free(self->states);
    fake_step_destroy(&self->step);
}

static void drain(host *place)
{
    cse_record record;
    while (cse_cluster_next_record(place->cluster, &record)) {
        ck_assert_int_eq(record.step, place->recorded);
        memcpy(place->fetched[place->recorded++], record.fetched, sizeof place->fetched[0]);
        cse_cluster_close_record(place->cluster);
        cse_cluster_free_records(place->cluster, place->recorded);
    }
}

/* One turn of one process; true: it died in it. */
static bool turn(play *self, int h, int slot)
{
    host *place = &self->hosts[h];
    if (setjmp(death) != 0)
        return true;
    const cse_work_result result = cse_cluster_slot_kind(place->cluster, slot) == CSE_ROLE_MOVER
                                       ? cse_mover_once(place->mover, 0)
                                       : cse_work_once(place->works[slot]);
    ck_assert_int_ne(result, CSE_WORK_FAILED);
    return false;
}

static void replace(play *self, int h, int slot)
{
    const int percent = death_percent;
    death_percent = 0;
    if (cse_cluster_slot_kind(self->hosts[h].cluster, slot) == CSE_ROLE_MOVER)
        cse_mover_destroy(&self->hosts[h].mover);
    cse_cluster_recover(self->hosts[h].cluster, slot);
    seat(self, h, slot);
    death_percent = percent;
}

static cse_host_set hosts_gone(const play *self)
{
    cse_host_set gone = { { 0 } };
    for (int h = 0; h < self->test->hosts; h++)
        if (self->hosts[h].gone)
            cse_hosts_add(&gone, h);
    return gone;
}

/* The host is never heard of again; the others learn it, each at another time. */
static void lose(play *self, int h)
{
    self->hosts[h].gone = true;
    cse_mover_destroy(&self->hosts[h].mover);
}

/* One host with data stays. */
static bool may_lose(const play *self, int h)
{
    int left = 0;
    for (int other = 0; other < self->test->hosts; other++)
        left += other != h && has_data(self->test, other) && !self->hosts[other].gone;
    return left > 0;
}

/* All hosts that are left get a cut without those that are lost; false: not yet, as the cut before
 * has not begun to count on one of them. */
static bool cut_again(play *self)
{
    cse_host_set left = cse_hosts_first(self->test->hosts);
    int64_t most = 0;
    cse_host_cut cut;
    for (int h = 0; h < self->test->hosts; h++) {
        if (self->hosts[h].gone) {
            cse_hosts_remove(&left, h);
            continue;
        }
        const int64_t done = cse_cluster_steps_done(self->hosts[h].cluster);
        if (done < self->cut_step)
            return false;
        most = done > most ? done : most;
    }
    cse_host_cut_even(self->test->microbatches, self->test->hosts, &left, &cut);
    cut.first_step = self->cut_step = most + 1;
    for (int h = 0; h < self->test->hosts; h++)
        if (!self->hosts[h].gone)
            ck_assert_int_eq(cse_cluster_set_cut(self->hosts[h].cluster, &cut), CSE_OK);
    return true;
}

/* A host that has ended its last step takes its connections with it. */
static bool all_done(play *self)
{
    bool done = true;
    for (int h = 0; h < self->test->hosts; h++) {
        host *place = &self->hosts[h];
        if (place->gone)
            continue;
        drain(place);
        done = done && place->recorded == self->test->steps;
        for (int other = 0; other < self->test->hosts; other++)
            if (other != h && !self->hosts[other].gone && random_below(50) == 0)
                cse_cluster_note_host(self->hosts[other].cluster, h,
                                      cse_cluster_steps_done(place->cluster));
    }
    return done;
}

static void check_bits(play *self, uint64_t seed)
{
    static float want[MOST_STEPS][FAKE_FETCHES];
    const int64_t steps[] = { 0, self->test->steps };
    const size_t bytes = (size_t)fake_step_graph(self->step)->space_bytes[CSE_SPACE_STATE];
    unsigned char *expected = fake_step_states(self->step);
    fake_step_reference(self->step, self->test->payload, steps, expected, want);
    for (int h = 0; h < self->test->hosts; h++) {
        const host *place = &self->hosts[h];
        if (place->gone)
            continue;
        ck_assert_msg(memcmp(want, place->fetched, (size_t)steps[1] * sizeof want[0]) == 0 &&
                          memcmp(expected, cse_cluster_states_view(place->cluster), bytes) == 0,
                      "seed %llu: host %d has other bits", (unsigned long long)seed, h);
    }
    free(expected);
}

static void hang(play *self, uint64_t seed)
{
    cse_text dump = { 0 };
    for (int h = 0; h < self->test->hosts; h++)
        if (!self->hosts[h].gone)
            cse_cluster_dump(self->hosts[h].cluster, &dump);
    fprintf(stderr, "%s", dump.data);
    cse_text_clear(&dump);
    ck_abort_msg("seed %llu: nothing moves any more", (unsigned long long)seed);
}

typedef struct faults {
    int percent, point; /* deaths of processes, in 1/1000 at each point, or at one alone */
    int breaks;         /* 1 in so many turns ends a connection; 0: none */
    int losses;         /* hosts that are lost for good */
    void (*expect)(const play *self); /* at the end; may be NULL */
} faults;

static long play_run(const play_case *test, const faults *given, uint64_t seed)
{
    static play self;
    long deaths = 0, turns = 0;
    play_open(&self, test, seed);
    int losses = given->losses;
    int64_t cut_turn = -1;
    death_percent = given->percent;
    only_point = given->point;
    atomic_store(&cse_failpoint_armed, on_failpoint);
    while (!all_done(&self)) {
        const int h = (int)random_below((unsigned)test->hosts);
        if (self.hosts[h].gone)
            continue;
        const int slot = (int)random_below((unsigned)self.hosts[h].count);
        if (turn(&self, h, slot)) {
            deaths++;
            replace(&self, h, slot);
        }
        if (given->breaks > 0 && random_below((unsigned)given->breaks) == 0 && test->hosts > 1)
            memory_link_break(h, (h + 1) % test->hosts);
        if (losses > 0 && random_below(2000) == 0 && may_lose(&self, h)) {
            lose(&self, h);
            losses--;
            cut_turn = turns + 1 + random_below(4000);
        }
        for (int i = 0; i < test->hosts; i++)
            if (!self.hosts[i].gone && random_below(200) == 0) {
                const cse_host_set gone = hosts_gone(&self);
                cse_cluster_lose_hosts(self.hosts[i].cluster, &gone);
            }
        if (turns++ == cut_turn && !cut_again(&self))
            cut_turn += 100;
        if (turns > 4000000)
            hang(&self, seed);
    }
    atomic_store(&cse_failpoint_armed, NULL);
    check_bits(&self, seed);
    if (given->expect != NULL)
        given->expect(&self);
    play_close(&self);
    return deaths;
}

static play_case random_case(uint64_t seed)
{
    return (play_case){ .microbatches = 1 + (int)(seed * 7 % 13),
                        .hosts = 2 + (int)(seed % 4),
                        .replicas = 1 + (int)(seed / 3 % 3),
                        .servers = (int)(seed / 2 % 2),
                        .payload = fake_payloads[seed % FAKE_PAYLOADS],
                        .steps = 3 + (int)(seed % 5),
                        .large = 1000 + (int)(seed % 3) * 5000 };
}

/* How many times as many seeds as usual: CSE_MOVER_SEEDS. Sanitizers take several times as long for
 * each, and look at the same code in the first ones. */
static uint64_t seeds(uint64_t usual)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    usual = (usual + 3) / 4;
#endif
    const char *times = getenv("CSE_MOVER_SEEDS");
    return usual * (times != NULL ? strtoull(times, NULL, 10) : 1);
}

/* Bytes of elements [first, end) in a rounding: all elements of the step's gradients are rounded,
 * or none is. */
static int64_t wire_bytes(const cse_cluster *cluster, const int64_t range[2])
{
    return cse_piece_bytes(&cluster->segments, range[0], range[1]);
}

/* What a host must send in a step: with two hosts its pieces, with more of each piece the shards of
 * the others, and its own joined shard to each of them. */
static int64_t formula(const cse_cluster *cluster, int hosts, int self, int pieces)
{
    const int64_t elements = cluster->head->gradient_bytes / 4;
    const cse_host_set owners = cse_hosts_first(hosts);
    int64_t own[2], bytes = 0;
    if (hosts == 2)
        return pieces * wire_bytes(cluster, (const int64_t[]){ 0, elements });
    cse_shard_of(&owners, self, elements, own);
    for (int h = 0; h < hosts; h++) {
        int64_t shard[2];
        cse_shard_of(&owners, h, elements, shard);
        if (h != self)
            bytes += pieces * wire_bytes(cluster, shard) + wire_bytes(cluster, own);
    }
    return bytes;
}

static void expect_traffic(const play *self)
{
    const play_case *test = self->test;
    cse_tree_node nodes[64];
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

START_TEST(test_hosts_alone)
{
    for (uint64_t seed = 1; seed <= seeds(60); seed++) {
        const play_case test = random_case(seed);
        ck_assert_int_eq(play_run(&test, &(faults){ .percent = 0, .point = -1 }, seed), 0);
    }
    ck_assert_int_gt(memory_link_delivered(), 0);
}
END_TEST

START_TEST(test_deaths_and_breaks)
{
    long deaths = 0;
    for (uint64_t seed = 1; seed <= seeds(60); seed++) {
        const play_case test = random_case(seed);
        deaths += play_run(&test, &(faults){ .percent = 5, .point = -1, .breaks = 700 }, seed);
    }
    ck_assert_int_gt(deaths, 20);
}
END_TEST

START_TEST(test_deaths_at_each_point_of_a_mover)
{
    for (int point = CSE_FAILPOINT_PIECE_SENT; point <= CSE_FAILPOINT_PIECES_SENT; point++) {
        long deaths = 0;
        for (uint64_t seed = 1; seed <= seeds(12); seed++) {
            const play_case test = random_case(seed);
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
    const uint64_t count = seeds(80);
    for (uint64_t i = 1; i <= count + 1; i++) {
        /* With seed 431 a host that had no microbatches once ran two steps ahead of another one. */
        const uint64_t seed = i <= count ? i : 431;
        play_case test = random_case(seed);
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

/* More hosts than a word of a set has bits, some of them without microbatches. One is lost. */
START_TEST(test_many_hosts)
{
    const play_case test = { .microbatches = 40,
                             .hosts = MOST_HOSTS,
                             .replicas = 1,
                             .payload = fake_payloads[1],
                             .steps = 2,
                             .large = 1000 };
    play_run(&test, &(faults){ .percent = 0, .point = -1, .losses = 1 }, 3);
}
END_TEST

/* ---- hosts without data ---- */

/* Microbatches of 192 bytes, in one frame or in three. */
static play_case case_without_data(uint64_t seed)
{
    play_case test = random_case(seed);
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
    for (uint64_t seed = 1; seed <= seeds(60); seed++) {
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
    const int64_t piece = wire_bytes(self->hosts[0].cluster, (const int64_t[]){ 0, elements });
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
    for (uint64_t seed = 1; seed <= seeds(60); seed++) {
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
        for (uint64_t seed = 1; seed <= seeds(12); seed++) {
            const play_case test = case_without_data(seed);
            deaths += play_run(&test, &(faults){ .percent = 40, .point = points[i] }, seed);
        }
        ck_assert_msg(deaths > 0, "no death at point %d", points[i]);
    }
}
END_TEST

START_TEST(test_lost_hosts_without_data)
{
    for (uint64_t seed = 1; seed <= seeds(120); seed++) {
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
    Suite *suite = suite_create("mover");
    TCase *tests = tcase_create("hosts");
    tcase_add_test(tests, test_bytes_equal_the_formula);
    tcase_add_test(tests, test_hosts_alone);
    tcase_add_test(tests, test_deaths_and_breaks);
    tcase_add_test(tests, test_deaths_at_each_point_of_a_mover);
    tcase_add_test(tests, test_lost_hosts);
    tcase_add_test(tests, test_many_hosts);
    tcase_add_test(tests, test_hosts_without_data);
    tcase_add_test(tests, test_bytes_of_input_equal_the_formula);
    tcase_add_test(tests, test_deaths_and_breaks_without_data);
    tcase_add_test(tests, test_input_after_a_break);
    tcase_add_test(tests, test_deaths_at_each_point_of_input);
    tcase_add_test(tests, test_lost_hosts_without_data);
    tcase_add_test(tests, test_strange_wishes);
    tcase_add_test(tests, test_strange_input);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
