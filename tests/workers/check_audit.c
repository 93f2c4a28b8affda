/* Audits: who is right is decided by what processes have computed, never by when; a run in which
 * processes compute wrongly ends with the bits of one in which none does, and names them. One
 * thread executes all workers in random turns; a part of the test stands for the coordinator. */
#include <check.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_step.h"
#include "workers/arena/audit.h"
#include "workers/arena/worker_side.h"

enum { STEPS = 12, MICROBATCHES = 7, MOST_WORKERS = 8, SEED = 77, FLIPPED = 40 };

/* ---- the verdict ---- */

typedef struct vote {
    int slot, incarnation, digest;
} vote;

typedef struct verdict_case {
    const char *what;
    vote votes[CSE_MOST_AUDIT_TRIES]; /* up to a digest of 0 */
    int voters;                       /* slots 0.. */
    bool missing;
    cse_audit_state state;
    int right;
    int next; /* OPEN: the one slot that may add a try; -1: several, -2: none */
} verdict_case;

static const verdict_case verdict_cases[] = {
    { "one try", { { 0, 1, 5 } }, 2, false, CSE_AUDIT_OPEN, 0, 1 },
    { "two agree", { { 0, 1, 5 }, { 1, 1, 5 } }, 2, false, CSE_AUDIT_DECIDED, 5, 0 },
    { "two differ: both again", { { 0, 1, 5 }, { 1, 1, 6 } }, 2, false, CSE_AUDIT_OPEN, 0, -1 },
    { "two differ: the third is asked",
      { { 0, 1, 5 }, { 1, 1, 6 } },
      3,
      false,
      CSE_AUDIT_OPEN,
      0,
      2 },
    { "the third decides against the first",
      { { 0, 1, 5 }, { 1, 1, 6 }, { 2, 1, 6 } },
      3,
      false,
      CSE_AUDIT_DECIDED,
      6,
      0 },
    { "and against the second",
      { { 0, 1, 5 }, { 1, 1, 6 }, { 2, 1, 5 } },
      3,
      false,
      CSE_AUDIT_DECIDED,
      5,
      0 },
    { "a process that repeats itself has one voice",
      { { 0, 1, 5 }, { 1, 1, 6 }, { 0, 1, 5 } },
      2,
      false,
      CSE_AUDIT_OPEN,
      0,
      1 },
    { "a fault that went away",
      { { 0, 1, 5 }, { 1, 1, 6 }, { 0, 1, 6 } },
      2,
      false,
      CSE_AUDIT_DECIDED,
      6,
      0 },
    { "a fault that changes",
      { { 0, 1, 5 }, { 1, 1, 6 }, { 0, 1, 7 }, { 1, 1, 6 } },
      2,
      false,
      CSE_AUDIT_DECIDED,
      6,
      0 },
    { "both insist",
      { { 0, 1, 5 }, { 1, 1, 6 }, { 0, 1, 5 }, { 1, 1, 6 } },
      2,
      false,
      CSE_AUDIT_UNDECIDED,
      0,
      0 },
    { "both change",
      { { 0, 1, 5 }, { 1, 1, 6 }, { 0, 1, 7 }, { 1, 1, 8 } },
      2,
      false,
      CSE_AUDIT_UNDECIDED,
      0,
      0 },
    { "both insist, and another process will come",
      { { 0, 1, 5 }, { 1, 1, 6 }, { 0, 1, 5 }, { 1, 1, 6 } },
      2,
      true,
      CSE_AUDIT_OPEN,
      0,
      -2 },
    { "one process that is left waits for the others",
      { { 0, 1, 5 }, { 0, 1, 5 } },
      1,
      true,
      CSE_AUDIT_OPEN,
      0,
      -2 },
    { "alone: again", { { 0, 1, 5 } }, 1, false, CSE_AUDIT_OPEN, 0, 0 },
    { "alone: the same", { { 0, 1, 5 }, { 0, 1, 5 } }, 1, false, CSE_AUDIT_DECIDED, 5, 0 },
    { "alone: a third time", { { 0, 1, 5 }, { 0, 1, 6 } }, 1, false, CSE_AUDIT_OPEN, 0, 0 },
    { "alone: the majority",
      { { 0, 1, 5 }, { 0, 1, 6 }, { 0, 1, 6 } },
      1,
      false,
      CSE_AUDIT_DECIDED,
      6,
      0 },
    { "alone: all differ",
      { { 0, 1, 5 }, { 0, 1, 6 }, { 0, 1, 7 } },
      1,
      false,
      CSE_AUDIT_UNDECIDED,
      0,
      0 },
    { "three differ: all again",
      { { 0, 1, 5 }, { 1, 1, 6 }, { 2, 1, 7 } },
      3,
      false,
      CSE_AUDIT_OPEN,
      0,
      -1 },
    { "two against two",
      { { 0, 1, 5 }, { 1, 1, 6 }, { 2, 1, 6 }, { 3, 1, 5 } },
      5,
      false,
      CSE_AUDIT_DECIDED,
      6,
      0 },
    { "a new process in a slot has its voice",
      { { 0, 0, 5 }, { 1, 1, 6 }, { 0, 1, 6 } },
      2,
      false,
      CSE_AUDIT_DECIDED,
      6,
      0 },
};

