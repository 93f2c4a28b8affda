/* The clock and the threads of the C library, in place of its own, for a test of simulated runs:
 * the run store's writer becomes a fiber, and what reads the time reads the simulated one. Included
 * in one file, as disk_calls.h is. */
#ifndef CSE_TESTS_SIMULATION_WORLD_CALLS_H
#define CSE_TESTS_SIMULATION_WORLD_CALLS_H

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/simulation/store_process.h"

#pragma GCC visibility push(default)

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (simulated_clock_ns == NULL)
        return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){ *simulated_clock_ns / 1000000000, *simulated_clock_ns % 1000000000 };
    return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    (void)attributes;
    *thread = pthread_self();
    return simulated_thread_create(start, argument);
}

int pthread_join(pthread_t thread, void **result)
{
    (void)thread;
    (void)result;
    return simulated_thread_join();
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    (void)condition;
    return simulated_thread_wait(mutex, NULL);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    (void)condition;
    return simulated_thread_wait(mutex, until);
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    (void)condition;
    return simulated_thread_wake();
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    (void)condition;
    return simulated_thread_wake();
}

#pragma GCC visibility pop

#endif
