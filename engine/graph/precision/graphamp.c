/* GraphAMP: types for the edges of a differentiated step graph, in one walk from results to inputs.
 *
 * Each node is classified (allow, infer, deny); the walk then decides, node by node, the type its
 * value is stored in and the type its inputs should have. An allow op requests 16-bit inputs, a
 * deny op inputs as written, an infer op inputs of the type its own value is stored in. A value is
 * stored in 16 bits when all its consumers request that. With mixed consumers it stays float32, and
 * those that request 16 bits share one cast. Results, states, sums over the batch and fetched
 * values stay float32. So 16-bit types spread from the products towards the inputs, until a deny
 * op, a cast of the model or a result stops them.
 *
 * Gradients are classified as the op they are the gradient of. Elementwise nodes that one op's
 * gradient rule made, and that read one another, form a chain and count as one op: they compute in
 * float32 and round once, where the result leaves the chain; inside, they read what is stored and
 * request nothing, nor of what their op of one input read. Consumers without float results
 * (comparisons) request nothing either, nor do nodes that only observe what is stored. Reading a
 * 16-bit value as float32 is exact. */
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/types/dtype.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/graph/trace/attention.h"
#include "engine/graph/trace/trace.h"

/* The type that a node requests for its float inputs; WANT_WRITTEN: of each, as it was written. */
typedef enum want { WANT_WRITTEN, WANT_FLOAT32, WANT_LOW } want;

/* State of the walk for a node. */
typedef struct node_types {
    cse_dtype written; /* type before the pass */
    bool feeds_batch;  /* step level, read by microbatches: weights and values computed from them */
    bool chained;      /* in a chain of one op's gradient */
    bool frozen;       /* keeps its written types */
    int low, high;     /* requests for 16 bits and for float32 (a result of the step is one) */
    want wants;
    cse_node *casts[2]; /* shared casts: to 16 bits, to float32 */
} node_types;

typedef struct typing {
    const cse_precision *precision;
    cse_graph *graph;
    int count;
    node_types *nodes; /* by position of the node, which its scratch holds */
} typing;

static node_types *types_of(const typing *p, const cse_node *node)
{
    return &p->nodes[node->scratch];
}

/* ---- before the walk ---- */

static bool is_attention(const cse_node *node)
{
    return node->op->kind == CSE_OP_COMPOSITE && node->op->precision == CSE_FAMILY_PRODUCT;
}

/* A gradient has the class of its attention. */
static cse_precision_class class_of_attention(const cse_precision *precision, const cse_node *node)
{
    bool gradient = node->gradient_of != NULL && node->gradient_of->op->kind == CSE_OP_COMPOSITE;
    return cse_precision_class_of(precision, gradient ? node->gradient_of->op : node->op);
}

/* Attention is expanded first: its products and its softmax are classified one by one. One that is
 * computed as a whole counts as a product. */
static cse_status expand_products(const cse_precision *precision, cse_graph *graph)
{
    bool expanded = false;
    for (int n = 0; n < graph->node_count && graph->error == CSE_OK; n++) {
        cse_node *node = graph->nodes[n];
        bool allowed = is_attention(node) && class_of_attention(precision, node) == CSE_ALLOW;
        if (!allowed || node->request.graphamp_off || node->dtype != CSE_FLOAT32 ||
            node->attributes.integers[CSE_ATTENTION_WHOLE])
            continue;
        cse_trace_begin_for(graph, node, node->backward, node->gradient_of);
        cse_graph_replace(node, node->op->expand(node));
        cse_trace_end();
        expanded = true;
    }
    CSE_TRY(cse_trace_status(graph));
    if (expanded)
        cse_graph_compact(graph);
    return CSE_OK;
}

