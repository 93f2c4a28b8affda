/* kto: Kahneman-Tversky optimization (Ethayarajh et al. 2024), of completions that are desirable or
 * not, without pairs. With the log-ratio r(y) = log p(y|x) - log p_reference(y|x), the loss of a
 * sample is
 *
 *   desirable_weight (1 - sigmoid(beta (r(y) - z)))      of a desirable one,
 *   undesirable_weight (1 - sigmoid(beta (z - r(y))))    of another one.
 *
 * z, which no gradient goes through, estimates the divergence from the reference: the mean of r
 * over completions of other samples behind the prompts (the second rows of the data), or 0 where
 * that is below. It enters each loss before the backward pass, and is no factor of the gradient;
 * sums over the batch are known when all backward passes are done (graph.h), so that a microbatch
 * waits for no other one. So z is the mean over kl_samples samples that follow each other in the
 * batch, which are those of one microbatch: given, the size of microbatches changes nothing, and a
 * batch of several microbatches must say it, as the size would decide otherwise. */
#include "csengine/generated/ops.h"
#include "csengine/modules.h"
#include "engine/base/config/settings.h"
#include "engine/base/types/shape.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/objectives/scored_rows.h"

static const cse_setting settings_table[] = {
    CSE_BETA_SETTING("0.1", "how strongly the model is held to the reference"),
    { .name = "desirable_weight",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1",
      .min = 0,
      .max = 1e6,
      .doc = "factor of the losses of desirable completions" },
    { .name = "undesirable_weight",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1",
      .min = 0,
      .max = 1e6,
      .doc = "factor of those of other ones" },
    { .name = "kl_samples",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 1 << 24,
      .doc = "samples whose mean estimates the divergence, a divisor of micro_batch_size; null: "
             "the whole batch, which is one microbatch then" },
    CSE_REFERENCE_FREE_SETTING,
    { .name = NULL },
};

/* r of the rows `row` of the samples [batch]. Each kind of row has a forward pass of its own, since
 * the second one has no backward pass. */
static cse_tensor *ratios_of(const cse_objective *objective, const cse_text_rows *rows, int row,
                             cse_tensor **log_probabilities)
{
    cse_scored_rows scored;
    const cse_text_rows one = cse_text_rows_slice(rows, row);
    if (!cse_score_rows(objective->model, &one, NULL, &scored))
        return NULL;
    cse_tensor *reference = cse_score_by_reference(objective, &one);
    if (reference == NULL)
        return NULL;
    *log_probabilities = cse_row_of(scored.log_probabilities, 0);
    return cse_sub(*log_probabilities, cse_row_of(reference, 0));
}

/* Of how many samples the divergence is the mean; 0 after a failure. */
static int64_t samples_of_mean(const cse_settings *s, int64_t micro_batch_size)
{
    const int microbatches = cse_trace_graph()->microbatch_count;
    const int64_t samples =
        cse_settings_has(s, "kl_samples") ? cse_settings_integer(s, "kl_samples") : 0;
    if (samples == 0 && microbatches == 1)
        return micro_batch_size;
    if (samples > 0 && micro_batch_size % samples == 0)
        return samples;
    if (samples == 0)
        cse_trace_fail(CSE_CONFIG,
                       "objective kto: the divergence from the reference is a mean over samples "
                       "of one microbatch, and the batch has %d of %lld samples each: say by "
                       "kl_samples over how many, so that another micro_batch_size changes "
                       "nothing; accepted: a divisor of micro_batch_size (%lld is what TRL's "
                       "per_device_train_batch_size of as many does)",
                       microbatches, (long long)micro_batch_size, (long long)micro_batch_size);
    else
        cse_trace_fail(CSE_CONFIG,
                       "objective kto: kl_samples (%s) is %lld, which does not divide the %lld "
                       "samples of a microbatch; accepted: a divisor of micro_batch_size",
                       cse_settings_origin(s, "kl_samples"), (long long)samples,
                       (long long)micro_batch_size);
    return 0;
}

