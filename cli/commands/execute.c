/* `csengine execute`: a program of the user's own as a job: with a folder of its own, a supervisor
 * that leaves nothing behind, and, where somebody else asked for it, the limits of any job.
 *
 * The limits are set before the program's first instruction, by the process that becomes it. What
 * the library in the program has to know comes by the environment, and cse_configure goes by it
 * (run/program/program_place.h). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/arguments/confine.h"
#include "cli/arguments/option_values.h"
#include "cli/terminal/report.h"
#include "engine/base/confinement.h"
#include "engine/base/directory.h"
#include "engine/base/process_number.h"
#include "engine/base/sandbox.h"
#include "run/program/program_place.h"
#include "store/whole.h"
#include "workers/control/contained.h"
#include "workers/control/supervisor.h"
#include "workers/messages/run_directory.h"

extern char **environ;

typedef struct executed {
    const cse_command_line *line;
    const char *model_dir;       /* absolute */
    cse_run_directory directory; /* of a confined program, made and removed outside of it */
    int program;
} executed;

static cse_status restrict_process(const executed *e)
{
    const cse_confinement *confinement = cse_confinement_view();
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    if (length > 0)
        setenv("CSENGINE_EXECUTABLE", own, 1); /* whose workers the program starts */
    cse_program_place_leave(e->model_dir, e->directory.path);
    if (confinement == NULL)
        return CSE_OK;
    setenv("TMPDIR", e->directory.path, 1);
    return cse_sandbox_enter(CSE_SANDBOX_COORDINATOR, confinement, e->directory.path);
}

/* The file that was opened is what runs, whatever its path leads to by then. */
static int become_program(void *self)
{
    const executed *e = self;
    cse_status status = restrict_process(e);
    if (status == CSE_OK && chdir(e->model_dir) != 0)
        status = cse_fail(CSE_CANNOT_CREATE, "%s: %s", e->model_dir, strerror(errno));
    if (status != CSE_OK)
        return cse_report(status);
    static char number[CSE_PROCESS_NUMBER_BYTES];
    cse_process_number_word(number);
    putenv(number);
    const char **words = calloc((size_t)e->line->argument_count + 1, sizeof *words);
    for (int i = 0; words != NULL && i < e->line->argument_count; i++)
        words[i] = e->line->arguments[i];
    if (words != NULL)
        syscall(SYS_execveat, e->program, "", words, environ, AT_EMPTY_PATH);
    free(words);
    return cse_report(cse_fail(errno == EACCES ? CSE_PERMISSION : CSE_NO_INPUT,
                               "%s cannot be executed: %s", e->line->arguments[0],
                               strerror(errno)));
}

static cse_status open_program(executed *e)
{
    const char *path = e->line->arguments[0];
    CSE_TRY(cse_confinement_check(cse_confinement_view(), CSE_PATH_PROGRAM, path));
    e->program = cse_confined_open(CSE_PATH_PROGRAM, path, O_RDONLY, 0);
    if (e->program < 0 && errno == EXDEV)
        return cse_confinement_refuse(CSE_PATH_PROGRAM, path);
    if (e->program < 0)
        return cse_fail(errno == EACCES ? CSE_PERMISSION : CSE_NO_INPUT, "%s: %s", path,
                        strerror(errno));
    return CSE_OK;
}

static cse_status prepare(executed *e, char *model_dir)
{
    const char *given = cse_option_value(e->line, "model_dir");
    CSE_TRY(cse_confine_if_asked(e->line));
    CSE_TRY(open_program(e));
    if (given == NULL)
        given = "./model_dir";
    CSE_TRY(cse_make_directories("model_dir", given));
    if (realpath(given, model_dir) == NULL)
        return cse_fail(CSE_CANNOT_CREATE, "%s: %s", given, strerror(errno));
    e->model_dir = model_dir;
    return cse_confinement_view() != NULL ? cse_run_directory_make(&e->directory) : CSE_OK;
}

static int supervise(void *self)
{
    return cse_supervisor_run(&(cse_supervised){ .body = become_program, .self = self });
}

static int contain(executed *e, int *killed_by)
{
    const cse_confinement *confinement = cse_confinement_view();
    return confinement == NULL
               ? supervise(e)
               : cse_contained_run(confinement, e->directory.path, supervise, e, killed_by);
}

static int run(const cse_command_line *line)
{
    char model_dir[PATH_MAX];
    executed e = { .line = line, .directory.lock = -1, .program = -1 };
    cse_status status = prepare(&e, model_dir);
    int killed_by = 0;
    int exit_code = status == CSE_OK ? contain(&e, &killed_by) : cse_report(status);
    if (status == CSE_OK && cse_confinement_view() == NULL)
        (void)cse_store_make_whole(model_dir); /* a program that was killed could not */
    cse_run_directory_remove(&e.directory);
    if (e.program >= 0)
        close(e.program);
    if (killed_by == SIGKILL)
        raise(killed_by); /* the server starts a job again whose process was killed */
    return exit_code;
}

static const cse_option options[] = {
    { "model_dir", "DIR", NULL,
      "the program's model_dir, whatever it asks for, and its working directory; default "
      "./model_dir" },
    CSE_CONFINE_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "execute --model_dir runs/a ./train -- 3",
      "runs a program of your own with its run in runs/a" },
    { 0 },
};

const cse_command cse_command_execute = {
    .name = "execute",
    .group = CSE_GROUP_RUN,
    .summary = "runs a program of your own as a job",
    .arguments = "PROGRAM [-- ARGUMENT...]",
    .doc =
        "The program is built against the library and calls cse_configure, which takes model_dir\n"
        "from here. Whatever ends the program, none of its processes stays behind.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 65,
    .examples = examples,
    .computes = true,
    .run = run,
};
