/* The monotonic clock; see clock.h. */
#include "engine/base/clock.h"

#include <time.h>

int64_t cse_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void cse_sleep_ns(int64_t duration_ns)
{
    struct timespec left = { .tv_sec = duration_ns / 1000000000,
                             .tv_nsec = duration_ns % 1000000000 };
    while (duration_ns > 0 && nanosleep(&left, &left) != 0)
        continue;
}
