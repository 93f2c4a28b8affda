/* Arenas that outlive their coordinator: kept for another process, taken where they fit, refused
 * where they do not. What is in them afterwards is checked by tests/simulation. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/fake_step.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/inherit.h"
#include "workers/arena/kept_arena.h"
#include "workers/arena/layout.h"
#include "workers/worker/work.h"

enum { MICROBATCHES = 4, ELEMENTS = 700 };

static fake_step *step;

static cse_cluster_layout layout_of(int64_t first_step, int64_t num_steps)
{
    return (cse_cluster_layout){ .graph = fake_step_graph(step),
                                 .artefact_digest = "0123",
                                 .data_identity = "file a",
                                 .replica_count = 2,
                                 .input_worker_count = 1,
                                 .weight_grad_reduce = fake_payloads[0],
                                 .seed = 77,
                                 .first_step = first_step,
                                 .num_steps = num_steps };
}

static cse_cluster *new_cluster(int64_t num_steps)
{
    cse_cluster *cluster = NULL;
    cse_cluster_layout layout = layout_of(0, num_steps);
    unsigned char *states = fake_step_states(step);
    layout.states = states;
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_OK);
    free(states);
    return cluster;
}

static void set_up(void)
{
    step = fake_step_new(MICROBATCHES, ELEMENTS, 100);
}

static void tear_down(void)
{
    fake_step_destroy(&step);
}

/* One process in all roles runs the steps up to `end`, and its records are read and freed. */
static void run_to(cse_cluster *cluster, int64_t end)
{
    cse_work *work = NULL;
    cse_record record;
    ck_assert_int_eq(cse_work_new(&(cse_work_options){ .cluster = cluster,
                                                       .executable = fake_step_executable(step),
                                                       .source = fake_step_source(step) },
                                  &work),
                     CSE_OK);
    cse_cluster_attach(cluster, 0, getpid());
    cse_cluster_set_roles(cluster, 0, CSE_ROLE_REPLICA | CSE_ROLE_WEIGHT_SERVER | CSE_ROLE_INPUT);
    cse_cluster_release(cluster, end);
    for (int turn = 0; cse_cluster_steps_done(cluster) < end; turn++) {
        ck_assert_int_lt(turn, 100000);
        ck_assert_int_ne(cse_work_once(work), CSE_WORK_FAILED);
        while (cse_cluster_next_record(cluster, &record)) {
            cse_cluster_close_record(cluster);
            cse_cluster_free_records(cluster, record.step); /* the last one stays */
        }
    }
    cse_work_destroy(&work);
}

static bool states_are_after(const cse_cluster *cluster, int64_t steps)
{
    float fetched[8][FAKE_FETCHES];
    unsigned char *expected = fake_step_states(step);
    if (steps > 0)
        fake_step_reference(step, fake_payloads[0], (const int64_t[]){ 0, steps }, expected,
                            fetched);
    bool equal = memcmp(expected, cse_cluster_states_view(cluster),
                        (size_t)fake_step_graph(step)->space_bytes[CSE_SPACE_STATE]) == 0;
    free(expected);
    return equal;
}

/* ---- keeping ---- */

static ino_t file_of(int descriptor)
{
    struct stat facts;
    ck_assert_int_eq(fstat(descriptor, &facts), 0);
    close(descriptor);
    return facts.st_ino;
}

START_TEST(the_last_arena_is_kept)
{
    cse_kept_arena kept;
    ck_assert(cse_kept_arena_open(&kept));
    ck_assert_int_eq(cse_kept_arena_get(&kept), -1);
    for (int i = 0; i < 5; i++) {
        cse_cluster *cluster = new_cluster(1);
        const ino_t file = file_of(dup(cse_cluster_descriptor(cluster)));
        ck_assert(cse_kept_arena_put(&kept, cse_cluster_descriptor(cluster)));
        cse_cluster_destroy(&cluster);
        for (int time = 0; time < 3; time++) /* it stays there */
            ck_assert_uint_eq(file_of(cse_kept_arena_get(&kept)), file);
    }
    cse_kept_arena_drop(&kept);
    ck_assert_int_eq(cse_kept_arena_get(&kept), -1);
    cse_kept_arena_close(&kept);
}
END_TEST

/* A process forks from the same parent, takes the arena, and finds the states. */
START_TEST(another_process_has_it)
{
    int status = -1;
    cse_kept_arena *kept =
        mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(kept, MAP_FAILED);
    ck_assert(cse_kept_arena_open(kept));
    pid_t first = fork();
    if (first == 0) {
        cse_cluster *cluster = new_cluster(5);
        run_to(cluster, 3);
        cse_kept_arena_put(kept, cse_cluster_descriptor(cluster));
        kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(first, &status, 0), first);
    const int descriptor = cse_kept_arena_get(kept);
    ck_assert_int_ge(descriptor, 0);
    cse_arena_facts facts;
    ck_assert_int_eq(cse_arena_look(descriptor, &facts), CSE_OK);
    ck_assert_int_eq(facts.steps_done, 3);
    ck_assert_int_eq(facts.freed, 2);
    ck_assert_int_eq(facts.end_step, 5);
    cse_cluster *cluster = NULL;
    const cse_cluster_layout layout = layout_of(facts.freed, facts.end_step - facts.freed);
    ck_assert_int_eq(cse_cluster_inherit(&layout, descriptor, &cluster), CSE_OK);
    ck_assert(!cse_cluster_has_survivors(cluster));
    cse_cluster_settle(cluster);
    ck_assert_int_eq(cse_cluster_occupant(cluster, 0), 0);
    ck_assert(states_are_after(cluster, 3));
    cse_record record;
    ck_assert(cse_cluster_next_record(cluster, &record));
    ck_assert_int_eq(record.step, 2); /* told again */
    run_to(cluster, 5);
    ck_assert(states_are_after(cluster, 5));
    cse_cluster_destroy(&cluster);
    cse_kept_arena_close(kept);
    munmap(kept, sizeof *kept);
}
END_TEST

