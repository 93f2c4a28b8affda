/* Time: the monotonic clock for durations and deadlines, Unix time for records. */
#ifndef CSE_BASE_CLOCK_H
#define CSE_BASE_CLOCK_H

#include <stdint.h>

int64_t cse_clock_ns(void);
int64_t cse_unix_ns(void);
int64_t cse_unix_ms(void);
void cse_sleep_ns(int64_t duration_ns);

#endif
