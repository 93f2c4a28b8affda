/* What a host leaves an execution: memory of the plan against limits, and the sentence that names
 * its parts, the limit's file and what to change. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "workers/control/execution_limits.h"

#define MIB (INT64_C(1) << 20)

/* 4 workers with 100 MiB each, 400 MiB of shared memory, 50 MiB of states. */
static cse_execution_needs needs_of_plan(void)
{
    return (cse_execution_needs){
        .replicas = 2,
        .input_workers = 2,
        .cores = 2,
        .arena_bytes = 400 * MIB,
        .worker_bytes = 4 * (100 * MIB + CSE_WORKER_BASE_BYTES),
        .coordinator_bytes = CSE_COORDINATOR_BASE_BYTES + 50 * MIB,
    };
}

static cse_status fits(int64_t bytes, int64_t swap, const char *file)
{
    cse_memory_limit limit = { .bytes = bytes, .swap_bytes = swap };
    const cse_execution_needs needs = needs_of_plan();
    snprintf(limit.file, sizeof limit.file, "%s", file);
    return cse_execution_fits(&needs, &limit);
}

START_TEST(the_plan_counts_and_not_the_usual_size_of_a_process)
{
    ck_assert_int_eq(fits(850 * MIB, 0, "/sys/fs/cgroup/a/memory.max"), CSE_SYSTEM_LIMIT);
    ck_assert_int_eq(fits(870 * MIB, 0, "/sys/fs/cgroup/a/memory.max"), CSE_OK);
    ck_assert_int_eq(fits(800 * MIB, 100 * MIB, "/sys/fs/cgroup/a/memory.max"), CSE_OK);
    ck_assert_int_eq(fits(0, 0, ""), CSE_OK); /* not known */
}
END_TEST

START_TEST(the_sentence_has_need_parts_limit_and_remedies)
{
    static const char *const parts[] = { "at least 866.0 MiB",
                                         "shared by all processes 400.0",
                                         "of 4 workers 408.0",
                                         "copy of the states 58.0",
                                         "/sys/fs/cgroup/a/memory.max allows 512.0 MiB",
                                         "micro_batch_size",
                                         "num_csx",
                                         "recompute" };
    fits(512 * MIB, 0, "/sys/fs/cgroup/a/memory.max");
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
        ck_assert_msg(strstr(cse_error_message(), parts[p]) != NULL, "no \"%s\" in: %s", parts[p],
                      cse_error_message());
    fits(512 * MIB, 0, "");
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "this machine allows 512.0 MiB"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("execution_limits");
    TCase *tests = tcase_create("execution_limits");
    tcase_add_test(tests, the_plan_counts_and_not_the_usual_size_of_a_process);
    tcase_add_test(tests, the_sentence_has_need_parts_limit_and_remedies);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
