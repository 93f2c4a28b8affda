/* GraphAMP: types for the edges of a differentiated step graph, in one walk from results to inputs.
 *
 * Every node is judged (allow, infer, deny), then the walk settles, node by node, the type its
 * value is stored in and the type it wants its inputs in. A value is stored in 16 bits when all its
 * readers want it so; with mixed readers it stays float32, and those that want 16 bits share one
 * cast. What a reader wants depends on its set: allow wants 16 bits, deny what is written, infer
 * what its own value is stored in. Results, states, sums over the batch and fetched values stay
 * float32. So the choice travels upstream from the products, and ends where an op, a cast or a
 * result denies it.
 *
 * Gradients are judged as the op they are the gradient of. Several elementwise nodes that one op's
 * gradient rule made in a chain count as one op: they compute in float32 and round once, where
 * their result leaves the chain; inside, they read what is stored and ask for nothing. The same
 * holds for readers without float results (comparisons): they abstain. Reading a 16-bit value as
 * float32 is exact. */
#include <stdlib.h>

#include "csengine/generated/ops.h"
#include "engine/precision/graphamp.h"
#include "engine/trace/trace.h"
#include "engine/types/dtype.h"

/* The type a node wants its float inputs in; WANT_WRITTEN: each as it was written. */
typedef enum want { WANT_WRITTEN, WANT_FLOAT32, WANT_LOW } want;

typedef struct painting {
    const cse_precision *precision;
    cse_graph *graph;
    int count;
    /* By position of the node. */
    cse_dtype *written; /* type before the pass */
    bool *feeds_batch;  /* step level, read by the microbatches: weights and what is made of them */
    bool *chained;      /* has a neighbour in a chain of one op's gradient */
    bool *frozen;       /* keeps its written types */
    int *low, *high;    /* readers that want 16 bits, float32; results of the step: float32 */
    want *wants;
    cse_node **casts[2]; /* shared casts: to 16 bits, to float32 */
} painting;

static int at(const cse_node *node)
{
    return (int)node->scratch;
}

/* ---- what stands before the walk ---- */

