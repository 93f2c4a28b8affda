/* The copies of the nodes of a region that is computed again. */
#include "engine/graph/passes/recompute.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/passes/pass.h"

typedef struct rewrite {
    cse_graph *graph;
    int count;         /* nodes before */
    int *region;       /* by position; 0: none that is recomputed */
    bool *kept;        /* by position: leaves its region, or takes much time */
    bool *needed;      /* by position: the backward pass reads it, or a copy of its region does */
    cse_node **copies; /* by position */
} rewrite;

/* node->scratch holds the position while this pass runs. */
static int position_of(const cse_node *node)
{
    return (int)node->scratch;
}

/* What leaves a region is kept, and so is the memory that a kept view is of. */
static void keep_what_leaves(rewrite *w)
{
    for (int n = w->count - 1; n >= 0; n--) {
        const cse_node *node = w->graph->nodes[n];
        const bool is_kept_view = node->op->kind == CSE_OP_RESHAPE && w->kept[n];
        for (int i = 0; !node->backward && i < node->input_count; i++) {
            const int at = position_of(node->inputs[i]);
            w->kept[at] = w->kept[at] || is_kept_view || w->region[at] != w->region[n];
        }
    }
}

static bool is_copied(const rewrite *w, int at)
{
    return w->region[at] > 0 && !w->kept[at] && w->needed[at];
}

/* Users first. */
static void find_needed(rewrite *w)
{
    for (int n = w->count - 1; n >= 0; n--) {
        const cse_node *node = w->graph->nodes[n];
        if (!(node->backward && node->batch) && !is_copied(w, n))
            continue;
        for (int i = 0; i < node->input_count; i++)
            w->needed[position_of(node->inputs[i])] = true;
    }
}

static void make_copies(rewrite *w)
{
    for (int n = 0; n < w->count; n++) {
        cse_node *node = w->graph->nodes[n];
        if (!is_copied(w, n))
            continue;
        cse_node *copy = w->copies[n] = cse_graph_clone(w->graph, node);
        copy->backward = true;
        copy->recomputed = w->region[n];
        for (int i = 0; i < copy->input_count; i++) {
            cse_node *input = w->copies[position_of(copy->inputs[i])];
            copy->inputs[i] = input != NULL ? input : copy->inputs[i];
        }
    }
    for (int n = 0; n < w->count; n++) {
        cse_node *node = w->graph->nodes[n];
        for (int i = 0; node->backward && node->batch && i < node->input_count; i++) {
            cse_node *copy = w->copies[position_of(node->inputs[i])];
            node->inputs[i] = copy != NULL ? copy : node->inputs[i];
        }
    }
}

/* The region of a node, where it is recomputed; and whether the node is kept, since it takes much
 * of a region's time. */
static void mark(rewrite *w, const cse_recompute_regions *regions,
                 const cse_recompute_extent *extent)
{
    for (int n = 0; n < w->count; n++) {
        cse_node *node = w->graph->nodes[n];
        const int region = regions->of_node[n];
        node->scratch = n;
        w->region[n] = region <= extent->whole || region <= extent->light ? region : 0;
        w->kept[n] = w->region[n] > extent->whole && node->op->kind == CSE_OP_LIBRARY;
    }
}

static void copy_regions(cse_graph *graph, const cse_recompute_regions *regions,
                         const cse_recompute_extent *extent)
{
    rewrite w = { .graph = graph, .count = graph->node_count };
    w.region = cse_calloc((size_t)w.count + 1, sizeof *w.region);
    w.kept = cse_calloc((size_t)w.count + 1, sizeof *w.kept);
    w.needed = cse_calloc((size_t)w.count + 1, sizeof *w.needed);
    w.copies = cse_calloc((size_t)w.count + 1, sizeof *w.copies);
    mark(&w, regions, extent);
    keep_what_leaves(&w);
    find_needed(&w);
    make_copies(&w);
    free(w.region);
    free(w.kept);
    free(w.needed);
    free(w.copies);
    cse_graph_compact(graph);
}

void cse_recompute_apply(cse_graph *graph, const cse_recompute_regions *regions,
                         const cse_recompute_extent *extent)
{
    if (extent->whole > 0 || extent->light > 0)
        copy_regions(graph, regions, extent);
    /* Copies of the regions read values of states, too. */
    if (graph->streams_states)
        cse_recompute_states(graph);
}
