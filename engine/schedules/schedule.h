/* The schedules that are built in; the contract of one is public, csengine/schedule.h. */
#ifndef CSE_SCHEDULES_SCHEDULE_H
#define CSE_SCHEDULES_SCHEDULE_H

#include "csengine/schedule.h"

extern const cse_schedule_descriptor *const cse_schedules[];

#endif