/* Attention is made of products with a softmax between them; they are judged by themselves. */
static cse_status expand_products(const cse_precision *precision, cse_graph *graph)
{
    bool expanded = false;
    for (int n = 0; n < graph->node_count && graph->error == CSE_OK; n++) {
        cse_node *node = graph->nodes[n];
        bool allowed = cse_precision_class_of(precision, node->op) == CSE_ALLOW;
        if (node->op->kind != CSE_OP_COMPOSITE || node->op->precision != CSE_FAMILY_PRODUCT ||
            !allowed || node->request.graphamp_off || node->dtype != CSE_FLOAT32)
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

static void mark_results(painting *p)
{
    for (int s = 0; s < p->graph->state_count; s++)
        if (p->graph->states[s].next != NULL)
            p->high[at(p->graph->states[s].next)]++;
    for (int f = 0; f < p->graph->fetch_count; f++)
        p->high[at(p->graph->fetches[f].value)]++;
    for (int n = p->count - 1; n >= 0; n--) {
        const cse_node *node = p->graph->nodes[n];
        for (int i = 0; i < node->input_count; i++)
            if ((node->batch || p->feeds_batch[n]) && !node->inputs[i]->batch)
                p->feeds_batch[at(node->inputs[i])] = true;
    }
}

static bool is_gradient_arithmetic(const cse_node *node)
{
    cse_op_kind kind = node->op->kind;
    bool arithmetic =
        kind == CSE_OP_ELEMENTWISE || kind == CSE_OP_REDUCE || kind == CSE_OP_COMPOSITE;
    return arithmetic && node->gradient_of != NULL && node->op->role != CSE_ROLE_CAST &&
           cse_dtype_is_float(node->dtype);
}

static void mark_chains(painting *p)
{
    for (int n = 0; n < p->count; n++) {
        const cse_node *node = p->graph->nodes[n];
        for (int i = 0; is_gradient_arithmetic(node) && i < node->input_count; i++) {
            const cse_node *input = node->inputs[i];
            if (!is_gradient_arithmetic(input) || input->gradient_of != node->gradient_of)
                continue;
            p->chained[n] = p->chained[n] || node->op->kind != CSE_OP_REDUCE;
            if (input->op->kind != CSE_OP_REDUCE)
                p->chained[at(input)] = true;
        }
    }
}

/* ---- the sets ---- */

/* The set of a node that autodiff made for `node->gradient_of`: products, movement and sums are judged
 * by themselves, the rest as the forward op. */
static cse_precision_class gradient_class(const cse_precision *precision, const cse_node *node)
{
    const cse_op *origin = node->gradient_of->op;
    cse_precision_class own = cse_precision_class_of(precision, node->op);
    if (node->op->precision == CSE_FAMILY_PRODUCT || node->op->precision == CSE_FAMILY_MOVEMENT ||
        node->op->precision == CSE_FAMILY_REDUCTION || origin->precision == CSE_FAMILY_PRODUCT ||
        origin->precision == CSE_FAMILY_MOVEMENT)
        return own;
    if (cse_precision_class_of(precision, origin) == CSE_DENY ||
        cse_precision_class_possible(node->op, CSE_INFER) != CSE_OK)
        return CSE_DENY;
    return CSE_INFER;
}

static bool has_written_low(const painting *p, const cse_node *node)
{
    bool low = cse_dtype_is_float(node->dtype) && node->dtype != CSE_FLOAT32;
    for (int i = 0; i < node->input_count; i++) {
        cse_dtype type = p->written[at(node->inputs[i])];
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

static cse_precision_class judge(const painting *p, const cse_node *node, const char **reason)
{
    const char *kept = NULL;
    if (node->op->kind == CSE_OP_STRUCTURAL)
        kept = "the engine's own";
    else if (node->op->role == CSE_ROLE_CAST)
        kept = node->inserted_cast ? "inserted" : "written as a cast";
    else if (node->request.graphamp_off)
        kept = "GraphAMP is disabled here";
    else if (has_written_low(p, node))
        kept = "typed by casts of the model";
    else if (!node->batch && !p->feeds_batch[at(node)])
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

static bool all_want_low(const painting *p, int n)
{
    return p->low[n] > 0 && p->high[n] == 0;
}

static bool is_chain(const painting *p, const cse_node *node)
{
    return p->chained[at(node)] && !p->frozen[at(node)] && node->precision_class == CSE_INFER;
}

static bool reads_floats(const cse_node *node)
{
    bool reads = false;
    for (int i = 0; i < node->input_count; i++)
        reads = reads || cse_dtype_is_float(node->inputs[i]->dtype);
    return reads;
}

static cse_dtype stored_type(const painting *p, const cse_node *node)
{
    int n = at(node);
    bool denied =
        node->precision_class == CSE_DENY && !cse_precision_stores_low(p->precision, node->op);
    if (node->dtype != CSE_FLOAT32 || p->frozen[n] || !reads_floats(node) || denied ||
        is_chain(p, node))
        return node->dtype;
    return all_want_low(p, n) ? p->precision->low : CSE_FLOAT32;
}

typedef enum vote { ABSTAINS, FOR_LOW, FOR_FLOAT32 } vote;

static vote vote_of_infer(const painting *p, const cse_node *node)
{
    int n = at(node);
    bool unread = p->low[n] == 0 && p->high[n] == 0;
    if (!cse_dtype_is_float(node->dtype) || unread)
        return ABSTAINS;
    return node->dtype == p->precision->low || (is_chain(p, node) && all_want_low(p, n))
               ? FOR_LOW
               : FOR_FLOAT32;
}

/* Inside a chain nobody asks for anything; of what else the gradient rule made, float32. */
static vote vote_on(const painting *p, const cse_node *node, const cse_node *input, vote usual)
{
    if (node->gradient_of == NULL || input->gradient_of != node->gradient_of)
        return usual;
    if (is_gradient_arithmetic(node) && p->chained[at(input)])
        return ABSTAINS;
    return is_chain(p, node) ? FOR_FLOAT32 : usual;
}

static void settle_node(painting *p, cse_node *node)
{
    vote usual = FOR_FLOAT32;
    int n = at(node);
    node->precision_class = judge(p, node, &node->precision_reason);
    p->frozen[n] =
        node->precision_class == CSE_DENY &&
        (node->op->role == CSE_ROLE_CAST || node->request.graphamp_off || has_written_low(p, node));
    node->dtype = stored_type(p, node);
    p->wants[n] = WANT_WRITTEN;
    if (node->precision_class == CSE_ALLOW) {
        usual = FOR_LOW;
        p->wants[n] = WANT_LOW;
    } else if (node->precision_class == CSE_INFER) {
        usual = vote_of_infer(p, node);
        p->wants[n] = usual == FOR_LOW && !is_chain(p, node) ? WANT_LOW : WANT_FLOAT32;
    }
    for (int i = 0; i < node->input_count; i++) {
        vote v = vote_on(p, node, node->inputs[i], usual);
        p->low[at(node->inputs[i])] += v == FOR_LOW;
        p->high[at(node->inputs[i])] += v == FOR_FLOAT32;
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

/* `node` as `dtype`: one node for all who want it. */
static cse_node *as_type(painting *p, cse_node *node, cse_dtype dtype)
{
    cse_node **shared = &p->casts[dtype == CSE_FLOAT32][at(node)];
    if (*shared != NULL)
        return *shared;
    if (node->op == &cse_op_constant && node->shape.rank == 0)
        return *shared = rounded_constant(p->graph, node, dtype);
    /* 16 bits widened and rounded back are the same 16 bits. */
    if (node->op->role == CSE_ROLE_CAST && node->inputs[0]->dtype == dtype && dtype != CSE_FLOAT32)
        return *shared = node->inputs[0];
    cse_trace_begin_for(p->graph, node, node->backward, NULL);
    cse_node *cast = cse_cast(node, dtype);
    cse_trace_end();
    cast->inserted_cast = true;
    cast->precision_reason = "inserted";
    return *shared = cast;
}

static void retype_inputs(painting *p, cse_node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        cse_node *input = node->inputs[i];
        cse_dtype wanted = p->written[at(input)];
        if (!cse_dtype_is_float(input->dtype))
            continue;
        if (p->wants[at(node)] != WANT_WRITTEN)
            wanted = p->wants[at(node)] == WANT_LOW ? p->precision->low : CSE_FLOAT32;
        if (input->dtype != wanted)
            node->inputs[i] = as_type(p, input, wanted);
    }
}

/* ---- the whole ---- */

static void open_painting(painting *p)
{
    size_t size = (size_t)p->count + 1;
    p->written = cse_calloc(size, sizeof *p->written);
    p->feeds_batch = cse_calloc(size, sizeof *p->feeds_batch);
    p->chained = cse_calloc(size, sizeof *p->chained);
    p->frozen = cse_calloc(size, sizeof *p->frozen);
    p->low = cse_calloc(size, sizeof *p->low);
    p->high = cse_calloc(size, sizeof *p->high);
    p->wants = cse_calloc(size, sizeof *p->wants);
    p->casts[0] = cse_calloc(size, sizeof *p->casts[0]);
    p->casts[1] = cse_calloc(size, sizeof *p->casts[1]);
    for (int n = 0; n < p->count; n++) {
        p->graph->nodes[n]->scratch = n;
        p->written[n] = p->graph->nodes[n]->dtype;
    }
}

static void close_painting(painting *p)
{
    free(p->written);
    free(p->feeds_batch);
    free(p->chained);
    free(p->frozen);
    free(p->low);
    free(p->high);
    free(p->wants);
    free(p->casts[0]);
    free(p->casts[1]);
}

cse_status cse_graphamp_run(const cse_precision *precision, cse_graph *graph)
{
    CSE_TRY(expand_products(precision, graph));
    painting p = { .precision = precision, .graph = graph, .count = graph->node_count };
    open_painting(&p);
    mark_results(&p);
    mark_chains(&p);
    for (int n = p.count - 1; n >= 0; n--)
        settle_node(&p, graph->nodes[n]);
    for (int n = 0; n < p.count; n++)
        retype_inputs(&p, graph->nodes[n]);
    close_painting(&p);
    CSE_TRY(cse_trace_status(graph));
    cse_graph_compact(graph);
    return CSE_OK;
}
