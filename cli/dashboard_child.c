/* The supervisor waits for all its children, so a double fork detaches the server, which instead
 * monitors the supervisor and ends with it. The server has its own process session, so that Ctrl-C
 * does not reach it, and a lower priority than training. */
#include "cli/dashboard_child.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "workers/control/process.h"

enum { NICE = 5 };

bool cse_dashboard_is_off(void)
{
    const char *given = getenv("CSE_DASHBOARD");
    return given != NULL && strcmp(given, "0") == 0;
}

static void run_server(const cse_dashboard_child *child, const char *executable, pid_t followed)
{
    char number[24];
    const char *words[16] = { executable, "serve", "--run", child->model_dir, "--follow", number };
    int count = 6;
    snprintf(number, sizeof number, "%ld", (long)followed);
    if (child->listen != NULL) {
        words[count++] = "--listen";
        words[count++] = child->listen;
    }
    if (child->json)
        words[count++] = "--json";
    setsid();
    setpriority(PRIO_PROCESS, 0, NICE);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0)
        dup2(nothing, 0);
    execv(executable, (char *const *)(uintptr_t)words);
    _exit(127);
}

void cse_dashboard_child_start(const cse_dashboard_child *child)
{
    char executable[PATH_MAX];
    pid_t followed = getpid();
    if (cse_worker_executable(NULL, executable, sizeof executable) != CSE_OK) {
        cse_log_line(CSE_LOG_WARNING, "no dashboard: %s", cse_error_message());
        return;
    }
    fflush(NULL);
    pid_t between = fork();
    if (between == 0) {
        if (fork() == 0)
            run_server(child, executable, followed);
        _exit(0);
    }
    if (between > 0)
        waitpid(between, NULL, 0);
}
