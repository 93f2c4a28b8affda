/* What the update rules of optimizers share: common settings, and parts of formulas. */
#ifndef CSE_OPTIMIZERS_RULE_H
#define CSE_OPTIMIZERS_RULE_H

#include "csengine/optimizer.h"

#define CSE_OPTIMIZER_NUMBER(setting, value, least, most, text)                                  \
    {                                                                                            \
        .name = (setting), .type = CSE_SETTING_NUMBER, .default_value = (value), .min = (least), \
        .max = (most), .doc = (text)                                                             \
    }
#define CSE_OPTIMIZER_PAIR(setting, value, least, most, text)                         \
    {                                                                                 \
        .name = (setting), .type = CSE_SETTING_NUMBER_LIST, .default_value = (value), \
        .min = (least), .max = (most), .doc = (text)                                  \
    }
#define CSE_OPTIMIZER_SWITCH(setting, value, text)                                           \
    {                                                                                        \
        .name = (setting), .type = CSE_SETTING_BOOL, .default_value = (value), .doc = (text) \
    }

#define CSE_OPTIMIZER_BETAS(value)           \
    CSE_OPTIMIZER_PAIR("betas", value, 0, 1, \
                       "how much of the first and of the second moment is kept, each below 1")
#define CSE_OPTIMIZER_PENALTY                           \
    CSE_OPTIMIZER_NUMBER("weight_decay", "0.0", 0, 1e6, \
                         "L2 penalty: this times the parameter is added to its gradient")
#define CSE_OPTIMIZER_DECOUPLED_DECAY                   \
    CSE_OPTIMIZER_NUMBER("weight_decay", "0.0", 0, 1e6, \
                         "fraction of the parameter, times lr, that is taken off each step")
#define CSE_OPTIMIZER_DECOUPLED                             \
    CSE_OPTIMIZER_SWITCH("decoupled_weight_decay", "false", \
                         "take lr * weight_decay of the parameter off, as AdamW; no L2 penalty")
#define CSE_OPTIMIZER_MAXIMIZE                \
    CSE_OPTIMIZER_SWITCH("maximize", "false", \
                         "maximize the loss: step along the gradient, not against it")

/* How the states that are declared as moments are kept (engine/nn/update/moments.h). */
#define CSE_OPTIMIZER_MOMENTS                                                            \
    { .name = "moments",                                                                 \
      .type = CSE_SETTING_CHOICE,                                                        \
      .default_value = "float32",                                                        \
      .choices = "float32|bfloat16|int8_blocks",                                         \
      .doc = "how moments are kept; int8_blocks: the dynamic map, in blocks of 256" },   \
    {                                                                                    \
        .name = "moments_rounding", .type = CSE_SETTING_CHOICE, .default_value = "null", \
        .choices = "stochastic|nearest", .doc = "of moments: bfloat16; null: stochastic" \
    }

/* betas must be two numbers below 1. `subject`: "optimizer Adam". */
cse_status cse_optimizer_check_betas(const cse_settings *settings, const char *subject);

/* The learning rate of the settings, or `value` where there is none: for a state that starts so. */
double cse_optimizer_rate_or(const cse_settings *settings, double value);

/* The gradient, negated with the setting `maximize`, which the optimizer must have. */
cse_tensor *cse_optimizer_gradient(const cse_optimizer_update *u);

/* The same plus weight_decay times the parameter. */
cse_tensor *cse_optimizer_penalized(const cse_optimizer_update *u);

/* x plus the weight decay times the parameter; x itself where there is none. */
cse_tensor *cse_optimizer_decayed(const cse_optimizer_update *u, cse_tensor *x);

/* momentum * x, of the schedule or of the setting `momentum`. */
cse_tensor *cse_optimizer_with_momentum(const cse_optimizer_update *u, cse_tensor *x);

/* beta * moment + (1 - beta) * fresh */
cse_tensor *cse_optimizer_average(cse_tensor *moment, cse_tensor *fresh, double beta);

/* The number t = 1, 2, ... of this step, a float32 scalar, by the state at `index`: a scalar that
 * starts at 0. Exact up to 2^24, where it stays. */
cse_tensor *cse_optimizer_count_step(cse_optimizer_update *u, int index);
/* 1 - beta^t, without the cancellation of a power near 1. */
cse_tensor *cse_optimizer_bias(cse_tensor *t, double beta);
/* The same from the state `power` = beta^t. */
cse_tensor *cse_optimizer_bias_of_power(cse_tensor *power, double beta);

/* Sets the next parameter: the parameter minus the learning rate times `direction`. */
void cse_optimizer_descend(cse_optimizer_update *u, cse_tensor *direction);

/* The square root of the sum of the squares of x, a scalar. */
cse_tensor *cse_optimizer_norm(cse_tensor *x);

#endif