static void mark_results(typing *p)
{
    for (int s = 0; s < p->graph->state_count; s++)
        if (p->graph->states[s].next != NULL)
            types_of(p, p->graph->states[s].next)->high++;
    for (int f = 0; f < p->graph->fetch_count; f++)
        types_of(p, p->graph->fetches[f].value)->high++;
    for (int n = p->count - 1; n >= 0; n--) {
        const cse_node *node = p->graph->nodes[n];
        for (int i = 0; i < node->input_count; i++)
            if ((node->batch || p->nodes[n].feeds_batch) && !node->inputs[i]->batch)
                types_of(p, node->inputs[i])->feeds_batch = true;
    }
}

static bool is_gradient_arithmetic(const cse_node *node)
{
    cse_op_kind kind = node->op->kind;
    bool arithmetic =
        kind == CSE_OP_ELEMENTWISE || kind == CSE_OP_REDUCE || kind == CSE_OP_COMPOSITE;
    return arithmetic && node->gradient_of != NULL && node->op->role != CSE_OP_ROLE_CAST &&
           cse_dtype_is_float(node->dtype);
}

static void mark_chains(typing *p)
{
    for (int n = 0; n < p->count; n++) {
        const cse_node *node = p->graph->nodes[n];
        for (int i = 0; is_gradient_arithmetic(node) && i < node->input_count; i++) {
            const cse_node *input = node->inputs[i];
            if (!is_gradient_arithmetic(input) || input->gradient_of != node->gradient_of)
                continue;
            p->nodes[n].chained = p->nodes[n].chained || node->op->kind != CSE_OP_REDUCE;
            if (input->op->kind != CSE_OP_REDUCE)
                types_of(p, input)->chained = true;
        }
    }
}

/* ---- the sets ---- */

/* The class of a node of a gradient: products, data movement and sums have their own, all others
 * that of the forward op. */
static cse_precision_class gradient_class(const cse_precision *precision, const cse_node *node)
{
    const cse_op *origin = node->gradient_of->op;
    cse_precision_class own = cse_precision_class_of(precision, node->op);
    if (is_attention(node))
        return class_of_attention(precision, node);
    if (node->op->precision == CSE_FAMILY_PRODUCT || node->op->precision == CSE_FAMILY_MOVEMENT ||
        node->op->precision == CSE_FAMILY_REDUCTION || origin->precision == CSE_FAMILY_PRODUCT ||
        origin->precision == CSE_FAMILY_MOVEMENT)
        return own;
    if (cse_precision_class_of(precision, origin) == CSE_DENY ||
        cse_precision_class_possible(node->op, CSE_INFER) != CSE_OK)
        return CSE_DENY;
    return CSE_INFER;
}

static bool has_written_low(const typing *p, const cse_node *node)
{
    bool low = cse_dtype_is_float(node->dtype) && node->dtype != CSE_FLOAT32;
    for (int i = 0; i < node->input_count; i++) {
        cse_dtype type = types_of(p, node->inputs[i])->written;
        low = low || (cse_dtype_is_float(type) && type != CSE_FLOAT32);
    }
    return low;
}

static bool is_overridden(const cse_precision *precision, const cse_op *op)
{
    bool found = false;
    for (int i = 0; i < precision->override_count; i++)
        found = found || precision->overrides[i].op == op;
    return found;
}

static cse_precision_class classify(const typing *p, const cse_node *node, const char **reason)
{
    const char *kept = NULL;
    if (node->op->kind == CSE_OP_STRUCTURAL)
        kept = "the engine's own";
    else if (node->op->role == CSE_OP_ROLE_CAST)
        kept = node->inserted_cast ? "inserted" : "written as a cast";
    else if (node->request.graphamp_off)
        kept = "GraphAMP is disabled here";
    else if (has_written_low(p, node))
        kept = "typed by casts of the model";
    else if (!node->batch && !types_of(p, node)->feeds_batch)
        kept = "once a step: the update and its sums";
    *reason = kept;
    if (kept != NULL)
        return CSE_DENY;
    if (node->gradient_of != NULL) {
        *reason = "gradient of its op";
        return gradient_class(p->precision, node);
    }
    *reason = is_overridden(p->precision, node->op) ? "configuration" : "preset";
    return cse_precision_class_of(p->precision, node->op);
}

