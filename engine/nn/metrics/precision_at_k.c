/* precision_at_k: the fraction of the k largest scores of each sample that are the label's: since a
 * sample has one label, recall_at_k over k. */
#include "csengine/generated/ops.h"
#include "engine/nn/metrics/at_k.h"

static void update(cse_metric_step *m)
{
    const double k = (double)cse_settings_integer(m->settings, "k");
    m->value = cse_div(cse_at_k_fraction(m), cse_constant(k));
}

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "plain, 1",
      .settings = "{k: 1}",
      .source = "NumPy: labels among the first k of argsort",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_FLOAT32,
                       .columns = 4,
                       .values = { 1.875, 2.375, 3.5,   4.375, 1.375, 0.375, 3.125, 5.75,
                                   0.625, 4.125, 0.5,   5.375, 3.25,  5.25,  0.25,  3.375,
                                   1.25,  0.125, 4.5,   2.875, 3.75,  1.5,   5,     4,
                                   2.5,   3,     4.875, 5.5,   2,     4.75,  5.625, 1.75,
                                   2.25,  5.875, 0.875, 1.125, 2.75,  2.125, 0.75,  1,
                                   3.875, 2.625, 3.625, 4.625, 1.625, 5.125, 0,     4.25 } } },
      .values = { 0, 0.125, 0.1666666667 } },
    { .name = "plain, 2",
      .settings = "{k: 2}",
      .source = "NumPy: labels among the first k of argsort",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_FLOAT32,
                       .columns = 4,
                       .values = { 1.875, 2.375, 3.5,   4.375, 1.375, 0.375, 3.125, 5.75,
                                   0.625, 4.125, 0.5,   5.375, 3.25,  5.25,  0.25,  3.375,
                                   1.25,  0.125, 4.5,   2.875, 3.75,  1.5,   5,     4,
                                   2.5,   3,     4.875, 5.5,   2,     4.75,  5.625, 1.75,
                                   2.25,  5.875, 0.875, 1.125, 2.75,  2.125, 0.75,  1,
                                   3.875, 2.625, 3.625, 4.625, 1.625, 5.125, 0,     4.25 } } },
      .values = { 0.125, 0.1875, 0.25 } },
    { .name = "weighted",
      .settings = "{k: 2}",
      .source = "NumPy: labels among the first k of argsort",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_FLOAT32,
                       .columns = 4,
                       .values = { 1.875, 2.375, 3.5,   4.375, 1.375, 0.375, 3.125, 5.75,
                                   0.625, 4.125, 0.5,   5.375, 3.25,  5.25,  0.25,  3.375,
                                   1.25,  0.125, 4.5,   2.875, 3.75,  1.5,   5,     4,
                                   2.5,   3,     4.875, 5.5,   2,     4.75,  5.625, 1.75,
                                   2.25,  5.875, 0.875, 1.125, 2.75,  2.125, 0.75,  1,
                                   3.875, 2.625, 3.625, 4.625, 1.625, 5.125, 0,     4.25 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0.125, 0.1923076923, 0.2777777778 } },
    { .name = NULL },
};

const cse_metric_descriptor cse_metric_precision_at_k = {
    .name = "precision_at_k",
    .summary = "fraction of the k largest scores that are the label",
    CSE_AT_K_FIELDS,
    .update = update,
    .samples = samples,
};
