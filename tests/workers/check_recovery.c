/* Recovery from worker deaths. One thread executes all workers, in random turns; failpoints in the
 * protocol and in the undo-logged update abandon a worker's operation, as a kill would, and the
 * coordinator recovers. This tests thousands of deaths per second at the critical points, and each
 * run is reproducible from its seed. A second test kills real processes. */
#include <check.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "tests/support/fake_step.h"
#include "workers/arena/worker_side.h"

enum { MOST_STEPS = 800, MOST_WORKERS = 16 };

typedef struct play {
    fake_step *step;
    cse_cluster *cluster;
    cse_work *works[MOST_WORKERS];
    unsigned char *states;
    int count;
} play;

typedef struct play_case {
    int microbatches, replicas, servers, inputs;
    cse_rounding payload;
    int64_t steps;
    int large; /* elements of the larger tensor; 0: enough for two chunks */
    double audits;
} play_case;

static void seat(play *self, int slot)
{
    bool input = cse_cluster_slot_kind(self->cluster, slot) == CSE_ROLE_INPUT;
    cse_work_options options = { .cluster = self->cluster,
                                 .slot = slot,
                                 .executable = input ? NULL : fake_step_executable(self->step),
                                 .source = input ? fake_step_source(self->step) : NULL };
    cse_work_destroy(&self->works[slot]);
    ck_assert_int_eq(cse_work_new(&options, &self->works[slot]), CSE_OK);
    cse_cluster_attach(self->cluster, slot, 1000 + slot);
}

static play play_new(const play_case *test)
{
    int large = test->large ? test->large : 33 * 1024 + 5;
    play self = { .step = fake_step_new(test->microbatches, large, 100) };
    self.states = fake_step_states(self.step);
    cse_cluster_layout layout = { .graph = fake_step_graph(self.step),
                                  .states = self.states,
                                  .replica_count = test->replicas,
                                  .weight_server_count = test->servers,
                                  .input_worker_count = test->inputs,
                                  .weight_grad_reduce = test->payload,
                                  .seed = 77,
                                  .audit_fraction = test->audits,
                                  .num_steps = test->steps };
    ck_assert_int_eq(cse_cluster_create(&layout, &self.cluster), CSE_OK);
    self.count = cse_cluster_slot_count(self.cluster);
    return self;
}

static void play_end(play *self)
{
    for (int i = 0; i < self->count; i++)
        cse_work_destroy(&self->works[i]);
    cse_cluster_destroy(&self->cluster);
    free(self->states);
    fake_step_destroy(&self->step);
}

/* ---- Deaths in one thread ---------------------------------------------------------------------
 * */

static jmp_buf death;
static uint64_t random_state;
static int death_percent; /* at each point passed, in 1/1000 */
static int only_point;    /* -1: any; points of the update count from 100 */
static long deaths_at[200];

static unsigned random_below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

static void maybe_die(int point)
{
    if ((only_point >= 0 && point != only_point) || (int)random_below(1000) >= death_percent)
        return;
    deaths_at[point]++;
    longjmp(death, 1);
}

static void on_failpoint(cse_failpoint point)
{
    maybe_die((int)point);
}

static void on_fake_point(fake_point point)
{
    /* Many lines: each is less likely. */
    if (only_point >= 0 || random_below(200) == 0)
        maybe_die(100 + (int)point);
}

static void arm(uint64_t seed, int percent, int point)
{
    random_state = seed;
    death_percent = percent;
    only_point = point;
    atomic_store(&cse_failpoint_armed, on_failpoint);
    atomic_store(&fake_point_hook, on_fake_point);
}

static void disarm(void)
{
    atomic_store(&cse_failpoint_armed, NULL);
    atomic_store(&fake_point_hook, NULL);
}

/* The coordinator may be killed inside a recovery, too: then it is repeated as a whole. */
static void take_over(play *self, volatile int slot)
{
    while (setjmp(death) != 0)
        continue;
    cse_cluster_recover(self->cluster, slot);
    int percent = death_percent;
    death_percent = 0;
    ck_assert_int_eq(cse_cluster_occupant(self->cluster, slot), 0);
    /* The undo memory of a successor holds nothing of use until it has written it. */
    memset(cse_arena_undo(self->cluster, slot, 0), 0xff, 2 * CSE_UNDO_LINE_BYTES);
    seat(self, slot);
    death_percent = percent;
}

