/* POL, the precision optimization level: how the long sums inside ops accumulate.
 *
 * Level 0: in float32 throughout. Level 1: matrix products, but not those of attention, accumulate
 * in float32 within tiles and are rounded to the 16-bit format after each tile. Level 2: so do
 * attention, softmax, norms and sums, and softmax computes in 16 bits. A level concerns only ops
 * that read or store 16 bits, and is a permission: sums are rounded where the configuration sets
 * emulate_accumulation. */
#include <stdio.h>
#include <string.h>

#include "engine/base/random.h"

#include "engine/graph/precision/graphamp.h"

static bool is_low(cse_dtype dtype)
{
    return cse_dtype_is_float(dtype) && dtype != CSE_FLOAT32;
}

/* The 16-bit format that the op reads or stores; float32 when it does neither. */
static cse_dtype low_type_of(const cse_node *node)
{
    cse_dtype low = is_low(node->dtype) ? node->dtype : CSE_FLOAT32;
    for (int i = node->input_count - 1; i >= 0; i--)
        if (is_low(node->inputs[i]->dtype))
            low = node->inputs[i]->dtype;
    return low;
}

/* A product of two values of the microbatch, as in attention; a layer's product has a weight. */
static bool is_attention(const cse_node *node)
{
    const cse_node *forward = node->gradient_of != NULL ? node->gradient_of : node;
    bool batch = forward->input_count >= 2;
    for (int i = 0; i < forward->input_count; i++)
        batch =
            batch && (forward->inputs[i]->batch || !cse_dtype_is_float(forward->inputs[i]->dtype));
    return batch;
}

bool cse_pol_applies(const cse_op *op)
{
    return op->precision == CSE_FAMILY_PRODUCT || op->precision == CSE_FAMILY_REDUCTION ||
           op->precision == CSE_FAMILY_SOFTMAX || op->precision == CSE_FAMILY_NORM;
}

int64_t cse_pol_terms(const cse_node *node)
{
    cse_shape a = node->inputs[0]->shape;
    if (node->op->summed_terms != NULL)
        return node->op->summed_terms(node);
    return a.rank > 0 ? a.dims[a.rank - 1] : 1;
}

/* That of the code or of a pattern, else the model's. Exception: in a model of level 1, the
 * backward pass of a head has level 0. */
int cse_pol_level(const cse_precision *precision, const cse_node *node)
{
    int asked = node->backward ? node->request.pol_backward : node->request.pol_forward;
    if (asked > 0)
        return asked - 1;
    bool exempt =
        node->backward && node->module_class == CSE_MODULE_HEAD && precision->level < CSE_MAX_POL;
    return exempt ? 0 : precision->level;
}

static bool is_rounded(const cse_node *node, int level)
{
    if (node->op->precision == CSE_FAMILY_PRODUCT)
        return level >= (is_attention(node) ? 2 : 1);
    return cse_pol_applies(node->op) && level >= 2;
}

static bool is_annotated(const cse_accumulation *accumulation)
{
    return accumulation->across != CSE_FLOAT32 || accumulation->arithmetic != CSE_FLOAT32;
}

/* The stream of random numbers of node `position`: by its op, scope and pass, and by its order
 * among the nodes that have the same. */
static uint32_t stream_of(const cse_graph *graph, int position)
{
    const cse_node *node = graph->nodes[position];
    uint32_t before = 0;
    char name[1024];
    for (int n = 0; n < position; n++) {
        const cse_node *other = graph->nodes[n];
        before += other->op == node->op && other->backward == node->backward &&
                  other->accumulation.stochastic && strcmp(other->scope, node->scope) == 0;
    }
    snprintf(name, sizeof name, "accumulation %s %s%s %u", node->scope, node->op->name,
             node->backward ? " backward" : "", (unsigned)before);
    return (uint32_t)cse_hash_string(name);
}

static cse_accumulation accumulation_of(const cse_precision *precision, const cse_node *node)
{
    cse_accumulation made = { .across = CSE_FLOAT32, .arithmetic = CSE_FLOAT32 };
    cse_dtype low = node->input_count > 0 ? low_type_of(node) : CSE_FLOAT32;
    if (low == CSE_FLOAT32)
        return made;
    bool rounded = is_rounded(node, cse_pol_level(precision, node));
    bool tiled = cse_pol_terms(node) > precision->tile_length;
    if (node->op->precision == CSE_FAMILY_PRODUCT && precision->tiling_given)
        made = tiled ? precision->tiling : made;
    else if (rounded && tiled)
        made = (cse_accumulation){ .across = low, .tile_length = precision->tile_length };
    if (rounded && node->op->precision == CSE_FAMILY_SOFTMAX)
        made.arithmetic = low;
    made.emulated = precision->emulated && is_annotated(&made);
    return made;
}

void cse_pol_run(const cse_precision *precision, cse_graph *graph)
{
    for (int n = 0; n < graph->node_count; n++) {
        graph->nodes[n]->accumulation = accumulation_of(precision, graph->nodes[n]);
        if (graph->nodes[n]->accumulation.stochastic)
            graph->nodes[n]->accumulation.stream = stream_of(graph, n);
    }
}
