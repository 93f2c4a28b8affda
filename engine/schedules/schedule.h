/* The contract of a learning rate schedule: a function of the number of optimizer steps done, as
 * traced tensor operations of step level. */
#ifndef CSE_SCHEDULES_SCHEDULE_H
#define CSE_SCHEDULES_SCHEDULE_H

#include "csengine/extend.h"
#include "csengine/tensor.h"

/* A schedule that stands in another's settings, parsed. */
typedef struct cse_schedule_part cse_schedule_part;

typedef struct cse_schedule_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;
    cse_status (*check)(const cse_schedule_part *part); /* may be NULL */
    /* The learning rate (float32 scalar) at `t` (int32 scalar): optimizer steps done before. */
    cse_tensor *(*learning_rate)(const cse_schedule_part *part, cse_tensor *t);
} cse_schedule_descriptor;

struct cse_schedule_part {
    const cse_schedule_descriptor *descriptor;
    cse_settings *settings;
    /* For schedules with a setting `schedulers`: the parts, and where each but the first begins. */
    cse_schedule_part **children;
    int64_t *milestones;
    int child_count;
};

/* The learning rate of any part at `t`. */
cse_tensor *cse_schedule_part_rate(const cse_schedule_part *part, cse_tensor *t);

/* What the schedules that go from one learning rate to another over T steps share: the rows of
 * their tables, and how far they have come. */
#define CSE_DECAY_SETTINGS                                                                   \
    { .name = "initial_learning_rate",                                                       \
      .type = CSE_SETTING_NUMBER,                                                            \
      .default_value = NULL,                                                                 \
      .min = 0,                                                                              \
      .max = 1e6,                                                                            \
      .doc = "learning rate of the first step" },                                            \
        { .name = "end_learning_rate",                                                       \
          .type = CSE_SETTING_NUMBER,                                                        \
          .default_value = NULL,                                                             \
          .min = 0,                                                                          \
          .max = 1e6,                                                                        \
          .doc = "learning rate from step total_iters on" },                                 \
    {                                                                                        \
        .name = "total_iters", .type = CSE_SETTING_INTEGER, .default_value = NULL, .min = 1, \
        .max = 2147483647, .doc = "steps from the first to the second"                       \
    }

typedef struct cse_decay {
    double first, last;   /* learning rates */
    cse_tensor *fraction; /* min(t, T) / T, a float32 scalar */
} cse_decay;

cse_decay cse_schedule_decay(const cse_schedule_part *part, cse_tensor *t);

extern const cse_schedule_descriptor *const cse_schedules[];

#endif
