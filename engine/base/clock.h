/* Time as the engine sees it: nanoseconds of the monotonic clock, and a text form of durations. */
#ifndef CSE_BASE_CLOCK_H
#define CSE_BASE_CLOCK_H

#include <stdint.h>

int64_t cse_clock_ns(void);
void cse_sleep_ns(int64_t duration_ns);

#endif
