/* Samples of constant_lr, with independent values. */
#include "tests/samples/samples.h"

static const cse_schedule_sample samples[] = {
    { .settings = "{learning_rate: 0.125}",
      .source = "the formula",
      .points = { { 0, 0.125 },
                  { 1, 0.125 },
                  { 2, 0.125 },
                  { 3, 0.125 },
                  { 10, 0.125 },
                  { 23, 0.125 },
                  { 1000, 0.125 },
                  { 1000000, 0.125 } } },
    { .settings = "{}", .refusal = "learning_rate" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, constant_lr, samples);
