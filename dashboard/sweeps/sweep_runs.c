/* One thread looks every second at the orders, and at the commands that have ended. Commands are
 * started by that thread alone: the kernel ends them with it (PR_SET_PDEATHSIG). */
#include "dashboard/sweeps/sweep_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dashboard/queue/jobs_commands.h"
#include "dashboard/sweeps/sweep_folder.h"
#include "dashboard/sweeps/sweep_order.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/name.h"
#include "engine/base/piped_program.h"

enum { ROUND_MS = 1000, RETRY_MS = 5000, PATIENCE_MS = 5000, WAIT_MS = 20 };

/* The command of a sweep, or when one that failed is tried again. */
typedef struct sweep_run {
    struct sweep_run *next;
    char name[CSE_LONGEST_NAME + 1], folder[PATH_MAX];
    pid_t pid; /* 0: none */
    int64_t not_before_ms;
    bool settled; /* nothing is asked for, until this server is asked anew: its order is not read */
} sweep_run;

struct cse_sweep_runs {
    cse_jobs *jobs;
    const char *root, *executable;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* of all below, and of the orders */
    pthread_cond_t wake;
    bool ending;
    sweep_run *first;
};

/* ---- a command ---- */

typedef struct command {
    char *words[12];
    char document[PATH_MAX], log[PATH_MAX];
    int errors;
} command;

/* In the child: calls that are safe there alone. */
static void become(const command *c, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent && dup2(nothing, 0) == 0 &&
        dup2(nothing, 1) == 1 && dup2(c->errors, 2) == 2)
        execv(c->words[0], c->words);
    _exit(127);
}

static bool describe(const cse_sweep_runs *runs, const sweep_run *run, command *c)
{
    char *const words[] = { (char *)(uintptr_t)runs->executable,
                            "sweep",
                            c->document,
                            "--server",
                            (char *)(uintptr_t)runs->root,
                            "--folder",
                            (char *)(uintptr_t)run->folder,
                            "--quiet",
                            NULL };
    memcpy(c->words, words, sizeof words);
    return (size_t)snprintf(c->document, PATH_MAX, "%s/sweep.yaml", run->folder) < PATH_MAX &&
           (size_t)snprintf(c->log, PATH_MAX, "%s/sweep.log", run->folder) < PATH_MAX;
}

static void start(const cse_sweep_runs *runs, sweep_run *run)
{
    command c = { .errors = -1 };
    const pid_t parent = getpid();
    run->not_before_ms = cse_unix_ms() + RETRY_MS;
    if (!describe(runs, run, &c))
        return;
    c.errors = open(c.log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (c.errors < 0)
        return;
    const pid_t pid = fork();
    if (pid == 0)
        become(&c, parent);
    close(c.errors);
    if (pid > 0)
        run->pid = pid;
}

static bool may_succeed_later(int status)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return !WIFEXITED(status) || code == cse_status_exit_code(CSE_TEMPORARY) ||
           code == cse_status_exit_code(CSE_UNAVAILABLE) ||
           code == cse_status_exit_code(CSE_INTERRUPTED) || code == cse_status_exit_code(CSE_IO);
}

/* With the lock held: what its end means for the order. */
static void take_end(sweep_run *run, int status)
{
    char log[PATH_MAX + 16];
    cse_sweep_order order, ended = { .wanted = false };
    run->pid = 0;
    if (may_succeed_later(status) || !cse_sweep_order_read(run->folder, &order) || !order.wanted)
        return;
    snprintf(log, sizeof log, "%s/sweep.log", run->folder);
    if (WEXITSTATUS(status) != 0)
        cse_piped_program_error(log, ended.message, sizeof ended.message);
    cse_sweep_order_write(run->folder, &ended);
}

/* ---- the round ---- */

static sweep_run *run_of(cse_sweep_runs *runs, const char *name)
{
    for (sweep_run *run = runs->first; run != NULL; run = run->next)
        if (strcmp(run->name, name) == 0)
            return run;
    sweep_run *run = cse_calloc(1, sizeof *run);
    snprintf(run->name, sizeof run->name, "%s", name);
    if ((size_t)snprintf(run->folder, sizeof run->folder, "%s/sweeps/%s", runs->root, name) >=
        sizeof run->folder) {
        free(run);
        return NULL;
    }
    run->next = runs->first;
    return runs->first = run;
}

