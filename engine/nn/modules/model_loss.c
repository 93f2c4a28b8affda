/* The loss of a model: of the objective that it was given, its own, or what the data ask for. */
#include <string.h>

#include "csengine/generated/ops.h"
#include "csengine/modules.h"
#include "engine/base/types/shape.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/network.h"
#include "engine/nn/objective.h"

/* The only input of the step other than `target`; NULL when there is none or more than one. */
static cse_tensor *only_input(const cse_graph *graph, const cse_node *target)
{
    cse_node *found = NULL;
    int count = 0;
    for (int i = 0; i < graph->input_count; i++)
        if (graph->inputs[i].node != target) {
            found = graph->inputs[i].node;
            count++;
        }
    return count == 1 ? found : NULL;
}

static cse_tensor *named_input(const cse_graph *graph, const char *name)
{
    for (int i = 0; i < graph->input_count; i++)
        if (strcmp(graph->inputs[i].name, name) == 0)
            return graph->inputs[i].node;
    return NULL;
}

static cse_tensor *mean_squared_error(cse_tensor *outputs, cse_tensor *targets)
{
    char shapes[2][128];
    if (cse_trace_is_poison(outputs) || cse_trace_is_poison(targets))
        return outputs;
    if (!cse_shape_equal(outputs->shape, targets->shape) &&
        cse_shape_elements(outputs->shape) == cse_shape_elements(targets->shape))
        outputs = cse_reshape(outputs, targets->shape);
    if (!cse_shape_equal(outputs->shape, targets->shape))
        return cse_trace_fail(CSE_SHAPE,
                              "the model's outputs are %s and `targets` %s: they must have as many "
                              "elements",
                              cse_shape_text(outputs->shape, shapes[0], sizeof shapes[0]),
                              cse_shape_text(targets->shape, shapes[1], sizeof shapes[1]));
    return cse_mean_all(cse_square(cse_sub(outputs, targets)));
}

cse_tensor *cse_model_own_loss(cse_model *model, cse_step *step, cse_tensor **output)
{
    const cse_graph *graph = step->graph;
    *output = graph->poison;
    if (model->descriptor->loss != NULL)
        return model->descriptor->loss(model, step, output);
    cse_tensor *labels = named_input(graph, "labels"), *targets = named_input(graph, "targets");
    cse_tensor *input = only_input(graph, labels ? labels : targets);
    if (input == NULL || (labels == NULL && targets == NULL))
        return cse_trace_fail(
            CSE_SHAPE,
            "model %s has no loss of its own, and the data do not offer one input "
            "beside `labels` or `targets`: give the model a loss function",
            model->descriptor->name);
    *output = cse_forward(model, input);
    cse_trace_enter("loss", CSE_MODULE_PLAIN);
    cse_tensor *loss =
        labels ? cse_classification_loss(*output, labels) : mean_squared_error(*output, targets);
    cse_trace_leave();
    return loss;
}

cse_tensor *cse_model_loss(cse_model *model, cse_step *step, cse_tensor **predictions)
{
    cse_graph *graph = step->graph;
    cse_tensor *outputs = NULL, **output = predictions ? predictions : &outputs;
    *output = graph->poison;
    if (!cse_model_may_trace(model, "cse_model_loss"))
        return graph->poison;
    if (model->objective == NULL)
        return cse_model_own_loss(model, step, output);
    return model->objective->descriptor->loss(model->objective, step, output);
}
