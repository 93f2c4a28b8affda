/* The number of the job stands in a file of the run's folder, so that a waiting command that was
 * killed, and is started again, finds its job. */
#include "run/hosts/batch_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "engine/base/log.h"
#include "workers/batch/slurm_job.h"

/* Between looks at the job: Slurm's controller serves many. */
#define FIRST_LOOKS_NS INT64_C(1000000000)
#define LATER_LOOKS_NS INT64_C(5000000000)
#define OFTEN_NS INT64_C(60000000000) /* since the last change of its state */

/* A job that is put back into the queue has failed for a moment. */
enum { RELAY_BYTES = 65536, ENDS = 3 };

typedef struct batch {
    const cse_batch_run *run;
    char model_dir[PATH_MAX - 64], output[PATH_MAX], script[PATH_MAX], file[PATH_MAX];
    char number[CSE_SLURM_NUMBER_BYTES];
    off_t shown; /* bytes of the output that were */
    cse_slurm_state state;
    bool silent; /* Slurm did not answer at the last look */
    int asked;   /* how often for its end */
    int ends;    /* looks in a row that found it ended */
    int64_t changed_ns, looked_ns;
} batch;

/* ---- the job's number ---- */

static cse_status write_number(const batch *b)
{
    FILE *file = fopen(b->file, "we");
    bool written = file != NULL && fprintf(file, "%s\n", b->number) > 0;
    const int code = errno;
    if (file != NULL && fclose(file) != 0)
        written = false;
    return written ? CSE_OK : cse_fail(CSE_CANNOT_CREATE, "%s: %s", b->file, strerror(code));
}

/* ---- submission ---- */

static cse_status submit(batch *b)
{
    char config[PATH_MAX];
    if (realpath(b->run->configuration, config) == NULL)
        return cse_fail(CSE_NO_INPUT, "%s: %s", b->run->configuration, strerror(errno));
    const cse_slurm_request request = { .config = config,
                                        .model_dir = b->model_dir,
                                        .output = b->output,
                                        .script = b->script,
                                        .options = b->run->launcher_options,
                                        .arguments = b->run->arguments };
    CSE_TRY(cse_slurm_submit(&request, b->number));
    cse_log_line(CSE_LOG_INFO, "Slurm job %s; its output is in %s", b->number, b->output);
    const cse_status status = write_number(b);
    if (status != CSE_OK)
        cse_slurm_end(b->number, true); /* nobody would find it again */
    return status;
}

static cse_status prepare(batch *b, const char *model_dir)
{
    struct stat output;
    char logs[PATH_MAX];
    CSE_TRY(cse_make_directories("model_dir", model_dir));
    char *resolved = realpath(model_dir, NULL);
    const int length =
        snprintf(b->model_dir, sizeof b->model_dir, "%s", resolved != NULL ? resolved : "");
    free(resolved);
    if (length <= 0 || (size_t)length >= sizeof b->model_dir)
        return cse_fail(CSE_CONFIG, "model_dir %s: it cannot be read, or its path is too long",
                        model_dir);
    snprintf(logs, sizeof logs, "%s/logs", b->model_dir);
    CSE_TRY(cse_make_directories("model_dir", logs));
    snprintf(b->output, sizeof b->output, "%s/logs/batch.log", b->model_dir);
    snprintf(b->script, sizeof b->script, "%s/logs/batch.sh", b->model_dir);
    snprintf(b->file, sizeof b->file, "%s/logs/batch_job", b->model_dir);
    b->shown = stat(b->output, &output) == 0 ? output.st_size : 0;
    return CSE_OK;
}

static cse_status find_or_submit(batch *b)
{
    if (!cse_slurm_noted_number(b->model_dir, b->number))
        return submit(b);
    const cse_status status = cse_slurm_look(b->number, &b->state);
    if (status == CSE_NO_INPUT || (status == CSE_OK && b->state.ended))
        return submit(b);
    CSE_TRY(status);
    cse_log_line(CSE_LOG_INFO, "Slurm has this run already, as job %s; its output is in %s",
                 b->number, b->output);
    b->state.words[0] = '\0'; /* is told again */
    return CSE_OK;
}

