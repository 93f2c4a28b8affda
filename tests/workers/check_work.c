/* Whole runs of the data plane with threads as workers: for any number of replicas, servers, input
 * workers and microbatches the same bits as a serial run. The threads share one mapping, so that
 * the thread sanitizer sees every access. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "tests/support/fake_step.h"

enum { MOST_STEPS = 40, MOST_WORKERS = 24 };

typedef struct run_case {
    int microbatches, replicas, servers, inputs, records, ring;
    cse_rounding payload;
    int64_t first_step, steps;
    int64_t pause_at; /* hold there and check that the states stand still; -1: never */
} run_case;

typedef struct worker {
    pthread_t thread;
    cse_cluster *cluster;
    fake_step *step;
    int slot;
    cse_work_result result;
} worker;

static void *work_loop(void *argument)
{
    worker *self = argument;
    cse_work *work;
    bool input = cse_cluster_slot_kind(self->cluster, self->slot) == CSE_ROLE_INPUT;
    cse_work_options options = { .cluster = self->cluster,
                                 .slot = self->slot,
                                 .executable = input ? NULL : fake_step_executable(self->step),
                                 .source = input ? fake_step_source(self->step) : NULL };
    if (cse_work_new(&options, &work) != CSE_OK)
        return NULL;
    do {
        self->result = cse_work_once(work);
        if (self->result == CSE_WORK_IDLE)
            cse_work_wait(work, 1000 * 1000 * 1000);
    } while (self->result < CSE_WORK_ENDED);
    cse_work_destroy(&work);
    return NULL;
}

/* Takes the records as they come and steers; returns false when nothing moves any more. */
static bool coordinate(cse_cluster *cluster, const run_case *run, float (*fetched)[FAKE_FETCHES])
{
    const int64_t end = run->first_step + run->steps;
    int64_t done = run->first_step, deadline = cse_clock_ns() + 20000000000;
    cse_cluster_release(cluster, run->pause_at >= 0 ? run->pause_at : end);
    while (done < end) {
        cse_record record;
        if (cse_clock_ns() > deadline)
            return false;
        if (cse_cluster_next_record(cluster, &record)) {
            ck_assert_int_eq(record.step, done);
            memcpy(fetched[done - run->first_step], record.fetched, sizeof fetched[0]);
            cse_cluster_close_record(cluster);
            cse_cluster_free_records(cluster, ++done);
        } else {
            cse_cluster_wait(cluster, CSE_WAKE_RECORD | CSE_WAKE_URGENT, 1000000000);
        }
        if (done == run->pause_at && cse_cluster_steps_done(cluster) == done) {
            ck_assert_int_eq(cse_cluster_steps_done(cluster), run->pause_at);
            cse_cluster_release(cluster, end);
        }
    }
    return true;
}

/* What a serial run computes. Runs that differ in their processes only have it in common, and
 * follow each other. */
static struct {
    run_case of;
    unsigned char *states;
    float fetched[MOST_STEPS][FAKE_FETCHES];
} serial;

static void compute_serial(fake_step *step, const run_case *run)
{
    const run_case *known = &serial.of;
    if (serial.states && known->microbatches == run->microbatches &&
        known->payload.format == run->payload.format &&
        known->payload.stochastic == run->payload.stochastic &&
        known->first_step == run->first_step && known->steps == run->steps)
        return;
    free(serial.states);
    serial.of = *run;
    serial.states = fake_step_states(step);
    fake_step_reference(step, run->payload,
                        (const int64_t[]){ run->first_step, run->first_step + run->steps },
                        serial.states, serial.fetched);
}

