/* Creating and mapping arenas, their limits, slots, records and the input ring. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "tests/support/fake_step.h"
#include "workers/arena/worker_side.h"

static fake_step *step;
static unsigned char *states;
static cse_cluster_layout layout;

static void setup(void)
{
    step = fake_step_new(4, 1000, 100);
    states = fake_step_states(step);
    layout = (cse_cluster_layout){ .graph = fake_step_graph(step),
                                   .states = states,
                                   .replica_count = 2,
                                   .weight_server_count = 1,
                                   .input_worker_count = 3,
                                   .weight_grad_reduce = { CSE_FLOAT32, false },
                                   .num_steps = 10 };
}

static void teardown(void)
{
    free(states);
    fake_step_destroy(&step);
}

static cse_cluster *create(void)
{
    cse_cluster *cluster;
    ck_assert_msg(cse_cluster_create(&layout, &cluster) == CSE_OK, "%s", cse_error_message());
    return cluster;
}

START_TEST(test_slots_and_roles)
{
    cse_cluster *cluster = create();
    char name[32];
    ck_assert_int_eq(cse_cluster_slot_count(cluster), 6);
    ck_assert_str_eq(cse_cluster_slot_name(cluster, 1, name, sizeof name), "replica 1");
    ck_assert_str_eq(cse_cluster_slot_name(cluster, 2, name, sizeof name), "weight server 0");
    ck_assert_str_eq(cse_cluster_slot_name(cluster, 5, name, sizeof name), "input worker 2");
    ck_assert_int_eq(cse_cluster_slot_roles(cluster, 0), CSE_ROLE_REPLICA);
    cse_cluster_destroy(&cluster);
    layout.weight_server_count = 0;
    cluster = create();
    ck_assert_int_eq(cse_cluster_slot_roles(cluster, 0), CSE_ROLE_REPLICA | CSE_ROLE_WEIGHT_SERVER);
    ck_assert_int_eq(cse_cluster_slot_roles(cluster, 2), CSE_ROLE_INPUT);
    cse_cluster_destroy(&cluster);
}
END_TEST

START_TEST(test_another_mapping_sees_the_same)
{
    cse_cluster *cluster = create(), *other;
    ck_assert_int_eq(cse_cluster_map(dup(cse_cluster_descriptor(cluster)), &other), CSE_OK);
    ck_assert_ptr_ne(cluster->base, other->base);
    cse_cluster_attach(cluster, 3, 4711);
    ck_assert_int_eq(cse_cluster_occupant(other, 3), 4711);
    ck_assert(memcmp(cse_cluster_states_view(other), states,
                     (size_t)layout.graph->space_bytes[CSE_SPACE_STATE]) == 0);
    ck_assert_int_eq(fcntl(cse_cluster_descriptor(cluster), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    cse_cluster_destroy(&other);
    cse_cluster_destroy(&cluster);
}
END_TEST

START_TEST(test_hot_words_have_lines_of_their_own)
{
    cse_cluster *cluster = create();
    ck_assert_uint_eq(sizeof(cse_word), 64);
    ck_assert_uint_eq((uintptr_t)cluster->step % 64, 0);
    ck_assert_uint_ge((uintptr_t)cluster->doorbell - (uintptr_t)cluster->step, 64);
    ck_assert_uint_eq((uintptr_t)cse_arena_states(cluster) % 64, 0);
    ck_assert_uint_eq((uintptr_t)cse_arena_fetched(cluster, 3) % 64, 0);
    ck_assert_uint_eq((uintptr_t)cse_arena_input(cluster, 3) % 64, 0);
    cse_cluster_destroy(&cluster);
}
END_TEST

START_TEST(test_what_is_no_arena_is_refused)
{
    cse_cluster *cluster;
    int file = memfd_create("other", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(file, 8192), 0);
    ck_assert_int_eq(cse_cluster_map(file, &cluster), CSE_UNAVAILABLE);
    ck_assert_int_eq(cse_cluster_map(-1, &cluster), CSE_UNAVAILABLE);
    /* A head that claims more than the file has. */
    cluster = create();
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    const int own = cse_cluster_descriptor(cluster);
    ck_assert_int_eq(fcntl(own, F_GET_SEALS) & seals, seals);
    ck_assert_int_ne(ftruncate(own, 8192), 0); /* nobody can take memory from the others */
    char head[8192];
    int copy = memfd_create("copy", MFD_CLOEXEC);
    ck_assert_int_eq(pread(own, head, sizeof head, 0), sizeof head);
    ck_assert_int_eq(pwrite(copy, head, sizeof head, 0), sizeof head);
    cse_cluster *other;
    ck_assert_int_eq(cse_cluster_map(copy, &other), CSE_UNAVAILABLE);
    cse_cluster_destroy(&cluster);
}
END_TEST

