/* One thread a processor. A thread touches its arrays on one processor and runs on another, so that
 * memory of another socket can be measured. Rounds begin together, and the fastest one counts,
 * since other load on the machine only ever slows it. */
#include "run/measure/core_probe.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "run/measure/bandwidth.h"

enum { ROUNDS = 5, ROUND_TRIPS = 4000, LINE_ROUNDS = 7, LOOKS_BETWEEN_YIELDS = 1 << 14 };

static bool run_on(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

/* ---- bandwidth ---- */

typedef struct probe {
    pthread_barrier_t *barrier;
    int processor, touched;
    double bytes_per_s[ROUNDS];
} probe;

static void *move_bytes(void *self)
{
    probe *p = self;
    run_on(p->touched);
    cse_bandwidth_arrays *arrays = cse_bandwidth_arrays_new();
    run_on(p->processor);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(p->barrier);
        p->bytes_per_s[round] = 1e9 * cse_bandwidth_triad(arrays);
    }
    cse_bandwidth_arrays_destroy(&arrays);
    return NULL;
}

cse_status cse_core_probe_bandwidth(const int running[], const int touched[], int count,
                                    double *bytes_per_s)
{
    pthread_barrier_t barrier;
    pthread_t *threads = cse_calloc((size_t)count, sizeof *threads);
    probe *probes = cse_calloc((size_t)count, sizeof *probes);
    int made = 0;
    *bytes_per_s = 0;
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (; made < count; made++) {
        probes[made] = (probe){ &barrier, running[made], touched[made], { 0 } };
        if (pthread_create(&threads[made], NULL, move_bytes, &probes[made]) != 0)
            break;
    }
    if (made < count) /* those that are there wait for all: they cannot be joined */
        return cse_fail(CSE_TEMPORARY, "plan: no thread for each of %d processors", count);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (int round = 0; round < ROUNDS; round++) {
        double sum = 0;
        for (int i = 0; i < count; i++)
            sum += probes[i].bytes_per_s[round];
        *bytes_per_s = sum > *bytes_per_s ? sum : *bytes_per_s;
    }
    pthread_barrier_destroy(&barrier);
    free(threads);
    free(probes);
    return CSE_OK;
}

/* ---- a line ---- */

typedef struct line_probe {
    _Alignas(128) _Atomic int64_t turn;
    int processor;
} line_probe;

/* Others may need the processor on which the other side is to run. */
static void wait_for(line_probe *p, int64_t turn)
{
    for (int64_t looks = 1; atomic_load_explicit(&p->turn, memory_order_acquire) != turn; looks++)
        if (looks % LOOKS_BETWEEN_YIELDS == 0)
            sched_yield();
}

/* The other side: answers each odd number with the next one. */
static void *answer(void *self)
{
    line_probe *p = self;
    run_on(p->processor);
    for (int64_t turn = 1; turn < 2 * ROUND_TRIPS * LINE_ROUNDS; turn += 2) {
        wait_for(p, turn);
        atomic_store_explicit(&p->turn, turn + 1, memory_order_release);
    }
    return NULL;
}

static double ask(line_probe *p)
{
    double best_s = 1;
    int64_t turn = 1;
    for (int round = 0; round < LINE_ROUNDS; round++) {
        const int64_t start_ns = cse_clock_ns();
        for (int trip = 0; trip < ROUND_TRIPS; trip++, turn += 2) {
            atomic_store_explicit(&p->turn, turn, memory_order_release);
            wait_for(p, turn + 1);
        }
        const double trip_s = 1e-9 * (double)(cse_clock_ns() - start_ns) / ROUND_TRIPS;
        best_s = trip_s / 2 < best_s ? trip_s / 2 : best_s;
    }
    return best_s;
}

cse_status cse_core_probe_line(int first, int second, double *seconds)
{
    line_probe p = { .processor = second };
    cpu_set_t before;
    pthread_t other;
    *seconds = 0;
    if (pthread_getaffinity_np(pthread_self(), sizeof before, &before) != 0 || !run_on(first))
        return cse_fail(CSE_UNAVAILABLE, "plan: this thread cannot run on processor %d", first);
    if (pthread_create(&other, NULL, answer, &p) != 0) {
        pthread_setaffinity_np(pthread_self(), sizeof before, &before);
        return cse_fail(CSE_TEMPORARY, "plan: no thread for processor %d", second);
    }
    *seconds = ask(&p);
    pthread_join(other, NULL);
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    return CSE_OK;
}