static void run_and_compare(const run_case *run)
{
    fake_step *step = fake_step_new(run->microbatches, 33 * 1024 + 5, 100);
    const size_t bytes = (size_t)fake_step_graph(step)->space_bytes[CSE_SPACE_STATE];
    unsigned char *initial = fake_step_states(step);
    float got[MOST_STEPS][FAKE_FETCHES];
    compute_serial(step, run);
    cse_cluster_layout layout = { .graph = fake_step_graph(step),
                                  .states = initial,
                                  .replica_count = run->replicas,
                                  .weight_server_count = run->servers,
                                  .input_worker_count = run->inputs,
                                  .weight_grad_reduce = run->payload,
                                  .seed = 77,
                                  .first_step = run->first_step,
                                  .num_steps = run->steps,
                                  .record_count = run->records,
                                  .ring_microbatches = run->ring };
    cse_cluster *cluster;
    ck_assert_msg(cse_cluster_create(&layout, &cluster) == CSE_OK, "%s", cse_error_message());
    worker workers[MOST_WORKERS];
    int count = cse_cluster_slot_count(cluster);
    for (int i = 0; i < count; i++) {
        workers[i] = (worker){ .cluster = cluster, .step = step, .slot = i };
        cse_cluster_attach(cluster, i, 1000 + i);
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work_loop, &workers[i]), 0);
    }
    bool moved = coordinate(cluster, run, got);
    if (!moved) {
        cse_text dump = { 0 };
        cse_cluster_dump(cluster, &dump);
        fprintf(stderr, "%s", dump.data);
        cse_cluster_stop(cluster);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        ck_assert_int_eq(workers[i].result, CSE_WORK_ENDED);
    }
    ck_assert(moved);
    ck_assert_int_eq(cse_cluster_steps_done(cluster), run->first_step + run->steps);
    ck_assert_msg(memcmp(serial.fetched, got, (size_t)run->steps * sizeof got[0]) == 0 &&
                      memcmp(serial.states, cse_cluster_states_view(cluster), bytes) == 0,
                  "M %d, R %d, S %d, W %d, payload %s: other bits than the straight line",
                  run->microbatches, run->replicas, run->servers, run->inputs,
                  cse_rounding_name(run->payload));
    cse_cluster_destroy(&cluster);
    free(initial);
    fake_step_destroy(&step);
}

START_TEST(test_any_number_of_replicas)
{
    static const int microbatches[] = { 1, 3, 4, 5, 6, 7, 8 };
    for (unsigned i = 0; i < sizeof microbatches / sizeof *microbatches; i++)
        for (int payload = 0; payload < FAKE_PAYLOADS; payload++)
            for (int replicas = 1; replicas <= microbatches[i]; replicas++)
                run_and_compare(&(run_case){ .microbatches = microbatches[i],
                                             .replicas = replicas,
                                             .inputs = 1,
                                             .steps = 4,
                                             .pause_at = -1,
                                             .payload = fake_payloads[payload] });
}
END_TEST

START_TEST(test_any_number_of_servers_and_input_workers)
{
    for (int payload = 0; payload < FAKE_PAYLOADS; payload++)
        for (int servers = 0; servers <= 3; servers++)
            for (int inputs = 1; inputs <= 3; inputs++)
                run_and_compare(&(run_case){ .microbatches = 6,
                                             .replicas = 2,
                                             .servers = servers,
                                             .inputs = inputs,
                                             .steps = 5,
                                             .pause_at = -1,
                                             .payload = fake_payloads[payload] });
}
END_TEST

START_TEST(test_many_microbatches)
{
    static const int replicas[] = { 1, 3, 7 };
    for (int i = 0; i < 3; i++)
        run_and_compare(&(run_case){ .microbatches = 64,
                                     .replicas = replicas[i],
                                     .inputs = 2,
                                     .steps = 3,
                                     .pause_at = -1,
                                     .payload = fake_payloads[i] });
}
END_TEST

START_TEST(test_more_replicas_than_microbatches)
{
    run_and_compare(&(run_case){ .microbatches = 3,
                                 .replicas = 5,
                                 .inputs = 1,
                                 .steps = 5,
                                 .pause_at = -1,
                                 .payload = fake_payloads[0] });
}
END_TEST

START_TEST(test_tight_rings)
{
    /* One record, and a ring that holds just one step. */
    run_and_compare(&(run_case){ .microbatches = 4,
                                 .replicas = 2,
                                 .inputs = 2,
                                 .steps = 30,
                                 .records = 1,
                                 .ring = 4,
                                 .pause_at = -1,
                                 .payload = fake_payloads[0] });
    run_and_compare(&(run_case){ .microbatches = 4,
                                 .replicas = 3,
                                 .servers = 1,
                                 .inputs = 3,
                                 .steps = 30,
                                 .records = 2,
                                 .ring = 5,
                                 .pause_at = -1,
                                 .payload = fake_payloads[0] });
}
END_TEST

START_TEST(test_continued_run)
{
    run_and_compare(&(run_case){ .microbatches = 4,
                                 .replicas = 2,
                                 .inputs = 2,
                                 .first_step = 1000001,
                                 .steps = 6,
                                 .pause_at = -1,
                                 .payload = fake_payloads[0] });
}
END_TEST

START_TEST(test_release_holds_the_states)
{
    run_and_compare(&(run_case){ .microbatches = 4,
                                 .replicas = 2,
                                 .inputs = 2,
                                 .steps = 10,
                                 .pause_at = 5,
                                 .payload = fake_payloads[0] });
}
END_TEST

