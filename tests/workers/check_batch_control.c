/* Commands to a batch job, without Slurm: scontrol and srun are scripts that say what a test wants,
 * so that each way of failing, and answers that somebody made up, can be had. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "tests/support/temporary_folder.h"
#include "workers/batch/batch_control.h"
#include "workers/messages/message.h"

#define RUNS "echo JobId=12 JobState=RUNNING Reason=None BatchHost=n1 ExitCode=0:0"

static char folder[4096], path[8192];

static void write_script(const char *name, const char *text)
{
    char file[8192];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    FILE *out = fopen(file, "we");
    ck_assert_ptr_nonnull(out);
    fprintf(out, "#!/bin/sh\ncd '%s' || exit 9\n%s\n", folder, text);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_int_eq(chmod(file, 0755), 0);
}

static void enter(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/check_batch_control_XXXXXX", tmp != NULL ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
    setenv("PATH", path, 1);
}

static void leave(void)
{
    ck_assert(temporary_folder_remove(folder));
}

/* An answer as a relay prints it. */
static void add_answer(cse_status status, const char *words, cse_text *line)
{
    cse_text bytes = { 0 };
    ck_assert_int_eq(cse_control_encode_reply(status, words, &bytes), CSE_OK);
    cse_batch_control_write(&bytes, line);
    cse_text_clear(&bytes);
}

/* srun prints `text` on its standard output. */
static void srun_prints(const char *text)
{
    char file[8192];
    snprintf(file, sizeof file, "%s/printed", folder);
    FILE *out = fopen(file, "we");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    ck_assert_int_eq(fclose(out), 0);
    write_script("srun", "cat >got; printf '%s\\n' \"$@\" >words; cat printed");
}

static cse_status send(cse_control_reply *reply)
{
    const cse_control_request request = { .command = "pause",
                                          .reason = "two words; $(reboot)",
                                          .timeout_ms = 5000 };
    return cse_batch_control_send("/shared/a run", "12", &request, reply);
}

static void read_file(const char *name, cse_text *text)
{
    char file[8192], block[512];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    FILE *in = fopen(file, "re");
    ck_assert_ptr_nonnull(in);
    for (size_t got; (got = fread(block, 1, sizeof block, in)) > 0;)
        cse_text_add_bytes(text, block, got);
    fclose(in);
}

