/* A graph as text, one line a node, numbered by position so that the text depends on the structure
 * alone. */
#include "engine/graph/graph.h"
#include "engine/graph/names.h"

static const char *const part_names[] = { "none", "replica", "weights", "update" };
static const char *const space_names[] = { "none",    "state",   "input", "replica",  "partial",
                                           "reduced", "weights", "fetch", "constant", "lent" };

const char *cse_part_name(cse_part part)
{
    return part_names[part];
}

const char *cse_space_name(cse_space space)
{
    return space_names[space];
}

static void print_attributes(const cse_attributes *attributes, cse_text *out)
{
    if (attributes->text != NULL)
        cse_text_add(out, " '%s'", attributes->text);
    if (attributes->integer_count > 0)
        cse_text_add(out, " {");
    for (int i = 0; i < attributes->integer_count; i++)
        cse_text_add(out, "%s%lld", i ? ", " : "", (long long)attributes->integers[i]);
    if (attributes->integer_count > 0)
        cse_text_add(out, "}");
    for (int i = 0; i < attributes->number_count; i++)
        cse_text_add(out, " %.9g", attributes->numbers[i]);
}

static void print_precision(const cse_node *node, cse_text *out)
{
    const cse_precision_request *request = &node->request;
    const cse_accumulation *accumulation = &node->accumulation;
    if (node->recompute_block > 0)
        cse_text_add(out, " recompute-block %d", node->recompute_block);
    if (node->recomputed > 0)
        cse_text_add(out, " recomputed %d", node->recomputed);
    if (request->graphamp_off)
        cse_text_add(out, " graphamp-off");
    if (request->observes)
        cse_text_add(out, " observes");
    if (request->pol_forward > 0)
        cse_text_add(out, " pol %d", request->pol_forward - 1);
    if (request->pol_backward > 0)
        cse_text_add(out, " backward-pol %d", request->pol_backward - 1);
    if (accumulation->across != CSE_FLOAT32)
        cse_text_add(out, " accumulates %s%s across %d%s", cse_dtype_name(accumulation->across),
                     accumulation->stochastic ? " stochastic" : "", (int)accumulation->tile_length,
                     accumulation->emulated ? " executed" : " permitted");
}

static void print_node(const cse_node *node, cse_text *out)
{
    char shape[128];
    cse_text_add(out, "%%%lld = %s", (long long)node->scratch, node->op->name);
    print_attributes(&node->attributes, out);
    for (int i = 0; i < node->input_count; i++)
        cse_text_add(out, "%s%%%lld", i ? ", " : " ", (long long)node->inputs[i]->scratch);
    cse_text_add(out, " : %s %s", cse_dtype_name(node->dtype),
                 cse_shape_text(node->shape, shape, sizeof shape));
    if (node->part != CSE_PART_NONE)
        cse_text_add(out, " %s", part_names[node->part]);
    else if (node->batch)
        cse_text_add(out, " batch");
    if (node->group >= 0)
        cse_text_add(out, " group %d", node->group);
    if (node->space != CSE_SPACE_NONE)
        cse_text_add(out, " @%s+%lld", space_names[node->space], (long long)node->offset_bytes);
    print_precision(node, out);
    if (node->scope[0] != '\0')
        cse_text_add(out, "  # %s%s", node->scope, node->backward ? " (backward)" : "");
    cse_text_add(out, "\n");
}

static void print_tables(const cse_graph *graph, cse_text *out)
{
    char shape[128];
    for (int s = 0; s < graph->state_count; s++) {
        const cse_state_entry *state = &graph->states[s];
        cse_text_add(out, "state %d '%s' : %s %s%s", s, state->name, cse_dtype_name(state->dtype),
                     cse_shape_text(state->shape, shape, sizeof shape),
                     state->trainable ? " trainable" : "");
        if (state->next != NULL)
            cse_text_add(out, " <- %%%lld", (long long)state->next->scratch);
        cse_text_add(out, "\n");
    }
    for (int f = 0; f < graph->fetch_count; f++)
        cse_text_add(out, "fetch %d '%s' <- %%%lld\n", f, graph->fetches[f].name,
                     (long long)graph->fetches[f].value->scratch);
    for (int r = 0; r < graph->reduction_count; r++)
        cse_text_add(out, "reduction %d %%%lld <- %%%lld\n", r,
                     (long long)graph->reductions[r].sum->scratch,
                     (long long)graph->reductions[r].partial->scratch);
    for (int g = 0; g < graph->group_count; g++) {
        cse_text_add(out, "group %d %s%s:", g, part_names[graph->groups[g].part],
                     graph->groups[g].per_step ? " once a step" : "");
        for (int n = 0; n < graph->groups[g].node_count; n++)
            cse_text_add(out, " %%%lld", (long long)graph->groups[g].nodes[n]->scratch);
        cse_text_add(out, "\n");
    }
}

void cse_graph_print(const cse_graph *graph, cse_text *out)
{
    cse_text_add(out, "graph: %d microbatches of %lld samples\n", graph->microbatch_count,
                 (long long)graph->micro_batch_size);
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scratch = n;
    for (int n = 0; n < graph->node_count; n++)
        print_node(graph->nodes[n], out);
    print_tables(graph, out);
    for (int s = 1; s < CSE_SPACE_COUNT; s++)
        if (graph->space_bytes[s] > 0)
            cse_text_add(out, "space %s: %lld bytes\n", space_names[s],
                         (long long)graph->space_bytes[s]);
}
