/* Constant folding, common subexpression elimination and the ops' own identities (`simplify` in
 * their descriptors), in walks from inputs to results until nothing changes; compaction then drops
 * the nodes that nothing needs.
 *
 * Every rule keeps the bits. Rules that would reorder sums are not allowed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/passes/simplify.h"
#include "engine/graph/trace/identities.h"
#include "engine/graph/trace/trace.h"

/* Computes an elementwise op on scalars and broadcast scalars with its reference kernel. */
static cse_node *fold_constants(cse_graph *graph, cse_node *node)
{
    double numbers[CSE_MAX_INPUTS];
    float floats[CSE_MAX_INPUTS];
    int32_t ints[CSE_MAX_INPUTS];
    const void *inputs[CSE_MAX_INPUTS];
    if (node->op->kind != CSE_OP_ELEMENTWISE || node->input_count == 0 ||
        node->op->reference == NULL || strpbrk(node->op->expression, "$") == NULL ||
        strstr(node->op->expression, "$n") || strstr(node->op->expression, "$i") ||
        strstr(node->op->expression, "$s"))
        return NULL;
    for (int i = 0; i < node->input_count; i++) {
        cse_dtype dtype = node->inputs[i]->dtype;
        if (!cse_node_number(node->inputs[i], &numbers[i]) ||
            (dtype != CSE_FLOAT32 && dtype != CSE_INT32))
            return NULL;
        floats[i] = (float)numbers[i];
        ints[i] = (int32_t)numbers[i];
        inputs[i] = dtype == CSE_FLOAT32 ? (const void *)&floats[i] : (const void *)&ints[i];
    }
    if (node->dtype != CSE_FLOAT32 && node->dtype != CSE_INT32)
        return NULL;
    union {
        float f;
        int32_t i;
    } result = { 0 };
    cse_node scalar = *node;
    scalar.shape = cse_scalar_shape;
    node->op->reference(&(cse_reference){ .node = &scalar, .inputs = inputs, .output = &result });
    double value = node->dtype == CSE_FLOAT32 ? (double)result.f : (double)result.i;
    if (isnan(value))
        return NULL;
    cse_node *constant = cse_graph_constant(graph, node->dtype, value);
    cse_trace_begin_for(graph, node, node->backward, node->gradient_of);
    constant = cse_broadcast_to(constant, node->shape);
    cse_trace_end();
    return constant;
}

static uint64_t hash_node(const cse_node *node)
{
    uint64_t hash = cse_hash_string(node->op->name) ^ (uint64_t)node->dtype << 7;
    for (int i = 0; i < node->input_count; i++)
        hash = (hash ^ node->inputs[i]->id) * 0x100000001b3u + (hash >> 29);
    for (int i = 0; i < node->attributes.integer_count; i++)
        hash = (hash ^ (uint64_t)node->attributes.integers[i]) * 0x100000001b3u + (hash >> 31);
    for (int i = 0; i < node->shape.rank; i++)
        hash = (hash ^ (uint64_t)node->shape.dims[i]) * 0x100000001b3u + (hash >> 27);
    return hash;
}

bool cse_nodes_equal(const cse_node *a, const cse_node *b)
{
    const cse_attributes *p = &a->attributes, *q = &b->attributes;
    if (a->op != b->op || a->dtype != b->dtype || a->input_count != b->input_count ||
        !cse_shape_equal(a->shape, b->shape) || p->integer_count != q->integer_count ||
        p->number_count != q->number_count || (p->text == NULL) != (q->text == NULL) ||
        (p->text != NULL && strcmp(p->text, q->text) != 0) || a->part != b->part ||
        a->accumulation.across != b->accumulation.across ||
        a->accumulation.stochastic != b->accumulation.stochastic ||
        a->accumulation.emulated != b->accumulation.emulated ||
        a->accumulation.arithmetic != b->accumulation.arithmetic ||
        a->accumulation.tile_length != b->accumulation.tile_length)
        return false;
    bool equal = memcmp(p->numbers, q->numbers, sizeof(double) * (size_t)p->number_count) == 0 &&
                 memcmp(p->integers, q->integers, sizeof(int64_t) * (size_t)p->integer_count) == 0;
    for (int i = 0; equal && i < a->input_count; i++)
        equal = a->inputs[i] == b->inputs[i];
    return equal;
}

/* Looks up an equal node in an open-addressing hash table; adds and returns `node` if none. */
static cse_node *find_equal(cse_node **table, uint64_t mask, cse_node *node)
{
    uint64_t slot = hash_node(node) & mask;
    while (table[slot] != NULL && !cse_nodes_equal(table[slot], node))
        slot = (slot + 1) & mask;
    if (table[slot] == NULL)
        table[slot] = node;
    return table[slot];
}

static cse_node *apply_rules(cse_graph *graph, cse_node *node)
{
    cse_node *replacement = fold_constants(graph, node);
    if (replacement == NULL && node->op->simplify != NULL)
        replacement = node->op->simplify(node);
    return replacement;
}

static bool is_shareable(const cse_node *node)
{
    return node->op != &cse_op_batch_sum && node->op != &cse_op_input;
}

static void simplify_once(cse_graph *graph)
{
    /* Constants folded on the way are appended; twice the count leaves room for them. */
    int count = graph->node_count;
    uint64_t size = 64;
    while (size < (uint64_t)count * 4)
        size *= 2;
    cse_node **table = cse_calloc(size, sizeof *table);
    for (int n = 0; n < count; n++) {
        cse_node *node = graph->nodes[n];
        for (int i = 0; i < node->input_count; i++)
            while (node->inputs[i]->forward_to != NULL)
                node->inputs[i] = node->inputs[i]->forward_to;
        cse_node *replacement = apply_rules(graph, node);
        if (replacement == NULL && is_shareable(node)) {
            replacement = find_equal(table, size - 1, node);
            /* A value that both passes compute belongs to the forward pass. */
            if (replacement != NULL)
                replacement->backward = replacement->backward && node->backward;
        }
        if (replacement != NULL && replacement != node)
            cse_graph_replace(node, replacement);
    }
    free(table);
    cse_graph_compact(graph);
}

cse_status cse_pass_simplify(cse_graph *graph, bool enabled)
{
    if (!enabled)
        return CSE_OK;
    /* A folded constant is shared, and may enable a rule, in the next round. */
    int nodes;
    do {
        nodes = graph->node_count;
        simplify_once(graph);
    } while (graph->node_count < nodes);
    return cse_trace_status(graph);
}
