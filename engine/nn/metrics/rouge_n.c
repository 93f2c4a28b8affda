/* rouge_n: ROUGE-N of all samples together (Lin, "ROUGE: a package for automatic evaluation of
 * summaries", 2004): the runs of n tokens that labels and predictions have in common, over those of
 * the labels (recall), of the predictions (precision), or the harmonic mean of both (f1).
 *
 * There is no ROUGE-L: the longest common subsequence is a recurrence over both sequences, whose
 * steps a traced step would hold one by one. */
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/nn/metrics/ngrams.h"
#include "engine/nn/metrics/ngrams_samples.h"

enum { COMMON, LABELLED = 2, PREDICTED = 4 };

static const cse_setting settings[] = {
    { .name = "n",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1",
      .min = 1,
      .max = 64,
      .doc = "tokens in a row that are compared" },
    { .name = "measure",
      .type = CSE_SETTING_CHOICE,
      .default_value = "recall",
      .choices = "recall|precision|f1",
      .doc = "what the common ones are divided by" },
    CSE_NGRAMS_PADDING,
    { .name = NULL },
};

static void update(cse_metric_step *m)
{
    const char *measure = cse_settings_text(m->settings, "measure");
    const cse_ngrams found = cse_ngrams_of(m, cse_settings_integer(m->settings, "n"),
                                           cse_settings_integer(m->settings, "padding"));
    cse_tensor *common = cse_metric_add(m, COMMON, cse_ngrams_sum(found.common));
    cse_tensor *labelled = cse_metric_add(m, LABELLED, cse_ngrams_sum(found.labelled));
    cse_tensor *predicted = cse_metric_add(m, PREDICTED, cse_ngrams_sum(found.predicted));
    cse_tensor *all = strcmp(measure, "recall") == 0      ? labelled
                      : strcmp(measure, "precision") == 0 ? predicted
                                                          : cse_add(labelled, predicted);
    if (strcmp(measure, "f1") == 0)
        common = cse_scale(common, 2);
    m->value = cse_div(common, cse_maximum(all, cse_constant(1)));
}

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "1",
      .source = "the definition, by collections.Counter",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_LABELS } },
                     { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_PREDICTIONS } } },
      .values = { 0.875, 0.8125, 0.8125 } },
    { .name = "1, padded",
      .settings = "{padding: 0}",
      .source = "the definition, by collections.Counter",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_LABELS } },
                     { .dtype = CSE_INT32,
                       .columns = 4,
                       .values = { CSE_NGRAMS_PADDED_PREDICTIONS } } },
      .values = { 0.375, 0.34375, 0.3541666667 } },
    { .name = "2, precision",
      .settings = "{n: 2, measure: precision}",
      .source = "the definition, by collections.Counter",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_LABELS } },
                     { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_PREDICTIONS } } },
      .values = { 0.6666666667, 0.5416666667, 0.5277777778 } },
    { .name = "2, precision, padded",
      .settings = "{n: 2, measure: precision, padding: 0}",
      .source = "the definition, by collections.Counter",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_LABELS } },
                     { .dtype = CSE_INT32,
                       .columns = 4,
                       .values = { CSE_NGRAMS_PADDED_PREDICTIONS } } },
      .values = { 0.6666666667, 0.8, 0.7142857143 } },
    { .name = "2, f1",
      .settings = "{n: 2, measure: f1}",
      .source = "the definition, by collections.Counter",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_LABELS } },
                     { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_PREDICTIONS } } },
      .values = { 0.6666666667, 0.5416666667, 0.5277777778 } },
    { .name = "2, f1, padded",
      .settings = "{n: 2, measure: f1, padding: 0}",
      .source = "the definition, by collections.Counter",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_LABELS } },
                     { .dtype = CSE_INT32,
                       .columns = 4,
                       .values = { CSE_NGRAMS_PADDED_PREDICTIONS } } },
      .values = { 0.2666666667, 0.275862069, 0.2325581395 } },
    { .name = "refused", .settings = "{n: 0}", .refusal = "out of range" },
    { .name = NULL },
};

const cse_metric_descriptor cse_metric_rouge_n = {
    .name = "rouge_n",
    .summary = "ROUGE-N: the common runs of n tokens, over those of the labels",
    .settings = settings,
    .arguments = "labels, predictions",
    .min_arguments = 2,
    .max_arguments = 2,
    .state_count = 6,
    .states = { CSE_METRIC_TOTAL("common"), CSE_METRIC_TOTAL("labelled"),
                CSE_METRIC_TOTAL("predicted") },
    .update = update,
    .samples = samples,
};
