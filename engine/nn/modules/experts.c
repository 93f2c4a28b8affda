/* A mixture of experts: feed-forward networks of which each token takes a few, chosen by a router
 * (Shazeer et al. 2017; Fedus et al. 2021 for the balancing loss).
 *
 * Every token takes its experts, whatever their load is: none is dropped, and there is no capacity.
 * The rows of the tokens are sorted by expert, once for all layers of the experts, so that each
 * expert is one product of exactly its rows. The sum over the experts of a token goes in the order
 * of their numbers, whatever other tokens choose. */
#include "csengine/modules.h"
#include "engine/graph/trace/trace.h"

/* ---- parameters ---- */

typedef struct sizes {
    int64_t out, in;
} sizes;

/* Of all experts, [experts, out, in]; fans are those of one expert. */
static cse_expert_linear linears(cse_model *model, const char *name, const cse_experts_module *o,
                                 sizes of, cse_initial initial)
{
    const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };
    cse_expert_linear layer = { NULL, NULL };
    layer.weight = cse_parameter(model, cse_model_text(model, "%s.weight", name),
                                 cse_shape_of(o->count, of.out, of.in),
                                 cse_initial_for(initial, cse_shape_of(of.out, of.in)));
    if (!o->no_bias)
        layer.bias = cse_parameter(model, cse_model_text(model, "%s.bias", name),
                                   cse_shape_of(o->count, of.out), zero);
    return layer;
}

static void share(cse_model *model, const char *name, const cse_experts_module *o,
                  cse_experts_layer *layer)
{
    const cse_linear_options gate = { .weight = o->router, .no_bias = true };
    for (int i = 0; i < o->shared_count; i++)
        layer->shared[i] = cse_ffn_parameters(
            model, cse_model_text(model, "%s.experts.shared_experts.%d", name, i), &o->shared);
    if (o->shared_gate)
        layer->shared_gate = cse_linear_module(
            model, cse_model_text(model, "%s.shared_expert_gate", name), o->hidden_size, 1, &gate);
}

void cse_experts_parameters(cse_model *model, const char *name, const cse_experts_module *o,
                            cse_experts_layer *layer)
{
    const cse_linear_options router = { .weight = o->router, .no_bias = !o->router_bias };
    const char *experts = cse_model_text(model, "%s.experts.ffn", name);
    *layer = (cse_experts_layer){ .options = o };
    layer->router = cse_linear_module(model, cse_model_text(model, "%s.gate", name), o->hidden_size,
                                      o->count, &router);
    const sizes wide = { o->filter_size, o->hidden_size };
    const sizes narrow = { o->hidden_size, o->filter_size };
    layer->input =
        linears(model, cse_model_text(model, "%s.0.linear_layer", experts), o, wide, o->input);
    if (cse_activation_is_gated(o->activation))
        layer->gate = linears(model, cse_model_text(model, "%s.0.linear_layer_for_glu", experts), o,
                              wide, o->input);
    layer->output =
        linears(model, cse_model_text(model, "%s.1.linear_layer", experts), o, narrow, o->output);
    share(model, name, o, layer);
}

/* ---- routing ---- */

static cse_tensor *nonlinear(cse_tensor *logits, bool sigmoid)
{
    return sigmoid ? cse_sigmoid(logits) : cse_softmax(logits, -1);
}

/* What a token's experts are, int32 [tokens, top_k], and how their outputs are weighted. */
typedef struct choice {
    cse_tensor *probabilities, *experts, *weights;
} choice;

static choice choose(const cse_experts_layer *layer, cse_tensor *rows)
{
    const cse_experts_module *o = layer->options;
    choice c = { NULL, NULL, NULL };
    CSE_SCOPE(NULL, "gate")
    {
        cse_tensor *logits = cse_cast(cse_apply_linear(layer->router, rows), CSE_FLOAT32);
        c.probabilities = nonlinear(logits, o->selects_by_sigmoid);
        c.experts = cse_top_k(c.probabilities, -1, o->top_k);
        cse_tensor *weights = o->weights_by_sigmoid == o->selects_by_sigmoid
                                  ? c.probabilities
                                  : nonlinear(logits, o->weights_by_sigmoid);
        c.weights = cse_take_along(weights, c.experts, -1);
        if (o->normalizes) {
            cse_tensor *sum = cse_sum(c.weights, (int[]){ 1 }, 1, true);
            sum = o->null_bias > 0 ? cse_add(sum, cse_constant(o->null_bias)) : sum;
            c.weights = cse_div(c.weights, sum);
        }
    }
    return c;
}

/* ---- the experts ---- */

/* Rows that are sorted by expert: a token has top_k of them. */
typedef struct sorted {
    cse_tensor *order;   /* int32 [rows]: its number before they were sorted */
    cse_tensor *tokens;  /* int32 [rows] */
    cse_tensor *experts; /* int32 [rows], ascending */
} sorted;

static sorted sort(cse_tensor *experts, int64_t top_k)
{
    cse_tensor *flat = cse_reshape(experts, cse_shape_of(-1));
    sorted s = { .order = cse_argsort(flat, 0, false) };
    s.experts = cse_take_along(flat, s.order, 0);
    s.tokens = top_k > 1 ? cse_floor_divide(s.order, cse_constant_int((int32_t)top_k)) : s.order;
    return s;
}

static cse_tensor *apply(const cse_expert_linear *layer, cse_tensor *x, cse_tensor *experts)
{
    cse_tensor *y = cse_expert_matmul(x, cse_read(layer->weight), experts, true);
    return layer->bias != NULL ? cse_add(y, cse_gather(cse_read(layer->bias), experts)) : y;
}

