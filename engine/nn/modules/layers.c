/* The layers with weights of their own: linear, convolution, norms, tables of embeddings. */
#include <string.h>

#include "csengine/modules.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/adapters/adapter.h"

static cse_state *constant(cse_model *model, const char *name, int64_t size, double value)
{
    const cse_initializer initial = { CSE_INIT_CONSTANT, value, 0 };
    return cse_parameter(model, name, cse_shape_of(size), initial);
}

/* ---- linear ---- */

cse_linear_layer cse_linear_module(cse_model *model, const char *name, int64_t in, int64_t out,
                                   const cse_linear_options *options)
{
    const cse_shape shape = cse_shape_of(out, in);
    cse_linear_layer layer = { NULL, NULL, NULL };
    layer.weight = cse_parameter(model, cse_model_text(model, "%s.weight", name), shape,
                                 cse_initial_for(options->weight, shape));
    if (!options->no_bias)
        layer.bias = constant(model, cse_model_text(model, "%s.bias", name), out, 0);
    layer.adapter = cse_adapter_declare(model, name, in, out);
    return layer;
}

/* ---- convolution ---- */

cse_conv2d_layer cse_conv2d_parameters(cse_model *model, const char *name,
                                       const cse_conv2d_module_options *o)
{
    const int64_t groups = o->conv.groups > 0 ? o->conv.groups : 1;
    const cse_shape shape = cse_shape_of(o->out, o->in / groups, o->kernel[0], o->kernel[1]);
    const cse_initial torch = cse_initial_scaled(1.0 / 3, CSE_FAN_IN, CSE_DISTRIBUTION_UNIFORM);
    cse_conv2d_layer layer = { .options = o->conv };
    const cse_initializer weight = cse_initial_for(o->has_initial ? o->weight : torch, shape);
    layer.weight = cse_parameter(model, cse_model_text(model, "%s.weight", name), shape, weight);
    if (o->no_bias)
        return layer;
    name = cse_model_text(model, "%s.bias", name);
    layer.bias = o->has_initial ? constant(model, name, o->out, 0)
                                : cse_parameter(model, name, cse_shape_of(o->out), weight);
    return layer;
}

cse_tensor *cse_apply_conv2d(const cse_conv2d_layer *layer, cse_tensor *x)
{
    cse_tensor *weight = cse_read(layer->weight);
    return cse_conv2d(x, weight, layer->bias != NULL ? cse_read(layer->bias) : NULL,
                      &layer->options);
}

/* ---- norms ---- */

cse_norm_layer cse_norm_parameters(cse_model *model, const char *name, const char *kind,
                                   int64_t channels, double epsilon)
{
    const bool zero_centered = strcmp(kind, "zero-centered-rmsnorm") == 0;
    cse_norm_layer layer = { .is_rms = zero_centered || strcmp(kind, "rmsnorm") == 0,
                             .epsilon = epsilon,
                             .is_zero_centered = zero_centered };
    if (strcmp(kind, "nonparametric-layernorm") != 0)
        layer.weight = constant(model, cse_model_text(model, "%s.weight", name), channels,
                                zero_centered ? 0 : 1);
    if (strcmp(kind, "layernorm") == 0)
        layer.bias = constant(model, cse_model_text(model, "%s.bias", name), channels, 0);
    cse_parameter_of_norm(layer.weight);
    cse_parameter_of_norm(layer.bias);
    return layer;
}

cse_tensor *cse_apply_norm(const cse_norm_layer *layer, cse_tensor *x)
{
    /* Separate statements, because C does not define the order of argument evaluation. */
    cse_tensor *weight = layer->weight != NULL ? cse_read(layer->weight) : NULL;
    cse_tensor *bias = layer->bias != NULL ? cse_read(layer->bias) : NULL;
    weight = layer->is_zero_centered ? cse_shift(weight, 1) : weight;
    return layer->is_rms ? cse_rms_norm(x, weight, layer->epsilon)
                         : cse_layer_norm(x, weight, bias, layer->epsilon);
}

/* ---- embeddings ---- */

cse_state *cse_table_parameters(cse_model *model, const char *name, int64_t rows, int64_t channels,
                                cse_initial initial)
{
    const cse_shape shape = cse_shape_of(rows, channels);
    return cse_parameter(model, cse_model_text(model, "%s.weight", name), shape,
                         cse_initial_for(initial, shape));
}

cse_tensor *cse_gather_positions(cse_tensor *x, cse_tensor *positions)
{
    if (cse_trace_is_poison(x) || cse_trace_is_poison(positions))
        return cse_trace_is_poison(x) ? x : positions;
    const cse_shape shape = cse_tensor_shape(x), at = cse_tensor_shape(positions);
    if (shape.rank != 3 || at.rank != 2 || shape.dims[0] != at.dims[0])
        return cse_trace_fail(CSE_SHAPE, "positions must be int32 [batch, count] of the same batch "
                                         "as x [batch, time, channel]");
    const cse_shape wide = cse_shape_of(at.dims[0], at.dims[1], shape.dims[2]);
    cse_tensor *column = cse_reshape(positions, cse_shape_of(at.dims[0], at.dims[1], 1));
    return cse_take_along(x, cse_broadcast_to(column, wide), 1);
}