START_TEST(test_counts_out_of_range)
{
    cse_cluster *cluster;
    layout.replica_count = 0;
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_CONFIG);
    layout.replica_count = CSE_MAX_SLOTS + 1;
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_CONFIG);
    layout.replica_count = 2;
    layout.ring_microbatches = 3;
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_CONFIG);
    layout.ring_microbatches = 0;
    layout.weight_grad_reduce.format = CSE_INT32;
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_CONFIG);
    ck_assert_ptr_null(cluster);
    layout.weight_grad_reduce = (cse_rounding){ CSE_FLOAT16, true };
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_CONFIG);
    layout.weight_grad_reduce = (cse_rounding){ CSE_FLOAT32, false };
    layout.first_step = INT64_MAX - 5;
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_CONFIG);
}
END_TEST

START_TEST(test_another_step_is_refused)
{
    cse_cluster *cluster = create();
    cse_work *work;
    fake_step *other = fake_step_new(4, 1001, 200);
    cse_work_options options = { .cluster = cluster, .executable = fake_step_executable(other) };
    ck_assert_int_eq(cse_work_new(&options, &work), CSE_UNAVAILABLE);
    options.slot = 99;
    ck_assert_int_eq(cse_work_new(&options, &work), CSE_UNAVAILABLE);
    fake_step_destroy(&other);
    cse_cluster_destroy(&cluster);
}
END_TEST

START_TEST(test_ring_is_bounded_and_shared_by_rank)
{
    layout.ring_microbatches = 8;
    cse_cluster *cluster = create();
    cse_ring_view view = { 0 };
    cse_ring_claim claim = { .slot = 4, .worker = 1, .workers = 3, .step = 0 };
    int64_t order[9];
    for (int i = 0; i < 9; i++) {
        order[i] = cse_ring_take(cluster, &view, &claim);
        if (order[i] >= 0)
            cse_ring_publish(cluster, order[i]);
    }
    /* D = 8 places: its own 1, 4, 7 first, then what the others have not taken. */
    static const int64_t expected[9] = { 1, 4, 7, 0, 2, 3, 5, 6, -1 };
    ck_assert(memcmp(order, expected, sizeof order) == 0);
    ck_assert(cse_ring_ready(cluster, 7));
    ck_assert(!cse_ring_ready(cluster, 8));
    claim.step = 1; /* a commit frees four places */
    for (int i = 0; i < 4; i++)
        ck_assert_int_ge(cse_ring_take(cluster, &view, &claim), 8);
    ck_assert_int_eq(cse_ring_take(cluster, &view, &claim), -1);
    cse_ring_give_back(cluster, 9);
    ck_assert_int_eq(cse_ring_take(cluster, &view, &claim), 9);
    cse_cluster_destroy(&cluster);
}
END_TEST

START_TEST(test_ring_ends_with_the_run)
{
    layout.num_steps = 1;
    cse_cluster *cluster = create();
    cse_ring_view view = { 0 };
    cse_ring_claim claim = { .slot = 3, .worker = -1, .workers = 3 };
    for (int q = 0; q < 4; q++)
        ck_assert_int_eq(cse_ring_take(cluster, &view, &claim), q);
    ck_assert_int_eq(cse_ring_take(cluster, &view, &claim), -1);
    cse_cluster_destroy(&cluster);
}
END_TEST

START_TEST(test_failures_and_the_stop)
{
    cse_cluster *cluster = create();
    char text[CSE_FAILURE_TEXT_BYTES], longest[3000];
    cse_work *work;
    cse_work_options options = { .cluster = cluster, .slot = 3, .source = fake_step_source(step) };
    ck_assert_int_eq(cse_work_new(&options, &work), CSE_OK);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    cse_cluster_report_failure(cluster, 2, CSE_DATA, longest);
    ck_assert_int_eq(cse_cluster_failure(cluster, 2, text), CSE_DATA);
    ck_assert_uint_eq(strlen(text), CSE_FAILURE_TEXT_BYTES - 1);
    cse_cluster_stop(cluster);
    ck_assert_int_eq(cse_work_once(work), CSE_WORK_ENDED);
    cse_work_destroy(&work);
    cse_cluster_destroy(&cluster);
}
END_TEST

START_TEST(test_waits_end)
{
    cse_cluster *cluster = create();
    int64_t from = cse_clock_ns();
    cse_cluster_wait(cluster, CSE_WAKE_RECORD | CSE_WAKE_URGENT, 20000000);
    ck_assert_int_ge(cse_clock_ns() - from, 20000000);
    cse_cluster_report_failure(cluster, 2, CSE_DATA, "x");
    from = cse_clock_ns();
    cse_cluster_wait(cluster, CSE_WAKE_URGENT, 3000000000);
    ck_assert_int_lt(cse_clock_ns() - from, 2000000000);
    cse_cluster_destroy(&cluster);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *tests = tcase_create("arena");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_slots_and_roles);
    tcase_add_test(tests, test_another_mapping_sees_the_same);
    tcase_add_test(tests, test_hot_words_have_lines_of_their_own);
    tcase_add_test(tests, test_what_is_no_arena_is_refused);
    tcase_add_test(tests, test_counts_out_of_range);
    tcase_add_test(tests, test_another_step_is_refused);
    tcase_add_test(tests, test_ring_is_bounded_and_shared_by_rank);
    tcase_add_test(tests, test_ring_ends_with_the_run);
    tcase_add_test(tests, test_failures_and_the_stop);
    tcase_add_test(tests, test_waits_end);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
