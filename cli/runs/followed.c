/* A process is followed by a pidfd: its number may be reused, a pidfd never means another process.
 * A pipe is safer still, since it exists before the process that holds its other end can die. */
#include "cli/runs/followed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static cse_status open_process(const char *word, cse_followed *followed)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(word, &end, 10);
    if (*word == '\0' || *end != '\0' || errno != 0 || number < 1 || number > INT_MAX)
        return cse_fail(CSE_USAGE,
                        "--follow %s: accepted: the id of a process, or - for the standard input",
                        word);
    int descriptor = (int)syscall(SYS_pidfd_open, (pid_t)number, 0);
    if (descriptor < 0 && errno != ESRCH)
        return cse_fail(CSE_TEMPORARY, "--follow %s: the process cannot be watched: %s", word,
                        strerror(errno));
    if (descriptor >= 0)
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    followed->descriptor = descriptor;
    followed->state = descriptor >= 0 ? CSE_FOLLOW_ALIVE : CSE_FOLLOW_GONE;
    return CSE_OK;
}

cse_status cse_followed_open(const char *word, cse_followed *followed)
{
    *followed = (cse_followed){ .state = CSE_FOLLOW_NONE, .descriptor = -1 };
    if (word == NULL)
        return CSE_OK;
    if (strcmp(word, "-") != 0)
        return open_process(word, followed);
    *followed = (cse_followed){ .state = CSE_FOLLOW_ALIVE, .descriptor = 0, .is_input = true };
    return CSE_OK;
}

bool cse_followed_is_gone(cse_followed *followed)
{
    char ignored[64];
    while (followed->state == CSE_FOLLOW_ALIVE) {
        struct pollfd ended = { .fd = followed->descriptor, .events = POLLIN };
        int count = poll(&ended, 1, 0);
        if (count == 0 || (count < 0 && errno == EINTR))
            return false;
        /* What is written to the input has no meaning; its end has. */
        if (followed->is_input && read(0, ignored, sizeof ignored) > 0)
            continue;
        cse_followed_close(followed);
        followed->state = CSE_FOLLOW_GONE;
    }
    return followed->state == CSE_FOLLOW_GONE;
}

void cse_followed_close(cse_followed *followed)
{
    if (followed->descriptor >= 0 && !followed->is_input)
        close(followed->descriptor);
    *followed = (cse_followed){ .state = CSE_FOLLOW_NONE, .descriptor = -1 };
}
