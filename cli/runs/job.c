/* Prepares a job from the command line, and runs it with signal handling. */
#include "cli/runs/job.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/runs/dashboard_child.h"
#include "cli/terminal/confusion.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/report.h"
#include "dashboard/http/server_address.h"
#include "engine/base/clock.h"
#include "engine/base/confinement.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/run_signals.h"
#include "engine/base/sandbox.h"
#include "engine/code/codegen/codegen.h"
#include "run/hosts/hosts_run.h"
#include "run/hosts/lead_hosts.h"
#include "run/infer/run_samples.h"
#include "run/job/job_settings.h"
#include "run/job/kinds.h"
#include "run/job/run_target.h"
#include "run/saving/takeover.h"
#include "store/whole.h"
#include "workers/control/contained.h"
#include "workers/control/supervisor.h"
#include "workers/messages/run_directory.h"

cse_status cse_job_prepare(const cse_command_line *line, cse_job_mode mode, cse_prepared_job *job)
{
    return cse_job_prepare_text(line, NULL, mode, job);
}

cse_status cse_job_prepare_text(const cse_command_line *line, const char *yaml, cse_job_mode mode,
                                cse_prepared_job *job)
{
    *job = (cse_prepared_job){ .arena = cse_arena_new() };
    cse_config_override *overrides = NULL;
    int count = 0;
    CSE_TRY(cse_command_line_overrides(line, &overrides, &count));
    const cse_config_text text = { .source = line->arguments[line->argument_count - 1],
                                   .yaml = yaml,
                                   .overrides = overrides,
                                   .override_count = count,
                                   .kinds = cse_kinds,
                                   .confinement = cse_confinement_view() };
    cse_status status = cse_config_check(&text, &job->diagnostics, &job->config);
    free(overrides);
    CSE_TRY(status);
    const cse_settings *logging = cse_config_section_view(job->config, "init.logging");
    cse_log_set_level(cse_option_is_on(line, "quiet")
                          ? CSE_LOG_ERROR
                          : cse_log_level_from_name(cse_settings_text(logging, "log_level")));
    CSE_TRY(cse_job_settings_read(job->config, mode, job->arena, &job->settings));
    job->environment = cse_job_environment_of(&job->settings);
    return CSE_OK;
}

void cse_job_clear(cse_prepared_job *job)
{
    cse_diagnostics_clear(&job->diagnostics);
    cse_config_destroy(&job->config);
    if (job->arena != NULL)
        cse_arena_destroy(&job->arena);
}

/* How often the user asked to stop. */
static volatile sig_atomic_t stop_requests;

/* A terminal that closes and a power supply that fails repeat no request: the first process hands
 * on what came to it, and each came to all processes. */
static volatile sig_atomic_t is_hung_up;

static void note_hangup(int number)
{
    (void)number;
    is_hung_up = 1;
}

/* Requests are what the first process hands on, each of which it was asked for. A signal that
 * somebody else sends to this process as well, since he sends it to all, is none of its own. */
static bool is_supervised;

static void count_stop(int number, siginfo_t *information, void *context)
{
    (void)number;
    (void)context;
    if (is_supervised && information->si_code == SI_USER && information->si_pid != getppid())
        is_hung_up = 1;
    else if (stop_requests < 2)
        stop_requests++;
}

/* Whether a scheduler needs the place: Slurm signals so some time before its limit. */
static volatile sig_atomic_t is_preempted;

static void note_preemption(int number)
{
    (void)number;
    is_preempted = 1;
}

/* Whether a process of the job has nearly used up its processor time (RLIMIT_CPU). */
static volatile sig_atomic_t time_is_used;

static void note_time_used(int number)
{
    (void)number;
    time_is_used = 1;
}

/* Once; from there on it is one of the requests. */
static void take_time_used(void)
{
    if (!time_is_used)
        return;
    time_is_used = 0;
    if (stop_requests == 0)
        stop_requests = 1;
    cse_log_line(CSE_LOG_WARNING,
                 "a process of this run has nearly used up its processor time (ulimit -t, "
                 "LimitCPU=); the run ends with a checkpoint");
}

static int stop_requested(void *self)
{
    (void)self;
    take_time_used();
    return stop_requests > 0 ? stop_requests : is_preempted || is_hung_up;
}

