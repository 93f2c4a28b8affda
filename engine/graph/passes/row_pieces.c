/* A product with long rows, and all that is computed from it row by row, is computed in pieces of
 * its rows: the logits of a language model, their cross entropy and the gradients of both. The
 * logits of one piece lie in memory at a time, never those of the whole microbatch.
 *
 * A piece reads its rows of what enters the region (row_region.h). Values of rows, and products of
 * rows with a matrix, are laid together again behind the last piece. Each row's bits are those of
 * the whole: the order inside of a row is that of the same code. The product that is the gradient
 * of the head goes on from one piece to the next in the order of the whole, for which pieces have a
 * multiple of 32 rows (engine/code/kernels/matmul_tiles.h). The sums of a bias's gradient are added
 * piece by piece, and so are not those of the whole.
 *
 * How many rows a piece has is a function of the shapes alone. */
#include <stdlib.h>

#include "engine/graph/passes/pass.h"
#include "engine/graph/passes/row_region.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/trace.h"

/* Of a piece of the product, in float32. Fewer rows make products slower, whose matrices are read
 * again for each piece. */
enum { PIECE_BYTES = 64 << 20, FEWEST_ROWS = 128, ROW_UNIT = 32, MOST_PIECES = 64 };

typedef struct maker {
    cse_graph *graph;
    const cse_row_region *region;
    int64_t first, rows; /* of the piece */
    cse_node **made;     /* by position: of this piece; NULL: not yet */
} maker;

static int64_t last_size(const cse_node *node)
{
    return node->shape.rank > 0 ? node->shape.dims[node->shape.rank - 1] : 1;
}

/* The shape of the piece of a node. */
static cse_shape piece_shape(const maker *m, const cse_node *node)
{
    if (cse_row_level_of(m->region, node) == CSE_ROW_WHOLE)
        return cse_shape_of(m->rows, m->region->columns);
    return node->shape.rank > 0 && last_size(node) == 1 ? cse_shape_of(m->rows, 1)
                                                        : cse_shape_of(m->rows);
}

/* The piece's rows of a value [rows, ...] that lies in memory. */
static cse_node *cut_rows(const maker *m, cse_node *node, cse_shape piece)
{
    cse_shape whole = piece;
    whole.dims[0] = m->region->rows;
    return cse_slice_axis(cse_reshape(node, whole), 0, m->first, m->first + m->rows);
}

static cse_node *piece_of(maker *m, cse_node *node);

/* A value that is repeated along rows, along columns, or both. */
static cse_node *piece_of_broadcast(maker *m, cse_node *node)
{
    cse_node *input = node->inputs[0];
    const cse_shape piece = piece_shape(m, node);
    const int64_t columns = m->region->columns, elements = cse_shape_elements(input->shape);
    const bool whole = cse_row_level_of(m->region, node) == CSE_ROW_WHOLE;
    if (elements == 1)
        return cse_broadcast_to(cse_reshape(input, cse_scalar_shape), piece);
    if (last_size(input) == 1 && elements == m->region->rows)
        return cse_broadcast_to(cse_reshape(piece_of(m, input), cse_shape_of(m->rows, 1)), piece);
    if (whole && last_size(input) == columns && elements == columns)
        return cse_broadcast_to(cse_reshape(input, cse_shape_of(1, columns)), piece);
    if (whole && last_size(input) == 1) {
        cse_shape column = node->shape;
        column.dims[column.rank - 1] = 1;
        input = cse_broadcast_to(input, column);
        return cse_broadcast_to(cut_rows(m, input, cse_shape_of(m->rows, 1)), piece);
    }
    return cut_rows(m, node, piece);
}

/* A node whose pieces are computed from pieces of its inputs: its copy, as yet with the inputs of
 * the whole. */
static cse_node *copy_of(const maker *m, const cse_node *node, cse_shape shape)
{
    cse_node *copy = cse_graph_clone(m->graph, node);
    copy->shape = shape;
    return copy;
}