/* A command of somebody, or of a server before, may train it. */
static bool is_free(const cse_sweep_runs *runs, const char *name)
{
    cse_sweep_log log;
    cse_arena *arena = cse_arena_new();
    const bool free_now =
        cse_sweep_folder_read(runs->root, name, arena, &log) == CSE_OK && !log.alive;
    cse_arena_destroy(&arena);
    return free_now;
}

typedef struct cancelling {
    const char *label;
    json_t *ids;
} cancelling;

static bool take_job(void *self, const cse_job *job)
{
    cancelling *c = self;
    if (!job->settled && cse_job_has_label(&job->record, "sweep", c->label))
        json_array_append_new(c->ids, json_string(job->record.id));
    return true;
}

/* Asks each that has not ended to; false: there is none. One that is being started may not answer
 * yet. */
static bool cancel_jobs(const cse_sweep_runs *runs, const char *label)
{
    cancelling c = { .label = label, .ids = json_array() };
    const cse_job_command cancel = {
        .command = "cancel", .message = "its sweep was cancelled", .save = true, .grace_s = -1
    };
    char detail[256];
    size_t i = 0;
    json_t *id;
    cse_jobs_each(runs->jobs, take_job, &c);
    json_array_foreach(c.ids, i, id)
        cse_jobs_do(runs->jobs, json_string_value(id), &cancel, detail);
    json_decref(c.ids);
    return i > 0;
}

/* With the lock held but while the jobs are asked. */
static void end_jobs(cse_sweep_runs *runs, const sweep_run *run, cse_sweep_order *order)
{
    cse_sweep_log log;
    cse_arena *arena = cse_arena_new();
    pthread_mutex_unlock(&runs->lock);
    bool rest = cse_sweep_folder_read(runs->root, run->name, arena, &log) == CSE_OK;
    if (rest) /* a command that lives may have sent another one */
        rest = cancel_jobs(runs, log.plan.name) || log.alive;
    pthread_mutex_lock(&runs->lock);
    cse_arena_destroy(&arena);
    /* It may have been asked for anew meanwhile. */
    if (!rest && cse_sweep_order_read(run->folder, order) && order->ends_jobs) {
        order->ends_jobs = false;
        cse_sweep_order_write(run->folder, order);
    }
}

static int count_commands(const cse_sweep_runs *runs)
{
    int count = 0;
    for (const sweep_run *run = runs->first; run != NULL; run = run->next)
        count += run->pid > 0;
    return count;
}

static void look_at(cse_sweep_runs *runs, const char *name)
{
    cse_sweep_order order;
    sweep_run *run = cse_name_is_good(name) ? run_of(runs, name) : NULL;
    if (run == NULL || run->pid > 0 || run->settled || !cse_sweep_order_read(run->folder, &order))
        return;
    run->settled = !order.wanted && !order.ends_jobs;
    if (order.ends_jobs)
        end_jobs(runs, run, &order);
    else if (order.wanted && cse_unix_ms() >= run->not_before_ms &&
             count_commands(runs) < CSE_MOST_SWEEP_RUNS && is_free(runs, name))
        start(runs, run);
}

static void reap(cse_sweep_runs *runs)
{
    int status;
    for (sweep_run *run = runs->first; run != NULL; run = run->next)
        if (run->pid > 0 && waitpid(run->pid, &status, WNOHANG) == run->pid)
            take_end(run, status);
}

static bool has_job_of_that_name(const cse_sweep_runs *runs)
{
    cse_job *job = cse_calloc(1, sizeof *job);
    const bool has = cse_jobs_find(runs->jobs, "sweeps", job);
    if (has)
        cse_job_release(job);
    free(job);
    return has;
}

static void look_at_all(cse_sweep_runs *runs)
{
    struct dirent *entry;
    DIR *all = has_job_of_that_name(runs) ? NULL : cse_sweep_folders_open(runs->root);
    while (all != NULL && (entry = readdir(all)) != NULL)
        look_at(runs, entry->d_name);
    if (all != NULL)
        closedir(all);
}

static void *supervise(void *self)
{
    cse_sweep_runs *runs = self;
    pthread_mutex_lock(&runs->lock);
    while (!runs->ending) {
        struct timespec until;
        reap(runs);
        look_at_all(runs);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += ROUND_MS / 1000;
        pthread_cond_timedwait(&runs->wake, &runs->lock, &until);
    }
    pthread_mutex_unlock(&runs->lock);
    return NULL; /* the kernel sends SIGTERM to the commands */
}