static bool preempted(void *self)
{
    (void)self;
    return is_preempted != 0;
}

/* What is shown of a job while it runs. */
typedef struct shown_job {
    cse_progress *progress;
    cse_takeover *takeover;
    struct cse_dashboard_child *dashboard;
} shown_job;

static void show_event(void *self, const cse_job_event *event)
{
    const shown_job *shown = self;
    if (event->kind != CSE_JOB_ACCEPTED) {
        cse_progress_event(shown->progress, event);
        return;
    }
    /* The dashboard of the first coordinator is that of the run. */
    if (!cse_takeover_note_accepted(shown->takeover))
        return;
    cse_live_line_lock(shown->progress->line);
    cse_dashboard_child_start(shown->dashboard);
    cse_live_line_unlock(shown->progress->line);
}

static void show_what_was_not_run(const cse_configuration *session, const cse_job_result *result)
{
    if (session->validate_only)
        printf("Compile validated locally.\n");
    else if (session->compile_only)
        cse_print("Compile was successful! %.3f seconds%s: %s\n", result->compile_seconds,
                  result->compile_cached ? ", from the cache" : "", result->artefact_directory);
}

int cse_job_report(const cse_command_line *line, const cse_prepared_job *job, cse_status status)
{
    cse_progress progress = { .out = stdout, .json = cse_option_is_on(line, "json") };
    cse_progress_not_begun(&progress, status, &job->diagnostics);
    return cse_report_diagnostics(status, &job->diagnostics);
}

static void answer_signals(void)
{
    struct sigaction stop = { .sa_sigaction = count_stop, .sa_flags = SA_RESTART | SA_SIGINFO };
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    struct sigaction action = { .sa_handler = note_time_used, .sa_flags = SA_RESTART };
    sigaction(SIGXCPU, &action, NULL);
    action.sa_handler = note_hangup;
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGPWR, &action, NULL);
    cse_run_signals_pass_over();
    signal(SIGPIPE, SIG_IGN);
}

int cse_job_run_shown(const cse_command_line *line, cse_prepared_job *job)
{
    bool json = cse_option_is_on(line, "json");
    cse_progress progress = {
        .out = stdout,
        .json = json,
        .quiet = cse_option_is_on(line, "quiet"),
        .terminal = !json && cse_is_terminal(1),
    };
    is_supervised = job->environment.takeover != NULL;
    answer_signals();
    shown_job shown = { &progress, job->environment.takeover, job->dashboard };
    job->environment.self = &shown;
    job->environment.on_event = show_event;
    job->environment.stop_requested = stop_requested;
    job->environment.preempted = preempted;
    cse_progress_start(&progress);
    job->environment.progress_interval_ns = progress.line != NULL ? CSE_PROGRESS_INTERVAL_NS : 0;
    cse_job_result result = { 0 };
    cse_run_samples *samples = cse_run_samples_new(&job->settings);
    job->environment.on_look = cse_run_samples_look;
    job->environment.look_self = samples;
    cse_status status = cse_hosts_run(&job->environment, &result);
    cse_run_samples_destroy(&samples);
    cse_progress_end(&progress, job->settings.mode, status, &result);
    if (status == CSE_OK && !json)
        show_what_was_not_run(&job->settings.session, &result);
    const char *matrix = cse_option_value(line, "confusion_csv");
    if (status == CSE_OK && matrix != NULL)
        status = cse_confusion_write_csv(matrix, &result);
    if (status == CSE_OK && result.stopped)
        return cse_status_exit_code(CSE_INTERRUPTED);
    return cse_report(status);
}

/* Arguments of run_supervised. */
typedef struct supervised_job {
    const cse_command_line *line;
    cse_prepared_job *job;
    cse_run_directory directory; /* of a confined job, made and removed outside of it */
} supervised_job;

/* In the coordinator, before it has threads, reads input or loads code. */
static cse_status enter_sandbox(const supervised_job *supervised)
{
    const cse_confinement *confinement = cse_confinement_view();
    if (confinement == NULL)
        return CSE_OK;
    cse_run_directory_use(supervised->directory.path);
    setenv("TMPDIR", supervised->directory.path, 1); /* for the compiler */
    /* One that leads hosts starts programs there; the kernel holds its workers. */
    return cse_leads_hosts(&supervised->job->environment) &&
                   cse_confinement_allows_hosts(confinement)
               ? CSE_OK
               : cse_sandbox_enter(CSE_SANDBOX_COORDINATOR, confinement,
                                   supervised->directory.path);
}

