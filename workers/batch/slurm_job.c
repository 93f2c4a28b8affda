/* Commands of Slurm: sbatch, scontrol, scancel. */
#include "workers/batch/slurm_job.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/beneath.h"
#include "engine/base/piped_program.h"
#include "engine/base/text.h"
#include "workers/batch/slurm_options.h"
#include "workers/batch/slurm_script.h"

enum { MOST_PRINTED_BYTES = 256 << 10, MOST_SAID_BYTES = 400 };

/* Runs the command to its end. The status is that of starting it; `said` is a text in any case. */
static cse_status ask(const char *const *words, int *exit_code, cse_text *said)
{
    cse_text_add(said, "%s", "");
    return cse_piped_program_run((char *const *)(uintptr_t)words, MOST_PRINTED_BYTES, said,
                                 exit_code);
}

static cse_status refused(const char *command, int exit_code, const cse_text *said)
{
    char words[MOST_SAID_BYTES];
    cse_text_one_line(said->data, words, sizeof words);
    return cse_fail(CSE_UNAVAILABLE, "%s ended with exit code %d: %s", command, exit_code, words);
}

/* ---- submit ---- */

static cse_status write_script(const char *path)
{
    FILE *file = fopen(path, "we");
    bool written = file != NULL && fputs(cse_slurm_script, file) >= 0;
    const int code = errno;
    if (file != NULL && fclose(file) != 0)
        written = false;
    return written ? CSE_OK : cse_fail(CSE_CANNOT_CREATE, "%s: %s", path, strerror(code));
}

/* The number that --parsable prints: "12", or "12;cluster" on several clusters. */
static bool take_number(const cse_text *said, char number[CSE_SLURM_NUMBER_BYTES])
{
    const char *line = said->data;
    for (const char *end = strchr(line, '\n'); end != NULL && end[1] != '\0';
         end = strchr(line, '\n'))
        line = end + 1; /* warnings stand before it */
    const size_t length = strspn(line, "0123456789");
    if (length == 0 || length >= CSE_SLURM_NUMBER_BYTES || strchr(";\n", line[length]) == NULL)
        return false;
    memcpy(number, line, length);
    number[length] = '\0';
    return true;
}

static cse_status make_words(const cse_slurm_request *request, cse_arena *arena, cse_words *words)
{
    cse_words_add(words, arena, "sbatch");
    cse_words_add(words, arena, "--parsable");
    cse_words_add(words, arena, cse_arena_printf(arena, "--output=%s", request->output));
    CSE_TRY(cse_slurm_options_add(words, arena, request->options));
    cse_words_add(words, arena, request->script);
    cse_words_add(words, arena, request->config);
    cse_words_add(words, arena, request->model_dir);
    cse_words_add_all(words, arena, request->arguments);
    return CSE_OK;
}

cse_status cse_slurm_submit(const cse_slurm_request *request, char number[CSE_SLURM_NUMBER_BYTES])
{
    char own[PATH_MAX];
    cse_text said = { 0 };
    cse_words words = { 0 };
    cse_arena *arena = cse_arena_new();
    int exit_code = 0;
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    if (length > 0)
        setenv("CSENGINE_EXECUTABLE", own, 1); /* sbatch hands the environment on */
    cse_status status = make_words(request, arena, &words);
    if (status == CSE_OK)
        status = write_script(request->script);
    if (status == CSE_OK)
        status = ask(words.items, &exit_code, &said);
    if (status == CSE_OK && (exit_code != 0 || !take_number(&said, number)))
        status = refused("sbatch", exit_code, &said);
    cse_text_clear(&said);
    cse_arena_destroy(&arena);
    return status;
}

/* ---- look ---- */

/* What stands behind " name=" up to the next blank. */
static bool field(const char *line, const char *name, char *value, size_t size)
{
    const size_t length = strlen(name);
    const char *end = line + strcspn(line, "\n");
    for (const char *at = line; at != NULL && at < end; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, length) != 0 || at[length] != '=')
            continue;
        snprintf(value, size, "%.*s", (int)strcspn(at + length + 1, " \n"), at + length + 1);
        return true;
    }
    return false;
}

/* States of a job that has ended; all others are of one that waits or runs. */
static const struct {
    const char *name;
    int exit_code; /* -1: that of the script */
} ends[] = {
    { "COMPLETED", 0 },  { "FAILED", -1 },        { "CANCELLED", 130 },   { "TIMEOUT", 75 },
    { "NODE_FAIL", 75 }, { "PREEMPTED", 75 },     { "BOOT_FAIL", 75 },    { "DEADLINE", 124 },
    { "REVOKED", 75 },   { "OUT_OF_MEMORY", 75 }, { "SPECIAL_EXIT", -1 },
};

/* "75:0": exit code and signal. */
static int code_of(const char *text)
{
    int code = 0, signal = 0;
    if (sscanf(text, "%d:%d", &code, &signal) != 2)
        return 1;
    return signal > 0 ? 128 + signal : code;
}

/* Only what may be the name of a node: it becomes a word of srun. */
static void keep_host(char host[CSE_SLURM_HOST_BYTES])
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (host[strspn(host, inner)] != '\0' || host[0] == '-' || host[0] == '.')
        host[0] = '\0';
}