static cse_tensor *apply_experts(const cse_experts_layer *layer, cse_tensor *rows, const choice *c)
{
    const cse_experts_module *o = layer->options;
    const sorted s = sort(c->experts, o->top_k);
    cse_tensor *x = cse_gather(rows, s.tokens);
    cse_tensor *wide = apply(&layer->input, x, s.experts);
    wide = layer->gate.weight != NULL
               ? cse_activate_gated(o->activation, wide, apply(&layer->gate, x, s.experts))
               : cse_activate(o->activation, wide);
    cse_tensor *y = apply(&layer->output, wide, s.experts);
    cse_tensor *flat = cse_reshape(c->weights, cse_shape_of(-1));
    cse_tensor *weights = cse_reshape(cse_take_along(flat, s.order, 0), cse_shape_of(-1, 1));
    return cse_scatter_add(cse_mul(cse_cast(y, CSE_FLOAT32), weights), s.tokens,
                           cse_tensor_shape(rows).dims[0]);
}

static cse_tensor *add_shared(const cse_model *model, const cse_experts_layer *layer,
                              cse_tensor *rows, cse_tensor *y)
{
    cse_tensor *gate = layer->shared_gate.weight != NULL
                           ? cse_sigmoid(cse_apply_linear(layer->shared_gate, rows))
                           : NULL;
    for (int i = 0; i < layer->options->shared_count; i++) {
        cse_tensor *shared = cse_apply_ffn(model, &layer->shared[i], rows);
        y = cse_add(y, gate != NULL ? cse_mul(shared, gate) : shared);
    }
    return y;
}

/* ---- the balancing loss ---- */

/* Sums over the tokens of each sample, and over the layers. */
static void note(cse_routing *routing, const choice *c, cse_shape x)
{
    const int64_t batch = x.dims[0], experts = cse_tensor_shape(c->probabilities).dims[1];
    const int64_t top_k = cse_tensor_shape(c->experts).dims[1];
    const cse_shape chosen = cse_shape_of(batch, x.dims[1] * top_k);
    cse_tensor *first = cse_reshape(cse_iota(batch, 0, (int32_t)experts), cse_shape_of(batch, 1));
    cse_tensor *places = cse_add(cse_reshape(c->experts, chosen), first);
    cse_tensor *share = cse_reshape(c->probabilities, cse_shape_of(batch, x.dims[1], experts));
    cse_tensor *ones = cse_broadcast_to(cse_constant(1), chosen);
    if (routing->mask != NULL) {
        cse_tensor *mask =
            cse_reshape(cse_cast(routing->mask, CSE_FLOAT32), cse_shape_of(batch, x.dims[1], 1));
        ones = cse_reshape(cse_broadcast_to(mask, cse_shape_of(batch, x.dims[1], top_k)), chosen);
        share = cse_mul(share, mask);
    }
    cse_tensor *counts =
        cse_reshape(cse_scatter_add(ones, places, batch * experts), cse_shape_of(batch, experts));
    share = cse_sum(share, (int[]){ 1 }, 1, false);
    routing->counts = routing->layers > 0 ? cse_add(routing->counts, counts) : counts;
    routing->shares = routing->layers > 0 ? cse_add(routing->shares, share) : share;
    routing->tokens = x.dims[1];
    routing->layers++;
}

cse_tensor *cse_balancing_loss(const cse_routing *routing, bool of_each_sample)
{
    cse_tensor *counts = routing->counts, *shares = routing->shares;
    if (routing->layers == 0 || cse_trace_is_poison(counts) || cse_trace_is_poison(shares))
        return cse_constant(0);
    const cse_shape shape = cse_tensor_shape(counts);
    const int64_t batch = shape.dims[0], experts = shape.dims[1];
    cse_tensor *tokens = cse_constant((double)routing->tokens);
    tokens = cse_broadcast_to(tokens, cse_shape_of(batch, 1));
    if (routing->mask != NULL)
        tokens = cse_sum(cse_cast(routing->mask, CSE_FLOAT32), (int[]){ 1 }, 1, true);
    if (!of_each_sample) {
        counts = cse_sum(counts, (int[]){ 0 }, 1, true);
        shares = cse_sum(shares, (int[]){ 0 }, 1, true);
        tokens = cse_sum(tokens, (int[]){ 0 }, 1, true);
    }
    /* Where no token counts the sums are 0. */
    tokens = cse_scale(cse_maximum(tokens, cse_constant(1)), routing->layers);
    cse_tensor *products = cse_mul(cse_div(counts, tokens), cse_div(shares, tokens));
    return cse_scale(cse_mean_all(products), (double)(experts * experts));
}

cse_tensor *cse_apply_experts(const cse_model *model, const cse_experts_layer *layer, cse_tensor *x,
                              cse_routing *routing)
{
    const cse_shape shape = cse_tensor_shape(x);
    if (cse_trace_is_poison(x))
        return x;
    if (shape.rank != 3)
        return cse_trace_fail(CSE_SHAPE, "experts take x [batch, time, channel]");
    cse_tensor *rows = cse_reshape(x, cse_shape_of(-1, shape.dims[2])), *y = NULL;
    const choice c = choose(layer, rows);
    if (cse_trace_is_poison(c.experts))
        return c.experts;
    if (routing != NULL)
        note(routing, &c, shape);
    CSE_SCOPE(NULL, "experts")
    {
        y = apply_experts(layer, rows, &c);
        y = add_shared(model, layer, rows, y);
    }
    return cse_apply_dropout(model, layer->options->output_dropout, cse_reshape(y, shape),
                             "output");
}
