/* One pass over the readers of sums; a sum with any other kind of reader is joined by REDUCE. */
#include "workers/arena/sums.h"

enum { MOST_GROUP_INPUTS = 256 };

static int64_t end_of(const cse_node *sum)
{
    return sum->offset_bytes + cse_shape_elements(sum->shape) * 4;
}

static bool is_sum(const cse_node *node)
{
    return node->op == &cse_op_batch_sum && node->space == CSE_SPACE_REDUCED;
}

/* Bytes that REDUCE must join for one group: 0 if all it reads is one sum, element by element. */
static int64_t joined_for(const cse_graph *graph, const cse_group *group)
{
    cse_node *inputs[MOST_GROUP_INPUTS];
    const cse_node *own = NULL;
    int64_t bytes = 0;
    int count = cse_group_inputs(graph, group, inputs, MOST_GROUP_INPUTS);
    if (count > MOST_GROUP_INPUTS)
        return graph->space_bytes[CSE_SPACE_PARTIAL];
    for (int i = 0; i < count; i++) {
        if (!is_sum(inputs[i]))
            continue;
        bool elementwise = group->part == CSE_PART_UPDATE && group->elements > 1 &&
                           cse_shape_elements(inputs[i]->shape) == group->elements;
        if (elementwise && own == NULL)
            own = inputs[i];
        else if (inputs[i] != own)
            bytes = end_of(inputs[i]) > bytes ? end_of(inputs[i]) : bytes;
    }
    return bytes;
}

int64_t cse_sums_joined_bytes(const cse_graph *graph)
{
    int64_t bytes = 0;
    /* Without a table of its sums, the graph does not tell their readers. */
    if (graph->reduction_count == 0)
        return graph->space_bytes[CSE_SPACE_PARTIAL];
    for (int g = 0; g < graph->group_count; g++) {
        int64_t needed = joined_for(graph, &graph->groups[g]);
        bytes = needed > bytes ? needed : bytes;
    }
    return bytes;
}

int64_t cse_sums_direct_offset(const cse_graph *graph, int group, int64_t joined_bytes)
{
    cse_node *inputs[MOST_GROUP_INPUTS];
    int count = cse_group_inputs(graph, &graph->groups[group], inputs, MOST_GROUP_INPUTS);
    for (int i = 0; i < count && i < MOST_GROUP_INPUTS; i++)
        if (is_sum(inputs[i]) && end_of(inputs[i]) > joined_bytes)
            return inputs[i]->offset_bytes;
    return -1;
}
