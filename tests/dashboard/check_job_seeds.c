/* The server's queue, from seeds: the real table of jobs, its database, its supervision and the
 * commands, over processes that a seed makes. Requests come in any order, the server is killed
 * before any change of a file and another one begins, its disk fails, processes die and hang.
 *
 * No job runs twice at once, none is lost, more than there is room for do not run, one that has
 * ended keeps its state and one that was killed stays dead until somebody asks for it again, and
 * when nothing disturbs the server all jobs end.
 *
 *     CSE_SIMULATION_SEEDS=FIRST:COUNT    other seeds
 *     CSE_SIMULATION_TRACE=1              what happens, to standard output */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "dashboard/queue/job_create.h"
#include "dashboard/queue/jobs.h"
#include "dashboard/queue/jobs_commands.h"
#include "dashboard/queue/jobs_launch.h"
#include "dashboard/queue/jobs_supervise.h"
#include "engine/base/log.h"
#include "tests/support/simulation/disk_calls.h"
#include "tests/support/simulation/job_host.h"
#include "tests/support/temporary_folder.h"

enum { CHECK_PID = 1 << 30 };
enum { JOBS = 6, CORES = 4, TURNS = 60, QUIET_TURNS = 3000, RESTARTS = 2 };

/* What a client knows of a job. */
typedef struct known_job {
    char id[16];
    int64_t cores;
    bool requested, told;  /* its creation; told: it was answered */
    bool removed;          /* its removal was asked for */
    bool ended_by_hand;    /* cancelled or killed, which was told, and not resumed since */
    bool may_be_again;     /* something that was asked for was not answered */
    cse_run_state settled; /* what was seen since; CSE_RUN_NONE: nothing */
    int starts;
} known_job;

static known_job known[JOBS];
static char base[64], root[96], processes[96];
static cse_jobs *jobs;
static cse_readers *readers;
static char *config_text;
static uint64_t seed, random_state;
static int64_t now_ms;
static long killed_after, server_kills, requests, outages;
static bool quiet, outage, behind; /* behind: what could not be written may not be there yet */
static int failures;

/* ---- in place of the system's ---- */

static bool is_check(char *const words[])
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], "--validate_only") == 0)
            return true;
    return false;
}

#pragma GCC visibility push(default)

/* Without its last parameter, the environment, which nothing reads: spawn.h is not included. */
int posix_spawn(pid_t *pid, const char *path, const void *actions, const void *attributes,
                char *const words[]);
int posix_spawn(pid_t *pid, const char *path, const void *actions, const void *attributes,
                char *const words[])
{
    (void)path, (void)actions, (void)attributes;
    if (is_check(words)) {
        *pid = CHECK_PID;
        return 0;
    }
    return host_spawn(pid, words);
}

/* A check has succeeded at once, and says nothing. */
int waitid(idtype_t type, id_t id, siginfo_t *how, int options)
{
    (void)type, (void)id, (void)options;
    how->si_code = CLD_EXITED;
    how->si_status = 0;
    return 0;
}

int kill(pid_t pid, int number)
{
    return host_kill(pid, number);
}

pid_t waitpid(pid_t pid, int *how, int options)
{
    (void)options;
    return pid == CHECK_PID ? pid : host_wait(pid, how);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_REALTIME || now_ms == 0)
        return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){ now_ms / 1000, now_ms % 1000 * 1000000 };
    return 0;
}

/* The server's thread is the only one; the test calls what it would. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    (void)attributes, (void)argument;
    *thread = pthread_self();
    return start == cse_jobs_supervise ? 0 : EAGAIN;
}

int pthread_join(pthread_t thread, void **result)
{
    (void)thread, (void)result;
    return 0;
}

#pragma GCC visibility pop

/* ---- chance ---- */

static unsigned draw(unsigned n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % n;
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    va_list arguments;
    if (getenv("CSE_SIMULATION_TRACE") == NULL)
        return;
    va_start(arguments, format);
    printf("%8lld ms: ", (long long)(now_ms % 100000000));
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...)
{
    va_list arguments;
    printf("seed %llu: ", (unsigned long long)seed);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    failures++;
}

