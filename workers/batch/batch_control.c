/* Bytes of control messages as lines of hexadecimal digits, since a node may print other things
 * before and after the answer. */
#include "workers/batch/batch_control.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/piped_program.h"
#include "workers/host_launchers/words.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

#define ANSWER_MARK "csengine-answer "

enum { MOST_PRINTED_BYTES = 64 << 10, MOST_SAID_BYTES = 400, STEP_SECONDS = 10 };

/* --overlap and --mem=0: the agents' steps have all that the job has. --immediate has srun give up
 * where the node is down, instead of waiting for it. */
static const char *const fixed_words[] = {
    "srun",
    "--overlap",
    "--nodes=1",
    "--ntasks=1",
    "--mem=0",
    "--mpi=none",
    "--chdir=/",
    "--immediate=10",
    "--quiet",
    "--no-kill",
    "--kill-on-bad-exit=0",
    "--input=0",
    "--unbuffered",
    "--job-name=csengine-control",
    NULL,
};
_Static_assert(STEP_SECONDS == 10, "--immediate says it");

/* ---- lines ---- */

static void add_digits(cse_text *line, const cse_text *bytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes->size; i++) {
        const unsigned char byte = (unsigned char)bytes->data[i];
        cse_text_add_bytes(line, (const char[]){ digits[byte >> 4], digits[byte & 15] }, 2);
    }
    cse_text_add_bytes(line, "\n", 1);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The digits from `at` to the end of the line; false when they are none, or half a byte. */
static bool read_digits(const char *at, const char *end, cse_text *bytes)
{
    for (; end - at >= 2 && *at != '\n'; at += 2) {
        const int high = digit_of(at[0]), low = digit_of(at[1]);
        if (high < 0 || low < 0)
            return false;
        cse_text_add_bytes(bytes, (const char[]){ (char)(high << 4 | low) }, 1);
    }
    return bytes->size > 0 && at < end && *at == '\n';
}

cse_status cse_batch_control_read(const cse_text *input, cse_text *bytes)
{
    if (input->size > 0 && read_digits(input->data, input->data + input->size, bytes))
        return CSE_OK;
    return cse_fail(CSE_DATA, "standard input holds no command to a run");
}

void cse_batch_control_write(const cse_text *bytes, cse_text *line)
{
    cse_text_add(line, ANSWER_MARK);
    add_digits(line, bytes);
}

/* The first whole answer in what a node printed. */
static bool find_answer(const cse_text *printed, cse_text *bytes)
{
    const size_t mark = strlen(ANSWER_MARK);
    const char *end = printed->data + printed->size;
    for (const char *line = printed->data; line < end;) {
        bytes->size = 0;
        if ((size_t)(end - line) > mark && memcmp(line, ANSWER_MARK, mark) == 0 &&
            read_digits(line + mark, end, bytes))
            return true;
        line = memchr(line, '\n', (size_t)(end - line));
        line = line != NULL ? line + 1 : end;
    }
    return false;
}

/* ---- the job ---- */

static cse_status find_job(const char *number, int64_t deadline_ns, cse_slurm_state *state)
{
    const cse_status status = cse_slurm_look_until(number, deadline_ns, state);
    if (status == CSE_NO_INPUT)
        return cse_fail(CSE_UNAVAILABLE,
                        "the run was job %s of Slurm, which does not know it any more: it has "
                        "ended; started again, it goes on from its newest checkpoint",
                        number);
    if (status == CSE_UNAVAILABLE)
        return cse_fail(CSE_UNAVAILABLE,
                        "the run is job %s of Slurm, and Slurm's commands are needed to reach it: "
                        "%s; give the command on a host that has them",
                        number, cse_error_message());
    CSE_TRY(status);
    if (state->ended)
        return cse_fail(CSE_UNAVAILABLE,
                        "job %s of Slurm has ended: %s; its output is in logs/batch.log of the "
                        "run's folder; started again, the run goes on from its newest checkpoint",
                        number, state->words);
    if (!state->runs)
        return cse_fail(CSE_TEMPORARY,
                        "job %s of Slurm does not run: %s; give the command again when it does",
                        number, state->words);
    if (state->job[0] == '\0' || state->host[0] == '\0')
        return cse_fail(CSE_UNAVAILABLE, "Slurm does not say on which node job %s runs", number);
    return CSE_OK;
}