/* ---- the walk ---- */

static bool all_want_low(const node_types *t)
{
    return t->low > 0 && t->high == 0;
}

static bool is_chain(const typing *p, const cse_node *node)
{
    return types_of(p, node)->chained && !types_of(p, node)->frozen &&
           node->precision_class == CSE_INFER;
}

static bool reads_floats(const cse_node *node)
{
    bool reads = false;
    for (int i = 0; i < node->input_count; i++)
        reads = reads || cse_dtype_is_float(node->inputs[i]->dtype);
    return reads;
}

static cse_dtype stored_type(const typing *p, const cse_node *node)
{
    const node_types *t = types_of(p, node);
    bool denied =
        node->precision_class == CSE_DENY && !cse_precision_stores_low(p->precision, node->op);
    if (node->dtype != CSE_FLOAT32 || t->frozen || !reads_floats(node) || denied ||
        is_chain(p, node))
        return node->dtype;
    return all_want_low(t) ? p->precision->low : CSE_FLOAT32;
}

typedef enum vote { ABSTAINS, FOR_LOW, FOR_FLOAT32 } vote;

static vote vote_of_infer(const typing *p, const cse_node *node)
{
    const node_types *t = types_of(p, node);
    bool unread = t->low == 0 && t->high == 0;
    if (!cse_dtype_is_float(node->dtype) || unread)
        return ABSTAINS;
    return node->dtype == p->precision->low || (is_chain(p, node) && all_want_low(t)) ? FOR_LOW
                                                                                      : FOR_FLOAT32;
}

/* Whether a gradient rule reads the value that its op of one input read: kept for it alone, that
 * value has the type that the forward pass stores. */
static bool reads_forward_input(const cse_node *node, const cse_node *input)
{
    return is_gradient_arithmetic(node) && node->gradient_of->input_count == 1 &&
           node->gradient_of->inputs[0] == input;
}

/* Inside a chain nodes request nothing; of other nodes that the gradient rule made, float32. */
static vote vote_on(const typing *p, const cse_node *node, const cse_node *input, vote usual)
{
    if (reads_forward_input(node, input))
        return ABSTAINS;
    if (node->gradient_of == NULL || input->gradient_of != node->gradient_of)
        return usual;
    if (is_gradient_arithmetic(node) && types_of(p, input)->chained)
        return ABSTAINS;
    return is_chain(p, node) ? FOR_FLOAT32 : usual;
}

static void decide_types(typing *p, cse_node *node)
{
    vote usual = FOR_FLOAT32;
    node_types *t = types_of(p, node);
    node->precision_class = classify(p, node, &node->precision_reason);
    t->frozen = node->precision_class == CSE_DENY &&
                (node->op->role == CSE_OP_ROLE_CAST || node->request.graphamp_off ||
                 has_written_low(p, node));
    node->dtype = stored_type(p, node);
    t->wants = WANT_WRITTEN;
    if (node->precision_class == CSE_ALLOW) {
        usual = FOR_LOW;
        t->wants = WANT_LOW;
    } else if (node->request.observes) {
        usual = ABSTAINS;
    } else if (node->precision_class == CSE_INFER) {
        usual = vote_of_infer(p, node);
        t->wants = usual == FOR_LOW && !is_chain(p, node) ? WANT_LOW : WANT_FLOAT32;
    }
    for (int i = 0; i < node->input_count; i++) {
        vote v = vote_on(p, node, node->inputs[i], usual);
        types_of(p, node->inputs[i])->low += v == FOR_LOW;
        types_of(p, node->inputs[i])->high += v == FOR_FLOAT32;
    }
}

/* ---- the casts ---- */