static int tries_of(const vote *votes, cse_audit_try tries[CSE_MOST_AUDIT_TRIES])
{
    int count = 0;
    for (; count < CSE_MOST_AUDIT_TRIES && votes[count].digest != 0; count++)
        tries[count] = (cse_audit_try){ .digest = (uint64_t)votes[count].digest,
                                        .slot = votes[count].slot,
                                        .incarnation = votes[count].incarnation };
    return count;
}

START_TEST(test_verdicts)
{
    const verdict_case *c = &verdict_cases[_i];
    cse_audit_try tries[CSE_MOST_AUDIT_TRIES];
    cse_audit_voters voters = { .count = c->voters, .missing = c->missing };
    int may = 0, last = -2;
    int count = tries_of(c->votes, tries);
    for (int v = 0; v < c->voters; v++)
        voters.slots[v] = v;
    for (int v = 0; v < c->voters; v++) {
        if (cse_audit_may_try(tries, count, &voters, v)) {
            may++;
            last = v;
        }
    }
    /* Decided as soon as it can be: what followed is not looked at. */
    cse_audit_verdict verdict = { .state = CSE_AUDIT_OPEN };
    for (int n = 1; n <= count && verdict.state == CSE_AUDIT_OPEN; n++)
        verdict = cse_audit_decide(tries, n, &voters);
    ck_assert_msg(verdict.state == c->state, "%s: state %d", c->what, (int)verdict.state);
    if (c->state == CSE_AUDIT_DECIDED)
        ck_assert_msg(verdict.right == (uint64_t)c->right, "%s: %d", c->what, (int)verdict.right);
    if (c->state == CSE_AUDIT_OPEN)
        ck_assert_msg((may > 1 ? -1 : last) == c->next, "%s: %d may, the last is %d", c->what, may,
                      last);
}
END_TEST

/* ---- which microbatches ---- */

START_TEST(test_share)
{
    static const double shares[] = { 0, 0.01, 0.5, 1 };
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        const cse_arena_head head = { .seed = SEED, .audit_limit = cse_audit_limit(shares[i]) };
        const int count = 100000;
        int taken = 0;
        for (int n = 0; n < count; n++) {
            const bool takes = cse_audit_takes(&head, n / 8, n % 8);
            ck_assert_int_eq(takes, cse_audit_takes(&head, n / 8, n % 8));
            taken += takes;
        }
        const double part = (double)taken / count;
        ck_assert_msg(part > shares[i] - 0.005 && part < shares[i] + 0.005, "%g of %g", part,
                      shares[i]);
        ck_assert(shares[i] > 0 || taken == 0);
        ck_assert(shares[i] < 1 || taken == count);
    }
}
END_TEST

/* ---- runs ---- */

typedef struct play {
    fake_step *step;
    cse_cluster *cluster;
    cse_work *works[MOST_WORKERS];
    int count, replicas;
    int64_t recorded;
    int found, undecided;       /* findings */
    int wrong_of[MOST_WORKERS]; /* by slot */
    bool ends;                  /* at the first finding without a verdict */
} play;

typedef bool fault(int slot, int64_t step, int microbatch);

static fault *is_wrong;
static void (*right_replica)(cse_executable *self, cse_frame *frame);
static int slot_now;
static long flips;
static uint64_t random_state;
static int deaths_in_1000;
static jmp_buf death;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

static void on_failpoint(cse_failpoint point)
{
    (void)point;
    if ((int)random_below(1000) < deaths_in_1000)
        longjmp(death, 1);
}

/* A bit of the kernels' output. */
static void replica(cse_executable *self, cse_frame *frame)
{
    right_replica(self, frame);
    const fake_step *step = (const fake_step *)(void *)self;
    const int64_t size = fake_step_graph((fake_step *)(uintptr_t)step)->micro_batch_size;
    if (is_wrong == NULL || !is_wrong(slot_now, frame->step, (int)(frame->first_sample / size)))
        return;
    frame->base[CSE_SPACE_PARTIAL][FLIPPED] ^= 1;
    flips++;
}

static void seat(play *self, int slot)
{
    const bool input = cse_cluster_slot_kind(self->cluster, slot) == CSE_ROLE_INPUT;
    cse_work_options options = { .cluster = self->cluster,
                                 .slot = slot,
                                 .executable = input ? NULL : fake_step_executable(self->step),
                                 .source = input ? fake_step_source(self->step) : NULL };
    cse_work_destroy(&self->works[slot]);
    ck_assert_int_eq(cse_work_new(&options, &self->works[slot]), CSE_OK);
    cse_cluster_attach(self->cluster, slot, 1000 + slot);
}