/* Before each change that the server makes to a file. */
static void on_disk(void)
{
    if (!quiet && killed_after >= 0 && killed_after-- == 0)
        disk_fault.dead = host.unreachable = true;
    disk_fault.fails_at = outage && !quiet ? 0 : -1;
    disk_fault.calls = LONG_MAX;
    disk_fault.error = ENOSPC;
}

/* ---- what is known ---- */

static known_job *job_in(const char *model_dir)
{
    const char *name = strrchr(model_dir, '/') + 1;
    for (int i = 0; i < JOBS; i++)
        if (strcmp(known[i].id, name) == 0)
            return &known[i];
    return NULL;
}

static void on_start(const host_process *begun)
{
    known_job *k = job_in(begun->model_dir);
    int64_t cores = 0;
    if (k == NULL)
        abort(); /* all jobs are known */
    tell("process %lld of %s begins", (long long)begun->pid, k->id);
    k->starts++;
    if (host_living(begun->model_dir) > 1)
        wrong("%s runs twice at once", k->id);
    if (k->ended_by_hand)
        wrong("%s was ended on request, and runs again", k->id);
    for (int i = 0; i < host.count; i++)
        if (!host.processes[i].ended)
            cores += job_in(host.processes[i].model_dir)->cores;
    if (cores > CORES)
        wrong("%lld cores are used, and there are %d", (long long)cores, CORES);
}

static void look_at(known_job *k)
{
    cse_job *job = calloc(1, sizeof *job);
    const bool there = cse_jobs_find(jobs, k->id, job);
    const cse_run_state state = job->record.state;
    if (!there && k->told && !k->removed)
        wrong("%s is lost", k->id);
    if (there && !job->settled && state == CSE_RUN_NONE)
        wrong("%s has no state", k->id);
    if (there && k->settled != CSE_RUN_NONE && (!job->settled || state != k->settled) &&
        !k->may_be_again)
        wrong("%s had ended %s, and is %s", k->id, cse_run_state_name(k->settled),
              cse_run_state_name(state));
    if (there && job->record.restarts > RESTARTS)
        wrong("%s is restarted %lld times", k->id, (long long)job->record.restarts);
    k->settled = there && job->settled && !behind ? state : CSE_RUN_NONE;
    k->may_be_again = false;
    if (there)
        cse_job_release(job);
    free(job);
}

/* ---- the server ---- */

static void stop_server(void)
{
    cse_jobs_close(&jobs);
    disk_fault.dead = host.unreachable = false;
    killed_after = -1;
}

/* Until one has begun: a server can be killed while it begins. */
static void start_server(void)
{
    const cse_jobs_options options = { .root = root,
                                       .executable = "/usr/bin/csengine",
                                       .cores = CORES,
                                       .memory_bytes = INT64_C(1) << 33,
                                       .readers = readers };
    for (;;) {
        killed_after = draw(3) == 0 ? (long)draw(30) : -1;
        const cse_status status = cse_jobs_open(&options, &jobs);
        if (status == CSE_OK && !disk_fault.dead)
            break;
        if (!disk_fault.dead && !outage)
            wrong("the server does not begin: %s", cse_error_message());
        outage = false;
        stop_server();
    }
    for (int i = 0; i < JOBS; i++)
        if (known[i].requested)
            look_at(&known[i]);
}

/* True: the server that was asked lives, so that its answer was heard. */
static bool is_answered(void)
{
    if (!disk_fault.dead)
        return true;
    server_kills++;
    tell("the server is killed");
    stop_server();
    start_server();
    return false;
}

static void check(void)
{
    pthread_mutex_lock(&jobs->lock);
    cse_jobs_check(jobs);
    pthread_mutex_unlock(&jobs->lock);
    if (is_answered())
        behind = outage;
}

/* ---- requests ---- */

