/* distillation: a model learns the outputs of a teacher (Hinton et al. 2015). With logits z of the
 * model and v of the teacher, and a temperature T, the loss is
 *
 *   alpha T^2 KL(softmax(v / T) || softmax(z / T)) + (1 - alpha) the model's own loss
 *
 * where the divergence is the mean over the labels that count, those that are not -100 and have
 * no mask of 0. T^2 keeps its gradients as large as those of the labels. The teacher is a model of
 * any family with as many outputs, in evaluation mode, traced in the same step. */
#include <string.h>

#include "csengine/generated/ops.h"
#include "csengine/modules.h"
#include "engine/base/types/shape.h"
#include "engine/graph/ops/loss_quotient.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/network.h"
#include "engine/nn/objective.h"

static const cse_setting settings_table[] = {
    { .name = "teacher",
      .type = CSE_SETTING_PATH,
      .doc = "the teacher's weights: a folder of Hugging Face, a .gguf, or a checkpoint" },
    { .name = "temperature",
      .type = CSE_SETTING_NUMBER,
      .default_value = "2",
      .min = 1e-3,
      .max = 1e3,
      .doc = "both models' logits are divided by it" },
    { .name = "alpha",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.5",
      .min = 0,
      .max = 1,
      .doc = "share of the teacher in the loss; the model's own loss has the rest" },
    { .name = NULL },
};

/* A float32 1 for each row of the outputs that counts; NULL after a failure. */
static cse_tensor *counted_rows(cse_step *step, cse_tensor *outputs)
{
    char text[128];
    cse_tensor *labels = cse_step_input(step, "labels");
    cse_tensor *mask = cse_step_optional_input(step, "attention_mask");
    cse_shape rows = cse_tensor_shape(outputs);
    if (cse_trace_is_poison(labels))
        return NULL;
    rows.rank--;
    if (!cse_shape_equal(cse_tensor_shape(labels), rows) || cse_tensor_dtype(labels) != CSE_INT32) {
        cse_trace_fail(CSE_SHAPE,
                       "objective distillation: the model has outputs for rows %s, the data's "
                       "labels are %s %s; accepted: an int32 label for each row",
                       cse_shape_text(rows, text, sizeof text),
                       cse_shape_text(cse_tensor_shape(labels), (char[128]){ 0 }, 128),
                       cse_dtype_name(cse_tensor_dtype(labels)));
        return NULL;
    }
    cse_tensor *counted = cse_not_equal(labels, cse_constant_int(CSE_DEFAULT_IGNORE_INDEX));
    if (mask != NULL && cse_shape_equal(cse_tensor_shape(mask), rows))
        return cse_where(counted, cse_cast(mask, CSE_FLOAT32), cse_constant(0));
    return cse_cast(counted, CSE_FLOAT32);
}

static bool have_same_shape(cse_tensor *own, cse_tensor *teacher)
{
    char shapes[2][128];
    if (cse_shape_equal(cse_tensor_shape(own), cse_tensor_shape(teacher)) &&
        cse_tensor_shape(own).rank >= 2)
        return true;
    cse_trace_fail(CSE_SHAPE,
                   "objective distillation: the outputs of the teacher are %s, those of the model "
                   "%s; accepted: the same, which takes the same vocabulary or classes",
                   cse_shape_text(cse_tensor_shape(teacher), shapes[0], sizeof shapes[0]),
                   cse_shape_text(cse_tensor_shape(own), shapes[1], sizeof shapes[1]));
    return false;
}

/* KL of each row [...]. */
static cse_tensor *divergences(cse_tensor *own, cse_tensor *teacher, double temperature)
{
    cse_tensor *z = cse_scale(cse_cast(own, CSE_FLOAT32), 1 / temperature);
    cse_tensor *v = cse_scale(cse_cast(teacher, CSE_FLOAT32), 1 / temperature);
    cse_tensor *learned = cse_log_softmax(z, -1), *wanted = cse_log_softmax(v, -1);
    return cse_sum(cse_mul(cse_exp(wanted), cse_sub(wanted, learned)), cse_axes(-1), false);
}

/* The mean over what counts, by the divisor of the model's own loss where that is such a mean, too:
 * so both are one loss with one backward pass. */
static cse_tensor *mean_like(cse_tensor *own_loss, cse_tensor *rows, cse_tensor *counts)
{
    const cse_quotient *quotient = cse_quotient_of(own_loss);
    cse_tensor *mean = cse_mean_all(cse_mul(rows, counts));
    if (quotient != NULL && quotient->of_means)
        return cse_quotient_keep(own_loss, mean);
    return cse_loss_quotient_of_means(mean, cse_mean_all(counts));
}

static cse_tensor *loss(const cse_objective *objective, cse_step *step, cse_tensor **predictions)
{
    const cse_settings *s = objective->settings;
    const double alpha = cse_settings_number(s, "alpha");
    const double temperature = cse_settings_number(s, "temperature");
    cse_tensor *teacher = NULL;
    /* First, so that what validations are told of tokens is the model's. */
    CSE_SCOPE(step, "teacher")
    {
        cse_model_own_loss(objective->other, step, &teacher);
    }
    cse_tensor *own = cse_model_own_loss(objective->model, step, predictions);
    if (cse_trace_is_poison(own) || cse_trace_is_poison(teacher) ||
        !have_same_shape(*predictions, teacher))
        return own;
    cse_tensor *counts = counted_rows(step, *predictions), *learned = NULL;
    if (counts == NULL)
        return own;
    CSE_SCOPE(step, "distillation")
    {
        cse_tensor *rows = divergences(*predictions, cse_stop_gradient(teacher), temperature);
        learned = cse_scale(mean_like(own, rows, counts), temperature * temperature);
    }
    cse_step_fetch(step, "loss/teacher", learned);
    cse_step_fetch(step, "loss/labels", own);
    return cse_add(cse_scale(learned, alpha), cse_scale(own, 1 - alpha));
}

const cse_objective_descriptor cse_objective_distillation = {
    .name = "distillation",
    .summary = "the outputs of a teacher, besides the labels",
    .settings = settings_table,
    .teacher = "teacher",
    .loss = loss,
};