/* ---- the step ---- */

static cse_status no_answer(const cse_slurm_state *state, const char *program,
                            const cse_piped_answer *answer)
{
    char said[MOST_SAID_BYTES];
    cse_text_one_line(answer->errors.data, said, sizeof said);
    if (answer->late)
        return cse_fail(CSE_TEMPORARY,
                        "job %s, node %s: no answer in time%s%s; the command may still be carried "
                        "out: look at the run's state, then give it again",
                        state->job, state->host, said[0] != '\0' ? ": " : "", said);
    if (strstr(said, "execve") != NULL && strstr(said, "No such file") != NULL)
        return cse_fail(CSE_UNAVAILABLE,
                        "job %s, node %s: there is no %s there; install csengine at one path on "
                        "this host and on the nodes",
                        state->job, state->host, program);
    if (answer->exit_code == 0)
        return cse_fail(CSE_UNAVAILABLE,
                        "job %s, node %s: %s gave no answer: install one version of csengine on "
                        "this host and on the nodes",
                        state->job, state->host, program);
    return cse_fail(CSE_UNAVAILABLE,
                    "job %s, node %s: srun ended with exit code %d: %s; `scontrol show node %s` "
                    "says what is the matter with the node",
                    state->job, state->host, answer->exit_code, said, state->host);
}

static cse_status run_step(const cse_slurm_state *state, const char *const *words,
                           const char *program, const cse_piped_question *limits, cse_text *bytes)
{
    cse_piped_question question = *limits;
    cse_piped_answer answer;
    question.words = (char *const *)(uintptr_t)words;
    CSE_TRY(cse_piped_program_ask(&question, &answer));
    /* An answer counts however the step ended. */
    cse_status status =
        find_answer(&answer.output, bytes) ? CSE_OK : no_answer(state, program, &answer);
    cse_text_clear(&answer.output);
    cse_text_clear(&answer.errors);
    return status;
}

static void make_words(const cse_slurm_state *state, cse_arena *arena, cse_words *words)
{
    cse_words_add_all(words, arena, fixed_words);
    cse_words_add(words, arena, cse_arena_printf(arena, "--jobid=%s", state->job));
    cse_words_add(words, arena, cse_arena_printf(arena, "--nodelist=%s", state->host));
}

cse_status cse_batch_control_send(const char *model_dir, const char *number,
                                  const cse_control_request *request, cse_control_reply *reply)
{
    char own[PATH_MAX];
    cse_slurm_state state;
    cse_words words = { 0 };
    cse_text bytes = { 0 }, line = { 0 };
    const int64_t wait_ms = request->timeout_ms > 0 ? request->timeout_ms : CSE_BATCH_CONTROL_MS;
    const cse_piped_question limits = { .input = &line,
                                        .deadline_ns = cse_clock_ns() + wait_ms * 1000000,
                                        .most = MOST_PRINTED_BYTES };
    *reply = (cse_control_reply){ .status = CSE_UNAVAILABLE };
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    CSE_TRY(cse_control_encode(request, &bytes));
    add_digits(&line, &bytes);
    bytes.size = 0;
    cse_arena *arena = cse_arena_new();
    cse_status status = find_job(number, limits.deadline_ns, &state);
    if (status == CSE_OK) {
        make_words(&state, arena, &words);
        cse_words_add(&words, arena, own);
        cse_words_add(&words, arena, "relay");
        cse_words_add(&words, arena, PACKAGE_VERSION);
        cse_words_add(&words, arena, cse_arena_printf(arena, "%lld", (long long)wait_ms / 2));
        cse_words_add(&words, arena, model_dir);
        status = run_step(&state, words.items, own, &limits, &bytes);
    }
    if (status == CSE_OK)
        status = cse_control_decode(bytes.data, bytes.size, reply);
    cse_text_clear(&bytes);
    cse_text_clear(&line);
    cse_arena_destroy(&arena);
    return status;
}
