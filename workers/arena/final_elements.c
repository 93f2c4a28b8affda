/* The claim is a sequence lock: it changes before the bytes do. */
#include "workers/arena/final_elements.h"

void cse_final_elements(const cse_graph *graph, int64_t final[])
{
    const int64_t elements = graph->space_bytes[CSE_SPACE_PARTIAL] / 4;
    for (int g = 0; g < graph->group_count; g++)
        final[g] = elements;
    /* The place of a sum is written by its own group last, and before that by those that a block
     * adds to. */
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        const int64_t first = node->offset_bytes / 4;
        if (node->space != CSE_SPACE_PARTIAL)
            continue;
        const int last = node->group >= 0 ? node->group : graph->group_count;
        if (last > 0 && first < final[last - 1])
            final[last - 1] = first;
    }
    for (int g = graph->group_count - 2; g >= 0; g--)
        if (final[g + 1] < final[g])
            final[g] = final[g + 1];
}

void cse_final_elements_begin(const cse_cluster *cluster, cse_tree_node node)
{
    cse_node_elements *own = &cluster->final_elements[node.heap];
    atomic_store(&own->count, 0);
    atomic_store(&own->claim, cse_word_load(&cluster->nodes[node.heap]));
    atomic_thread_fence(memory_order_seq_cst);
}

void cse_final_elements_tell(const cse_cluster *cluster, cse_tree_node node, int64_t count)
{
    atomic_store_explicit(&cluster->final_elements[node.heap].count, count, memory_order_release);
}

uint64_t cse_final_elements_claim(const cse_cluster *cluster, cse_tree_node node, int64_t sequence,
                                  int64_t end)
{
    const cse_node_elements *told = &cluster->final_elements[node.heap];
    const uint64_t word = cse_word_load(&cluster->nodes[node.heap]);
    const bool is_final = cse_word_is(word, CSE_WORD_CLAIMED, sequence) &&
                          atomic_load(&told->claim) == word && atomic_load(&told->count) >= end;
    return is_final ? word : 0;
}

bool cse_final_elements_unchanged(const cse_cluster *cluster, cse_tree_node node, uint64_t claim)
{
    atomic_thread_fence(memory_order_acquire);
    const uint64_t word = cse_word_load(&cluster->nodes[node.heap]);
    return atomic_load(&cluster->final_elements[node.heap].claim) == claim &&
           (word == claim || cse_word_is(word, CSE_WORD_DONE, cse_word_sequence(claim)));
}
