/* What schedules share besides the decay of decay.h: common settings, and numbers made of the
 * clock t, an int32 scalar. Whole numbers stay int32 as long as they can: float32 counts steps
 * exactly only up to 2^24. */
#ifndef CSE_SCHEDULES_CLOCK_H
#define CSE_SCHEDULES_CLOCK_H

#include "csengine/schedule.h"

#define CSE_SCHEDULE_RATE_SETTING(setting, text)                                           \
    {                                                                                      \
        .name = (setting), .type = CSE_SETTING_NUMBER, .min = 0, .max = 1e6, .doc = (text) \
    }
#define CSE_SCHEDULE_STEPS_SETTING(setting, text)                                                  \
    {                                                                                              \
        .name = (setting), .type = CSE_SETTING_INTEGER, .min = 1, .max = 1073741823, .doc = (text) \
    }
#define CSE_SCHEDULE_STAIRCASE_SETTING                                           \
    {                                                                            \
        .name = "staircase", .type = CSE_SETTING_BOOL, .default_value = "false", \
        .doc = "decay at whole multiples alone"                                  \
    }
/* Steps that only a sequence asks for. */
#define CSE_SCHEDULE_LENGTH_SETTING                                                            \
    {                                                                                          \
        .name = "total_iters", .type = CSE_SETTING_INTEGER, .default_value = "null", .min = 1, \
        .max = 2147483647, .doc = "steps until the next schedule of a sequence"                \
    }

/* Whether the schedule has a setting of this name. */
bool cse_schedule_has(const cse_schedule_part *part, const char *setting);

/* t and floor(t / steps), t mod steps as float32 scalars. */
cse_tensor *cse_schedule_time(cse_tensor *t);
cse_tensor *cse_schedule_periods(cse_tensor *t, int64_t steps);
cse_tensor *cse_schedule_within(cse_tensor *t, int64_t steps);
/* t / steps; with `whole`, rounded down. */
cse_tensor *cse_schedule_fraction(cse_tensor *t, int64_t steps, bool whole);

/* base to the power of `exponent`, a float32 scalar. */
cse_tensor *cse_schedule_power(double base, cse_tensor *exponent);

/* The setting `initial_learning_rate` times `factor`. */
cse_tensor *cse_schedule_scaled(const cse_schedule_part *part, cse_tensor *factor);

/* `after` from step `start` on, `before` until then. */
cse_tensor *cse_schedule_from(cse_tensor *t, int64_t start, cse_tensor *after, cse_tensor *before);

/* Fails with CSE_CONFIG unless the list `milestones` rises. */
cse_status cse_schedule_check_milestones(const cse_schedule_part *part);

#endif