/* As the coordinator does: the culprit leaves, the last replica is replaced. */
static void take_findings(play *self)
{
    cse_audit_finding f;
    while (cse_cluster_next_finding(self->cluster, &f)) {
        const int slot = f.made.slot;
        int others = 0;
        for (int s = 0; s < self->replicas; s++)
            others += s != slot && !cse_cluster_is_barred(self->cluster, s);
        ck_assert_int_ge(f.made.core, 0);
        ck_assert(f.made.digest != f.other.digest);
        self->found++;
        self->undecided += f.undecided;
        self->wrong_of[slot]++;
        if (!f.undecided && others > 0)
            cse_cluster_bar(self->cluster, slot);
        if (!cse_audit_suspects(self->cluster, slot))
            continue;
        cse_cluster_recover(self->cluster, slot);
        if (!cse_cluster_is_barred(self->cluster, slot))
            seat(self, slot);
    }
}

static void drain(play *self)
{
    cse_record record;
    while (cse_cluster_next_record(self->cluster, &record)) {
        self->recorded++;
        cse_cluster_close_record(self->cluster);
        cse_cluster_free_records(self->cluster, self->recorded);
    }
}

static void take_turns(play *self)
{
    volatile long idle = 0;
    self->recorded = 0;
    while (self->recorded < STEPS && !(self->ends && self->undecided > 0)) {
        slot_now = (int)random_below((unsigned)self->count);
        if (setjmp(death) != 0) {
            const int chance = deaths_in_1000;
            deaths_in_1000 = 0;
            cse_cluster_recover(self->cluster, slot_now);
            if (!cse_cluster_is_barred(self->cluster, slot_now))
                seat(self, slot_now);
            deaths_in_1000 = chance;
            continue;
        }
        if (cse_cluster_occupant(self->cluster, slot_now) == 0)
            continue;
        const cse_work_result result = cse_work_once(self->works[slot_now]);
        ck_assert_int_ne(result, CSE_WORK_FAILED);
        idle = result == CSE_WORK_DONE ? 0 : idle + 1;
        if (idle > 20000) {
            cse_text dump = { 0 };
            cse_cluster_dump(self->cluster, &dump);
            ck_abort_msg("nothing moves any more\n%s", dump.data);
        }
        deaths_in_1000 = -deaths_in_1000;
        take_findings(self);
        drain(self);
        deaths_in_1000 = -deaths_in_1000;
    }
}

typedef struct play_case {
    int replicas, servers;
    cse_rounding payload;
    double fraction;
    uint64_t seed;
    int deaths_in_1000;
    fault *is_wrong;
    bool ends;
} play_case;

/* The findings; unless it ends early, its bits are those of the reference. */
static play play_run(const play_case *test)
{
    static float want[STEPS][FAKE_FETCHES];
    play self = { .step = fake_step_new(MICROBATCHES, 5000, 100),
                  .replicas = test->replicas,
                  .ends = test->ends };
    cse_executable *executable = fake_step_executable(self.step);
    unsigned char *states = fake_step_states(self.step), *expected = fake_step_states(self.step);
    const cse_cluster_layout layout = { .graph = fake_step_graph(self.step),
                                        .states = states,
                                        .replica_count = test->replicas,
                                        .weight_server_count = test->servers,
                                        .input_worker_count = 1,
                                        .weight_grad_reduce = test->payload,
                                        .seed = SEED,
                                        .audit_fraction = test->fraction,
                                        .num_steps = STEPS };
    fake_step_reference(self.step, test->payload, (const int64_t[]){ 0, STEPS }, expected, want);
    right_replica = executable->replica;
    executable->replica = replica;
    ck_assert_int_eq(cse_cluster_create(&layout, &self.cluster), CSE_OK);
    self.count = cse_cluster_slot_count(self.cluster);
    is_wrong = test->is_wrong;
    random_state = test->seed;
    flips = 0;
    for (int i = 0; i < self.count; i++)
        seat(&self, i);
    cse_cluster_release(self.cluster, STEPS);
    deaths_in_1000 = test->deaths_in_1000;
    atomic_store(&cse_failpoint_armed, on_failpoint);
    take_turns(&self);
    atomic_store(&cse_failpoint_armed, NULL);
    int64_t audited, unequal;
    cse_cluster_audit_counts(self.cluster, &audited, &unequal);
    ck_assert_int_eq(unequal, self.found);
    const size_t bytes = (size_t)fake_step_graph(self.step)->space_bytes[CSE_SPACE_STATE];
    if (!self.ends) {
        ck_assert_msg(memcmp(expected, cse_cluster_states_view(self.cluster), bytes) == 0,
                      "seed %llu: other bits", (unsigned long long)test->seed);
        ck_assert_int_ge(audited, test->fraction < 1 ? 0 : STEPS * MICROBATCHES);
        ck_assert(test->fraction > 0 || audited == 0);
    }
    for (int i = 0; i < self.count; i++)
        cse_work_destroy(&self.works[i]);
    cse_cluster_destroy(&self.cluster);
    free(states);
    free(expected);
    fake_step_destroy(&self.step);
    return self;
}

