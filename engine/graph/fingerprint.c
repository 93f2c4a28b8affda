/* A hash of what a graph computes, the same on every machine and for every run. */
#include <sodium.h>
#include <string.h>

#include "engine/graph/graph.h"

static void add_node(const cse_node *node, cse_text *text)
{
    cse_text_add(text, "%s|%d|", node->op->name, (int)node->dtype);
    for (int i = 0; i < node->shape.rank; i++)
        cse_text_add(text, "%lld,", (long long)node->shape.dims[i]);
    for (int i = 0; i < node->input_count; i++)
        cse_text_add(text, "%%%lld", (long long)node->inputs[i]->scratch);
    for (int i = 0; i < node->attributes.integer_count; i++)
        cse_text_add(text, "i%lld", (long long)node->attributes.integers[i]);
    for (int i = 0; i < node->attributes.number_count; i++)
        cse_text_add(text, "f%a", node->attributes.numbers[i]);
    cse_text_add(text, "t%s|%d|%d|%d|%lld\n", node->attributes.text ? node->attributes.text : "",
                 (int)node->part, node->group, (int)node->space, (long long)node->offset_bytes);
    const cse_accumulation *a = &node->accumulation;
    if (a->across != CSE_FLOAT32)
        cse_text_add(text, "a%d|%d|%d|%d|%u\n", (int)a->across, (int)a->stochastic,
                     (int)a->tile_length, (int)a->emulated, (unsigned)a->stream);
}

void cse_graph_fingerprint(const cse_graph *graph, char digits[33])
{
    cse_text text = { 0 };
    unsigned char hash[16];
    cse_text_add(&text, "%d %lld\n", graph->microbatch_count, (long long)graph->micro_batch_size);
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scratch = n;
    for (int n = 0; n < graph->node_count; n++)
        add_node(graph->nodes[n], &text);
    for (int s = 0; s < graph->state_count; s++) {
        const cse_state_entry *state = &graph->states[s];
        cse_text_add(&text, "s%s|%d|%lld|%d|%a|%a|%lld\n", state->name, (int)state->dtype,
                     (long long)cse_shape_elements(state->shape), (int)state->initializer.kind,
                     state->initializer.a, state->initializer.b,
                     state->next ? (long long)state->next->scratch : -1LL);
    }
    for (int i = 0; i < graph->input_count; i++) {
        const cse_input_entry *input = &graph->inputs[i];
        cse_text_add(&text, "i%s|%lld\n", input->name, (long long)cse_shape_elements(input->shape));
        if (input->index_count > 0)
            cse_text_add(&text, "c%lld|%d\n", (long long)input->index_count,
                         (int)input->index_not_negative);
    }
    for (int f = 0; f < graph->fetch_count; f++)
        cse_text_add(&text, "f%lld\n", (long long)graph->fetches[f].value->scratch);
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text.data, text.size, NULL, 0);
    sodium_bin2hex(digits, 33, hash, sizeof hash);
    cse_text_clear(&text);
}