START_TEST(the_answer_of_the_run_comes_back)
{
    cse_text printed = { 0 }, words = { 0 }, got = { 0 }, bytes = { 0 };
    cse_control_reply reply;
    cse_message message;
    cse_text_add(&printed, "welcome to n1\ncsengine-answer xyz\n");
    add_answer(CSE_OK, "pauses after step 7", &printed);
    cse_text_add(&printed, "good bye");
    write_script("scontrol", RUNS);
    srun_prints(printed.data);
    ck_assert_msg(send(&reply) == CSE_OK, "%s", cse_error_message());
    ck_assert_str_eq(reply.text, "pauses after step 7");
    read_file("words", &words);
    ck_assert_ptr_nonnull(strstr(words.data, "--jobid=12\n--nodelist=n1\n/"));
    ck_assert_ptr_nonnull(strstr(words.data, "\nrelay\n"));
    ck_assert_ptr_nonnull(strstr(words.data, "\n2500\n/shared/a run\n"));
    ck_assert_ptr_null(strstr(words.data, "reboot"));
    read_file("got", &got);
    ck_assert_int_eq(cse_batch_control_read(&got, &bytes), CSE_OK);
    ck_assert_int_eq(cse_message_decode(bytes.data, bytes.size, &message), CSE_OK);
    ck_assert_int_eq(message.kind, CSE_MESSAGE_PAUSE);
    ck_assert_str_eq(message.pause.reason, "two words; $(reboot)");
    cse_text_clear(&printed);
    cse_text_clear(&words);
    cse_text_clear(&got);
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(a_refusal_of_the_run_is_one_here)
{
    cse_text printed = { 0 };
    cse_control_reply reply;
    add_answer(CSE_USAGE, "it is paused already", &printed);
    write_script("scontrol", RUNS);
    srun_prints(printed.data);
    ck_assert_int_eq(send(&reply), CSE_USAGE);
    ck_assert_str_eq(cse_error_message(), "it is paused already");
    cse_text_clear(&printed);
}
END_TEST

static const struct {
    const char *scontrol, *srun;
    cse_status status;
    const char *words;
} failures[] = {
    { "echo JobId=12 JobState=PENDING Reason=Resources ExitCode=0:0", NULL, CSE_TEMPORARY,
      "does not run: PENDING (Resources); give the command again" },
    { "echo JobId=12 JobState=FAILED Reason=None BatchHost=n1 ExitCode=1:0", NULL, CSE_UNAVAILABLE,
      "has ended: FAILED" },
    { "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", NULL, CSE_UNAVAILABLE,
      "does not know it any more" },
    { "echo 'Unable to contact slurm controller' >&2; exit 1", NULL, CSE_TEMPORARY,
      "Unable to contact" },
    { "echo JobId=12 JobState=RUNNING BatchHost=--uid=0", NULL, CSE_UNAVAILABLE, "which node" },
    { "echo JobId=12 JobState=RUNNING BatchHost=-n1", NULL, CSE_UNAVAILABLE, "which node" },
    { "echo 'JobId=12;x JobState=RUNNING BatchHost=n1'", NULL, CSE_UNAVAILABLE, "which node" },
    { RUNS, "echo 'slurmstepd: error: execve(): /x: No such file or directory' >&2; exit 2",
      CSE_UNAVAILABLE, "install csengine at one path" },
    { RUNS, "echo 'srun: error: Unable to create step: node is down' >&2; exit 1", CSE_UNAVAILABLE,
      "node is down; `scontrol show node n1`" },
    { RUNS, "exit 0", CSE_UNAVAILABLE, "gave no answer" },
    { RUNS, "echo csengine-answer 4353454", CSE_UNAVAILABLE, "gave no answer" },
    { RUNS, "printf 'csengine-answer 43534'", CSE_UNAVAILABLE, "gave no answer" },
    { RUNS, "echo csengine-answer", CSE_UNAVAILABLE, "gave no answer" },
    { RUNS, "echo csengine-answer 00", CSE_DATA, "" },
    { RUNS, "yes csengine-answer 0 | head -c 1000000", CSE_UNAVAILABLE, "gave no answer" },
    { RUNS, "head -c 300000 /dev/zero", CSE_UNAVAILABLE, "gave no answer" },
};

START_TEST(each_failure_says_what_to_do)
{
    cse_control_reply reply;
    write_script("scontrol", failures[_i].scontrol);
    write_script("srun", failures[_i].srun != NULL ? failures[_i].srun : "touch started");
    const cse_status status = send(&reply);
    ck_assert_msg(status == failures[_i].status, "%d: %s", (int)status, cse_error_message());
    ck_assert_msg(strstr(cse_error_message(), failures[_i].words) != NULL, "%s",
                  cse_error_message());
    char started[8192];
    snprintf(started, sizeof started, "%s/started", folder);
    ck_assert_int_ne(access(started, F_OK), 0);
}
END_TEST

START_TEST(what_another_message_says_is_no_answer)
{
    cse_text printed = { 0 }, bytes = { 0 };
    cse_control_reply reply;
    const cse_control_request request = { .command = "kill" };
    ck_assert_int_eq(cse_control_encode(&request, &bytes), CSE_OK);
    cse_batch_control_write(&bytes, &printed);
    write_script("scontrol", RUNS);
    srun_prints(printed.data);
    ck_assert_int_eq(send(&reply), CSE_DATA);
    cse_text_clear(&printed);
    cse_text_clear(&bytes);
}
END_TEST

/* One that ignores SIGTERM, and whose child keeps the output open, is ended, too. */
START_TEST(the_wait_is_bounded)
{
    static const char *const slow[] = { "scontrol", "srun" };
    static const char stays[] = "trap '' TERM; sleep 1000 & sleep 1000";
    cse_control_reply reply;
    const cse_control_request request = { .command = "resume", .timeout_ms = 300 };
    write_script("scontrol", RUNS);
    write_script(slow[_i], stays);
    const int64_t began_ns = cse_clock_ns();
    ck_assert_int_eq(cse_batch_control_send("/x", "12", &request, &reply), CSE_TEMPORARY);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), _i == 0 ? "does not answer" : "in time"));
    ck_assert_int_lt(cse_clock_ns() - began_ns, INT64_C(10000000000));
}
END_TEST

START_TEST(without_slurm_it_is_told)
{
    cse_control_reply reply;
    setenv("PATH", folder, 1);
    ck_assert_int_eq(send(&reply), CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "Slurm's commands are needed"));
    write_script("scontrol", RUNS);
    ck_assert_int_eq(send(&reply), CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "srun cannot be started"));
}
END_TEST

START_TEST(a_number_is_digits)
{
    char number[CSE_SLURM_NUMBER_BYTES], logs[8192];
    static const struct {
        const char *text, *number;
    } notes[] = { { "7\n", "7" },   { "12", "12" },  { "", "" },  { "x7\n", "" },
                  { "7 --x", "7" }, { "\n7\n", "" }, { "-7", "" } };
    ck_assert(!cse_slurm_noted_number(folder, number));
    snprintf(logs, sizeof logs, "%s/logs", folder);
    ck_assert_int_eq(mkdir(logs, 0700), 0);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        char file[9000];
        snprintf(file, sizeof file, "%s/batch_job", logs);
        FILE *out = fopen(file, "we");
        ck_assert_ptr_nonnull(out);
        fputs(notes[i].text, out);
        ck_assert_int_eq(fclose(out), 0);
        ck_assert_int_eq(cse_slurm_noted_number(folder, number), notes[i].number[0] != '\0');
        ck_assert_str_eq(number, notes[i].number);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch_control");
    TCase *sending = tcase_create("sending");
    tcase_add_checked_fixture(sending, enter, leave);
    tcase_set_timeout(sending, 60);
    tcase_add_test(sending, the_answer_of_the_run_comes_back);
    tcase_add_test(sending, a_refusal_of_the_run_is_one_here);
    tcase_add_loop_test(sending, each_failure_says_what_to_do, 0,
                        (int)(sizeof failures / sizeof *failures));
    tcase_add_test(sending, what_another_message_says_is_no_answer);
    tcase_add_loop_test(sending, the_wait_is_bounded, 0, 2);
    tcase_add_test(sending, without_slurm_it_is_told);
    tcase_add_test(sending, a_number_is_digits);
    suite_add_tcase(suite, sending);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
