/* Finding a region: from its products on, each node that has rows and mixes none of them belongs to
 * it. Several products of one size may share a region: the logits of a teacher, a low-rank part of
 * the same logits. */
#include "engine/graph/passes/row_region.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/instruction_set.h"

static int position_of(const cse_node *node)
{
    return (int)node->scratch;
}

static int64_t last_size(const cse_node *node)
{
    return node->shape.rank > 0 ? node->shape.dims[node->shape.rank - 1] : 1;
}

bool cse_is_product_of_rows(const cse_node *node)
{
    const bool is_product = node->op == &cse_op_packed_linear ||
                            (node->op == &cse_op_matmul && node->attributes.integers[0] == 0);
    return is_product && node->shape.rank == 2 && node->batch && !node->accumulation.stochastic;
}

cse_row_level cse_row_level_of(const cse_row_region *region, const cse_node *node)
{
    const int64_t elements = cse_shape_elements(node->shape);
    if (elements == region->rows * region->columns && last_size(node) == region->columns)
        return CSE_ROW_WHOLE;
    return elements == region->rows ? CSE_ROW_VALUE : CSE_ROW_NONE;
}

/* Whether the op's code names the element's place in the whole value. */
static bool depends_on_place(const cse_node *node, cse_row_level level)
{
    const char *code = node->op->expression;
    return strstr(code, "$n") != NULL || strstr(code, "$seed") != NULL ||
           (level == CSE_ROW_VALUE && strstr(code, "$i") != NULL);
}

/* ---- what belongs to a region ---- */

static bool reduces_rows(const cse_node *node)
{
    const cse_attributes *a = &node->attributes;
    return a->integer_count == 2 && a->integers[1] == node->inputs[0]->shape.rank - 1;
}

bool cse_is_made_by_rows(const cse_row_region *region, const cse_node *node)
{
    const cse_row_level level = cse_row_level_of(region, node);
    switch (node->op->kind) {
    case CSE_OP_ELEMENTWISE:
        return node->input_count > 0 && !depends_on_place(node, level);
    case CSE_OP_BROADCAST:
        return true;
    case CSE_OP_RESHAPE:
        return cse_row_level_of(region, node->inputs[0]) == level;
    case CSE_OP_REDUCE:
        return reduces_rows(node) && !node->accumulation.stochastic &&
               cse_row_level_of(region, node->inputs[0]) == CSE_ROW_WHOLE;
    default:
        return false;
    }
}

/* The level of a node that reads the region; CSE_ROW_NONE: it is beyond it. */
static cse_row_level joins(const cse_row_region *region, const cse_node *node)
{
    const cse_row_level input = region->level[position_of(node->inputs[0])];
    if (node->accumulation.stochastic)
        return CSE_ROW_NONE;
    if (node->op == &cse_op_argmax)
        return input == CSE_ROW_WHOLE &&
                       node->attributes.integers[0] == node->inputs[0]->shape.rank - 1
                   ? CSE_ROW_VALUE
                   : CSE_ROW_NONE;
    if (node->op->kind == CSE_OP_BROADCAST &&
        (input != CSE_ROW_VALUE || last_size(node->inputs[0]) != 1))
        return CSE_ROW_NONE;
    return cse_is_made_by_rows(region, node) ? cse_row_level_of(region, node) : CSE_ROW_NONE;
}

static bool is_outside(const cse_row_region *region, const cse_node *node)
{
    return region->level[position_of(node)] == CSE_ROW_NONE && !region->beyond[position_of(node)];
}

/* The product is one of our own kernels, which are not there for float32 without AVX2. */
static bool is_product_over_rows(const cse_row_region *region, const cse_node *node)
{
    const int64_t *transposed = node->attributes.integers;
    return node->op == &cse_op_matmul && node->shape.rank == 2 && node->input_count == 2 &&
           transposed[0] != 0 && transposed[1] == 0 && node->dtype == CSE_FLOAT32 &&
           cse_isa_runs(CSE_ISA_AVX2) &&
           (is_outside(region, node->inputs[0]) || is_outside(region, node->inputs[1]));
}

bool cse_is_sum_of_rows(const cse_row_region *region, const cse_node *node)
{
    const bool sums_all = node->op == &cse_op_sum && node->dtype == CSE_FLOAT32 &&
                          last_size(node) == region->columns &&
                          cse_shape_elements(node->shape) == region->columns;
    return region->beyond[position_of(node)] && !node->accumulation.emulated &&
           (sums_all || is_product_over_rows(region, node));
}

/* Whether a node beyond the region may read whole rows of it: a product with a matrix that is not
 * computed from them, or a sum over them. */
static bool may_read_rows(const cse_row_region *region, const cse_node *node)
{
    if (cse_is_sum_of_rows(region, node))
        return true;
    return cse_is_product_of_rows(node) && is_outside(region, node->inputs[1]) &&
           region->level[position_of(node->inputs[0])] == CSE_ROW_WHOLE;
}

static bool reads_whole_rows(const cse_row_region *region, const cse_node *node)
{
    bool reads = false;
    for (int i = 0; i < node->input_count; i++)
        reads = reads || region->level[position_of(node->inputs[i])] == CSE_ROW_WHOLE;
    return reads;
}

