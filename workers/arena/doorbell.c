/* FUTEX_WAKE_BITSET with the events as bits: only waiters for one of these events wake. */
#include "workers/arena/doorbell.h"

#include <assert.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "workers/arena/layout.h"

void cse_doorbell_ring(cse_cluster *cluster, uint32_t events)
{
    assert(events != 0);
    atomic_fetch_add(cluster->doorbell, 1);
    uint32_t wanted = atomic_load(&cluster->control->sleeping);
    for (int i = 0; i < cse_arena_slot_count(cluster->head); i++)
        wanted |= atomic_load(&cluster->slots[i].sleeping);
    if (wanted & events)
        syscall(SYS_futex, cluster->doorbell, FUTEX_WAKE_BITSET, INT32_MAX, NULL, NULL, events);
}

void cse_doorbell_wait(cse_cluster *cluster, _Atomic uint32_t *sleeping, uint32_t events,
                       uint32_t seen, int64_t timeout_ns)
{
    assert(events != 0);
    int64_t until = cse_clock_ns() + timeout_ns;
    struct timespec deadline = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };
    atomic_store(sleeping, events);
    if (atomic_load(cluster->doorbell) == seen)
        syscall(SYS_futex, cluster->doorbell, FUTEX_WAIT_BITSET, seen, &deadline, NULL, events);
    atomic_store(sleeping, 0);
}
