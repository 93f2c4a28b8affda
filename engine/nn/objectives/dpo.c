/* dpo: direct preference optimization (Rafailov et al. 2023). With the log-ratio of a text y to a
 * prompt x, r(y) = log p(y|x) - log p_reference(y|x), the loss of a pair is
 *
 *   -log sigmoid(beta (r(chosen) - r(rejected)))
 *
 * label_smoothing is that of cDPO (Mitchell 2023). rpo_alpha adds so many times the cross entropy
 * of the chosen completions, a mean over their tokens (Pang et al. 2024): TRL's loss_type
 * [sigmoid, sft]. */
#include "csengine/generated/ops.h"
#include "engine/nn/objectives/compared_pairs.h"

static const cse_setting settings_table[] = {
    CSE_BETA_SETTING("0.1", "how strongly the model is held to the reference"),
    CSE_LABEL_SMOOTHING_SETTING,
    { .name = "rpo_alpha",
      .type = CSE_SETTING_NUMBER,
      .default_value = "null",
      .min = 0,
      .max = 1e6,
      .doc = "so many times the cross entropy of chosen completions is added; null: none" },
    CSE_REFERENCE_FREE_SETTING,
    { .name = NULL },
};

static cse_tensor *loss(const cse_objective *objective, cse_step *step, cse_tensor **predictions)
{
    const cse_settings *s = objective->settings;
    const double beta = cse_settings_number(s, "beta");
    cse_compared_pairs pairs;
    if (!cse_compare_pairs(objective, step, &pairs))
        return *predictions;
    cse_tensor *margin = cse_scale(cse_sub(pairs.ratios[0], pairs.ratios[1]), beta);
    cse_tensor *result = cse_logistic_loss(margin, cse_settings_number(s, "label_smoothing"));
    *predictions = cse_report_rewards(step, pairs.ratios, beta, pairs.log_probabilities);
    if (!cse_settings_has(s, "rpo_alpha"))
        return result;
    return cse_add(result, cse_scale(cse_chosen_loss(&pairs, pairs.rows.labels),
                                     cse_settings_number(s, "rpo_alpha")));
}

const cse_objective_descriptor cse_objective_dpo = {
    .name = "dpo",
    .summary = "direct preference optimization: chosen against rejected texts",
    .settings = settings_table,
    .wants_reference = cse_has_reference,
    .loss = loss,
};
