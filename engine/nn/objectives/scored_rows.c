/* The log-probability of a row is minus the sum of its cross entropies. */
#include "engine/nn/objectives/scored_rows.h"

#include "csengine/modules.h"
#include "engine/base/types/shape.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/network.h"

bool cse_text_rows_of(cse_step *step, cse_text_rows *rows)
{
    char text[128];
    *rows = (cse_text_rows){ .tokens = cse_step_input(step, "input_ids"),
                             .mask = cse_step_input(step, "attention_mask"),
                             .labels = cse_step_input(step, "labels") };
    if (cse_trace_is_poison(rows->tokens) || cse_trace_is_poison(rows->mask) ||
        cse_trace_is_poison(rows->labels))
        return false;
    const cse_shape shape = cse_tensor_shape(rows->tokens);
    if (shape.rank == 3 && shape.dims[1] == 2 &&
        cse_shape_equal(shape, cse_tensor_shape(rows->labels)) &&
        cse_shape_equal(shape, cse_tensor_shape(rows->mask)))
        return true;
    cse_trace_fail(CSE_SHAPE,
                   "the objective compares two texts of each sample, input_ids, attention_mask and "
                   "labels [batch, 2, time], as the input function preferences gives them; "
                   "input_ids is %s here",
                   cse_shape_text(shape, text, sizeof text));
    return false;
}

cse_text_rows cse_text_rows_slice(const cse_text_rows *rows, int row)
{
    cse_text_rows one = *rows;
    one.tokens = cse_slice_axis(rows->tokens, 1, row, row + 1);
    one.mask = cse_slice_axis(rows->mask, 1, row, row + 1);
    one.labels = cse_slice_axis(rows->labels, 1, row, row + 1);
    return one;
}

/* Each row one place earlier, with `last` at its end. */
static cse_tensor *shifted(cse_tensor *x, int32_t last)
{
    cse_shape column = cse_tensor_shape(x);
    const int64_t time = column.dims[2];
    column.dims[2] = 1;
    cse_tensor *const parts[] = { cse_slice_axis(x, 2, 1, time),
                                  cse_broadcast_to(cse_constant_int(last), column) };
    return cse_concat(parts, 2, 2);
}

cse_tensor *cse_text_rows_all_labels(const cse_text_rows *rows)
{
    cse_tensor *follows = cse_not_equal(shifted(rows->mask, 0), cse_constant_int(0));
    return cse_where(follows, shifted(rows->tokens, 0), cse_constant_int(CSE_DEFAULT_IGNORE_INDEX));
}

/* ---- scores ---- */

cse_tensor *cse_counted_labels(cse_tensor *labels)
{
    return cse_cast(cse_not_equal(labels, cse_constant_int(CSE_DEFAULT_IGNORE_INDEX)), CSE_FLOAT32);
}

/* The losses [batch, rows, time] of places that have a label. */
static cse_tensor *losses_of(cse_model *model, const cse_text_rows *rows, cse_tensor *labels)
{
    char text[128];
    const cse_shape shape = cse_tensor_shape(rows->tokens);
    const cse_shape flat = cse_shape_of(shape.dims[0] * shape.dims[1], shape.dims[2]);
    cse_tensor *logits = cse_forward(model, cse_reshape(rows->tokens, flat));
    if (cse_trace_is_poison(logits))
        return logits;
    const cse_shape found = cse_tensor_shape(logits);
    if (found.rank != 3 || found.dims[0] != flat.dims[0] || found.dims[1] != flat.dims[1])
        return cse_trace_fail(CSE_SHAPE,
                              "the objective takes a language model, whose outputs are "
                              "[batch, time, vocabulary]; those of model %s are %s",
                              model->descriptor->name, cse_shape_text(found, text, sizeof text));
    cse_tensor *losses = cse_cross_entropy_per_sample(logits, cse_reshape(labels, flat));
    return cse_reshape(losses, shape);
}

bool cse_score_rows(cse_model *model, const cse_text_rows *rows, cse_tensor *labels,
                    cse_scored_rows *scored)
{
    cse_tensor *completions = cse_counted_labels(rows->labels);
    *scored =
        (cse_scored_rows){ .losses = losses_of(model, rows, labels != NULL ? labels : rows->labels),
                           .tokens = cse_sum(completions, cse_axes(2), false) };
    if (cse_trace_is_poison(scored->losses))
        return false;
    cse_tensor *own = labels != NULL ? cse_mul(scored->losses, completions) : scored->losses;
    scored->log_probabilities = cse_neg(cse_sum(own, cse_axes(2), false));
    return !cse_trace_is_poison(scored->log_probabilities);
}

bool cse_has_reference(const cse_settings *settings)
{
    return !cse_settings_bool(settings, "reference_free");
}

static bool score_frozen(const cse_objective *objective, const cse_text_rows *rows,
                         cse_scored_rows *scored)
{
    cse_model *model = objective->other;
    if (model != NULL)
        return cse_score_rows(model, rows, NULL, scored);
    bool done = false;
    model = objective->model;
    const bool training = model->training;
    model->training = false;
    CSE_WITHOUT_ADAPTERS(model)
    {
        done = cse_score_rows(model, rows, NULL, scored);
    }
    model->training = training;
    return done;
}

cse_tensor *cse_score_by_reference(const cse_objective *objective, const cse_text_rows *rows)
{
    cse_scored_rows scored = { NULL, NULL, NULL };
    const cse_shape shape = cse_tensor_shape(rows->tokens);
    if (!cse_has_reference(objective->settings))
        return cse_broadcast_to(cse_constant(0), cse_shape_of(shape.dims[0], shape.dims[1]));
    CSE_SCOPE(NULL, "reference")
    {
        score_frozen(objective, rows, &scored);
    }
    return scored.log_probabilities != NULL ? cse_stop_gradient(scored.log_probabilities) : NULL;
}

cse_tensor *cse_row_of(cse_tensor *values, int row)
{
    const cse_shape shape = cse_tensor_shape(values);
    return cse_reshape(cse_slice_axis(values, 1, row, row + 1), cse_shape_of(shape.dims[0]));
}