static void drain(play *self, int64_t *recorded, float (*fetched)[FAKE_FETCHES])
{
    cse_record record;
    while (cse_cluster_next_record(self->cluster, &record)) {
        ck_assert_int_eq(record.step, *recorded);
        memcpy(fetched[(*recorded)++], record.fetched, sizeof fetched[0]);
        cse_cluster_close_record(self->cluster);
        cse_cluster_free_records(self->cluster, *recorded);
    }
}

/* Returns the number of deaths. */
static long play_run(const play_case *test, uint64_t seed, int percent, int point)
{
    static float want[MOST_STEPS][FAKE_FETCHES], got[MOST_STEPS][FAKE_FETCHES];
    play self = play_new(test);
    unsigned char *expected = fake_step_states(self.step);
    fake_step_reference(self.step, test->payload, (const int64_t[]){ 0, test->steps }, expected,
                        want);
    for (int i = 0; i < self.count; i++)
        seat(&self, i);
    cse_cluster_release(self.cluster, test->steps);
    volatile long deaths = 0, idle = 0;
    int64_t recorded = 0;
    volatile int slot = 0;
    arm(seed, percent, point);
    while (recorded < test->steps) {
        slot = (int)random_below((unsigned)self.count);
        if (setjmp(death) != 0) {
            deaths++;
            take_over(&self, slot);
            continue;
        }
        cse_work_result result = cse_work_once(self.works[slot]);
        ck_assert_int_ne(result, CSE_WORK_FAILED);
        idle = result == CSE_WORK_DONE ? 0 : idle + 1;
        if (idle > 20000) {
            cse_text dump = { 0 };
            cse_cluster_dump(self.cluster, &dump);
            ck_abort_msg("seed %llu: nothing moves any more\n%s", (unsigned long long)seed,
                         dump.data);
        }
        drain(&self, &recorded, got);
    }
    disarm();
    const size_t bytes = (size_t)fake_step_graph(self.step)->space_bytes[CSE_SPACE_STATE];
    ck_assert_msg(memcmp(want, got, (size_t)test->steps * sizeof want[0]) == 0 &&
                      memcmp(expected, cse_cluster_states_view(self.cluster), bytes) == 0,
                  "seed %llu, point %d: other bits after %ld deaths", (unsigned long long)seed,
                  point, deaths);
    free(expected);
    play_end(&self);
    return deaths;
}

START_TEST(test_deaths_anywhere)
{
    long deaths = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        play_case test = { .microbatches = 1 + (int)(seed * 5 % 8),
                           .replicas = 1 + (int)(seed % 4),
                           .servers = (int)(seed / 4 % 3),
                           .inputs = 1 + (int)(seed / 2 % 3),
                           .payload = fake_payloads[seed % 2 * (1 + seed / 2 % 4)],
                           .audits = seed % 3 == 0 ? 0.3 : 0,
                           .steps = 12 };
        deaths += play_run(&test, seed, 50, -1);
    }
    ck_assert_int_gt(deaths, 500);
}
END_TEST

START_TEST(test_deaths_at_each_point)
{
    play_case test = { .microbatches = 7,
                       .replicas = 3,
                       .inputs = 2,
                       .payload = fake_payloads[0],
                       .audits = 0.5,
                       .steps = 10 };
    play_case served = test;
    served.servers = 2;
    served.payload = fake_payloads[2];
    for (int point = 0; point < CSE_FAILPOINT_RECOVERY_RESTORED; point++) {
        deaths_at[point] = 0;
        play_run(&test, 1000 + (uint64_t)point, 200, point);
        play_run(&served, 2000 + (uint64_t)point, 200, point);
        ck_assert_msg(deaths_at[point] > 0, "no death at point %d", point);
    }
    for (int point = 100; point < 100 + FAKE_POINT_COUNT; point++) {
        deaths_at[point] = 0;
        /* Each chunk dies again and again before it gets through: deaths on top of deaths. */
        play_run(&test, 3000 + (uint64_t)point, 30, point);
        play_run(&served, 4000 + (uint64_t)point, 30, point);
        ck_assert_msg(deaths_at[point] > 20, "few deaths at point %d", point);
    }
}
END_TEST

/* ---- The bugs that a trial of the protocol met ------------------------------------------------
 * */

static int script[2], script_at, script_skip;

static void follow_script(fake_point point)
{
    if (script_at >= 2 || script[script_at] != (int)point || script_skip-- > 0)
        return;
    script_at++;
    script_skip = 0;
    longjmp(death, 1);
}

