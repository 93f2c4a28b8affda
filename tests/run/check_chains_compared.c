/* Up to which step two runs are the same by their digests: from the first to the last step, over
 * several stretches, with runs of different lengths, and of runs without digests. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/travel/chains_compared.h"
#include "store/store.h"
#include "tests/support/temporary_folder.h"

static char folders[2][64];

/* A run of the steps [first, last], whose states, or samples, are others from `differs` on. */
typedef struct made_up {
    int64_t first, last, differs;
    bool samples;
} made_up;

static void write_run(const char *folder, const made_up *run)
{
    cse_store *store = NULL;
    ck_assert_int_eq(cse_store_open(folder, NULL, &store), CSE_OK);
    for (int64_t step = run->first; step <= run->last; step++) {
        unsigned char states[16] = { 0 }, samples[16] = { 1 }, chain[32] = { 2 };
        memcpy(states, &step, sizeof step);
        if (run->differs > 0 && step >= run->differs)
            (run->samples ? samples : states)[15] = 1;
        cse_store_chain(
            store,
            &(cse_chain_row){ .step = step, .states = states, .samples = samples, .chain = chain });
        if (step % 25000 == 0)
            ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    }
    cse_store_set_integer(store, "last_step", run->last);
    cse_store_close(&store);
}

static cse_chains_compared compare(const made_up runs[2])
{
    cse_chains_compared compared;
    const char *const directories[2] = { folders[0], folders[1] };
    for (int r = 0; r < 2; r++) {
        snprintf(folders[r], sizeof folders[r], "check_chains_XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folders[r]));
        write_run(folders[r], &runs[r]);
    }
    ck_assert_int_eq(cse_chains_compare(directories, &compared), CSE_OK);
    for (int r = 0; r < 2; r++)
        ck_assert(temporary_folder_remove(folders[r]));
    return compared;
}

static const struct {
    made_up runs[2];
    cse_chains_compared wanted;
} cases[] = {
    { { { 1, 40, 0, false }, { 1, 30, 0, false } }, { 30, 30, 0, false } },
    { { { 1, 40, 0, false }, { 1, 40, 21, false } }, { 21, 20, 21, false } },
    { { { 1, 40, 21, true }, { 1, 40, 0, false } }, { 21, 20, 21, true } },
    { { { 1, 40, 0, false }, { 1, 40, 1, false } }, { 1, 0, 1, false } },
    { { { 1, 40, 0, false }, { 31, 50, 0, false } }, { 10, 40, 0, false } }, /* a fork */
    { { { 1, 40, 0, false }, { 31, 50, 35, false } }, { 5, 34, 35, false } },
    { { { 1, 40, 0, false }, { 41, 50, 0, false } }, { 0, 0, 0, false } }, /* nothing in common */
    { { { 1, 40, 0, false }, { 1, 0, 0, false } }, { 0, 0, 0, false } },   /* no digests */
    { { { 1, 60000, 0, false }, { 1, 60000, 50001, false } }, { 50001, 50000, 50001, false } },
    { { { 1, 50010, 0, false }, { 1, 60000, 50011, false } }, { 50010, 50010, 0, false } },
};

START_TEST(runs_are_the_same_up_to_a_step)
{
    const cse_chains_compared found = compare(cases[_i].runs), *wanted = &cases[_i].wanted;
    ck_assert_int_eq(found.common, wanted->common);
    ck_assert_int_eq(found.same_to, wanted->same_to);
    ck_assert_int_eq(found.differs, wanted->differs);
    ck_assert_int_eq(found.samples_differ, wanted->samples_differ);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chains_compared");
    TCase *tests = tcase_create("chains_compared");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, runs_are_the_same_up_to_a_step, 0,
                        (int)(sizeof cases / sizeof cases[0]));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
