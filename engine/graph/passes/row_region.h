/* The nodes between a product with long rows, such as the logits of a language model, and what
 * leaves them: none of them mixes two rows, so that they can be computed for a few rows at a time
 * and the whole product never lies in memory. */
#ifndef CSE_PASSES_ROW_REGION_H
#define CSE_PASSES_ROW_REGION_H

#include "engine/graph/graph.h"

/* What a node of a region has for each row of the product. */
typedef enum cse_row_level {
    CSE_ROW_NONE,  /* the node is not of the region */
    CSE_ROW_WHOLE, /* a row as long as the product's */
    CSE_ROW_VALUE, /* one value */
} cse_row_level;

typedef struct cse_row_region {
    const cse_graph *graph;
    int64_t rows, columns;
    /* By position in the graph, which node->scratch holds. A node that is beyond the region is
     * computed from its values. */
    cse_row_level *level;
    bool *beyond;
    /* Positions of the nodes whose whole values others read: values of rows that are in the region;
     * beyond it products of rows with a matrix, and sums over rows. */
    int *exits;
    int exit_count;
} cse_row_region;

/* The region of the product at a position; false, and nothing to free, where there is none: a whole
 * row leaves it, or it needs what is computed from its own results. */
bool cse_row_region_find(const cse_graph *graph, int position, cse_row_region *region);
void cse_row_region_free(cse_row_region *region);

/* Whether the node is a product of rows with a matrix, that may be computed for a part of them. */
bool cse_is_product_of_rows(const cse_node *node);

/* Whether the node is a sum over all rows that can go on from one piece of them to the next: a
 * product of two transposed rows, as a weight's gradient, or the sum of rows, as a bias's. */
bool cse_is_sum_of_rows(const cse_row_region *region, const cse_node *node);

/* What a node of this shape has for each row, whether it is of the region or not. */
cse_row_level cse_row_level_of(const cse_row_region *region, const cse_node *node);

/* Whether a part of the node's rows is computed from the same rows of its inputs, and from what is
 * repeated along them, as the whole is. */
bool cse_is_made_by_rows(const cse_row_region *region, const cse_node *node);

#endif
