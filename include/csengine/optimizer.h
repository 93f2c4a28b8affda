/* The contract of an optimizer: the update of one parameter as traced tensor operations of step
 * level. It declares its states beforehand and is called once for each parameter, while the step is
 * traced. */
#ifndef CSENGINE_OPTIMIZER_H
#define CSENGINE_OPTIMIZER_H

#include "csengine/plugin.h"
#include "csengine/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. */
enum { CSE_OPTIMIZER_ABI = 1 };

/* One parameter's update; all tensors are of step level. */
typedef struct cse_optimizer_update {
    const cse_settings *settings;
    cse_tensor *parameter; /* before the step */
    cse_tensor *gradient;  /* of the parameter's shape: unscaled, clipped, mean over the batch */
    cse_tensor *learning_rate; /* float32 scalar */
    cse_tensor *weight_decay;  /* float32 scalar, by a schedule; NULL: the setting weight_decay */
    cse_tensor *states[CSE_MAX_DECLARED_STATES]; /* before the step, in declared order */
    /* Results. A state that is left NULL does not change. */
    cse_tensor *next_parameter;
    cse_tensor *next_states[CSE_MAX_DECLARED_STATES];
    /* Of an optimizer with a setting of that name: float32 scalar, by a schedule; NULL: the setting
     * (which is above 0 where there is a schedule). */
    cse_tensor *momentum;
} cse_optimizer_update;

/* A test case of an optimizer: settings, and the values of one parameter after some steps.
 *
 * The parameter has four elements and starts at { 0.5, -1, 2, 0.25 }. The gradient of element i in
 * step t = 0, 1, ..., 7 is sin(1.7 t + i + 0.4) * (0.3 + 0.4 i), rounded to 4 decimals. The
 * parameter's shape is [4], with `matrix` [2, 2]. */
enum { CSE_OPTIMIZER_SAMPLE_ELEMENTS = 4, CSE_OPTIMIZER_SAMPLE_ROWS = 4 };
typedef struct cse_optimizer_sample {
    const char *settings; /* "{lr: 0.1}"; NULL ends the list */
    /* Not NULL: the settings are rejected with a message that contains this, and there are no
     * values. */
    const char *refusal;
    bool matrix;
    const char *source; /* what computed the values, independently of this code */
    /* After 1, 2, 4 and 8 steps. */
    double parameters[CSE_OPTIMIZER_SAMPLE_ROWS][CSE_OPTIMIZER_SAMPLE_ELEMENTS];
    /* Bound on the absolute error. 0 stands for 1e-5, more than 8 steps of 10 float32 roundings of
     * values up to 2 can reach. */
    double tolerance;
} cse_optimizer_sample;

typedef struct cse_optimizer_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;  /* with CSE_LEARNING_RATE_SETTINGS */
    double default_learning_rate; /* where neither lr nor a schedule is given; 0: an error */

    /* Checks what the table cannot express (nesterov needs momentum); may be NULL. */
    cse_status (*check)(const cse_settings *settings);
    /* Writes the states that a parameter of this shape has under these settings; returns their
     * number. */
    int (*states)(const cse_settings *settings, cse_shape shape,
                  cse_declared_state states[CSE_MAX_DECLARED_STATES]);
    void (*update)(cse_optimizer_update *update);
    const cse_optimizer_sample *samples; /* at least one with values */
} cse_optimizer_descriptor;

/* First rows of each optimizer's table: two names of the learning rate, and the groups of
 * parameters, which the session reads. */
#define CSE_LEARNING_RATE_SETTINGS                                                           \
    { .name = "lr",                                                                          \
      .type = CSE_SETTING_NUMBER,                                                            \
      .default_value = "null",                                                               \
      .min = 0,                                                                              \
      .max = 1e6,                                                                            \
      .doc = "learning rate where no schedule is given" },                                   \
        { .name = "learning_rate",                                                           \
          .type = CSE_SETTING_NUMBER,                                                        \
          .default_value = "null",                                                           \
          .min = 0,                                                                          \
          .max = 1e6,                                                                        \
          .doc = "the same as lr" },                                                         \
    {                                                                                        \
        .name = "params", .type = CSE_SETTING_ANY, .default_value = "null",                  \
        .doc = "groups with settings of their own, {params: [PATTERN, ...], SETTING: VALUE}" \
    }

/* A row of CSE_PLUGINS. */
#define CSE_OPTIMIZER_PLUGIN(descriptor) \
    CSE_PLUGIN_ROW("optimizer", CSE_OPTIMIZER_ABI, const cse_optimizer_descriptor, descriptor)

#ifdef __cplusplus
}
#endif

#endif