/* ---- waiting ---- */

/* What the job has printed since the last call. */
static void relay(batch *b)
{
    char buffer[RELAY_BYTES];
    size_t size;
    FILE *file = fopen(b->output, "re");
    if (file == NULL)
        return;
    if (fseeko(file, b->shown, SEEK_SET) == 0)
        while ((size = fread(buffer, 1, sizeof buffer, file)) > 0) {
            b->run->on_output(b->run->self, buffer, size);
            b->shown += (off_t)size;
        }
    fclose(file);
}

static cse_status look(batch *b)
{
    const int64_t now_ns = cse_clock_ns();
    const int64_t pause_ns = now_ns - b->changed_ns < OFTEN_NS ? FIRST_LOOKS_NS : LATER_LOOKS_NS;
    if (now_ns - b->looked_ns < pause_ns)
        return CSE_OK;
    b->looked_ns = now_ns;
    const cse_slurm_state before = b->state;
    const cse_status status = cse_slurm_look(b->number, &b->state);
    if (status == CSE_TEMPORARY || status == CSE_UNAVAILABLE) {
        if (!b->silent)
            cse_log_line(CSE_LOG_WARNING, "Slurm does not answer, and is asked again: %s",
                         cse_error_message());
        b->silent = true;
        return CSE_OK;
    }
    b->silent = false;
    b->ends = status == CSE_OK && b->state.ended ? b->ends + 1 : 0;
    if (status == CSE_NO_INPUT)
        return cse_fail(CSE_TEMPORARY,
                        "Slurm has forgotten job %s; what it did is in %s, and the run goes on "
                        "from its newest checkpoint when it is started again",
                        b->number, b->output);
    if (strcmp(before.words, b->state.words) != 0) {
        b->changed_ns = now_ns;
        cse_log_line(CSE_LOG_INFO, "Slurm job %s: %s", b->number, b->state.words);
    }
    return CSE_OK;
}

static void take_request(batch *b, int request)
{
    const bool at_once = request == 2 || b->asked > 0;
    if (b->asked++ > 1)
        return;
    cse_log_line(CSE_LOG_INFO,
                 at_once ? "Slurm job %s is ended at once"
                         : "Slurm job %s is asked to end with a checkpoint",
                 b->number);
    if (cse_slurm_end(b->number, at_once) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "%s", cse_error_message());
}

static cse_status wait_for_end(batch *b)
{
    b->changed_ns = cse_clock_ns();
    b->looked_ns = 0;
    for (;;) {
        CSE_TRY(look(b));
        relay(b);
        if (b->ends >= ENDS || (b->ends > 0 && b->state.exit_code == 0))
            return CSE_OK;
        const int request = b->run->wait(b->run->self);
        if (request > 0)
            take_request(b, request);
    }
}

/* The run has said itself why it failed; what Slurm did to it, it could not say. */
static cse_status end_of(const batch *b, int *exit_code)
{
    *exit_code = b->state.exit_code;
    if (b->state.exit_code == 0 || strncmp(b->state.words, "FAILED", 6) == 0)
        return CSE_OK;
    return cse_fail(CSE_TEMPORARY, "Slurm job %s ended: %s; its output is in %s", b->number,
                    b->state.words, b->output);
}

cse_status cse_batch_run_wait(const cse_batch_run *run, int *exit_code)
{
    batch *b = cse_calloc(1, sizeof *b);
    b->run = run;
    cse_status status = prepare(b, run->model_dir);
    if (status == CSE_OK)
        status = find_or_submit(b);
    if (status == CSE_OK && !run->returns_at_once) {
        status = wait_for_end(b);
        if (status == CSE_OK) {
            unlink(b->file);
            status = end_of(b, exit_code);
        }
    }
    free(b);
    return status;
}
