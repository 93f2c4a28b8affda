/* Batch jobs of Slurm, without Slurm: what is read of its words, and the options of a job. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "workers/batch/slurm_job.h"
#include "workers/batch/slurm_options.h"

#define TASK(id, state, reason, code)                                                      \
    "JobId=" id " JobName=a b UserId=root(0) Priority=1 JobState=" state " Reason=" reason \
    " Dependency=(null) Requeue=1 Restarts=0 ExitCode=" code " RunTime=00:00:01\n"

static const struct {
    const char *printed;
    bool ended, runs;
    int exit_code;
    const char *words;
} states[] = {
    { TASK("7", "PENDING", "Resources", "0:0"), false, false, 0, "PENDING (Resources)" },
    { TASK("7", "RUNNING", "None", "0:0"), false, true, 0, "RUNNING" },
    { TASK("7", "COMPLETING", "None", "75:0"), false, false, 0, "COMPLETING" },
    { TASK("7", "REQUEUED", "BeginTime", "75:0"), false, false, 0, "REQUEUED (BeginTime)" },
    { TASK("7", "COMPLETED", "None", "0:0"), true, false, 0, "COMPLETED" },
    { TASK("7", "FAILED", "NonZeroExitCode", "78:0"), true, false, 78, "FAILED (NonZeroExitCode)" },
    { TASK("7", "FAILED", "RaisedSignal", "0:9"), true, false, 137, "FAILED (RaisedSignal)" },
    { TASK("7", "FAILED", "None", "what"), true, false, 1, "FAILED" },
    { TASK("7", "CANCELLED", "None", "0:15"), true, false, 130, "CANCELLED" },
    { TASK("7", "TIMEOUT", "TimeLimit", "0:1"), true, false, 75, "TIMEOUT (TimeLimit)" },
    { TASK("7", "NODE_FAIL", "NodeDown", "0:0"), true, false, 75, "NODE_FAIL (NodeDown)" },
    { TASK("7", "DEADLINE", "DeadLine", "0:0"), true, false, 124, "DEADLINE (DeadLine)" },
    /* Arrays: who runs, then who waits, then the last that ran. */
    { TASK("9", "PENDING", "JobArrayTaskLimit", "0:0") TASK("8", "RUNNING", "None", "0:0")
          TASK("7", "FAILED", "None", "75:0"),
      false, true, 0, "RUNNING" },
    { TASK("9", "PENDING", "BeginTime", "0:0") TASK("7", "FAILED", "None", "75:0"), false, false, 0,
      "PENDING (BeginTime)" },
    { TASK("9", "CANCELLED", "None", "0:0") TASK("8", "COMPLETED", "None", "0:0")
          TASK("7", "FAILED", "None", "75:0"),
      true, false, 0, "COMPLETED" },
};

START_TEST(states_are_read)
{
    cse_slurm_state state;
    ck_assert(cse_slurm_read(states[_i].printed, &state));
    ck_assert_int_eq(state.ended, states[_i].ended);
    ck_assert_int_eq(state.runs, states[_i].runs);
    ck_assert_int_eq(state.exit_code, states[_i].exit_code);
    ck_assert_str_eq(state.words, states[_i].words);
}
END_TEST

START_TEST(other_texts_are_no_state)
{
    static const char *const texts[] = { "", "\n\n", "slurm_load_jobs error: Unable to contact",
                                         "XJobState=RUNNING JobStat=1", "JobId=7 State=RUNNING\n" };
    cse_slurm_state state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!cse_slurm_read(texts[i], &state), "%s", texts[i]);
    char *long_state = malloc(10000);
    memset(long_state, 'A', 10000);
    memcpy(long_state, "JobState=", 9);
    long_state[9999] = '\0';
    ck_assert(cse_slurm_read(long_state, &state));
    ck_assert(!state.ended && strlen(state.words) < sizeof state.words);
    free(long_state);
}
END_TEST

static cse_status add(const char *text, int *count)
{
    cse_arena *arena = cse_arena_new();
    cse_words words = { 0 };
    const cse_status status = cse_slurm_options_add(&words, arena, text);
    *count = words.count;
    cse_arena_destroy(&arena);
    return status;
}

START_TEST(options_that_say_what_is_asked_for)
{
    int count;
    ck_assert_int_eq(add(NULL, &count), CSE_OK);
    ck_assert_int_eq(count, 0);
    ck_assert_int_eq(add("--nodes=4 --time=24:00:00 --exclusive '--comment=two words'", &count),
                     CSE_OK);
    ck_assert_int_eq(count, 4);
    ck_assert_int_eq(add("--array=1-9%1 --constraint=\"a&b|c\"", &count), CSE_OK);
}
END_TEST

/* Among them all that write a file, run something, or change whose job it is. */
static const struct {
    const char *text, *words;
} refused[] = {
    { "--output=/etc/passwd", "is none that a job may have" },
    { "--error=x", "is none that a job may have" },
    { "--open-mode=truncate", "is none that a job may have" },
    { "--chdir=/etc", "is none that a job may have" },
    { "--wrap=reboot", "is none that a job may have" },
    { "--export=LD_PRELOAD=/x", "is none that a job may have" },
    { "--export-file=/x", "is none that a job may have" },
    { "--get-user-env", "is none that a job may have" },
    { "--uid=0", "is none that a job may have" },
    { "--gid=0", "is none that a job may have" },
    { "--bb=#x", "is none that a job may have" },
    { "--bbf=/x", "is none that a job may have" },
    { "--mail-user=a@b", "is none that a job may have" },
    { "--prefer=x", "is none that a job may have" },
    { "--nod=4", "is none that a job may have" },
    { "--nodesx=4", "is none that a job may have" },
    { "-N4", "long name" },
    { "script.sh", "long name" },
    { "--", "is none that a job may have" },
    { "--nodes 4", "needs a value" },
    { "--nodes=", "empty" },
    { "--exclusive=user", "takes no value" },
    { "--comment=a\001b", "not of ASCII" },
    { "'--comment=open", "quote" },
};

START_TEST(other_options_are_refused)
{
    int count;
    ck_assert_int_eq(add(refused[_i].text, &count), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), refused[_i].words) != NULL, "%s",
                  cse_error_message());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slurm_texts");
    TCase *tests = tcase_create("texts");
    tcase_add_loop_test(tests, states_are_read, 0, (int)(sizeof states / sizeof *states));
    tcase_add_test(tests, other_texts_are_no_state);
    tcase_add_test(tests, options_that_say_what_is_asked_for);
    tcase_add_loop_test(tests, other_options_are_refused, 0,
                        (int)(sizeof refused / sizeof *refused));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