START_TEST(test_same_bits)
{
    static const double fractions[] = { 0, 0.01, 0.4, 1 };
    for (uint64_t seed = 1; seed <= 48; seed++) {
        const play_case test = { .replicas = 1 + (int)(seed % 4),
                                 .servers = (int)(seed / 4 % 2),
                                 .payload = fake_payloads[seed % FAKE_PAYLOADS],
                                 .fraction = fractions[seed / 2 % 4],
                                 .seed = seed,
                                 .deaths_in_1000 = seed % 3 == 0 ? 0 : 30 };
        ck_assert_int_eq(play_run(&test).found, 0);
    }
}
END_TEST

/* In slot 0, at most once. */
static bool is_wrong_once(int slot, int64_t step, int microbatch)
{
    (void)microbatch;
    return slot == 0 && step >= 3 && flips == 0;
}

START_TEST(test_transient_fault)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const play_case test = { .replicas = 1 + (int)(seed % 4),
                                 .servers = (int)(seed / 4 % 2),
                                 .payload = fake_payloads[seed % FAKE_PAYLOADS],
                                 .fraction = 1,
                                 .seed = seed,
                                 .deaths_in_1000 = seed % 2 == 0 ? 0 : 10,
                                 .is_wrong = is_wrong_once };
        const play ended = play_run(&test);
        ck_assert_int_eq(ended.undecided, 0);
        /* A process that died of something else has told of nothing. */
        ck_assert_msg(ended.found == (int)flips || test.deaths_in_1000 > 0, "seed %d: %d of %ld",
                      (int)seed, ended.found, flips);
        ck_assert_int_eq(ended.wrong_of[0], ended.found);
    }
}
END_TEST

static bool is_wrong_always(int slot, int64_t step, int microbatch)
{
    return slot == 1 && step >= 2 && microbatch >= 1;
}

START_TEST(test_persistent_fault)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        const play_case test = { .replicas = 3 + (int)(seed % 2),
                                 .payload = fake_payloads[seed % FAKE_PAYLOADS],
                                 .fraction = 1,
                                 .seed = seed,
                                 .deaths_in_1000 = seed % 2 == 0 ? 0 : 10,
                                 .is_wrong = is_wrong_always };
        const play ended = play_run(&test);
        ck_assert_int_eq(ended.undecided, 0);
        ck_assert_int_ge(ended.wrong_of[1], flips > 0);
        ck_assert_int_eq(ended.wrong_of[1], ended.found);
    }
}
END_TEST

START_TEST(test_two_that_insist)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const play_case test = { .replicas = 2,
                                 .payload = fake_payloads[0],
                                 .fraction = 1,
                                 .seed = seed,
                                 .is_wrong = is_wrong_always,
                                 .ends = true };
        const play ended = play_run(&test);
        ck_assert_int_eq(ended.undecided, 2);
        ck_assert(ended.wrong_of[0] == 1 && ended.wrong_of[1] == 1);
    }
}
END_TEST

/* Different bits each time: who does not repeat them is wrong. */
static bool changes(int slot, int64_t step, int microbatch)
{
    (void)microbatch;
    return slot == 1 && step >= 2 && random_below(2) == 0;
}

START_TEST(test_unsteady_fault)
{
    int found = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        const play_case test = { .replicas = 1 + (int)(seed % 3),
                                 .payload = fake_payloads[0],
                                 .fraction = 1,
                                 .seed = seed,
                                 .is_wrong = seed % 3 == 0 ? NULL : changes,
                                 .ends = seed % 3 == 1 };
        const play ended = play_run(&test);
        ck_assert_int_eq(ended.wrong_of[2], 0);
        if (!ended.ends)
            ck_assert_int_eq(ended.wrong_of[0], 0);
        found += ended.found;
    }
    ck_assert_int_gt(found, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("audit");
    TCase *cases = tcase_create("audit");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, test_verdicts, 0,
                        (int)(sizeof verdict_cases / sizeof verdict_cases[0]));
    tcase_add_test(cases, test_share);
    tcase_add_test(cases, test_same_bits);
    tcase_add_test(cases, test_transient_fault);
    tcase_add_test(cases, test_persistent_fault);
    tcase_add_test(cases, test_two_that_insist);
    tcase_add_test(cases, test_unsteady_fault);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
