/* The signal is the thread's own, at the instruction that reads: its handler leaves the copy by a
 * jump. */
#include "engine/base/guarded_copy.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>

static _Thread_local sigjmp_buf *volatile guard; /* of the copy that is under way; NULL: none */
static struct sigaction before;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    if (guard != NULL)
        siglongjmp(*guard, 1);
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        signal(number, SIG_DFL); /* the instruction is done again, and ends the process */
    }
}

void cse_guarded_copy_prepare(void)
{
    struct sigaction now, own = { .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
    own.sa_sigaction = on_bus_error;
    if (sigaction(SIGBUS, NULL, &now) != 0 ||
        ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus_error))
        return;
    before = now;
    sigaction(SIGBUS, &own, NULL);
}

bool cse_guarded_copy(void *to, const void *from, size_t size)
{
    sigjmp_buf here;
    if (sigsetjmp(here, 0) != 0) {
        guard = NULL;
        return false;
    }
    guard = &here;
    memcpy(to, from, size);
    guard = NULL;
    return true;
}
