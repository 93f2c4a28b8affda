/* What a validation's step hands out of its samples. The names of the fetched values say what
 * their columns are. */
#include <string.h>

#include "csengine/generated/ops.h"
#include "csengine/modules.h"
#include "engine/base/types/shape.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/handles.h"
#include "run/job/validated_samples.h"

/* Of one batch: as numbers in the record of a step, and as terms of all microbatches. */
enum { MOST_ROW_NUMBERS = 1 << 18, MOST_TERMS = 1 << 22 };

static cse_tensor *column(cse_tensor *x)
{
    const cse_graph *graph = cse_trace_graph();
    const int64_t rows = graph->micro_batch_size;
    return cse_reshape(cse_cast(x, CSE_FLOAT32),
                       cse_shape_of(rows, cse_shape_elements(cse_tensor_shape(x)) / rows));
}

/* The table of the batch, from the rows of the microbatch. */
static void hand_out(cse_step *step, const char *name, cse_tensor *rows)
{
    const cse_graph *graph = step->graph;
    const int64_t samples = cse_step_batch_size(step);
    if (cse_trace_is_poison(rows))
        return;
    const int64_t numbers = samples * cse_tensor_shape(rows).dims[1];
    if (numbers < 2 || numbers > MOST_ROW_NUMBERS || numbers * graph->microbatch_count > MOST_TERMS)
        return;
    cse_tensor *table = cse_scatter_add(rows, cse_sample_index(), samples);
    cse_step_fetch(step, name, cse_batch_sum(table));
}

static cse_tensor *losses_of(cse_tensor *predictions, cse_tensor *labels)
{
    const cse_cross_entropy_options options = { .reduction = CSE_REDUCTION_NONE };
    return cse_cross_entropy_with(predictions, labels, &options);
}

static void hand_out_classes(cse_step *step, cse_tensor *predictions, cse_tensor *labels)
{
    const int64_t classes = cse_tensor_shape(predictions).dims[1];
    cse_tensor *scores = cse_cast(predictions, CSE_FLOAT32);
    cse_tensor *probabilities = cse_softmax(scores, -1);
    cse_tensor *loss = column(losses_of(predictions, labels)), *label = column(labels);
    if (classes <= CSE_CURVE_CLASSES) {
        cse_tensor *const parts[] = { loss, label, probabilities };
        hand_out(step, "samples.classes", cse_concat(parts, 3, 1));
        return;
    }
    cse_tensor *const parts[] = { loss, label, column(cse_argmax(predictions, -1)),
                                  column(cse_max(probabilities, cse_axes(-1), false)) };
    hand_out(step, "samples.confidence", cse_concat(parts, 4, 1));
}

static void hand_out_tokens(cse_step *step, cse_tensor *predictions, cse_tensor *labels)
{
    cse_tensor *weights = step->token_weights;
    cse_tensor *counts =
        weights != NULL && cse_shape_equal(cse_tensor_shape(weights), cse_tensor_shape(labels))
            ? cse_not_equal(weights, cse_constant(0))
            : cse_greater_equal(labels, cse_constant_int(0));
    hand_out(step, "samples.tokens",
             column(cse_where(counts, losses_of(predictions, labels), cse_constant(-1))));
}

static cse_tensor *targets_of(const cse_step *step)
{
    const cse_graph *graph = step->graph;
    for (int i = 0; i < graph->input_count; i++)
        if (strcmp(graph->inputs[i].name, "targets") == 0)
            return graph->inputs[i].node;
    return NULL;
}

static void hand_out_numbers(cse_step *step, cse_tensor *predictions, cse_tensor *targets)
{
    cse_tensor *wanted = column(targets), *given = column(predictions);
    cse_tensor *difference = cse_sub(given, wanted);
    cse_tensor *const parts[] = { column(cse_mean(cse_square(difference), cse_axes(-1), false)),
                                  cse_slice_axis(wanted, 1, 0, 1), cse_slice_axis(given, 1, 0, 1) };
    hand_out(step, "samples.numbers", cse_concat(parts, 3, 1));
}

void cse_validated_samples_trace(cse_step *step, cse_tensor *predictions, cse_tensor *labels)
{
    const cse_graph *graph = step->graph;
    if (cse_trace_is_poison(predictions) || !predictions->batch || predictions->shape.rank == 0 ||
        predictions->shape.dims[0] != graph->micro_batch_size)
        return;
    cse_tensor *targets = labels == NULL ? targets_of(step) : NULL;
    if (labels != NULL && step->token_losses != NULL && labels->shape.rank == 1 &&
        predictions->shape.dims[1] > 1)
        hand_out_classes(step, predictions, labels);
    else if (labels != NULL && step->token_losses != NULL && labels->shape.rank == 2)
        hand_out_tokens(step, predictions, labels);
    else if (targets != NULL && cse_dtype_is_float(targets->dtype) &&
             cse_shape_elements(targets->shape) == cse_shape_elements(predictions->shape))
        hand_out_numbers(step, predictions, targets);
}