/* Runs one step in which workers die as the script says, in turn. */
static void play_script(const play_case *test)
{
    float want[1][FAKE_FETCHES];
    play self = play_new(test);
    unsigned char *expected = fake_step_states(self.step);
    const size_t bytes = (size_t)fake_step_graph(self.step)->space_bytes[CSE_SPACE_STATE];
    fake_step_reference(self.step, test->payload, (const int64_t[]){ 0, 1 }, expected, want);
    for (int i = 0; i < self.count; i++)
        seat(&self, i);
    cse_cluster_release(self.cluster, 1);
    script_at = 0;
    atomic_store(&fake_point_hook, follow_script);
    volatile int slot = 0;
    while (cse_cluster_steps_done(self.cluster) < 1) {
        slot = slot + 1 < self.count ? slot + 1 : 0;
        if (setjmp(death) != 0)
            take_over(&self, slot);
        else
            cse_work_once(self.works[slot]);
    }
    atomic_store(&fake_point_hook, NULL);
    ck_assert(memcmp(expected, cse_cluster_states_view(self.cluster), bytes) == 0);
    free(expected);
    play_end(&self);
}

/* Two deaths on one chunk: the first in the middle of a line, the second before its own old values
 * are kept. Without the clean mark the second recovery would restore garbage. */
START_TEST(test_two_deaths_on_one_chunk)
{
    static const int firsts[] = { FAKE_MARKED, FAKE_HALF_LINE, FAKE_LINE_DONE };
    static const int seconds[] = { FAKE_BEFORE_UNDO, FAKE_HALF_UNDO, FAKE_UNDO_COPIED };
    play_case test = { .microbatches = 2,
                       .replicas = 2,
                       .inputs = 1,
                       .payload = fake_payloads[0],
                       .steps = 1,
                       .large = 9 * CSE_LINE_ELEMENTS + 24 };
    for (int pair = 0; pair < 9; pair++) {
        script[0] = firsts[pair / 3];
        script[1] = seconds[pair % 3];
        script_skip = 5;
        play_script(&test);
        ck_assert_int_eq(script_at, 2);
    }
}
END_TEST

/* The first line of a group may keep its old values where the last line of the group before has
 * them: the line before must be marked clean by then. */
START_TEST(test_death_between_two_groups)
{
    play_case test = { .microbatches = 2,
                       .replicas = 2,
                       .inputs = 1,
                       .payload = fake_payloads[0],
                       .steps = 1,
                       .large = 4 * CSE_LINE_ELEMENTS + 5 };
    script[0] = FAKE_HALF_UNDO;
    script[1] = FAKE_HALF_UNDO;
    script_skip = 5; /* lines of the first group */
    play_script(&test);
    ck_assert_int_eq(script_at, 2);
}
END_TEST

/* A node that a recovery has split stays in that state; in the next step it must be takeable. */
START_TEST(test_split_node_is_taken_again)
{
    play_case test = {
        .microbatches = 8, .replicas = 3, .inputs = 1, .payload = fake_payloads[0], .steps = 4
    };
    float want[4][FAKE_FETCHES], got[4][FAKE_FETCHES];
    play self = play_new(&test);
    unsigned char *expected = fake_step_states(self.step);
    fake_step_reference(self.step, test.payload, (const int64_t[]){ 0, 4 }, expected, want);
    for (int i = 0; i < self.count; i++)
        seat(&self, i);
    cse_cluster_release(self.cluster, 4);
    while (cse_work_once(self.works[3]) == CSE_WORK_DONE)
        continue; /* input for two steps */
    /* Replica 1 of 3 shares [2, 5): its first partial sum is [2, 4), heap 5. */
    ck_assert_int_eq(cse_work_once(self.works[1]), CSE_WORK_DONE);
    ck_assert_int_eq(cse_word_owner(cse_word_load(&self.cluster->nodes[5])), 1);
    ck_assert_int_eq(cse_cluster_recover(self.cluster, 1), 1);
    ck_assert(cse_word_is(cse_word_load(&self.cluster->nodes[5]), CSE_WORD_SPLIT, 1));
    ck_assert_int_eq(cse_cluster_recover(self.cluster, 1), 0); /* again is harmless */
    int64_t recorded = 0;
    for (long turns = 0; recorded < 4; turns++) {
        ck_assert_int_lt(turns, 100000);
        cse_work_once(self.works[turns % 3 == 1 ? 3 : turns % 3]);
        drain(&self, &recorded, got);
    }
    ck_assert(memcmp(want, got, sizeof want) == 0);
    ck_assert(cse_word_is(cse_word_load(&self.cluster->nodes[5]), CSE_WORD_DONE, 4));
    free(expected);
    play_end(&self);
}
END_TEST

