/* orpo: odds ratio preference optimization (Hong et al. 2024), without a reference. With the
 * log-probability per token of a completion, m(y) = log p(y|x) / |y|, and its logarithm of odds
 * o(y) = m(y) - log(1 - exp(m(y))), the loss is
 *
 *   the cross entropy of prompt and chosen completion, a mean over their tokens
 *   - beta mean over pairs of log sigmoid(o(chosen) - o(rejected))
 *
 * beta is the paper's lambda. That the prompt is learned, too, is TRL's. */
#include "csengine/generated/ops.h"
#include "engine/nn/objectives/compared_pairs.h"

static const cse_setting settings_table[] = {
    CSE_BETA_SETTING("0.1", "the paper's lambda: weight of the ratio of odds"),
    { .name = NULL },
};

/* log(1 - exp(x)) of x < 0, by the one of two forms that cancels nothing (Maechler 2012). */
static cse_tensor *log_of_rest(cse_tensor *x)
{
    static const double minus_log_2 = -0.6931471805599453;
    return cse_where(cse_less(x, cse_constant(minus_log_2)), cse_log1p(cse_neg(cse_exp(x))),
                     cse_log(cse_neg(cse_expm1(x))));
}

static cse_tensor *loss(const cse_objective *objective, cse_step *step, cse_tensor **predictions)
{
    const double beta = cse_settings_number(objective->settings, "beta");
    cse_tensor *means[2], *odds[2], *labels = NULL;
    cse_compared_pairs pairs;
    if (!cse_score_pairs(objective, step, &labels, &pairs))
        return *predictions;
    for (int t = 0; t < 2; t++) {
        means[t] = cse_div(pairs.log_probabilities[t], cse_row_of(pairs.scored.tokens, t));
        odds[t] = cse_sub(means[t], log_of_rest(means[t]));
    }
    cse_tensor *margin = cse_sub(odds[0], odds[1]);
    cse_tensor *learned = cse_chosen_loss(&pairs, labels), *ratio = cse_logistic_loss(margin, 0);
    cse_step_fetch(step, "nll_loss", learned);
    cse_step_fetch(step, "log_odds_chosen", cse_mean_all(margin));
    cse_step_fetch(step, "log_odds_ratio", cse_neg(ratio));
    *predictions = cse_report_rewards(step, means, beta, means);
    return cse_add(learned, cse_scale(ratio, beta));
}

const cse_objective_descriptor cse_objective_orpo = {
    .name = "orpo",
    .summary = "odds ratio preference optimization: chosen texts learned, rejected ones avoided",
    .settings = settings_table,
    .loss = loss,
};