static cse_status failing_read(void *self, int64_t step, int64_t m, void *bytes)
{
    (void)self;
    (void)bytes;
    return step == 2 && m == 1 ? cse_fail(CSE_DATA, "/data/x: truncated") : CSE_OK;
}

START_TEST(test_failure_of_input_is_reported)
{
    fake_step *step = fake_step_new(2, 64, 64);
    unsigned char *states = fake_step_states(step);
    cse_cluster_layout layout = { .graph = fake_step_graph(step),
                                  .states = states,
                                  .replica_count = 1,
                                  .input_worker_count = 1,
                                  .weight_grad_reduce = fake_payloads[0],
                                  .num_steps = 10,
                                  .ring_microbatches = 16 };
    cse_cluster *cluster;
    cse_work *work;
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_OK);
    cse_microbatch_source source = { .read = failing_read };
    cse_work_options options = { .cluster = cluster, .slot = 1, .source = &source };
    ck_assert_int_eq(cse_work_new(&options, &work), CSE_OK);
    cse_work_result result;
    int filled = 0;
    while ((result = cse_work_once(work)) == CSE_WORK_DONE)
        filled++;
    ck_assert_int_eq(result, CSE_WORK_FAILED);
    ck_assert_int_eq(filled, 5);
    char text[CSE_FAILURE_TEXT_BYTES], name[32];
    ck_assert_int_eq(cse_cluster_failure(cluster, 1, text), CSE_DATA);
    ck_assert_str_eq(text, "/data/x: truncated");
    ck_assert_int_eq(cse_cluster_failure(cluster, 0, text), CSE_OK);
    ck_assert_str_eq(cse_cluster_slot_name(cluster, 1, name, sizeof name), "input worker 0");
    cse_work_destroy(&work);
    cse_cluster_destroy(&cluster);
    free(states);
    fake_step_destroy(&step);
}
END_TEST

/* A replica waits for input before steps are taken, and while they are: only the second is counted
 * as a wait of the steps. */
START_TEST(test_waits_are_those_of_the_steps)
{
    enum { BEFORE_NS = 50 * 1000 * 1000 };
    fake_step *step = fake_step_new(2, 64, 64);
    unsigned char *states = fake_step_states(step);
    const cse_cluster_layout layout = { .graph = fake_step_graph(step),
                                        .states = states,
                                        .replica_count = 1,
                                        .input_worker_count = 1,
                                        .weight_grad_reduce = fake_payloads[0],
                                        .num_steps = 1 };
    cse_cluster *cluster;
    cse_work *replica, *input;
    cse_record record;
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_OK);
    const cse_work_options computes = { .cluster = cluster,
                                        .executable = fake_step_executable(step) };
    const cse_work_options reads = { .cluster = cluster,
                                     .slot = 1,
                                     .source = fake_step_source(step) };
    ck_assert_int_eq(cse_work_new(&computes, &replica), CSE_OK);
    ck_assert_int_eq(cse_work_new(&reads, &input), CSE_OK);
    cse_cluster_release(cluster, 1);
    while (cse_work_once(replica) == CSE_WORK_DONE)
        ;
    const struct timespec before = { .tv_nsec = BEFORE_NS };
    nanosleep(&before, NULL);
    const int64_t start_ns = cse_clock_ns();
    cse_cluster_count_waits(cluster);
    while (!cse_cluster_next_record(cluster, &record)) {
        cse_work_once(input);
        ck_assert_int_ne(cse_work_once(replica), CSE_WORK_FAILED);
    }
    const int64_t steps_ns = cse_clock_ns() - start_ns;
    ck_assert_int_gt(record.times.input_wait_ns, 0);
    ck_assert_int_le(record.times.input_wait_ns, steps_ns);
    cse_cluster_count_waits(cluster);
    ck_assert(cse_cluster_next_record(cluster, &record));
    ck_assert_int_eq(record.times.input_wait_ns, 0);
    cse_work_destroy(&replica);
    cse_work_destroy(&input);
    cse_cluster_destroy(&cluster);
    free(states);
    fake_step_destroy(&step);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("work");
    TCase *tests = tcase_create("work");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, test_any_number_of_replicas);
    tcase_add_test(tests, test_any_number_of_servers_and_input_workers);
    tcase_add_test(tests, test_many_microbatches);
    tcase_add_test(tests, test_more_replicas_than_microbatches);
    tcase_add_test(tests, test_tight_rings);
    tcase_add_test(tests, test_continued_run);
    tcase_add_test(tests, test_release_holds_the_states);
    tcase_add_test(tests, test_failure_of_input_is_reported);
    tcase_add_test(tests, test_waits_are_those_of_the_steps);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
