/* Settings that no loss of the step uses are refused: they would change nothing in silence. */
#include "engine/nn/class_loss.h"

#include "csengine/generated/ops.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/network.h"

cse_class_loss *cse_class_loss_traced(void)
{
    const cse_network *network = cse_network_traced_view();
    return network != NULL ? network->class_loss : NULL;
}

double cse_class_loss_smoothing(void)
{
    const cse_network *network = cse_network_traced_view();
    cse_class_loss *loss = cse_class_loss_traced();
    if (loss == NULL || network->model_count == 0 || !network->models[0]->training)
        return 0;
    loss->smoothed = true;
    return loss->label_smoothing;
}

cse_tensor *cse_class_loss_weights(int64_t classes)
{
    cse_class_loss *loss = cse_class_loss_traced();
    if (loss == NULL || loss->weights == NULL)
        return NULL;
    loss->weighed = true;
    if (loss->weight_count != classes)
        return cse_trace_fail(CSE_CONFIG,
                              "loss.class_weights (%s) has %d numbers, and the model's loss has "
                              "%lld classes: give one for each class",
                              loss->weights_origin, loss->weight_count, (long long)classes);
    return cse_constant_data(NULL, cse_shape_of(classes), CSE_FLOAT32, loss->weights);
}

void cse_class_loss_check_used(const char *model)
{
    const cse_class_loss *loss = cse_class_loss_traced();
    if (loss == NULL)
        return;
    if (loss->label_smoothing > 0 && !loss->smoothed)
        cse_trace_fail(CSE_CONFIG,
                       "loss.label_smoothing (%s): the loss of model %s is no cross entropy of "
                       "classes; accepted: 0",
                       loss->smoothing_origin, model);
    else if (loss->weights != NULL && !loss->weighed)
        cse_trace_fail(CSE_CONFIG,
                       "loss.class_weights (%s): the loss of model %s is no cross entropy of a "
                       "classifier; accepted: null",
                       loss->weights_origin, model);
}