static cse_tensor *divergence(const cse_objective *objective, const cse_text_rows *rows)
{
    cse_tensor *unused = NULL, *ratios = NULL;
    CSE_SCOPE(NULL, "divergence")
    {
        ratios = ratios_of(objective, rows, 1, &unused);
    }
    if (ratios == NULL || cse_trace_is_poison(ratios))
        return NULL;
    const int64_t batch = cse_tensor_shape(ratios).dims[0];
    const int64_t group = samples_of_mean(objective->settings, batch);
    if (group == 0)
        return NULL;
    const cse_shape groups = cse_shape_of(batch / group, group);
    cse_tensor *mean = cse_mean(cse_reshape(cse_stop_gradient(ratios), groups), cse_axes(1), true);
    mean = cse_broadcast_to(cse_maximum(mean, cse_constant(0)), groups);
    return cse_reshape(mean, cse_shape_of(batch));
}

/* The mean of values [batch] over the samples of the global batch that count. */
static cse_tensor *mean_of(cse_tensor *values, cse_tensor *counts)
{
    return cse_loss_quotient(NULL, cse_sum_all(cse_mul(values, counts)), cse_sum_all(counts));
}

static void report(cse_step *step, cse_tensor *rewards, cse_tensor *log_probabilities,
                   cse_tensor *desirable)
{
    cse_tensor *other = cse_sub(cse_constant(1), desirable);
    cse_tensor *chosen = mean_of(rewards, desirable), *rejected = mean_of(rewards, other);
    cse_step_fetch(step, "rewards/chosen", chosen);
    cse_step_fetch(step, "rewards/rejected", rejected);
    cse_step_fetch(step, "rewards/margins", cse_sub(chosen, rejected));
    cse_step_fetch(step, "logps/chosen", mean_of(log_probabilities, desirable));
    cse_step_fetch(step, "logps/rejected", mean_of(log_probabilities, other));
}

/* Whether there is one label of each sample: others would be broadcast against the samples. */
static bool is_of_samples(cse_tensor *label, int64_t batch)
{
    char text[128];
    const cse_shape shape = cse_tensor_shape(label);
    if (shape.rank == 1 && shape.dims[0] == batch && cse_tensor_dtype(label) == CSE_INT32)
        return true;
    cse_trace_fail(CSE_SHAPE,
                   "objective kto: the input 'desirable' is %s %s; accepted: an int32 for each "
                   "sample, [%lld] here",
                   cse_shape_text(shape, text, sizeof text),
                   cse_dtype_name(cse_tensor_dtype(label)), (long long)batch);
    return false;
}

static cse_tensor *loss(const cse_objective *objective, cse_step *step, cse_tensor **predictions)
{
    const cse_settings *s = objective->settings;
    const double beta = cse_settings_number(s, "beta");
    cse_tensor *log_probabilities = NULL, *label = cse_step_optional_input(step, "desirable");
    cse_text_rows rows;
    if (label == NULL)
        return cse_trace_fail(CSE_SHAPE,
                              "objective kto takes completions that are desirable or not, and the "
                              "data have no input 'desirable': kind: unpaired of the input "
                              "function preferences gives it");
    if (!cse_text_rows_of(step, &rows) ||
        !is_of_samples(label, cse_tensor_shape(rows.tokens).dims[0]))
        return *predictions;
    cse_tensor *ratios = ratios_of(objective, &rows, 0, &log_probabilities);
    cse_tensor *far = ratios != NULL ? divergence(objective, &rows) : NULL;
    if (far == NULL || cse_trace_is_poison(far))
        return *predictions;
    cse_tensor *desirable = cse_cast(cse_not_equal(label, cse_constant_int(0)), CSE_FLOAT32);
    cse_tensor *sign = cse_shift(cse_scale(desirable, 2), -1);
    const double other = cse_settings_number(s, "undesirable_weight");
    cse_tensor *weight =
        cse_shift(cse_scale(desirable, cse_settings_number(s, "desirable_weight") - other), other);
    /* 1 - sigmoid(x) = sigmoid(-x) */
    cse_tensor *below = cse_mul(sign, cse_scale(cse_sub(far, ratios), beta));
    *predictions = cse_scale(ratios, beta);
    cse_step_fetch(step, "kl", cse_mean_all(far));
    report(step, *predictions, log_probabilities, desirable);
    return cse_mean_all(cse_mul(weight, cse_sigmoid(below)));
}

const cse_objective_descriptor cse_objective_kto = {
    .name = "kto",
    .summary = "Kahneman-Tversky optimization: completions that are desirable or not",
    .settings = settings_table,
    .wants_reference = cse_has_reference,
    .loss = loss,
};
