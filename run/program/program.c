/* A program's run: what a user's own main() trains is recorded in MODEL_DIR/run.db as a
 * configuration's run is, and can be seen in a dashboard.
 *
 * The session knows nothing of run stores, so cse_configure stands here, above both: it opens the
 * session and leaves it the two functions that begin the record, with the first execution, and end
 * it, with the session. A record that cannot be made is a warning: it never ends a program. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/directory.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/resource_limits.h"
#include "run/program/program_place.h"
#include "run/record/recorder.h"
#include "run/session/session.h"
#include "workers/control/process.h"
#include "workers/messages/run_directory.h"

extern char **environ;

typedef struct program {
    cse_recorder *recorder; /* NULL: not recorded */
    cse_run_directory directory;
} program;

/* ---- the dashboard ---- */

/* A process of its own that ends with this one; it prints its address to stderr, since stdout is
 * the program's. */
static cse_status start_dashboard(const cse_configuration *c)
{
    char executable[PATH_MAX], run[PATH_MAX + 8], listen[300], follow[40];
    pid_t pid;
    CSE_TRY(cse_worker_executable(c->worker_executable, executable, sizeof executable));
    snprintf(run, sizeof run, "--run=%s", c->model_dir);
    snprintf(listen, sizeof listen, "--listen=%s", c->dashboard);
    snprintf(follow, sizeof follow, "--follow=%lld", (long long)getpid());
    char name[] = "csengine", serve[] = "serve";
    char *const words[] = { name, serve, run, listen, follow, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    const int code = posix_spawn(&pid, executable, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code == 0
               ? CSE_OK
               : cse_fail(CSE_UNAVAILABLE, "%s cannot be started: %s", executable, strerror(code));
}

/* ---- the record ---- */

static cse_status open_record(program *p, cse_session *session)
{
    const cse_configuration *c = &session->configuration;
    CSE_TRY(cse_make_directories("model_dir", c->model_dir));
    cse_run_directory_sweep();
    CSE_TRY(cse_run_directory_make(&p->directory));
    const cse_recorder_options options = {
        .configuration = c,
        .name = program_invocation_short_name,
        .model_name =
            session->network.model_count > 0 ? session->network.models[0]->descriptor->name : "",
        .optimizer_name = session->network.optimizer_name,
        .run_directory = p->directory.path,
        .is_program = true,
    };
    CSE_TRY(cse_recorder_open(&options, &p->recorder));
    session->observer = cse_recorder_observer(p->recorder);
    /* One of a server's queue is seen there, and may not listen. */
    return c->dashboard != NULL && cse_confinement_view() == NULL ? start_dashboard(c) : CSE_OK;
}

static void begin_record(void *self, cse_session *session)
{
    program *p = self;
    if (open_record(p, session) == CSE_OK)
        return;
    cse_log_line(CSE_LOG_WARNING,
                 p->recorder != NULL ? "dashboard: %s"
                                     : "%s; this run is not recorded (no_run_store "
                                       "says so without a warning)",
                 cse_error_message());
}

/* How the last execution ended is how the run ended, unless the session itself has failed. */
static void end_record(void *self, cse_session *session)
{
    program *p = self;
    const cse_error *failure =
        session->network.failure != NULL ? session->network.failure : session->execution.outcome;
    const bool digest_holds = session->saving.latest.step == session->training.global_step;
    if (failure != NULL)
        cse_fail_again(failure);
    cse_recorder_close(
        &p->recorder,
        &(cse_recorder_end){ .status = failure != NULL ? failure->status : CSE_OK,
                             .stopped = session->execution.cancelled,
                             .weights_digest = digest_holds ? session->saving.digest : "" });
    session->observer = (cse_session_observer){ .self = NULL };
    cse_run_directory_remove(&p->directory);
    free(p);
}

cse_status cse_configure(const cse_configuration *configuration)
{
    cse_configuration placed = *configuration;
    cse_resource_limits_begin();
    CSE_TRY(cse_resource_limits_check_base());
    CSE_TRY(cse_program_place_take(&placed.model_dir));
    CSE_TRY(cse_session_configure_texts(&placed));
    if (configuration->no_run_store)
        return CSE_OK;
    cse_session *session = cse_session_open_view("cse_configure");
    program *p = cse_calloc(1, sizeof *p);
    p->directory.lock = -1;
    session->recording.self = p;
    session->recording.begin = begin_record;
    session->recording.end = end_record;
    return CSE_OK;
}