static void submit(known_job *k)
{
    cse_job *job = calloc(1, sizeof *job);
    cse_status error = CSE_OK;
    json_t *spec = json_pack("{s:s, s:{s:i}, s:{s:I}, s:{s:i}, s:s}", "config", config_text,
                             "overrides", "backend.cluster_config.num_csx", 1, "resources", "cores",
                             (json_int_t)k->cores, "restart_policy", "max_num_restarts", RESTARTS,
                             "priority", draw(2) == 0 ? "p1" : "p2");
    const cse_check_result result = { json_array(), json_array() };
    const cse_job_request request = { .id = k->id, .spec = spec };
    k->requested = true;
    const cse_job_outcome outcome = cse_jobs_create(jobs, &request, job, &result, &error);
    if (outcome == CSE_JOB_WRONG) {
        char *why = json_dumps(result.diagnostics, 0);
        wrong("the configuration is refused: %s", why);
        free(why);
    }
    if (outcome == CSE_JOB_CREATED || outcome == CSE_JOB_KNOWN)
        cse_job_release(job);
    free(job);
    json_decref(spec);
    json_decref(result.diagnostics);
    json_decref(result.warnings);
    if (is_answered() && (outcome == CSE_JOB_CREATED || outcome == CSE_JOB_KNOWN))
        k->told = true;
    tell("%s is submitted: %d", k->id, (int)outcome);
}

static void command(known_job *k)
{
    static const char *const words[] = { "cancel", "kill", "resume", "pause", "kill" };
    char detail[256];
    const cse_job_command c = { .command = words[draw(5)],
                                .grace_s = draw(2) == 0 ? -1 : (double)draw(9) };
    const bool ends = c.command[0] == 'c' || c.command[0] == 'k';
    const bool resumes = c.command[0] == 'r';
    if (resumes) { /* it may run from now on, answered or not */
        k->ended_by_hand = false;
        k->may_be_again = true;
    }
    const cse_status status = cse_jobs_do(jobs, k->id, &c, detail);
    const bool answered = is_answered();
    tell("%s of %s: %d %s", c.command, k->id, (int)status,
         status == CSE_OK ? detail : cse_error_message());
    /* What a full disk keeps from being noted may be forgotten by the next server. */
    if (answered && ends && status == CSE_OK && !behind)
        k->ended_by_hand = true;
    k->may_be_again = k->may_be_again || !answered;
}

static void change_priority(const known_job *k)
{
    json_t *patch = json_pack("{s:s}", "priority", draw(2) == 0 ? "p0" : "p3");
    cse_jobs_patch(jobs, k->id, -1, patch);
    json_decref(patch);
    (void)is_answered();
}

static void remove_job(known_job *k)
{
    const bool was = k->removed;
    k->removed = true; /* it may be, answered or not */
    const cse_status status = cse_jobs_remove(jobs, k->id, -1);
    if (is_answered())
        k->removed = was || status == CSE_OK;
    tell("removal of %s: %d", k->id, (int)status);
}

static void request(void)
{
    known_job *k = &known[draw(JOBS)];
    requests++;
    if (!k->told && !k->removed)
        submit(k);
    else if (draw(10) == 0)
        remove_job(k);
    else if (draw(4) == 0)
        change_priority(k);
    else
        command(k);
}

/* ---- a seed ---- */

static void begin(void)
{
    memset(known, 0, sizeof known);
    temporary_folder_remove(root);
    mkdir(root, 0700);
    mkdir(processes, 0700);
    host_begin(processes);
    disk_watch(root);
    disk_fault.point = on_disk;
    quiet = outage = behind = false;
    killed_after = -1;
    now_ms = INT64_C(1700000000000);
    for (int i = 0; i < JOBS; i++) {
        snprintf(known[i].id, sizeof known[i].id, "job-%d", i);
        known[i].cores = 1 + draw(i == 0 ? CORES : CORES - 1);
        known[i].settled = CSE_RUN_NONE;
    }
    readers = cse_readers_new();
    start_server();
}

static void disturb(void)
{
    now_ms += draw(draw(5) == 0 ? 20000 : 400);
    if (killed_after < 0 && draw(5) == 0)
        killed_after = draw(25);
    if (outage || draw(30) == 0) {
        outages += !outage;
        outage = !outage || draw(3) != 0;
        behind = behind || outage;
    }
    const unsigned what = draw(10);
    if (what < 3)
        request();
    else if (what < 7)
        host_turn();
    else
        check();
    for (int i = 0; i < JOBS; i++)
        if (known[i].requested && draw(6) == 0)
            look_at(&known[i]);
}

static bool all_have_ended(void)
{
    bool ended = host_living("") == 0;
    for (int i = 0; i < JOBS; i++) {
        cse_job *job = calloc(1, sizeof *job);
        if (cse_jobs_find(jobs, known[i].id, job)) {
            ended = ended && job->settled;
            cse_job_release(job);
        }
        free(job);
    }
    return ended;
}

