/* The process leads a session, whose number is its own until it has been waited for. The processes
 * that it starts may make groups for themselves, but stay in the session: all of it is killed
 * before the number is given away, in every case, and nothing stays. */
#include "dashboard/checks/checker.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"

extern char **environ;

enum { CHECK_SECONDS = 20, LOOK_MS = 250, ROUND_MS = 5, MOST_ROUNDS = 2000, MOST_OUTPUT = 1 << 16 };

static atomic_int running;

static cse_status spawn(const cse_checker_call *call, int output, pid_t *pid)
{
    char **words = call->words;
    const char *errors = call->errors != NULL ? call->errors : "/dev/null";
    const int how = call->errors != NULL ? O_WRONLY | O_CREAT | O_EXCL : O_WRONLY;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_addopen(&actions, 2, errors, how, 0600);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawn(pid, words[0], &actions, &attributes, words,
                           call->environment != NULL ? call->environment : environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code == 0
               ? CSE_OK
               : cse_fail(CSE_TEMPORARY, "%s cannot be started: %s", words[0], strerror(code));
}

/* Its children have the same limits, each for itself. */
static void limit(pid_t pid)
{
    const struct rlimit seconds = { CHECK_SECONDS, CHECK_SECONDS };
    prlimit(pid, RLIMIT_CPU, &seconds, NULL);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* they map terabytes */
    const rlim_t most_memory = (rlim_t)4 << 30;
    const struct rlimit bytes = { most_memory, most_memory };
    prlimit(pid, RLIMIT_AS, &bytes, NULL);
#endif
}

/* The session of a process that has not ended; 0: none. */
static pid_t session_of(const char *pid)
{
    char path[64], text[512];
    int session = 0;
    char state = 'Z';
    if ((size_t)snprintf(path, sizeof path, "/proc/%s/stat", pid) >= sizeof path)
        return 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = '\0';
    const char *rest = strrchr(text, ')'); /* the name before it may hold anything */
    if (rest == NULL || sscanf(rest + 1, " %c %*d %*d %d", &state, &session) != 2 || state == 'Z')
        return 0;
    return session;
}

/* Whether there was one to kill. */
static bool kill_members(pid_t session)
{
    bool found = false;
    struct dirent *entry;
    DIR *processes = opendir("/proc");
    while (processes != NULL && (entry = readdir(processes)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) && session_of(entry->d_name) == session) {
            kill((pid_t)atol(entry->d_name), SIGKILL);
            found = true;
        }
    if (processes != NULL)
        closedir(processes);
    return found;
}

/* Until none is left: one may have been started while the others were looked for. */
static void kill_session(pid_t session)
{
    kill(-session, SIGKILL);
    for (int i = 0; i < MOST_ROUNDS && kill_members(session); i++)
        cse_sleep_ns(ROUND_MS * INT64_C(1000000));
}

/* What it writes until it ends, its time is over, or its client has gone. */
static cse_checker_end read_until_end(int input, const cse_checker_call *call, cse_text *output)
{
    const int seconds = call->seconds > 0 ? call->seconds : CHECK_SECONDS;
    const size_t most = call->seconds > 0 ? call->most_output : MOST_OUTPUT;
    int64_t deadline_ns = cse_clock_ns() + seconds * INT64_C(1000000000);
    char buffer[4096];
    while (cse_clock_ns() < deadline_ns) {
        struct pollfd awaited[] = { { .fd = input, .events = POLLIN },
                                    { .fd = call->client, .events = POLLRDHUP } };
        if (poll(awaited, 2, LOOK_MS) <= 0)
            continue;
        if (awaited[1].revents != 0)
            return CSE_CHECKER_ENDED;
        ssize_t size = read(input, buffer, sizeof buffer);
        if (size <= 0)
            return CSE_CHECKER_SUCCEEDED;
        if (output->size < most)
            cse_text_add_bytes(output, buffer, (size_t)size);
    }
    return CSE_CHECKER_LATE;
}

static cse_status run(const cse_checker_call *call, cse_text *output, cse_checker_end *end)
{
    int ends[2];
    pid_t pid = 0;
    siginfo_t how = { .si_pid = 0 };
    if (pipe2(ends, O_CLOEXEC) != 0)
        return cse_fail(CSE_TEMPORARY, "pipe: %s", strerror(errno));
    cse_status status = spawn(call, ends[1], &pid);
    close(ends[1]);
    if (status == CSE_OK) {
        if (call->seconds == 0)
            limit(pid);
        *end = read_until_end(ends[0], call, output);
        if (*end != CSE_CHECKER_SUCCEEDED)
            kill(pid, SIGKILL);
        while (waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT) != 0 && errno == EINTR)
            ;
        kill_session(pid);
        waitpid(pid, NULL, 0);
        if (*end == CSE_CHECKER_SUCCEEDED && (how.si_code != CLD_EXITED || how.si_status != 0))
            *end = CSE_CHECKER_ENDED;
    }
    close(ends[0]);
    return status;
}

cse_status cse_checker_run(const cse_checker_call *call, cse_text *output, cse_checker_end *end)
{
    cse_status status = CSE_OK;
    if (call->seconds > 0)
        return run(call, output, end);
    if (atomic_fetch_add(&running, 1) < CSE_MOST_CHECKERS)
        status = run(call, output, end);
    else
        status = cse_fail(CSE_TEMPORARY, "%d configurations are being checked already; try again",
                          CSE_MOST_CHECKERS);
    atomic_fetch_sub(&running, 1);
    return status;
}