static int run_supervised(void *self)
{
    const supervised_job *supervised = self;
    cse_status status = enter_sandbox(supervised);
    return status == CSE_OK ? cse_job_run_shown(supervised->line, supervised->job)
                            : cse_job_report(supervised->line, supervised->job, status);
}

/* In the first process. A training run alone has something to go on from. */
static bool takes_over(void *self)
{
    const supervised_job *supervised = self;
    return supervised->job->settings.mode == CSE_JOB_TRAIN &&
           cse_takeover_begin(supervised->job->environment.takeover);
}

/* What a coordinator that was killed could not. Files of a confined job are opened by confined
 * processes alone. */
static void tidy_after(const cse_prepared_job *job)
{
    char compiled[PATH_MAX];
    const cse_configuration *session = &job->settings.session;
    if (cse_confinement_view() != NULL || session->model_dir == NULL)
        return;
    if (job->settings.mode == CSE_JOB_TRAIN)
        (void)cse_store_make_whole(session->model_dir);
    snprintf(compiled, sizeof compiled, "%s/compiled", session->model_dir);
    cse_compilation_sweep(session->compile_dir != NULL ? session->compile_dir : compiled);
}

/* The first process that the job's own name spaces have, or, without them, this one. */
static int supervise(void *self)
{
    supervised_job *supervised = self;
    cse_prepared_job *job = supervised->job;
    job->environment.takeover = cse_takeover_new();
    job->environment.started_ns = cse_clock_ns(); /* a successor has no more time than it */
    int exit_code = cse_supervisor_run(
        &(cse_supervised){ .body = run_supervised, .takes_over = takes_over, .self = supervised });
    /* At the very last: as long as it can be killed, the same command goes on to the same end. */
    if (exit_code == 0 && cse_takeover_is_over(job->environment.takeover))
        cse_run_target_remove(job->settings.session.model_dir);
    cse_takeover_destroy(&job->environment.takeover);
    return exit_code;
}

/* A job that leads hosts starts programs there, which name spaces would cut off. */
static int contain(supervised_job *supervised, int *killed_by)
{
    *killed_by = 0;
    const cse_confinement *confinement = cse_confinement_view();
    if (confinement == NULL || cse_confinement_allows_hosts(confinement))
        return supervise(supervised);
    return cse_contained_run(confinement, supervised->directory.path, supervise, supervised,
                             killed_by);
}

int cse_job_run_supervised(const cse_command_line *line, cse_prepared_job *job)
{
    supervised_job supervised = { .line = line, .job = job, .directory.lock = -1 };
    /* Before the coordinator begins, so that it is never without: a lost request is a lost run. */
    struct sigaction action = { .sa_handler = note_preemption, .sa_flags = SA_RESTART };
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    bool confined = cse_confinement_view() != NULL;
    cse_status status = confined ? cse_run_directory_make(&supervised.directory) : CSE_OK;
    if (status != CSE_OK)
        return cse_job_report(line, job, status);
    int killed_by;
    int exit_code = contain(&supervised, &killed_by);
    if (!confined && job->dashboard != NULL)
        cse_server_address_sweep(job->settings.session.model_dir);
    if (exit_code > 128)
        tidy_after(job);
    if (confined)
        cse_run_directory_remove(&supervised.directory);
    if (killed_by == SIGKILL)
        raise(killed_by); /* the server starts a job again whose process was killed */
    return exit_code;
}

int cse_job_evaluate(const cse_command_line *line, cse_job_mode mode)
{
    cse_prepared_job job;
    cse_status status = cse_job_prepare(line, mode, &job);
    int exit_code =
        status == CSE_OK ? cse_job_run_supervised(line, &job) : cse_job_report(line, &job, status);
    cse_job_clear(&job);
    return exit_code;
}

int cse_job_evaluate_one(const cse_command_line *line)
{
    return cse_job_evaluate(line, CSE_JOB_EVALUATE);
}
