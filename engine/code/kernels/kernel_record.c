/* The record of kernels: each pair of op and kernel once, in the order of the groups. */
#include "engine/code/kernels/kernel_record.h"

#include <string.h>

/* Whether an earlier kernel of the same op has the same name; `new_op`: whether none is of it. */
static bool is_repeated(const cse_graph *graph, cse_kernel *const kernels[], int g, int k,
                        bool *new_op)
{
    const cse_op *op = graph->groups[g].nodes[0]->op;
    bool repeated = false;
    *new_op = true;
    for (int earlier = g - 1, at = k; earlier >= 0 && !repeated; earlier--) {
        if (graph->groups[earlier].kind != CSE_GROUP_LIBRARY)
            continue;
        const cse_kernel *other = kernels[--at], *kernel = kernels[k];
        if (graph->groups[earlier].nodes[0]->op != op)
            continue;
        *new_op = false;
        repeated = strcmp(other->implementation, kernel->implementation) == 0 &&
                   (other->order == kernel->order ||
                    (other->order && kernel->order && strcmp(other->order, kernel->order) == 0));
    }
    return repeated;
}

static void add_kernel(const cse_kernel *kernel, cse_text *record)
{
    cse_text_add(record, "%s", kernel->implementation);
    if (kernel->order != NULL)
        cse_text_add(record, " (%s)", kernel->order);
}

/* All kernels of the op that first stands in group `first`. */
static void add_op(const cse_graph *graph, cse_kernel *const kernels[], int first, int kernel,
                   cse_text *record)
{
    const cse_op *op = graph->groups[first].nodes[0]->op;
    const char *between = "";
    cse_text_add(record, "; %s: ", op->name);
    for (int g = first, k = kernel; g < graph->group_count; g++) {
        bool new_op;
        if (graph->groups[g].kind != CSE_GROUP_LIBRARY)
            continue;
        if (graph->groups[g].nodes[0]->op == op && !is_repeated(graph, kernels, g, k, &new_op)) {
            cse_text_add(record, "%s", between);
            add_kernel(kernels[k], record);
            between = ", ";
        }
        k++;
    }
}

void cse_kernel_record(const cse_graph *graph, cse_kernel *const kernels[], cse_text *record)
{
    cse_text_add(record, "%s on %s", graph->portable ? "portable" : "machine",
                 graph->isa != NULL && graph->isa[0] != '\0' ? graph->isa : "any instruction set");
    for (int g = 0, k = 0; g < graph->group_count; g++) {
        bool new_op;
        if (graph->groups[g].kind != CSE_GROUP_LIBRARY)
            continue;
        is_repeated(graph, kernels, g, k, &new_op);
        if (new_op)
            add_op(graph, kernels, g, k, record);
        k++;
    }
}
