/* simpo: simple preference optimization (Meng et al. 2024), without a reference. With the
 * log-probability per token of a completion, m(y) = log p(y|x) / |y|, the loss of a pair is
 *
 *   -log sigmoid(beta (m(chosen) - m(rejected)) - simpo_gamma)
 *
 * cpo_alpha adds so many times the cross entropy of the chosen completions, a mean over their
 * tokens (CPO-SimPO): TRL's CPOTrainer with loss_type simpo. */
#include "csengine/generated/ops.h"
#include "engine/nn/objectives/compared_pairs.h"

static const cse_setting settings_table[] = {
    CSE_BETA_SETTING("2", "factor of log-probabilities per token"),
    { .name = "simpo_gamma",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.5",
      .min = 0,
      .max = 1e6,
      .doc = "margin by which a chosen text is to be better" },
    { .name = "cpo_alpha",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0",
      .min = 0,
      .max = 1e6,
      .doc = "so many times the cross entropy of chosen completions is added" },
    CSE_LABEL_SMOOTHING_SETTING,
    { .name = NULL },
};

static cse_tensor *loss(const cse_objective *objective, cse_step *step, cse_tensor **predictions)
{
    const cse_settings *s = objective->settings;
    const double beta = cse_settings_number(s, "beta"), alpha = cse_settings_number(s, "cpo_alpha");
    cse_tensor *means[2];
    cse_compared_pairs pairs;
    if (!cse_score_pairs(objective, step, NULL, &pairs))
        return *predictions;
    for (int t = 0; t < 2; t++)
        means[t] = cse_div(pairs.log_probabilities[t], cse_row_of(pairs.scored.tokens, t));
    cse_tensor *margin = cse_shift(cse_scale(cse_sub(means[0], means[1]), beta),
                                   -cse_settings_number(s, "simpo_gamma"));
    cse_tensor *result = cse_logistic_loss(margin, cse_settings_number(s, "label_smoothing"));
    *predictions = cse_report_rewards(step, means, beta, means);
    if (alpha == 0)
        return result;
    return cse_add(result, cse_scale(cse_chosen_loss(&pairs, pairs.rows.labels), alpha));
}

const cse_objective_descriptor cse_objective_simpo = {
    .name = "simpo",
    .summary = "simple preference optimization: by log-probabilities per token",
    .settings = settings_table,
    .loss = loss,
};
