/* ipo: identity preference optimization (Azar et al. 2023, equation 17). With the log-ratio of a
 * text per token of its completion, r(y) = (log p(y|x) - log p_reference(y|x)) / |y|, the loss of a
 * pair is
 *
 *   (r(chosen) - r(rejected) - 1 / (2 beta))^2
 *
 * The mean over tokens is TRL's, as the paper's authors confirmed it there. */
#include "csengine/generated/ops.h"
#include "engine/nn/objectives/compared_pairs.h"

static const cse_setting settings_table[] = {
    CSE_BETA_SETTING("0.1", "the paper's tau: how strongly the model is held to the reference"),
    CSE_REFERENCE_FREE_SETTING,
    { .name = NULL },
};

static cse_tensor *loss(const cse_objective *objective, cse_step *step, cse_tensor **predictions)
{
    const double beta = cse_settings_number(objective->settings, "beta");
    cse_tensor *of_token[2];
    cse_compared_pairs pairs;
    if (!cse_compare_pairs(objective, step, &pairs))
        return *predictions;
    for (int t = 0; t < 2; t++)
        of_token[t] = cse_div(pairs.ratios[t], cse_row_of(pairs.scored.tokens, t));
    *predictions = cse_report_rewards(step, pairs.ratios, beta, pairs.log_probabilities);
    cse_tensor *margin = cse_sub(of_token[0], of_token[1]);
    return cse_mean_all(cse_square(cse_shift(margin, -1 / (2 * beta))));
}

const cse_objective_descriptor cse_objective_ipo = {
    .name = "ipo",
    .summary = "identity preference optimization: a squared loss of pairs",
    .settings = settings_table,
    .wants_reference = cse_has_reference,
    .loss = loss,
};
