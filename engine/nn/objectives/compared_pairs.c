/* Both texts of a pair go through the model in one forward pass, as rows of one batch. */
#include "engine/nn/objectives/compared_pairs.h"

#include "csengine/generated/ops.h"
#include "csengine/modules.h"
#include "engine/graph/ops/loss_quotient.h"
#include "engine/graph/trace/trace.h"

/* int32 zeros [batch]: the first text of each pair is the better one. They are made of the data, so
 * that they count like a label of each sample. */
static cse_tensor *first_is_better(const cse_text_rows *rows)
{
    const int64_t batch = cse_tensor_shape(rows->tokens).dims[0];
    cse_tensor *one = cse_slice_axis(cse_slice_axis(rows->tokens, 1, 0, 1), 2, 0, 1);
    return cse_mul(cse_reshape(one, cse_shape_of(batch)), cse_constant_int(0));
}

bool cse_score_pairs(const cse_objective *objective, cse_step *step, cse_tensor **all_labels,
                     cse_compared_pairs *pairs)
{
    *pairs = (cse_compared_pairs){ .ratios = { NULL, NULL } };
    if (cse_step_optional_input(step, "desirable") != NULL) {
        cse_trace_fail(CSE_SHAPE,
                       "objective %s compares pairs, the data have single completions: give "
                       "pairs (kind: paired of the input function preferences), or objective kto",
                       objective->descriptor->name);
        return false;
    }
    if (!cse_text_rows_of(step, &pairs->rows))
        return false;
    if (all_labels != NULL)
        *all_labels = cse_text_rows_all_labels(&pairs->rows);
    if (!cse_score_rows(objective->model, &pairs->rows, all_labels != NULL ? *all_labels : NULL,
                        &pairs->scored))
        return false;
    for (int t = 0; t < 2; t++)
        pairs->log_probabilities[t] = cse_row_of(pairs->scored.log_probabilities, t);
    step->answers = first_is_better(&pairs->rows);
    return true;
}

bool cse_compare_pairs(const cse_objective *objective, cse_step *step, cse_compared_pairs *pairs)
{
    if (!cse_score_pairs(objective, step, NULL, pairs))
        return false;
    cse_tensor *reference = cse_score_by_reference(objective, &pairs->rows);
    if (reference == NULL || cse_trace_is_poison(reference))
        return false;
    for (int t = 0; t < 2; t++)
        pairs->ratios[t] = cse_sub(pairs->log_probabilities[t], cse_row_of(reference, t));
    return true;
}

cse_tensor *cse_chosen_loss(const cse_compared_pairs *pairs, cse_tensor *labels)
{
    cse_tensor *losses = cse_slice_axis(pairs->scored.losses, 1, 0, 1);
    cse_tensor *counts = cse_counted_labels(cse_slice_axis(labels, 1, 0, 1));
    /* A mean over pairs is added: one divisor for both needs one backward pass, not two. */
    if (cse_trace_graph()->microbatch_count == 1)
        return cse_div(cse_sum_all(losses), cse_maximum(cse_sum_all(counts), cse_constant(1)));
    return cse_loss_quotient_of_means(cse_mean_all(losses), cse_mean_all(counts));
}

cse_tensor *cse_report_rewards(cse_step *step, cse_tensor *const values[2], double beta,
                               cse_tensor *const log_probabilities[2])
{
    static const char *const names[2][2] = { { "rewards/chosen", "rewards/rejected" },
                                             { "logps/chosen", "logps/rejected" } };
    cse_tensor *rewards[2];
    for (int t = 0; t < 2; t++) {
        rewards[t] = cse_scale(values[t], beta);
        cse_step_fetch(step, names[0][t], cse_mean_all(rewards[t]));
        cse_step_fetch(step, names[1][t], cse_mean_all(log_probabilities[t]));
    }
    cse_tensor *better = cse_cast(cse_greater(rewards[0], rewards[1]), CSE_FLOAT32);
    cse_step_fetch(step, "rewards/accuracies", cse_mean_all(better));
    cse_step_fetch(step, "rewards/margins", cse_mean_all(cse_sub(rewards[0], rewards[1])));
    return cse_stack(rewards, 2, 1);
}

cse_tensor *cse_logistic_loss(cse_tensor *x, double label_smoothing)
{
    cse_tensor *right = cse_mean_all(cse_softplus(cse_neg(x)));
    if (label_smoothing == 0)
        return right;
    cse_tensor *exchanged = cse_mean_all(cse_softplus(x));
    return cse_add(cse_scale(right, 1 - label_smoothing), cse_scale(exchanged, label_smoothing));
}