static cse_node *piece_of_product(maker *m, cse_node *node)
{
    const int64_t terms = node->inputs[0]->shape.dims[1];
    cse_node *copy = copy_of(m, node, cse_shape_of(m->rows, node->shape.dims[1]));
    const bool reads_region = m->region->level[node->inputs[0]->scratch] != CSE_ROW_NONE;
    copy->inputs[0] = reads_region ? piece_of(m, node->inputs[0])
                                   : cut_rows(m, node->inputs[0], cse_shape_of(m->rows, terms));
    return copy;
}

static cse_node *piece_of_elementwise(maker *m, cse_node *node)
{
    cse_node *copy = copy_of(m, node, piece_shape(m, node));
    for (int i = 0; i < copy->input_count; i++)
        copy->inputs[i] = piece_of(m, node->inputs[i]);
    return copy;
}

/* Of a REDUCE along the rows, and of argmax, which keeps no axis. */
static cse_node *piece_of_reduction(maker *m, cse_node *node)
{
    const bool keeps = node->op->kind == CSE_OP_REDUCE && node->attributes.integers[0] != 0;
    cse_node *copy = copy_of(m, node, keeps ? cse_shape_of(m->rows, 1) : cse_shape_of(m->rows));
    copy->attributes.integers[copy->attributes.integer_count - 1] = 1;
    copy->inputs[0] = piece_of(m, node->inputs[0]);
    return cse_reshape(copy, piece_shape(m, node));
}

static cse_node *make_piece(maker *m, cse_node *node)
{
    const bool is_outside =
        m->region->level[node->scratch] == CSE_ROW_NONE && !m->region->beyond[node->scratch];
    if (is_outside && !cse_is_made_by_rows(m->region, node))
        return cut_rows(m, node, piece_shape(m, node));
    switch (node->op->kind) {
    case CSE_OP_RESHAPE:
        return cse_reshape(piece_of(m, node->inputs[0]), piece_shape(m, node));
    case CSE_OP_BROADCAST:
        return piece_of_broadcast(m, node);
    case CSE_OP_ELEMENTWISE:
        return piece_of_elementwise(m, node);
    case CSE_OP_LIBRARY:
        return piece_of_product(m, node);
    default:
        return piece_of_reduction(m, node);
    }
}

/* The piece's rows of a node with rows. */
static cse_node *piece_of(maker *m, cse_node *node)
{
    const int64_t at = node->scratch;
    if (m->made[at] == NULL) {
        cse_trace_begin_for(m->graph, node, node->backward, node->gradient_of);
        m->made[at] = make_piece(m, node);
        cse_trace_end();
    }
    return m->made[at];
}

/* ---- the pieces of a region ---- */

/* How many pieces there are. */
static int64_t count_of(int64_t rows, int64_t columns)
{
    int64_t fitting = PIECE_BYTES / (columns * (int64_t)sizeof(float));
    fitting = fitting < FEWEST_ROWS ? FEWEST_ROWS : fitting;
    const int64_t pieces = (rows + fitting - 1) / fitting;
    return pieces < MOST_PIECES ? pieces : MOST_PIECES;
}

/* Where a piece begins: pieces become larger, since the order pass takes first what needs least
 * memory, and the sums over rows go from the first one on. */
static int64_t start_of(int64_t rows, int64_t pieces, int64_t piece)
{
    const int64_t units = rows / ROW_UNIT, smaller = pieces - units % pieces;
    return piece == pieces
               ? rows
               : (units / pieces * piece + (piece > smaller ? piece - smaller : 0)) * ROW_UNIT;
}

