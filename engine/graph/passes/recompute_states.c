/* Values of states alone, in a step whose states are larger than memory: a weight that is rounded
 * to 16 bits is made once for the forward pass and once more for the backward pass. Kept from one
 * to the other, those of all layers would be in memory at a time. */
#include <stdlib.h>

#include "engine/graph/passes/pass.h"
#include "engine/graph/passes/recompute.h"

/* What is smaller is kept. */
enum { FEWEST_ELEMENTS = 1024 };

typedef struct copying {
    cse_graph *graph;
    int count;         /* nodes before */
    bool *light;       /* by position: of states alone, by ops that take little time */
    bool *forward;     /* by position: the forward pass reads it, or what is made of it */
    bool *needed;      /* by position: the backward pass reads it, or a copy does */
    cse_node **copies; /* by position */
} copying;

/* node->scratch holds the position meanwhile. */
static int position_of(const cse_node *node)
{
    return (int)node->scratch;
}

static bool is_light(const copying *c, const cse_node *node)
{
    if (node->batch || cse_node_is_leaf(node) || node->op->kind == CSE_OP_LIBRARY ||
        node->op->kind == CSE_OP_STRUCTURAL || node->op->role == CSE_OP_ROLE_STORE ||
        cse_shape_elements(node->shape) < FEWEST_ELEMENTS)
        return false;
    for (int i = 0; i < node->input_count; i++)
        if (!cse_node_is_leaf(node->inputs[i]) && !c->light[position_of(node->inputs[i])])
            return false;
    return true;
}

static bool is_of_backward(const cse_node *node)
{
    return node->backward && node->batch;
}

static bool is_copied(const copying *c, int n)
{
    return c->light[n] && c->forward[n] && c->needed[n];
}

static void find_light(copying *c)
{
    for (int n = 0; n < c->count; n++) {
        c->graph->nodes[n]->scratch = n;
        c->light[n] = is_light(c, c->graph->nodes[n]);
    }
}

/* Users first. */
static void find_readers(copying *c)
{
    for (int n = c->count - 1; n >= 0; n--) {
        const cse_node *node = c->graph->nodes[n];
        const bool forward = (node->batch && !node->backward) || (c->light[n] && c->forward[n]);
        const bool needed = is_of_backward(node) || (c->light[n] && c->needed[n]);
        for (int i = 0; i < node->input_count; i++) {
            const int at = position_of(node->inputs[i]);
            c->forward[at] = c->forward[at] || forward;
            c->needed[at] = c->needed[at] || needed;
        }
    }
}

static void read_copies(const copying *c, cse_node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        cse_node *copy = c->copies[position_of(node->inputs[i])];
        node->inputs[i] = copy != NULL ? copy : node->inputs[i];
    }
}

static bool make_copies(copying *c)
{
    bool any = false;
    for (int n = 0; n < c->count; n++) {
        if (!is_copied(c, n))
            continue;
        cse_node *copy = cse_graph_clone(c->graph, c->graph->nodes[n]);
        copy->backward = true;
        read_copies(c, copy);
        c->copies[n] = copy;
        any = true;
    }
    for (int n = 0; any && n < c->count; n++)
        if (is_of_backward(c->graph->nodes[n]) || (c->light[n] && !c->forward[n]))
            read_copies(c, c->graph->nodes[n]);
    return any;
}

void cse_recompute_states(cse_graph *graph)
{
    copying c = { .graph = graph, .count = graph->node_count };
    const size_t count = (size_t)graph->node_count + 1;
    c.light = cse_calloc(count, sizeof *c.light);
    c.forward = cse_calloc(count, sizeof *c.forward);
    c.needed = cse_calloc(count, sizeof *c.needed);
    c.copies = cse_calloc(count, sizeof *c.copies);
    find_light(&c);
    find_readers(&c);
    const bool any = make_copies(&c);
    free(c.light);
    free(c.forward);
    free(c.needed);
    free(c.copies);
    if (any)
        cse_graph_compact(graph);
}
