/* Samples of scale_per_param_lr, with independent values. */
#include "tests/samples/samples.h"

static const cse_schedule_sample samples[] = {
    { .settings = "{scheduler: {LinearLR: {initial_learning_rate: 0.5, end_learning_rate: 0.25, "
                  "total_iters: 4}}}",
      .source = "the inner schedule, by hand: a group without a factor has 1",
      .points = { { 0, 0.5 },
                  { 1, 0.4375 },
                  { 2, 0.375 },
                  { 3, 0.3125 },
                  { 4, 0.25 },
                  { 5, 0.25 },
                  { 6, 0.25 },
                  { 7, 0.25 } } },
    { .settings = "{scheduler: null}", .refusal = "is no value" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, scale_per_param_lr, samples);
