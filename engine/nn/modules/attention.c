/* The attention module: projections around scaled_dot_product_attention, which does the masks, the
 * shared heads and the choice of a kernel. */
#include "csengine/generated/ops.h"
#include "csengine/modules.h"

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
    if (o->head_norm != NULL) {
        const int64_t head = inner / o->num_heads;
        layer.query_norm =
            cse_norm_parameters(model, cse_model_text(model, "%s.q_norm", name), o->head_norm,
                                o->norms_all_heads ? inner : head, o->head_norm_epsilon);
        layer.key_norm =
            cse_norm_parameters(model, cse_model_text(model, "%s.k_norm", name), o->head_norm,
                                o->norms_all_heads ? keys : head, o->head_norm_epsilon);
    }
    return layer;
}

/* What becomes of a projection: it has `heads`, and where `norm` is not NULL that norm. */
typedef struct projected_heads {
    int64_t heads, head;
    const cse_norm_layer *norm;
    const char *norm_name;
    bool norms_all;
} projected_heads;

static cse_tensor *normalize(const projected_heads *p, bool all, cse_tensor *x)
{
    if (p->norm == NULL || p->norms_all != all)
        return x;
    CSE_SCOPE(NULL, p->norm_name)
    {
        x = cse_apply_norm(p->norm, x);
    }
    return x;
}

/* [batch, time, channel] -> [batch, heads, time, head]. */
static cse_tensor *split_heads(cse_linear_layer layer, const projected_heads *p, cse_tensor *x)
{
    const cse_shape shape = cse_tensor_shape(x);
    x = normalize(p, true, cse_apply_linear(layer, x));
    x = cse_reshape(x, cse_shape_of(shape.dims[0], shape.dims[1], p->heads, p->head));
    return cse_transpose(normalize(p, false, x), cse_axes(0, 2, 1, 3));
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
        .cap = o->cap,
        .mask = call->mask,
        .spans = call->spans,
    };
    const cse_shape shape = cse_tensor_shape(x);
    const int64_t inner = inner_size(o), head = inner / o->num_heads;
    cse_tensor *memory = call->memory != NULL ? call->memory : x;
    projected_heads of_query = { o->num_heads, head, NULL, "q_norm", o->norms_all_heads };
    projected_heads of_key = { key_heads(o), head, NULL, "k_norm", o->norms_all_heads };
    const projected_heads of_value = { key_heads(o), head, NULL, NULL, false };
    if (o->head_norm != NULL) {
        of_query.norm = &layer->query_norm;
        of_key.norm = &layer->key_norm;
    }
    cse_tensor *query = split_heads(layer->query, &of_query, x);
    cse_tensor *key = split_heads(layer->key, &of_key, memory);
    cse_tensor *value = split_heads(layer->value, &of_value, memory);
    query = rotate(o, call, query);
    key = rotate(o, call, key);
    x = cse_scaled_dot_product_attention(query, key, value, &options);
    x = cse_reshape(cse_transpose(x, cse_axes(0, 2, 1, 3)),
                    cse_shape_of(shape.dims[0], shape.dims[1], inner));
    return cse_apply_dropout(model, o->output_dropout, cse_apply_linear(layer->output, x),
                             "output");
}