static cse_node *rounded_constant(cse_graph *graph, const cse_node *constant, cse_dtype dtype)
{
    float value = (float)constant->attributes.numbers[0];
    float rounded = cse_float_from_format(dtype, cse_round_to_bits(dtype, value));
    cse_node *made = cse_graph_constant(graph, dtype, (double)rounded);
    made->scope = constant->scope;
    return made;
}

/* `node` as `dtype`: one cast for all that request it. */
static cse_node *as_type(typing *p, cse_node *node, cse_dtype dtype)
{
    cse_node **shared = &types_of(p, node)->casts[dtype == CSE_FLOAT32];
    if (*shared != NULL)
        return *shared;
    if (node->op == &cse_op_constant && node->shape.rank == 0)
        return *shared = rounded_constant(p->graph, node, dtype);
    /* 16 bits widened and rounded back are the same 16 bits. */
    if (node->op->role == CSE_OP_ROLE_CAST && node->inputs[0]->dtype == dtype &&
        dtype != CSE_FLOAT32)
        return *shared = node->inputs[0];
    cse_trace_begin_for(p->graph, node, node->backward, NULL);
    cse_node *cast = cse_cast(node, dtype);
    cse_trace_end();
    cast->inserted_cast = true;
    cast->precision_reason = "inserted";
    return *shared = cast;
}

static void retype_inputs(typing *p, cse_node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        cse_node *input = node->inputs[i];
        cse_dtype wanted = types_of(p, input)->written;
        if (!cse_dtype_is_float(input->dtype))
            continue;
        if (types_of(p, node)->wants != WANT_WRITTEN)
            wanted = types_of(p, node)->wants == WANT_LOW ? p->precision->low : CSE_FLOAT32;
        if (input->dtype != wanted)
            node->inputs[i] = as_type(p, input, wanted);
    }
}

/* ---- attention as a whole ---- */

/* Ops that attention is expanded to; whoever moves one of them to another set chooses the types
 * inside. */
static bool is_inside_attention(const cse_op *op)
{
    static const char *const inside[] = { "matmul", "softmax", "causal_mask", "mul",  "sub",
                                          "sum",    "max",     "exp",         "cast", NULL };
    bool found = false;
    for (int i = 0; inside[i] != NULL; i++)
        found = found || strcmp(op->name, inside[i]) == 0;
    return found;
}

bool cse_precision_permits_whole(const cse_precision *precision, const cse_node *attention)
{
    const cse_op *softmax = cse_op_find("softmax");
    if (precision == NULL)
        return true;
    bool low = attention->dtype == CSE_FLOAT32 && !attention->request.graphamp_off &&
               class_of_attention(precision, attention) == CSE_ALLOW;
    bool permitted = cse_pol_level(precision, attention) < 2 &&
                     !(precision->emulated && precision->tiling_given);
    for (int i = 0; i < precision->override_count; i++)
        permitted = permitted && !is_inside_attention(precision->overrides[i].op);
    return permitted && (!low || (precision->low == CSE_BFLOAT16 && !precision->low_softmax &&
                                  cse_precision_class_of(precision, softmax) == CSE_DENY));
}

/* ---- the pass ---- */

cse_status cse_graphamp_run(const cse_precision *precision, cse_graph *graph)
{
    CSE_TRY(expand_products(precision, graph));
    typing p = { .precision = precision, .graph = graph, .count = graph->node_count };
    p.nodes = cse_calloc((size_t)p.count + 1, sizeof *p.nodes);
    for (int n = 0; n < p.count; n++) {
        graph->nodes[n]->scratch = n;
        p.nodes[n].written = graph->nodes[n]->dtype;
    }
    mark_results(&p);
    mark_chains(&p);
    for (int n = p.count - 1; n >= 0; n--)
        decide_types(&p, graph->nodes[n]);
    for (int n = 0; n < p.count; n++)
        retype_inputs(&p, graph->nodes[n]);
    free(p.nodes);
    CSE_TRY(cse_trace_status(graph));
    cse_graph_compact(graph);
    return CSE_OK;
}
