/* The feed-forward network of a block, with or without a gate. */
#include "csengine/modules.h"
#include "engine/graph/trace/trace.h"

cse_ffn_layer cse_ffn_parameters(cse_model *model, const char *name, const cse_ffn_module *o)
{
    const cse_linear_options input = { .weight = o->input, .no_bias = o->no_bias };
    const cse_linear_options output = { .weight = o->output, .no_bias = o->no_bias };
    cse_ffn_layer layer = { .options = o };
    layer.input = cse_linear_module(model, cse_model_text(model, "%s.ffn.0.linear_layer", name),
                                    o->hidden_size, o->filter_size, &input);
    if (cse_activation_is_gated(o->activation))
        layer.gate =
            cse_linear_module(model, cse_model_text(model, "%s.ffn.0.linear_layer_for_glu", name),
                              o->hidden_size, o->filter_size, &input);
    layer.output = cse_linear_module(model, cse_model_text(model, "%s.ffn.1.linear_layer", name),
                                     o->filter_size, o->hidden_size, &output);
    return layer;
}

cse_tensor *cse_apply_ffn(const cse_model *model, const cse_ffn_layer *layer, cse_tensor *x)
{
    const cse_ffn_module *o = layer->options;
    cse_tensor *wide = cse_apply_linear(layer->input, x);
    wide = layer->gate.weight != NULL
               ? cse_activate_gated(o->activation, wide, cse_apply_linear(layer->gate, x))
               : cse_activate(o->activation, wide);
    wide = cse_apply_dropout(model, o->inner_dropout, wide, "inner");
    return cse_apply_dropout(model, o->output_dropout, cse_apply_linear(layer->output, wide),
                             "output");
}
