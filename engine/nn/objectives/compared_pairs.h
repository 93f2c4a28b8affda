/* Pairs of a chosen and a rejected text, what the objectives of pairs compute of them. */
#ifndef CSE_ENGINE_NN_OBJECTIVES_COMPARED_PAIRS_H
#define CSE_ENGINE_NN_OBJECTIVES_COMPARED_PAIRS_H

#include "engine/nn/objectives/scored_rows.h"

#define CSE_LABEL_SMOOTHING_SETTING                                                            \
    {                                                                                          \
        .name = "label_smoothing", .type = CSE_SETTING_NUMBER, .default_value = "0", .min = 0, \
        .max = 0.5, .doc = "probability that a pair has its texts exchanged"                   \
    }

/* Of each pair [batch] the chosen text, which stands first, and the rejected one. */
typedef struct cse_compared_pairs {
    cse_text_rows rows;
    cse_scored_rows scored;
    cse_tensor *log_probabilities[2]; /* of completions, by the model */
    cse_tensor *ratios[2];            /* less those by the reference */
} cse_compared_pairs;

/* Scores the pairs of the step by the model and the reference. False after a failure, which is the
 * step's. */
bool cse_compare_pairs(const cse_objective *objective, cse_step *step, cse_compared_pairs *pairs);
/* The same without a reference; `ratios` are NULL. `all_labels`: scored.losses are those of all
 * tokens, by these labels [batch, 2, time]; NULL: of completions. */
bool cse_score_pairs(const cse_objective *objective, cse_step *step, cse_tensor **all_labels,
                     cse_compared_pairs *pairs);

/* The mean of the chosen texts' losses over all tokens of the global batch that count. `labels` as
 * they were scored by. */
cse_tensor *cse_chosen_loss(const cse_compared_pairs *pairs, cse_tensor *labels);

/* Fetches what TRL calls rewards/chosen, rewards/rejected, rewards/accuracies, rewards/margins,
 * logps/chosen and logps/rejected: rewards are beta times `values` [batch] of both texts. Gives
 * them as [batch, 2], what an objective of pairs predicts: the accuracy of a validation is the
 * share of pairs whose chosen text has the larger reward. */
cse_tensor *cse_report_rewards(cse_step *step, cse_tensor *const values[2], double beta,
                               cse_tensor *const log_probabilities[2]);

/* The mean of -log sigmoid(x), or with label_smoothing e of
 * -(1 - e) log sigmoid(x) - e log sigmoid(-x). x [batch]. */
cse_tensor *cse_logistic_loss(cse_tensor *x, double label_smoothing);

#endif