/* Input workers that die on the ring's first lap leave places that can be filled. */
START_TEST(test_death_on_the_first_lap)
{
    play_case test = {
        .microbatches = 3, .replicas = 1, .inputs = 2, .payload = fake_payloads[0], .steps = 3
    };
    for (int point = CSE_FAILPOINT_FILL_CLAIMED; point <= CSE_FAILPOINT_FILL_UNPUBLISHED; point++)
        ck_assert_int_gt(play_run(&test, 9 + (uint64_t)point, 500, point), 3);
}
END_TEST

START_TEST(test_hold_stops_changes_and_survives_a_coordinator)
{
    play_case test = {
        .microbatches = 2, .replicas = 1, .inputs = 1, .payload = fake_payloads[0], .steps = 9
    };
    play self = play_new(&test);
    for (int i = 0; i < self.count; i++)
        seat(&self, i);
    cse_cluster_release(self.cluster, 9);
    while (cse_cluster_steps_done(self.cluster) < 3)
        for (int i = 0; i < self.count; i++)
            cse_work_once(self.works[i]);
    int64_t stands = cse_cluster_hold(self.cluster);
    ck_assert_int_ge(stands, 3);
    ck_assert_int_le(stands, 4);
    ck_assert_int_eq(cse_cluster_hold(self.cluster), stands);
    for (int turn = 0; turn < 500; turn++)
        for (int i = 0; i < self.count; i++)
            ck_assert_int_ne(cse_work_once(self.works[i]), CSE_WORK_ENDED);
    ck_assert_int_eq(cse_cluster_steps_done(self.cluster), stands);
    cse_cluster_unhold(self.cluster);
    for (int turn = 0; turn < 5000 && cse_cluster_steps_done(self.cluster) < 9; turn++)
        for (int i = 0; i < self.count; i++)
            cse_work_once(self.works[i]);
    ck_assert_int_eq(cse_cluster_steps_done(self.cluster), 9);
    ck_assert_int_eq(cse_work_once(self.works[0]), CSE_WORK_ENDED);
    play_end(&self);
}
END_TEST

static cse_cluster *watched;

static void die_with_the_norm_done(cse_failpoint point)
{
    if (point == CSE_FAILPOINT_ADVANCE &&
        cse_step_stage(cse_word_load(watched->step)) == CSE_STAGE_NORM)
        longjmp(death, 1);
}

/* The norm is done, the worker that should have moved the step on is dead, and the hold has claimed
 * the norm of the next step: the others still have to see that this one is done. */
START_TEST(test_hold_between_the_norm_and_the_next_stage)
{
    play_case test = {
        .microbatches = 2, .replicas = 1, .inputs = 1, .payload = fake_payloads[0], .steps = 3
    };
    play self = play_new(&test);
    volatile int slot = 0;
    for (int i = 0; i < self.count; i++)
        seat(&self, i);
    cse_cluster_release(self.cluster, 3);
    watched = self.cluster;
    atomic_store(&cse_failpoint_armed, die_with_the_norm_done);
    if (setjmp(death) == 0) {
        for (int turn = 0; turn < 5000; turn++) {
            slot = turn % self.count;
            cse_work_once(self.works[slot]);
        }
        ck_abort_msg("nobody reached the end of the norm");
    }
    disarm();
    ck_assert_int_eq(cse_cluster_steps_done(self.cluster), 0);
    ck_assert_int_eq(cse_cluster_hold(self.cluster), 1);
    take_over(&self, slot);
    for (int turn = 0; turn < 5000; turn++)
        cse_work_once(self.works[turn % self.count]);
    ck_assert_int_eq(cse_cluster_steps_done(self.cluster), 1);
    cse_cluster_unhold(self.cluster);
    for (int turn = 0; turn < 5000; turn++)
        cse_work_once(self.works[turn % self.count]);
    ck_assert_int_eq(cse_cluster_steps_done(self.cluster), 3);
    play_end(&self);
}
END_TEST

/* ---- Real processes, real kills ---------------------------------------------------------------
 * */