/* A coordinator that dies before a record is free has told its first step: what the chain of
 * digests was before that is in the arena, and who comes goes on from it. */
START_TEST(the_chain_before_the_first_step_is_kept)
{
    unsigned char chain[CSE_CHAIN_BYTES];
    cse_cluster *cluster = NULL, *taken = NULL;
    cse_cluster_layout layout = layout_of(0, 5);
    cse_record record;
    unsigned char *states = fake_step_states(step);
    memset(chain, 0xa5, sizeof chain);
    layout.states = states;
    layout.state_digests = true;
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_OK);
    cse_cluster_begin_chain(cluster, 0, chain);
    run_to(cluster, 1); /* its record is closed, and not free */
    layout.states = NULL;
    ck_assert_int_eq(cse_cluster_inherit(&layout, dup(cse_cluster_descriptor(cluster)), &taken),
                     CSE_OK);
    cse_cluster_settle(taken);
    ck_assert(cse_cluster_next_record(taken, &record));
    ck_assert_int_eq(record.step, 0);
    ck_assert_ptr_nonnull(record.chain_before);
    ck_assert_mem_eq(record.chain_before->chain, chain, sizeof chain);
    cse_cluster_destroy(&taken);
    cse_cluster_destroy(&cluster);
    free(states);
}
END_TEST

/* ---- refusals ---- */

static void refuse(cse_cluster *cluster, cse_cluster_layout layout)
{
    cse_cluster *taken = NULL;
    ck_assert_int_eq(cse_cluster_inherit(&layout, dup(cse_cluster_descriptor(cluster)), &taken),
                     CSE_UNAVAILABLE);
    ck_assert_ptr_null(taken);
}

START_TEST(another_arena_is_refused)
{
    cse_cluster *cluster = new_cluster(5);
    cse_cluster_layout layout = layout_of(0, 5);
    layout.artefact_digest = "0124";
    refuse(cluster, layout);
    layout = layout_of(0, 5);
    layout.data_identity = "file b";
    refuse(cluster, layout);
    layout.data_identity = NULL;
    refuse(cluster, layout);
    layout = layout_of(0, 5);
    layout.seed = 78;
    refuse(cluster, layout);
    layout = layout_of(0, 5);
    layout.replica_count = 1;
    refuse(cluster, layout);
    refuse(cluster, layout_of(0, 6));
    cse_cluster_attach(cluster, 1, getpid());
    ck_assert(cse_cluster_has_survivors(cluster));
    cse_cluster_destroy(&cluster);
}
END_TEST

START_TEST(what_is_no_arena_is_refused)
{
    cse_arena_facts facts;
    cse_cluster *cluster = new_cluster(5);
    atomic_store(&cluster->control->closed, 3); /* and no step is done */
    ck_assert_int_eq(cse_arena_look(cse_cluster_descriptor(cluster), &facts), CSE_UNAVAILABLE);
    atomic_store(&cluster->control->closed, -1);
    ck_assert_int_eq(cse_arena_look(cse_cluster_descriptor(cluster), &facts), CSE_UNAVAILABLE);
    cse_cluster_destroy(&cluster);
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(cse_arena_look(ends[0], &facts), CSE_UNAVAILABLE);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* ---- the next steps ---- */

START_TEST(an_arena_goes_on_with_the_next_steps)
{
    cse_cluster *cluster = new_cluster(3);
    cse_cluster_layout layout = layout_of(3, 4);
    ck_assert_int_eq(cse_cluster_extend(cluster, &layout), CSE_UNAVAILABLE); /* it is not there */
    run_to(cluster, 3);
    ck_assert(states_are_after(cluster, 3));
    cse_cluster_recover(cluster, 0);
    cse_cluster_shrink(cluster);
    layout.seed = 78;
    ck_assert_int_eq(cse_cluster_extend(cluster, &layout), CSE_UNAVAILABLE);
    layout = layout_of(2, 4);
    ck_assert_int_eq(cse_cluster_extend(cluster, &layout), CSE_UNAVAILABLE);
    layout = layout_of(3, 4);
    ck_assert_int_eq(cse_cluster_extend(cluster, &layout), CSE_OK);
    ck_assert(states_are_after(cluster, 3));
    run_to(cluster, 7);
    ck_assert(states_are_after(cluster, 7));
    cse_cluster_destroy(&cluster);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arenas that outlive their coordinator");
    TCase *tests = tcase_create("inherit");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_last_arena_is_kept);
    tcase_add_test(tests, another_process_has_it);
    tcase_add_test(tests, the_chain_before_the_first_step_is_kept);
    tcase_add_test(tests, another_arena_is_refused);
    tcase_add_test(tests, what_is_no_arena_is_refused);
    tcase_add_test(tests, an_arena_goes_on_with_the_next_steps);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
