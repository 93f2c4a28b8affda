/* rouge_n: ROUGE-N of all samples together (Lin, "ROUGE: a package for automatic evaluation of
 * summaries", 2004): the runs of n tokens that labels and predictions have in common, over those of
 * the labels (recall), of the predictions (precision), or the harmonic mean of both (f1).
 *
 * There is no ROUGE-L: the longest common subsequence is a recurrence over both sequences, whose
 * steps a traced step would hold one by one. */
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/nn/metrics/ngrams.h"

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
};
