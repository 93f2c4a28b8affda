/* Contracts of the drop-in kinds that a session is put together from: models, optimizers,
 * schedules, metrics. Each member is one file whose descriptor ends it, and is written as traced
 * tensor operations: it declares its states beforehand and is called once, while the step is
 * traced. */
#ifndef CSE_SESSION_MEMBERS_H
#define CSE_SESSION_MEMBERS_H

#include "csengine/model.h"

enum { CSE_MAX_MEMBER_STATES = 8, CSE_MAX_METRIC_ARGUMENTS = 4 };

/* ---- optimizers ---- */

/* A state that the optimizer keeps for each parameter, in float32. */
typedef struct cse_member_state {
    const char *name;
    bool scalar; /* else of the parameter's shape */
    double initial;
} cse_member_state;

/* One parameter's update: everything of step level. */
typedef struct cse_optimizer_update {
    const cse_settings *settings;
    cse_tensor *parameter; /* before the step */
    cse_tensor *gradient;  /* of the parameter's shape: unscaled, clipped, mean over the batch */
    cse_tensor *learning_rate;                 /* float32 scalar */
    cse_tensor *states[CSE_MAX_MEMBER_STATES]; /* before the step, in declared order */
    /* Results. A state that is left NULL does not change. */
    cse_tensor *next_parameter;
    cse_tensor *next_states[CSE_MAX_MEMBER_STATES];
} cse_optimizer_update;

typedef struct cse_optimizer_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;  /* with CSE_LEARNING_RATE_SETTINGS */
    double default_learning_rate; /* where neither lr nor a schedule is given; 0: an error */

    /* What the table cannot say (nesterov needs momentum); may be NULL. */
    cse_status (*check)(const cse_settings *settings);
    /* Writes the states each parameter has under these settings; returns their number. */
    int (*states)(const cse_settings *settings, cse_member_state states[CSE_MAX_MEMBER_STATES]);
    void (*update)(cse_optimizer_update *update);
} cse_optimizer_descriptor;

/* First rows of each optimizer's table: two names of one setting. */
#define CSE_LEARNING_RATE_SETTINGS                                                              \
    { .name = "lr",                                                                             \
      .type = CSE_SETTING_NUMBER,                                                               \
      .default_value = "null",                                                                  \
      .min = 0,                                                                                 \
      .max = 1e6,                                                                               \
      .doc = "learning rate where no schedule is given" },                                      \
    {                                                                                           \
        .name = "learning_rate", .type = CSE_SETTING_NUMBER, .default_value = "null", .min = 0, \
        .max = 1e6, .doc = "the same as lr"                                                     \
    }

extern const cse_optimizer_descriptor *const cse_optimizers[];

/* ---- schedules ---- */

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

/* ---- metrics ---- */

/* One update: everything of step level except the arguments. */
typedef struct cse_metric_step {
    cse_tensor *arguments[CSE_MAX_METRIC_ARGUMENTS]; /* optional ones that are not given are NULL */
    cse_tensor *states[CSE_MAX_MEMBER_STATES];
    /* Results: every state's next value and the metric's value, a float32 scalar. */
    cse_tensor *next_states[CSE_MAX_MEMBER_STATES];
    cse_tensor *value;
} cse_metric_step;

typedef struct cse_metric_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings; /* none so far: an empty table */
    const char *arguments;       /* "labels, predictions[, weights]", for messages and lists */
    int min_arguments, max_arguments;
    int state_count;
    cse_member_state states[CSE_MAX_MEMBER_STATES];
    void (*update)(cse_metric_step *step);
} cse_metric_descriptor;

/* Sum of all elements of `x` over the global batch, and their number there; `x` may also be of step
 * level. */
cse_tensor *cse_metric_sum(cse_tensor *x);
cse_tensor *cse_metric_count(const cse_tensor *x);

extern const cse_metric_descriptor *const cse_metrics[];

/* ---- models: the descriptor is public, csengine/model.h ---- */

extern const cse_model_descriptor *const cse_models[];

#endif
