/* Whether there are matrix units: the processor must have them, and the operating system must lend
 * their registers, which a process requests once. */
#include "engine/code/kernels/matrix_units.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__)

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/instruction_set.h"

static bool granted;

static void ask(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    granted = cse_isa_of_processor() >= CSE_ISA_AMX &&
              syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

bool cse_matrix_units_run_here(void)
{
    static pthread_once_t asked = PTHREAD_ONCE_INIT;
    pthread_once(&asked, ask);
    return granted && cse_isa_runs(CSE_ISA_AMX);
}

#else

bool cse_matrix_units_run_here(void)
{
    return false;
}

#endif