static bool place(cse_row_region *region, const cse_node *node)
{
    const int at = position_of(node);
    bool reads = false;
    region->beyond[at] = false;
    for (int i = 0; i < node->input_count; i++) {
        const int input = position_of(node->inputs[i]);
        reads = reads || region->level[input] != CSE_ROW_NONE;
        region->beyond[at] = region->beyond[at] || region->beyond[input];
    }
    if (reads && !region->beyond[at])
        region->level[at] = joins(region, node);
    if (region->level[at] != CSE_ROW_NONE || !reads)
        return true;
    region->beyond[at] = true;
    return !reads_whole_rows(region, node) || may_read_rows(region, node);
}

/* ---- products that share a region ---- */

/* Marks the products of the region's size that a value is computed from row by row; whether there
 * were new ones. */
static bool add_products_of(const cse_row_region *region, const cse_node *node, bool *seen,
                            bool *is_product)
{
    const int at = position_of(node);
    bool added = false;
    if (seen[at] || region->level[at] != CSE_ROW_NONE || region->beyond[at] ||
        cse_row_level_of(region, node) == CSE_ROW_NONE)
        return false;
    seen[at] = true;
    if (cse_is_product_of_rows(node) && cse_row_level_of(region, node) == CSE_ROW_WHOLE) {
        is_product[at] = true;
        return true;
    }
    for (int i = 0; i < node->input_count && cse_is_made_by_rows(region, node); i++)
        added = add_products_of(region, node->inputs[i], seen, is_product) || added;
    return added;
}

/* Adds the products that the region reads besides its own; whether there were any. */
static bool add_products(const cse_row_region *region, bool *is_product)
{
    bool added = false, *seen = cse_calloc((size_t)region->graph->node_count + 1, sizeof *seen);
    for (int n = 0; n < region->graph->node_count; n++) {
        const cse_node *node = region->graph->nodes[n];
        for (int i = 0; i < node->input_count && region->level[n] != CSE_ROW_NONE; i++)
            if (!is_product[n])
                added = add_products_of(region, node->inputs[i], seen, is_product) || added;
    }
    free(seen);
    return added;
}

static bool place_all(cse_row_region *region, const bool *is_product)
{
    bool closed = true;
    for (int n = 0; closed && n < region->graph->node_count; n++) {
        region->level[n] = is_product[n] ? CSE_ROW_WHOLE : CSE_ROW_NONE;
        region->beyond[n] = false;
        if (!is_product[n])
            closed = place(region, region->graph->nodes[n]);
        else /* of a product whose rows are made of the region's, only the first is taken */
            for (int i = 0; i < region->graph->nodes[n]->input_count; i++) {
                const int input = position_of(region->graph->nodes[n]->inputs[i]);
                closed = closed && !region->beyond[input] && region->level[input] == CSE_ROW_NONE;
            }
    }
    return closed;
}

/* ---- what leaves it ---- */

static void mark_exits(const cse_row_region *region, bool *leaves)
{
    const cse_graph *graph = region->graph;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        leaves[n] = leaves[n] || (region->beyond[n] && reads_whole_rows(region, node));
        for (int i = 0; i < node->input_count && region->level[n] == CSE_ROW_NONE; i++) {
            const int input = position_of(node->inputs[i]);
            leaves[input] = leaves[input] || region->level[input] == CSE_ROW_VALUE;
        }
    }
    for (int f = 0; f < graph->fetch_count; f++)
        leaves[position_of(graph->fetches[f].value)] = true;
    for (int s = 0; s < graph->state_count; s++)
        if (graph->states[s].next != NULL)
            leaves[position_of(graph->states[s].next)] = true;
}

/* False where a whole row leaves as it is. */
static bool find_exits(cse_row_region *region)
{
    const int count = region->graph->node_count;
    bool *leaves = cse_calloc((size_t)count + 1, sizeof *leaves), closed = true;
    mark_exits(region, leaves);
    region->exits = cse_calloc((size_t)count + 1, sizeof *region->exits);
    for (int n = 0; n < count; n++) {
        const bool is_product =
            region->beyond[n] && reads_whole_rows(region, region->graph->nodes[n]);
        closed = closed && !(leaves[n] && region->level[n] == CSE_ROW_WHOLE);
        if (leaves[n] && (is_product || region->level[n] == CSE_ROW_VALUE))
            region->exits[region->exit_count++] = n;
    }
    free(leaves);
    return closed && region->exit_count > 0;
}

/* A region that is no more than a product of a product is another thing: the inside of a layer. */
static bool has_values_of_rows(const cse_row_region *region)
{
    bool has = false;
    for (int n = 0; n < region->graph->node_count; n++)
        has = has || region->level[n] == CSE_ROW_VALUE;
    return has;
}

bool cse_row_region_find(const cse_graph *graph, int position, cse_row_region *region)
{
    const size_t count = (size_t)graph->node_count + 1;
    const cse_node *product = graph->nodes[position];
    *region = (cse_row_region){ .graph = graph,
                                .rows = product->shape.dims[0],
                                .columns = product->shape.dims[1],
                                .level = cse_calloc(count, sizeof *region->level),
                                .beyond = cse_calloc(count, sizeof *region->beyond) };
    bool *is_product = cse_calloc(count, sizeof *is_product), found;
    is_product[position] = true;
    do
        found = place_all(region, is_product);
    while (found && add_products(region, is_product));
    free(is_product);
    found = found && has_values_of_rows(region) && find_exits(region);
    if (!found)
        cse_row_region_free(region);
    return found;
}

void cse_row_region_free(cse_row_region *region)
{
    free(region->level);
    free(region->beyond);
    free(region->exits);
}