/* ---- what is asked ---- */

cse_status cse_sweep_runs_begin(cse_sweep_runs *runs, const json_t *spec, bool *made)
{
    if (has_job_of_that_name(runs))
        return cse_fail(CSE_USAGE, "a job of this server is called \"sweeps\", and has the folder "
                                   "of sweeps: remove it first");
    pthread_mutex_lock(&runs->lock);
    const cse_status status = cse_sweep_order_place(runs->root, spec, made);
    sweep_run *run =
        status == CSE_OK ? run_of(runs, json_string_value(json_object_get(spec, "name"))) : NULL;
    if (run != NULL)
        run->settled = false;
    pthread_cond_signal(&runs->wake);
    pthread_mutex_unlock(&runs->lock);
    return status;
}

/* Waits for its end, with the lock held but while it sleeps. */
static void end_command(cse_sweep_runs *runs, sweep_run *run)
{
    const int64_t end_ns = cse_clock_ns() + PATIENCE_MS * INT64_C(1000000);
    if (run->pid > 0)
        kill(run->pid, SIGTERM);
    for (reap(runs); run->pid > 0; reap(runs)) {
        if (cse_clock_ns() > end_ns)
            kill(run->pid, SIGKILL);
        pthread_mutex_unlock(&runs->lock);
        cse_sleep_ns(WAIT_MS * INT64_C(1000000));
        pthread_mutex_lock(&runs->lock);
    }
}

/* With the lock held. */
static cse_status stop(cse_sweep_runs *runs, sweep_run *run)
{
    cse_sweep_order order;
    if (!cse_sweep_order_read(run->folder, &order))
        return cse_fail(CSE_USAGE, "the server does not train the sweep \"%s\": end its command",
                        run->name);
    if (!order.wanted)
        return CSE_OK;
    const cse_sweep_order cancelled = { .ends_jobs = true, .message = "cancelled" };
    CSE_TRY(cse_sweep_order_write(run->folder, &cancelled));
    run->settled = false;
    end_command(runs, run);
    pthread_cond_signal(&runs->wake);
    return CSE_OK;
}

cse_status cse_sweep_runs_cancel(cse_sweep_runs *runs, const char *name)
{
    cse_sweep_log log;
    cse_arena *arena = cse_arena_new();
    cse_status status = cse_sweep_folder_read(runs->root, name, arena, &log);
    pthread_mutex_lock(&runs->lock);
    sweep_run *run = status == CSE_OK ? run_of(runs, name) : NULL;
    if (run != NULL)
        status = stop(runs, run);
    pthread_mutex_unlock(&runs->lock);
    cse_arena_destroy(&arena);
    return status;
}

/* ---- beginning and end ---- */

cse_sweep_runs *cse_sweep_runs_new(cse_jobs *jobs, const char *executable)
{
    cse_sweep_runs *runs = cse_calloc(1, sizeof *runs);
    runs->jobs = jobs;
    runs->root = cse_jobs_directory_view(jobs);
    runs->executable = executable;
    pthread_mutex_init(&runs->lock, NULL);
    pthread_cond_init(&runs->wake, NULL);
    cse_sweep_order_clean(runs->root);
    return runs;
}

void cse_sweep_runs_start(cse_sweep_runs *runs)
{
    if (pthread_create(&runs->thread, NULL, supervise, runs) != 0)
        abort(); /* the server has no memory for a thread */
    runs->started = true;
}

void cse_sweep_runs_close(cse_sweep_runs **closed)
{
    cse_sweep_runs *runs = *closed;
    if (runs == NULL)
        return;
    *closed = NULL;
    pthread_mutex_lock(&runs->lock);
    runs->ending = true;
    pthread_cond_signal(&runs->wake);
    pthread_mutex_unlock(&runs->lock);
    if (runs->started)
        pthread_join(runs->thread, NULL);
    pthread_mutex_lock(&runs->lock);
    for (sweep_run *run = runs->first; run != NULL; run = run->next)
        end_command(runs, run);
    pthread_mutex_unlock(&runs->lock);
    while (runs->first != NULL) {
        sweep_run *run = runs->first;
        runs->first = run->next;
        free(run);
    }
    pthread_cond_destroy(&runs->wake);
    pthread_mutex_destroy(&runs->lock);
    free(runs);
}