/* Processes that ignore signals end by themselves. */
static void settle(void)
{
    quiet = host.quiet = true;
    outage = false;
    killed_after = -1;
    for (int i = 0; i < QUIET_TURNS && failures == 0; i++) {
        now_ms += 1000;
        host_turn();
        check();
        if (all_have_ended())
            break;
    }
    if (!all_have_ended())
        wrong("nothing disturbs the server, and not all jobs end");
}

static void check_end(void)
{
    for (int i = 0; i < JOBS; i++) {
        known_job *k = &known[i];
        if (!k->requested)
            continue;
        look_at(k);
        if (k->settled == CSE_RUN_SUCCEEDED && k->starts == 0)
            wrong("%s has succeeded and never ran", k->id);
        if (k->told && !k->removed && k->settled == CSE_RUN_NONE)
            wrong("%s has no end", k->id);
    }
}

static void run_seed(void)
{
    random_state = seed;
    begin();
    for (int turn = 0; turn < TURNS && failures == 0; turn++)
        disturb();
    settle();
    check_end();
    stop_server();
    cse_readers_destroy(&readers);
    disk_watch(NULL);
}

/* ---- the system's own processes ---- */

/* A process of this program, with the arguments of a job's, is found where Linux tells of it. */
static void find_real_process(void)
{
    cse_job_entry *entry = calloc(1, sizeof *entry);
    snprintf(entry->record.model_dir, sizeof entry->record.model_dir, "%s/job", base);
    char config[128], *words[] = { "csengine", "start", config, "--json", NULL };
    snprintf(config, sizeof config, "%s/job/submitted.yaml", base);
    if (cse_job_process_find(entry) != 0)
        wrong("a process is found that nobody started");
    const pid_t pid = fork();
    if (pid == 0) {
        setsid();
        execv("/proc/self/exe", words);
        _exit(1);
    }
    int64_t found = 0;
    for (int i = 0; i < 1000 && found == 0; i++) {
        usleep(10000);
        found = cse_job_process_find(entry);
    }
    if (found != pid || cse_process_start(found) == 0 || cse_process_parent(found) != getpid())
        wrong("process %d is not found: %lld is", (int)pid, (long long)found);
    syscall(SYS_kill, pid, SIGKILL);
    syscall(SYS_wait4, pid, NULL, 0, NULL);
    free(entry);
}

static char *read_config(void)
{
    char path[PATH_MAX];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/configs/synthetic.yaml", top != NULL ? top : "..");
    FILE *file = fopen(path, "re");
    char *text = calloc(1, 65536);
    if (file == NULL || text == NULL || fread(text, 1, 65535, file) == 0)
        abort();
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    unsigned long long first = 1, count = 150;
    if (argc > 1 && strcmp(argv[1], "start") == 0)
        return pause(); /* see find_real_process */
    const char *given = getenv("CSE_SIMULATION_SEEDS");
    if (given != NULL && sscanf(given, "%llu:%llu", &first, &count) != 2) {
        fprintf(stderr, "CSE_SIMULATION_SEEDS=%s: accepted is FIRST:COUNT\n", given);
        return 64;
    }
    cse_log_set_level(CSE_LOG_ERROR);
    config_text = read_config();
    host.draw = draw;
    host.on_start = on_start;
    snprintf(base, sizeof base, "/tmp/csengine-check-XXXXXX");
    if (mkdtemp(base) == NULL)
        return EXIT_FAILURE;
    snprintf(root, sizeof root, "%s/root", base);
    snprintf(processes, sizeof processes, "%s/proc", base);
    find_real_process();
    cse_process_folder = processes;
    for (seed = first; seed < first + count && failures == 0; seed++)
        run_seed();
    temporary_folder_remove(base);
    free(config_text);
    printf("%llu seeds: %ld requests, %ld processes, %ld of them died, %ld servers killed, %ld "
           "outages of the disk\n",
           seed - first, requests, host.starts, host.deaths, server_kills, outages);
    if (given == NULL && failures == 0 && (server_kills < 100 || host.starts < 300)) {
        printf("too little was reached\n");
        failures++;
    }
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
