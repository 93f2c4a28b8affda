/* The attention module: projections around scaled_dot_product_attention, which does the masks, the
 * shared heads and the choice of a kernel. */
#include <math.h>

#include "csengine/modules.h"
#include "engine/graph/ops/decoding.h"
#include "engine/graph/trace/trace.h"

static int64_t key_heads(const cse_attention_module *o)
{
    return o->key_heads > 0 ? o->key_heads : o->num_heads;
}

static int64_t inner_size(const cse_attention_module *o)
{
    return o->inner_size > 0 ? o->inner_size : o->hidden_size;
}

cse_attention_layer cse_attention_parameters(cse_model *model, const char *name,
                                             const cse_attention_module *o)
{
    const int64_t inner = inner_size(o),
                  memory = o->memory_size > 0 ? o->memory_size : o->hidden_size;
    const int64_t keys = inner / o->num_heads * key_heads(o);
    const cse_linear_options project = { .weight = o->projection,
                                         .no_bias = o->no_projection_bias };
    const cse_linear_options output = { .weight = o->output, .no_bias = o->no_output_bias };
    const cse_linear_options query = { .weight = o->has_query ? o->query : o->projection,
                                       .no_bias = o->no_projection_bias };
    cse_attention_layer layer = { .options = o };
    layer.query = cse_linear_module(model, cse_model_text(model, "%s.proj_q_dense_layer", name),
                                    o->hidden_size, inner, &query);
    layer.key = cse_linear_module(model, cse_model_text(model, "%s.proj_k_dense_layer", name),
                                  memory, keys, &project);
    layer.value = cse_linear_module(model, cse_model_text(model, "%s.proj_v_dense_layer", name),
                                    memory, keys, &project);
    layer.output =
        cse_linear_module(model, cse_model_text(model, "%s.proj_output_dense_layer", name), inner,
                          o->hidden_size, &output);
    return layer;
}

/* [batch, time, channel] -> [batch, heads, time, head]. */
static cse_tensor *split_heads(cse_linear_layer layer, int64_t heads, int64_t head, cse_tensor *x)
{
    const cse_shape shape = cse_tensor_shape(x);
    x = cse_reshape(cse_apply_linear(layer, x),
                    cse_shape_of(shape.dims[0], shape.dims[1], heads, head));
    return cse_transpose(x, cse_axes(0, 2, 1, 3));
}

static cse_tensor *rotate(const cse_attention_module *o, const cse_attention_call *call,
                          cse_tensor *x)
{
    cse_rotary_options rotary = o->rotary;
    rotary.positions = call->positions;
    return o->rotates ? cse_rotary_embedding(x, &rotary) : x;
}

cse_tensor *cse_soft_cap(cse_tensor *x, double cap)
{
    return cse_scale(cse_tanh(cse_scale(x, 1 / cap)), cap);
}

/* q [batch, heads, time, head] and k [batch, key heads, time, head] -> [batch, heads, time, time]:
 * each head of keys has as many neighbouring heads of queries. */
static cse_tensor *products(cse_tensor *q, cse_tensor *k, double scale)
{
    const cse_shape shape = cse_tensor_shape(q);
    const int64_t shared = cse_tensor_shape(k).dims[1], time = shape.dims[2];
    q = cse_reshape(
        q, cse_shape_of(shape.dims[0], shared, shape.dims[1] / shared * time, shape.dims[3]));
    cse_tensor *scores = cse_matmul(q, k, false, true);
    scores = cse_reshape(scores, cse_shape_of(shape.dims[0], shape.dims[1], time, time));
    return cse_scale(scores, scale > 0 ? scale : 1 / sqrt((double)shape.dims[3]));
}

/* An attention whose scores are capped: they are computed here and given as the floats that the
 * attention adds to its products, which are 0. */
static cse_tensor *attend_capped(const cse_attention_module *o, cse_tensor *q, cse_tensor *k,
                                 cse_tensor *v, const cse_attention_options *given)
{
    cse_attention_options options = *given;
    if (cse_trace_decoding() != NULL)
        return cse_trace_fail(CSE_CONFIG, "attention_logit_softcapping: tokens cannot be decoded "
                                          "one after the other");
    if (cse_trace_is_poison(q) || cse_trace_is_poison(k) || cse_trace_is_poison(v))
        return q;
    cse_tensor *scores = cse_soft_cap(products(q, k, o->scale), o->cap);
    options.mask = scores;
    if (given->mask != NULL)
        options.mask = cse_tensor_dtype(given->mask) == CSE_BOOL
                           ? cse_where(given->mask, scores, cse_constant(-1e30))
                           : cse_add(scores, given->mask);
    options.scale = 1;
    q = cse_scale(cse_slice_axis(q, 3, 0, 1), 0);
    k = cse_scale(cse_slice_axis(k, 3, 0, 1), 0);
    return cse_scaled_dot_product_attention(q, k, v, &options);
}

cse_tensor *cse_apply_attention(const cse_model *model, const cse_attention_layer *layer,
                                cse_tensor *x, const cse_attention_call *call)
{
    static const cse_attention_call nothing = { .memory = NULL };
    const cse_attention_module *o = layer->options;
    call = call != NULL ? call : &nothing;
    const cse_attention_options options = {
        .causal = o->causal,
        .dropout = cse_is_training(model) ? o->attention_dropout : 0,
        .dropout_stream = "weights",
        .scale = o->scale,
        .window = o->window,
        .sink = o->sink,
        .mask = call->mask,
    };
    const cse_shape shape = cse_tensor_shape(x);
    const int64_t inner = inner_size(o), head = inner / o->num_heads;
    cse_tensor *memory = call->memory != NULL ? call->memory : x;
    cse_tensor *query = split_heads(layer->query, o->num_heads, head, x);
    cse_tensor *key = split_heads(layer->key, key_heads(o), head, memory);
    cse_tensor *value = split_heads(layer->value, key_heads(o), head, memory);
    query = rotate(o, call, query);
    key = rotate(o, call, key);
    x = o->cap > 0 ? attend_capped(o, query, key, value, &options)
                   : cse_scaled_dot_product_attention(query, key, value, &options);
    x = cse_reshape(cse_transpose(x, cse_axes(0, 2, 1, 3)),
                    cse_shape_of(shape.dims[0], shape.dims[1], inner));
    return cse_apply_dropout(model, o->output_dropout, cse_apply_linear(layer->output, x),
                             "output");
}