static bool read_task(const char *line, cse_slurm_state *state)
{
    char name[32], reason[64] = "", code[32] = "", number[64] = "";
    if (!field(line, "JobState", name, sizeof name))
        return false;
    field(line, "Reason", reason, sizeof reason);
    field(line, "ExitCode", code, sizeof code);
    *state = (cse_slurm_state){ .runs = strcmp(name, "RUNNING") == 0 };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(ends[i].name, name) == 0) {
            state->ended = true;
            state->exit_code = ends[i].exit_code >= 0 ? ends[i].exit_code : code_of(code);
        }
    if (field(line, "JobId", number, sizeof number) && strlen(number) < sizeof state->job &&
        number[strspn(number, "0123456789")] == '\0')
        snprintf(state->job, sizeof state->job, "%s", number);
    if (state->runs && field(line, "BatchHost", state->host, sizeof state->host))
        keep_host(state->host);
    const bool told = reason[0] != '\0' && strcmp(reason, "None") != 0;
    snprintf(state->words, sizeof state->words, "%s%s%s%s", name, told ? " (" : "",
             told ? reason : "", told ? ")" : "");
    return true;
}

/* Of an array the task that is not over speaks for all; when all are, the last that ran: those that
 * were cancelled before say nothing of the run. */
static bool speaks(const cse_slurm_state *task, const cse_slurm_state *now)
{
    if (task->ended != now->ended)
        return now->ended;
    if (!task->ended)
        return task->runs;
    return strncmp(now->words, "CANCELLED", 9) == 0;
}

bool cse_slurm_read(const char *printed, cse_slurm_state *state)
{
    bool any = false;
    for (const char *line = printed; line != NULL && *line != '\0';) {
        cse_slurm_state task;
        if (read_task(line, &task) && (!any || speaks(&task, state))) {
            *state = task;
            any = true;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return any;
}

cse_status cse_slurm_look(const char *number, cse_slurm_state *state)
{
    return cse_slurm_look_until(number, INT64_MAX, state);
}

static cse_status ask_until(const char *const *words, int64_t deadline_ns, int *exit_code,
                            cse_text *said)
{
    const cse_piped_question question = { .words = (char *const *)(uintptr_t)words,
                                          .deadline_ns = deadline_ns,
                                          .most = MOST_PRINTED_BYTES };
    cse_piped_answer answer;
    CSE_TRY(cse_piped_program_ask(&question, &answer));
    *exit_code = answer.exit_code;
    cse_text_add_bytes(said, answer.output.data, answer.output.size);
    cse_text_add_bytes(said, answer.errors.data, answer.errors.size);
    cse_status status = CSE_OK;
    if (answer.late)
        status = cse_fail(CSE_TEMPORARY, "Slurm does not answer: %s is ended", words[0]);
    cse_text_clear(&answer.output);
    cse_text_clear(&answer.errors);
    return status;
}

cse_status cse_slurm_look_until(const char *number, int64_t deadline_ns, cse_slurm_state *state)
{
    const char *const words[] = { "scontrol", "--oneliner", "show", "job", number, NULL };
    cse_text said = { 0 };
    int exit_code = 0;
    cse_text_add(&said, "%s", "");
    cse_status status = ask_until(words, deadline_ns, &exit_code, &said);
    if (status == CSE_OK && exit_code == 0 && cse_slurm_read(said.data, state)) {
        cse_text_clear(&said);
        return CSE_OK;
    }
    if (status == CSE_OK && strstr(said.data, "Invalid job id") != NULL)
        status = cse_fail(CSE_NO_INPUT, "Slurm knows no job %s, or no longer", number);
    else if (status == CSE_OK) {
        refused("scontrol", exit_code, &said);
        status = cse_fail(CSE_TEMPORARY, "%s", cse_error_message());
    }
    cse_text_clear(&said);
    return status;
}

bool cse_slurm_noted_number(const char *model_dir, char number[CSE_SLURM_NUMBER_BYTES])
{
    char path[PATH_MAX];
    number[0] = '\0';
    if ((size_t)snprintf(path, sizeof path, "%s/logs/batch_job", model_dir) >= sizeof path)
        return false;
    FILE *file = cse_open_plain_stream(path);
    const bool read = file != NULL && fgets(number, CSE_SLURM_NUMBER_BYTES, file) != NULL;
    if (file != NULL)
        fclose(file);
    number[read ? strspn(number, "0123456789") : 0] = '\0';
    return number[0] != '\0';
}

/* ---- end ---- */

static cse_status cancel(const char *const *words)
{
    cse_text said = { 0 };
    int exit_code = 0;
    cse_status status = ask(words, &exit_code, &said);
    if (status == CSE_OK && exit_code != 0)
        status = refused("scancel", exit_code, &said);
    cse_text_clear(&said);
    return status;
}

/* The script hands SIGTERM on to the run; a job that waits has no script yet. Only one of both
 * commands meets the job: it is enough that one succeeds. */
cse_status cse_slurm_end(const char *number, bool at_once)
{
    const char *const whole[] = { "scancel", number, NULL };
    const char *const waiting[] = { "scancel", "--state=PENDING", number, NULL };
    const char *const script[] = { "scancel", "--batch", "--signal=TERM", number, NULL };
    if (at_once)
        return cancel(whole);
    const cse_status waited = cancel(waiting), ran = cancel(script);
    return waited == CSE_OK ? waited : ran;
}
