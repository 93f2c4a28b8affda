/* The block of a transformer: attention and a feed-forward network, each in a residual connection
 * with a norm before (pre-norm) or after it (post-norm); a decoder of an encoder's output has an
 * attention to that between both. */
#include "csengine/modules.h"
#include "engine/graph/trace/trace.h"

static cse_state *layer_scale(cse_model *model, const char *name, const cse_block_module *o)
{
    const cse_initializer initial = { CSE_INIT_CONSTANT, o->layer_scale, 0 };
    return o->scales_layers
               ? cse_parameter(model, name, cse_shape_of(o->attention.hidden_size), initial)
               : NULL;
}

static cse_norm_layer norm(cse_model *model, const cse_block_layer *layer, const char *name)
{
    const cse_block_module *o = layer->options;
    return cse_norm_parameters(model, cse_model_text(model, "%s.%s", layer->name, name), o->norm,
                               o->attention.hidden_size, o->epsilon);
}

static const char *ffn_norm_name(const cse_block_module *o)
{
    return o->ffn_norm_name != NULL ? o->ffn_norm_name : "norm2";
}

static bool has_norms_after(const cse_block_module *o)
{
    return o->sandwich || o->norms_outputs_alone;
}

void cse_block_parameters(cse_model *model, const char *name, const cse_block_module *o,
                          cse_block_layer *layer)
{
    *layer = (cse_block_layer){ .options = o, .name = cse_model_text(model, "%s", name) };
    if (!o->norms_outputs_alone)
        layer->attention_norm = norm(model, layer, "norm1");
    layer->attention =
        cse_attention_parameters(model, cse_model_text(model, "%s.self_attn", name), &o->attention);
    layer->attention_scale = layer_scale(model, cse_model_text(model, "%s.layer_scale1", name), o);
    if (o->cross != NULL) {
        layer->cross_norm = norm(model, layer, "norm2");
        layer->cross = cse_attention_parameters(
            model, cse_model_text(model, "%s.multihead_attn", name), o->cross);
    }
    if (!o->norms_outputs_alone && (!o->parallel || !o->shares_norm))
        layer->ffn_norm = norm(model, layer, ffn_norm_name(o));
    if (has_norms_after(o)) {
        layer->attention_norm_after = norm(model, layer, "norm1_post");
        layer->ffn_norm_after =
            norm(model, layer, cse_model_text(model, "%s_post", ffn_norm_name(o)));
    }
    layer->ffn = cse_ffn_parameters(model, cse_model_text(model, "%s.ffn", name), &o->ffn);
    layer->ffn_scale = layer_scale(model, cse_model_text(model, "%s.layer_scale2", name), o);
}

void cse_block_rates(const cse_block_layer *layer, double width, double filter)
{
    const cse_attention_layer *attention = &layer->attention;
    cse_parameter_rate(attention->query.weight, width);
    cse_parameter_rate(attention->key.weight, width);
    cse_parameter_rate(attention->value.weight, width);
    cse_parameter_rate(attention->output.weight, width);
    cse_parameter_rate(layer->ffn.input.weight, width);
    cse_parameter_rate(layer->ffn.gate.weight, width);
    cse_parameter_rate(layer->ffn.output.weight, filter);
}

static cse_tensor *normalize(const cse_norm_layer *layer, cse_tensor *x, const char *name)
{
    CSE_SCOPE(NULL, name)
    {
        x = cse_apply_norm(layer, x);
    }
    return x;
}

static cse_tensor *scaled(cse_state *scale, cse_tensor *x)
{
    return scale != NULL ? cse_mul(x, cse_read(scale)) : x;
}

static bool has_none_before(const cse_block_layer *layer)
{
    return layer->options->norms_outputs_alone;
}

/* One residual connection around an attention. */
static cse_tensor *attend(const cse_model *model, const cse_block_layer *layer, cse_tensor *x,
                          const cse_attention_call *call, bool cross)
{
    const bool post = layer->options->post_norm;
    const cse_norm_layer *norm = cross ? &layer->cross_norm : &layer->attention_norm;
    const char *norm_name = cross ? "norm2" : "norm1";
    cse_tensor *y = post || has_none_before(layer) ? x : normalize(norm, x, norm_name);
    CSE_SCOPE(NULL, cross ? "multihead_attn" : "self_attn")
    {
        y = cse_apply_attention(model, cross ? &layer->cross : &layer->attention, y, call);
        y = cross ? y : scaled(layer->attention_scale, y);
    }
    if (has_norms_after(layer->options) && !cross)
        y = normalize(&layer->attention_norm_after, y, "norm1_post");
    x = cse_add(x, y);
    return post ? normalize(norm, x, norm_name) : x;
}

static cse_tensor *feed(const cse_model *model, const cse_block_layer *layer, cse_tensor *x)
{
    const bool post = layer->options->post_norm;
    const char *norm_name = ffn_norm_name(layer->options);
    cse_tensor *y = post || has_none_before(layer) ? x : normalize(&layer->ffn_norm, x, norm_name);
    CSE_SCOPE(NULL, "ffn")
    {
        y = scaled(layer->ffn_scale, cse_apply_ffn(model, &layer->ffn, y));
    }
    if (has_norms_after(layer->options))
        y = normalize(&layer->ffn_norm_after, y, "ffn_norm_post");
    x = cse_add(x, y);
    return post ? normalize(&layer->ffn_norm, x, norm_name) : x;
}

/* x + attention(norm(x)) + ffn(norm(x)), with one norm or two. */
static cse_tensor *beside(const cse_model *model, const cse_block_layer *layer, cse_tensor *x,
                          const cse_attention_call *call)
{
    cse_tensor *normed = normalize(&layer->attention_norm, x, "norm1"), *y = NULL, *z = NULL;
    CSE_SCOPE(NULL, "self_attn")
    {
        y = cse_apply_attention(model, &layer->attention, normed, call);
    }
    if (!layer->options->shares_norm)
        normed = normalize(&layer->ffn_norm, x, ffn_norm_name(layer->options));
    CSE_SCOPE(NULL, "ffn")
    {
        z = cse_apply_ffn(model, &layer->ffn, normed);
    }
    return cse_add(cse_add(x, z), y);
}

cse_tensor *cse_apply_block(const cse_model *model, const cse_block_layer *layer, cse_tensor *x,
                            const cse_block_call *call)
{
    CSE_SCOPE(NULL, layer->name)
    {
        const cse_attention_call *self = call != NULL ? &call->self : NULL;
        if (layer->options->parallel) {
            x = beside(model, layer, x, self);
        } else {
            x = attend(model, layer, x, self, false);
            if (layer->options->cross != NULL)
                x = attend(model, layer, x, call != NULL ? &call->cross : NULL, true);
            x = feed(model, layer, x);
        }
    }
    return x;
}
