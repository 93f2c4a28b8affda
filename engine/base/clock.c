/* The two clocks of clock.h. */
#include "engine/base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cse_clock_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t cse_unix_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

int64_t cse_unix_ms(void)
{
    return cse_unix_ns() / 1000000;
}

void cse_sleep_ns(int64_t duration_ns)
{
    struct timespec left = { .tv_sec = duration_ns / 1000000000,
                             .tv_nsec = duration_ns % 1000000000 };
    while (duration_ns > 0 && nanosleep(&left, &left) != 0)
        continue;
}
