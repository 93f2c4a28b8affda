/* bleu: BLEU of all samples together (Papineni and others, "BLEU: a method for automatic evaluation
 * of machine translation", 2002), with one reference for each,
 *
 *   min(1, exp(1 - label_tokens / candidate_tokens)) * (product of common[n] / candidates[n])^(1/N)
 *
 * over n = 1 to N = max_n. 0 while there is no common n-gram of some length. */
#include "csengine/generated/ops.h"
#include "engine/nn/metrics/ngrams.h"

enum { COMMON, CANDIDATES = 2, CANDIDATE_TOKENS = 4, LABEL_TOKENS = 6, MOST_N = 16 };

static const cse_setting settings[] = {
    { .name = "max_n",
      .type = CSE_SETTING_INTEGER,
      .default_value = "4",
      .min = 1,
      .max = MOST_N,
      .doc = "most tokens in a row that are compared" },
    CSE_NGRAMS_PADDING,
    { .name = NULL },
};

static void update(cse_metric_step *m)
{
    const int64_t padding = cse_settings_integer(m->settings, "padding");
    const int count = (int)cse_settings_integer(m->settings, "max_n");
    cse_tensor *common[MOST_N], *predicted[MOST_N], *zero = cse_constant(0);
    for (int n = 1; n <= count; n++) {
        const cse_ngrams found = cse_ngrams_of(m, n, padding);
        common[n - 1] = cse_ngrams_sum(found.common);
        predicted[n - 1] = cse_ngrams_sum(found.predicted);
    }
    const cse_ngrams tokens = cse_ngrams_of(m, 1, padding);
    cse_tensor *hits = cse_metric_add(m, COMMON, cse_stack(common, count, 0));
    cse_tensor *all = cse_metric_add(m, CANDIDATES, cse_stack(predicted, count, 0));
    cse_tensor *candidate = cse_metric_add(m, CANDIDATE_TOKENS, cse_ngrams_sum(tokens.predicted));
    cse_tensor *label = cse_metric_add(m, LABEL_TOKENS, cse_ngrams_sum(tokens.labelled));
    cse_tensor *there = cse_greater(hits, zero);
    cse_tensor *precision = cse_where(there, cse_div(hits, all), cse_constant(1));
    cse_tensor *mean = cse_exp(cse_mean_all(cse_log(precision)));
    cse_tensor *brevity =
        cse_exp(cse_sub(cse_constant(1), cse_div(label, cse_maximum(candidate, cse_constant(1)))));
    cse_tensor *score = cse_mul(cse_minimum(cse_constant(1), brevity), mean);
    m->value = cse_where(cse_all(there, NULL, 0, false), score, zero);
}

const cse_metric_descriptor cse_metric_bleu = {
    .name = "bleu",
    .summary = "BLEU of token sequences, one reference each",
    .settings = settings,
    .arguments = "labels, predictions",
    .min_arguments = 2,
    .max_arguments = 2,
    .state_count = 8,
    .states = { CSE_METRIC_TOTALS("common"), CSE_METRIC_TOTALS("candidates"),
                CSE_METRIC_TOTAL("candidate_tokens"), CSE_METRIC_TOTAL("label_tokens") },
    .length_setting = "max_n",
    .update = update,
};
