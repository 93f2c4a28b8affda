/* The contract of a schedule of the learning rate, of weight decay or of momentum: a function of
 * the number of optimizer steps done, as traced tensor operations of step level. */
#ifndef CSENGINE_SCHEDULE_H
#define CSENGINE_SCHEDULE_H

#include "csengine/plugin.h"
#include "csengine/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. */
enum { CSE_SCHEDULE_ABI = 1 };

/* A schedule with its checked settings; it may be a part of another schedule. */
typedef struct cse_schedule_part cse_schedule_part;

/* A test case of a schedule: settings, and the learning rates they give. */
enum { CSE_SCHEDULE_SAMPLE_POINTS = 8 };
typedef struct cse_schedule_sample {
    const char *settings; /* "{learning_rate: 0.1}"; NULL ends the list */
    /* Not NULL: the settings are rejected with a message that contains this, and there are no
     * values. */
    const char *refusal;
    const char *source; /* what computed the values, independently of this code */
    struct {
        int32_t t; /* optimizer steps done before; each point has a different one */
        double learning_rate;
    } points[CSE_SCHEDULE_SAMPLE_POINTS];
    double tolerance; /* absolute; 0: 2e-7, four float32 roundings of values up to 0.5 */
} cse_schedule_sample;

typedef struct cse_schedule_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;
    cse_status (*check)(const cse_schedule_part *part); /* may be NULL */
    /* The learning rate (float32 scalar) at `t` (int32 scalar): optimizer steps done before. */
    cse_tensor *(*learning_rate)(const cse_schedule_part *part, cse_tensor *t);
    const cse_schedule_sample *samples; /* at least one with values */
} cse_schedule_descriptor;

struct cse_schedule_part {
    const cse_schedule_descriptor *descriptor;
    const cse_settings *settings;
    double adjust_learning_rate; /* of the parameter group that it is for; 1: none */
    /* For schedules with a setting `schedulers` or `scheduler`: the parts, and the step at which
     * each but the first begins. */
    cse_schedule_part **children;
    int64_t *milestones;
    int child_count;
};

/* The learning rate of any part at `t`. */
static inline cse_tensor *cse_schedule_part_rate(const cse_schedule_part *part, cse_tensor *t)
{
    return part->descriptor->learning_rate(part, t);
}

/* A row of CSE_PLUGINS. */
#define CSE_SCHEDULE_PLUGIN(descriptor) \
    CSE_PLUGIN_ROW("schedule", CSE_SCHEDULE_ABI, const cse_schedule_descriptor, descriptor)

#ifdef __cplusplus
}
#endif

#endif