#define PATIENCE_NS INT64_C(40000000000)

static pid_t fork_worker(play *self, int slot)
{
    pid_t parent = getpid(), pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0) {
        cse_cluster_attach(self->cluster, slot, pid);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    cse_cluster *cluster;
    cse_work *work;
    bool input = cse_cluster_slot_kind(self->cluster, slot) == CSE_ROLE_INPUT;
    if (cse_cluster_map(dup(cse_cluster_descriptor(self->cluster)), &cluster) != CSE_OK)
        _exit(2);
    cse_work_options options = { .cluster = cluster,
                                 .slot = slot,
                                 .executable = input ? NULL : fake_step_executable(self->step),
                                 .source = input ? fake_step_source(self->step) : NULL };
    if (cse_work_new(&options, &work) != CSE_OK)
        _exit(3);
    cse_work_result result;
    while ((result = cse_work_once(work)) < CSE_WORK_ENDED)
        if (result == CSE_WORK_IDLE)
            cse_work_wait(work, 1000000000);
    _exit(result == CSE_WORK_ENDED ? 0 : 4);
}

START_TEST(test_killed_processes)
{
    static float want[MOST_STEPS][FAKE_FETCHES], got[MOST_STEPS][FAKE_FETCHES];
    play_case test = { .microbatches = 5,
                       .replicas = 3,
                       .servers = _i,
                       .inputs = 2,
                       .payload = fake_payloads[2 * _i],
                       .steps = MOST_STEPS };
    play self = play_new(&test);
    unsigned char *expected = fake_step_states(self.step);
    pid_t pids[MOST_WORKERS];
    int64_t recorded = 0, killed_ns = 0, give_up = cse_clock_ns() + PATIENCE_NS;
    fake_step_reference(self.step, test.payload, (const int64_t[]){ 0, test.steps }, expected,
                        want);
    random_state = 4711;
    cse_cluster_release(self.cluster, test.steps);
    for (int i = 0; i < self.count; i++)
        pids[i] = fork_worker(&self, i);
    int kills = 0;
    while (recorded < test.steps) {
        cse_cluster_wait(self.cluster, CSE_WAKE_URGENT, 200000 + (int64_t)random_below(900000));
        const int64_t before = recorded;
        drain(&self, &recorded, got);
        if (recorded > before)
            give_up = cse_clock_ns() + PATIENCE_NS;
        ck_assert_msg(cse_clock_ns() < give_up, "no further step after %d kills, step %lld", kills,
                      (long long)recorded);
        /* Where everything is slow, new processes would be killed before they have done anything.
         */
        if (recorded >= test.steps || kills > 4 * recorded + 40 ||
            cse_clock_ns() - killed_ns < 2000000)
            continue;
        int slot = (int)random_below((unsigned)self.count);
        siginfo_t info;
        killed_ns = cse_clock_ns();
        kill(pids[slot], SIGKILL);
        ck_assert_int_eq(waitid(P_PID, (id_t)pids[slot], &info, WEXITED | WNOWAIT), 0);
        cse_cluster_recover(self.cluster, slot);
        waitpid(pids[slot], NULL, 0);
        pids[slot] = fork_worker(&self, slot);
        kills++;
    }
    cse_cluster_stop(self.cluster);
    for (int i = 0; i < self.count; i++)
        waitpid(pids[i], NULL, 0);
    const size_t bytes = (size_t)fake_step_graph(self.step)->space_bytes[CSE_SPACE_STATE];
    ck_assert_int_gt(kills, 20);
    ck_assert(memcmp(want, got, sizeof want) == 0);
    ck_assert(memcmp(expected, cse_cluster_states_view(self.cluster), bytes) == 0);
    free(expected);
    play_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recovery");
    TCase *tests = tcase_create("recovery");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, test_deaths_anywhere);
    tcase_add_test(tests, test_deaths_at_each_point);
    tcase_add_test(tests, test_two_deaths_on_one_chunk);
    tcase_add_test(tests, test_death_between_two_groups);
    tcase_add_test(tests, test_split_node_is_taken_again);
    tcase_add_test(tests, test_death_on_the_first_lap);
    tcase_add_test(tests, test_hold_stops_changes_and_survives_a_coordinator);
    tcase_add_test(tests, test_hold_between_the_norm_and_the_next_stage);
    tcase_add_loop_test(tests, test_killed_processes, 0, 2);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
