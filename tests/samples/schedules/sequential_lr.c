/* Samples of sequential_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{schedulers: [{LinearLR: {initial_learning_rate: 0.0, end_learning_rate: 0.1, "
                  "total_iters: 5}}, {CosineDecayLR: {initial_learning_rate: 0.1, "
                  "end_learning_rate: 0.02, total_iters: 8}}, 0.02]}",
      .source = "the formulas of the parts in float64",
      .points = { { 0, 0 },
                  { 4, 0.08 },
                  { 5, 0.1 },
                  { 6, 0.096955181 },
                  { 9, 0.06 },
                  { 12, 0.023044819 },
                  { 13, 0.02 },
                  { 23, 0.02 } } },
    { .settings = "{milestones: [4, 9], schedulers: [0.5, {LinearLR: {initial_learning_rate: 0.4, "
                  "end_learning_rate: 0.1, total_iters: 3}}, {ConstantLR: {learning_rate: 0.05}}]}",
      .source = "the formulas of the parts in float64",
      .points = { { 0, 0.5 },
                  { 3, 0.5 },
                  { 4, 0.4 },
                  { 5, 0.3 },
                  { 7, 0.1 },
                  { 8, 0.1 },
                  { 9, 0.05 },
                  { 23, 0.05 } } },
    { .settings = "{schedulers: [0.1, 0.2], milestones: [1, 2]}", .refusal = "has 2 entries" },
    { .settings = "{schedulers: [0.1, 0.2, 0.3], milestones: [5, 5]}",
      .refusal = "must be greater" },
    { .settings = "{schedulers: 3}", .refusal = "must be a list" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, sequential_lr, samples);
