/* A hash of what a graph computes, the same on every machine and for every run. Every part is
 * written as numbers of a length that they tell themselves, so that no two graphs give the same
 * bytes. How states begin is no part of it: a step is the same function of them, whether an
 * initializer, a checkpoint or a program gave their first values. Nor is a node that nothing
 * needs, which passes drop. */
#include <sodium.h>
#include <string.h>

#include "engine/graph/graph.h"
#include "engine/graph/outside_ops.h"
#include "engine/graph/packing.h"

static void add_accumulation(const cse_accumulation *a, cse_text *text)
{
    cse_pack_count(text, a->across);
    if (a->across == CSE_FLOAT32)
        return;
    cse_pack_count(text, a->stochastic);
    cse_pack_number(text, a->tile_length);
    cse_pack_count(text, a->emulated);
    cse_pack_count(text, a->stream);
}

static void add_type(const cse_node *node, cse_text *text)
{
    cse_pack_text(text, node->op->name);
    if (cse_op_is_outside(node->op))
        cse_pack_text(text, cse_op_code_digest(node->op));
    cse_pack_count(text, node->dtype);
    cse_pack_number(text, node->shape.rank);
    for (int i = 0; i < node->shape.rank; i++)
        cse_pack_number(text, node->shape.dims[i]);
    cse_pack_number(text, node->input_count);
}

static void add_attributes(const cse_attributes *attributes, cse_text *text)
{
    cse_pack_number(text, attributes->integer_count);
    for (int i = 0; i < attributes->integer_count; i++)
        cse_pack_number(text, attributes->integers[i]);
    cse_pack_number(text, attributes->number_count);
    for (int i = 0; i < attributes->number_count; i++)
        cse_pack_double(text, attributes->numbers[i]);
    cse_pack_text(text, attributes->text);
}

static void add_node(const cse_node *node, cse_text *text)
{
    add_type(node, text);
    for (int i = 0; i < node->input_count; i++)
        cse_pack_number(text, node->inputs[i]->scratch);
    add_attributes(&node->attributes, text);
    cse_pack_count(text, node->part);
    cse_pack_number(text, node->group);
    cse_pack_count(text, node->space);
    cse_pack_number(text, node->offset_bytes);
    add_accumulation(&node->accumulation, text);
}

static void add_tables(const cse_graph *graph, cse_text *text)
{
    cse_pack_number(text, graph->state_count);
    for (int s = 0; s < graph->state_count; s++) {
        const cse_state_entry *state = &graph->states[s];
        cse_pack_text(text, state->name);
        cse_pack_count(text, state->dtype);
        cse_pack_number(text, cse_shape_elements(state->shape));
        cse_pack_number(text, state->next ? state->next->scratch : -1);
    }
    cse_pack_number(text, graph->input_count);
    for (int i = 0; i < graph->input_count; i++) {
        const cse_input_entry *input = &graph->inputs[i];
        cse_pack_text(text, input->name);
        cse_pack_number(text, cse_shape_elements(input->shape));
        cse_pack_number(text, input->index_count);
        cse_pack_number(text, input->index_ignored);
    }
    cse_pack_number(text, graph->fetch_count);
    for (int f = 0; f < graph->fetch_count; f++)
        cse_pack_number(text, graph->fetches[f].value->scratch);
}

/* scratch: of a node that is needed its number among these, of others -1. Nodes of a plan that have
 * code are needed. */
static int number_needed(const cse_graph *graph)
{
    enum { NO = -1, YES = 0 };
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scratch = graph->nodes[n]->group >= 0 ? YES : NO;
    for (int s = 0; s < graph->state_count; s++)
        if (graph->states[s].next != NULL)
            graph->states[s].next->scratch = YES;
    for (int i = 0; i < graph->input_count; i++)
        if (graph->inputs[i].node != NULL)
            graph->inputs[i].node->scratch = YES;
    for (int f = 0; f < graph->fetch_count; f++)
        graph->fetches[f].value->scratch = YES;
    for (int r = 0; r < graph->reduction_count; r++)
        graph->reductions[r].partial->scratch = YES;
    for (int n = graph->node_count - 1; n >= 0; n--)
        for (int i = 0; graph->nodes[n]->scratch == YES && i < graph->nodes[n]->input_count; i++)
            graph->nodes[n]->inputs[i]->scratch = YES;
    int count = 0;
    for (int n = 0; n < graph->node_count; n++)
        if (graph->nodes[n]->scratch == YES)
            graph->nodes[n]->scratch = count++;
    return count;
}

void cse_graph_fingerprint(const cse_graph *graph, char digits[33])
{
    cse_text text = { 0 };
    unsigned char hash[16];
    cse_pack_number(&text, graph->microbatch_count);
    cse_pack_number(&text, graph->micro_batch_size);
    cse_pack_number(&text, number_needed(graph));
    for (int n = 0; n < graph->node_count; n++)
        if (graph->nodes[n]->scratch >= 0)
            add_node(graph->nodes[n], &text);
    add_tables(graph, &text);
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text.data, text.size, NULL, 0);
    sodium_bin2hex(digits, 33, hash, sizeof hash);
    cse_text_clear(&text);
}

/* ---- of each node ---- */

/* What a structural node stands for: numbers of entries are those of one graph, names of any. */
static void add_entry(const cse_graph *graph, const cse_node *node, cse_text *text)
{
    const int64_t entry = node->attributes.integer_count > 0 ? node->attributes.integers[0] : 0;
    if (node->op == &cse_op_constant)
        add_attributes(&node->attributes, text);
    else if (node->op == &cse_op_input)
        cse_pack_text(text, graph->inputs[entry].name);
    else if (node->op == &cse_op_state || node->op == &cse_op_assign)
        cse_pack_text(text, graph->states[entry].name);
    else if (node->op == &cse_op_fetch)
        cse_pack_text(text, graph->fetches[entry].name);
}

static void digest_node(const cse_graph *graph, const cse_node *node, cse_node_digest *digests)
{
    cse_text text = { 0 };
    cse_node_digest *digest = &digests[node->scratch];
    add_type(node, &text);
    if (node->op->kind == CSE_OP_STRUCTURAL)
        add_entry(graph, node, &text);
    else
        add_attributes(&node->attributes, &text);
    add_accumulation(&node->accumulation, &text);
    for (int i = 0; i < node->input_count; i++)
        for (int w = 0; w < 2; w++)
            cse_pack_count(&text, digests[node->inputs[i]->scratch].words[w]);
    crypto_generichash((unsigned char *)digest->words, sizeof digest->words,
                       (const unsigned char *)text.data, text.size, NULL, 0);
    cse_text_clear(&text);
}

void cse_graph_node_digests(const cse_graph *graph, cse_node_digest *digests)
{
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scratch = n;
    for (int n = 0; n < graph->node_count; n++)
        digest_node(graph, graph->nodes[n], digests);
    /* A partitioned sum has no input; its terms depend on no sum. */
    for (int r = 0; r < graph->reduction_count; r++)
        graph->reductions[r].sum->scratch = graph->reductions[r].partial->scratch;
    for (int n = 0; n < graph->node_count; n++)
        if (graph->nodes[n]->op != &cse_op_batch_sum)
            digest_node(graph, graph->nodes[n], digests);
}
