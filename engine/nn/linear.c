/* Fully connected layers, with what an adapter adds to them. */
#include <math.h>

#include "csengine/generated/ops.h"
#include "csengine/model.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/adapters/adapter.h"

cse_linear_layer cse_linear_parameters(cse_model *model, const char *name, int64_t in, int64_t out,
                                       bool bias)
{
    double bound = 1 / sqrt((double)in);
    const cse_initializer uniform = { CSE_INIT_UNIFORM, -bound, bound };
    cse_linear_layer layer = { NULL, NULL, NULL };
    layer.weight = cse_parameter(model, cse_model_text(model, "%s.weight", name),
                                 cse_shape_of(out, in), uniform);
    if (bias)
        layer.bias = cse_parameter(model, cse_model_text(model, "%s.bias", name), cse_shape_of(out),
                                   uniform);
    layer.adapter = cse_adapter_declare(model, name, in, out);
    return layer;
}

cse_tensor *cse_apply_linear(cse_linear_layer layer, cse_tensor *x)
{
    /* Separate statements, since C leaves the evaluation order of arguments open. */
    if (cse_low_rank_is_on(layer.adapter) && layer.adapter->magnitude != NULL)
        return cse_magnitude_apply(layer, x);
    cse_tensor *weight = cse_read(layer.weight);
    cse_tensor *y = cse_linear(x, weight, layer.bias ? cse_read(layer.bias) : NULL);
    return cse_low_rank_is_on(layer.adapter) ? cse_add(y, cse_low_rank_apply(layer.adapter, x)) : y;
}
