/* Whether there are matrix units: the processor must have them, and the operating system must lend
 * their registers, which a process requests once. */
#include "engine/kernels/matrix_units.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__)

#include <cpuid.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/kernels/lanes.h"

static bool granted;

static void ask(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
    unsigned a, b, c, d;
    granted = cse_lanes_run_here() && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
              (d & AMX_BF16) != 0 && (d & AMX_TILE) != 0 &&
              syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

bool cse_matrix_units_run_here(void)
{
    static pthread_once_t asked = PTHREAD_ONCE_INIT;
    pthread_once(&asked, ask);
    return granted;
}

#else

bool cse_matrix_units_run_here(void)
{
    return false;
}

#endif