/* The sum over the rows of all pieces up to this one; `before` NULL: it is the first. */
static cse_node *go_on(maker *m, cse_node *whole, cse_node *before)
{
    cse_node *copy = cse_graph_clone(m->graph, whole);
    if (whole->op == &cse_op_sum) {
        copy->inputs[0] = piece_of(m, whole->inputs[0]);
        copy->shape = cse_shape_of(m->region->columns);
        copy->attributes.integer_count = 2;
        copy->attributes.integers[0] = copy->attributes.integers[1] = 0;
        return before == NULL ? copy : cse_add(before, copy);
    }
    copy->inputs = cse_arena_alloc(m->graph->arena, 3 * sizeof *copy->inputs);
    for (int i = 0; i < 2; i++) {
        cse_node *input = whole->inputs[i];
        const cse_shape piece = cse_shape_of(m->rows, input->shape.dims[1]);
        copy->inputs[i] = m->region->level[input->scratch] != CSE_ROW_NONE
                              ? piece_of(m, input)
                              : cut_rows(m, input, piece);
    }
    copy->inputs[2] = before;
    copy->input_count = before == NULL ? 2 : 3;
    return copy;
}

/* The part of what leaves the region that this piece gives, or all up to it. */
static cse_node *part_of_exit(maker *m, cse_node *exit, cse_node *before)
{
    if (!cse_is_sum_of_rows(m->region, exit))
        return piece_of(m, exit);
    cse_trace_begin_for(m->graph, exit, exit->backward, exit->gradient_of);
    cse_node *part = go_on(m, exit, before);
    cse_trace_end();
    return part;
}

static void lay_together(cse_graph *graph, cse_node *whole, cse_node *const pieces[], int count)
{
    cse_trace_begin_for(graph, whole, whole->backward, whole->gradient_of);
    cse_node *all = count > 1 ? cse_concat(pieces, count, 0) : pieces[0];
    cse_graph_replace(whole, cse_reshape(all, whole->shape));
    cse_trace_end();
}

static void compute_in_pieces(cse_graph *graph, const cse_row_region *region)
{
    const int64_t rows = region->rows;
    const int count = (int)count_of(rows, region->columns), nodes = graph->node_count;
    cse_node **pieces = cse_calloc((size_t)(region->exit_count * count) + 1, sizeof(cse_node *));
    cse_node **exits = cse_calloc((size_t)region->exit_count + 1, sizeof(cse_node *));
    maker m = { .graph = graph, .region = region };
    for (int e = 0; e < region->exit_count; e++)
        exits[e] = graph->nodes[region->exits[e]];
    for (int p = 0; p < count; p++) {
        m.first = start_of(rows, count, p);
        m.rows = start_of(rows, count, p + 1) - m.first;
        m.made = cse_calloc((size_t)nodes + 1, sizeof(cse_node *));
        for (int e = 0; e < region->exit_count; e++)
            pieces[e * count + p] =
                part_of_exit(&m, exits[e], p > 0 ? pieces[e * count + p - 1] : NULL);
        free(m.made);
    }
    for (int e = 0; e < region->exit_count; e++)
        if (cse_is_sum_of_rows(region, exits[e]))
            lay_together(graph, exits[e], pieces + (e + 1) * count - 1, 1);
        else
            lay_together(graph, exits[e], pieces + e * count, count);
    free(pieces);
    free(exits);
}

/* Whether the product is as large as several pieces. */
static bool is_large(const cse_node *node)
{
    return cse_is_product_of_rows(node) && cse_shape_elements(node->shape) > 0 &&
           count_of(node->shape.dims[0], node->shape.dims[1]) > 1;
}

static void number_nodes(const cse_graph *graph)
{
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scratch = n;
}

cse_status cse_pass_row_pieces(cse_graph *graph, bool enabled)
{
    for (int n = 0; enabled && n < graph->node_count; n++) {
        cse_row_region region;
        if (!is_large(graph->nodes[n]))
            continue;
        number_nodes(graph);
        if (!cse_row_region_find(graph, n, &region))
            continue;
        compute_in_pieces(graph, &region);
        cse_row_region_free(&region);
        cse_graph_compact(graph);
        n = -1; /* positions are new, and a piece is not large */
    }
    return cse_trace_status(graph);
}
