/* Products in vectors, for lanes of either width.
 *
 * Operands are widened to float32 while they are packed, so that no float32 copy of a whole one
 * exists: panels of a tile's columns over the whole depth, as many as stay in the L2 cache, and
 * blocks of rows. Finished sums lie in a small block until bias, relu and the rounding are applied.
 * The tiles are those of the float32 product; without AVX-512 these are its loops, too.
 *
 * Exchanged operands: when the second operand is stored transposed and the first has fewer rows,
 * the second gives the rows, which are cheaper to pack, and each block is transposed at its end. */
#ifndef CSE_KERNELS_MATMUL_IN_LANES_H
#define CSE_KERNELS_MATMUL_IN_LANES_H

#include "engine/code/kernels/matmul_narrow.h"
#include "engine/code/kernels/matmul_tiles.h"

enum { PANEL_COLUMNS = CSE_TILE_MOST_VECTORS * CSE_LANE_COUNT, MOST_BLOCK_ROWS = 96 };
enum { FLUSH_BITS = 0x8040, LINE = 64 / (int)sizeof(float) };
/* Bytes of packed panels and rows, and steps of the depth that are computed at a time: a narrow
 * panel is to stay in the L1 cache while all rows of a block pass it, so that what AVX2 packs goes
 * through the caches chunk by chunk; a panel of 64 columns comes from L2 anyway. */
enum { PANELS_BYTES = CSE_LANE_COUNT == 16 ? 1 << 20 : 1 << 22, ROWS_BYTES = 1 << 18 };
enum { MOST_DEPTH = CSE_LANE_COUNT == 16 ? 1 << 30 : 384, DEPTH_UNIT = CSE_TILE_PAIRED_DEPTH };
enum { PACKED_DEPTH = 32 };

/* How a product is divided, and where its parts are in the scratch memory. */
typedef struct layout {
    int64_t depth;        /* of panels and rows; a multiple of 32 (`pairs`) or 2 (`dot`) */
    int64_t chunk;        /* of the depth: a multiple of 32, or all of it */
    int64_t panels;       /* that are packed together */
    int64_t rows;         /* of a block, a multiple of 16 */
    int64_t row_elements; /* between packed rows */
    float *panel, *row;
    float *block; /* [rows][block_stride]: sums of one panel, or of all of them between chunks */
    int64_t block_stride;
    float *transposed; /* exchanged: [PANEL_COLUMNS][MOST_BLOCK_ROWS] */
} layout;

static bool is_exchanged(const cse_narrow_kernel *kernel)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    return s->transpose_b && s->m < s->n && !kernel->continues;
}

static layout layout_of(const cse_narrow_kernel *kernel, float *place)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    const int64_t chunk = kernel->order == CSE_PRODUCT_ORDER_PAIRS ? CSE_TILE_PAIRED_DEPTH
                          : kernel->order == CSE_PRODUCT_ORDER_DOT ? 2
                                                                   : 1;
    layout l = { .depth = (s->k + chunk - 1) / chunk * chunk };
    int64_t columns = is_exchanged(kernel) ? s->m : s->n;
    int64_t all = (columns + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
    l.panels = PANELS_BYTES / (l.depth * PANEL_COLUMNS * (int64_t)sizeof(float));
    l.panels = l.panels < 1 ? 1 : l.panels < all ? l.panels : all;
    int64_t chunks = (l.depth + MOST_DEPTH - 1) / MOST_DEPTH;
    l.chunk = ((l.depth + chunks - 1) / chunks + DEPTH_UNIT - 1) / DEPTH_UNIT * DEPTH_UNIT;
    l.chunk = l.chunk < l.depth ? l.chunk : l.depth;
    l.rows = ROWS_BYTES / (l.chunk * (int64_t)sizeof(float)) / LINE * LINE;
    l.rows = l.rows < LINE ? LINE : l.rows;
    l.rows = l.rows < MOST_BLOCK_ROWS ? l.rows : MOST_BLOCK_ROWS;
    /* An odd number of cache lines, so that rows do not fall into the same cache sets. */
    l.row_elements = ((l.chunk + LINE - 1) / LINE | 1) * LINE;
    l.panel = place;
    l.row = l.panel + l.panels * l.depth * PANEL_COLUMNS;
    l.block = l.row + l.rows * l.row_elements;
    l.block_stride = l.chunk < l.depth ? l.panels * PANEL_COLUMNS + LINE : PANEL_COLUMNS;
    l.transposed = l.block + MOST_BLOCK_ROWS * l.block_stride;
    return l;
}

static size_t scratch_bytes(const cse_narrow_kernel *kernel)
{
    const layout l = layout_of(kernel, NULL);
    return (size_t)(l.panels * l.depth * PANEL_COLUMNS + l.rows * l.row_elements +
                    MOST_BLOCK_ROWS * (l.block_stride + PANEL_COLUMNS)) *
           sizeof(float);
}

/* Where one panel or block of rows is packed to. */
typedef struct target {
    int64_t first, size; /* of the outer index */
    int64_t begin;       /* of the depth */
    int64_t depth;       /* at least the operand's; the rest is filled with 0 */
    float *to;
    int64_t stride; /* of columns between steps of the depth, of rows between outer indices */
    int64_t swap;   /* 1: each two steps change places, for the order `dot`; else 0 */
} target;

/* From an operand contiguous along the outer index to [depth][stride]: rows are copied. */
CSE_LANES void pack_along(cse_dtype dtype, const cse_matmul_side *side, int64_t k, const target *to)
{
    for (int64_t p = 0; p < to->depth; p++)
        for (int64_t i = 0; i < to->size; i += CSE_LANE_COUNT) {
            const cse_lane_mask lanes = p < k ? cse_lanes_of(to->size - i) : 0;
            int64_t at = p * side->depth_stride + to->first + i;
            *(cse_vector *)(to->to + (p ^ to->swap) * to->stride + i) =
                cse_lanes_load(dtype, side->values, at, lanes);
        }
}

/* From an operand contiguous along the depth to [depth][stride]: blocks are transposed. */
CSE_LANES void pack_transposed(cse_dtype dtype, const cse_matmul_side *side, int64_t k,
                               const target *to)
{
    for (int64_t i = 0; i < to->size; i += CSE_LANE_COUNT)
        for (int64_t p = 0; p < to->depth; p += CSE_LANE_COUNT) {
            cse_vector x[CSE_LANE_COUNT];
            const cse_lane_mask lanes = cse_lanes_of(p < k ? k - p : 0);
            CSE_UNROLL for (int64_t j = 0; j < CSE_LANE_COUNT; j++)
            {
                int64_t at = (to->first + i + j) * side->outer_stride + p;
                x[j] = i + j < to->size ? cse_lanes_load(dtype, side->values, at, lanes)
                                        : cse_lanes_of_all(0);
            }
            cse_lanes_transpose(x);
            for (int64_t j = 0; j < CSE_LANE_COUNT && p + j < to->depth; j++)
                *(cse_vector *)(to->to + ((p + j) ^ to->swap) * to->stride + i) = x[j];
        }
}

/* From an operand contiguous along the depth to [outer][stride]: rows are copied. */
CSE_LANES void pack_kept(cse_dtype dtype, const cse_matmul_side *side, int64_t k, const target *to)
{
    for (int64_t i = 0; i < to->size; i++)
        for (int64_t p = 0; p < to->depth; p += CSE_LANE_COUNT) {
            const cse_lane_mask lanes = cse_lanes_of(p < k ? k - p : 0);
            int64_t at = (to->first + i) * side->outer_stride + p;
            const cse_vector x = cse_lanes_load(dtype, side->values, at, lanes);
            *(cse_vector *)(to->to + i * to->stride + p) =
                to->swap != 0 ? cse_lanes_swap_pairs(x) : x;
        }
}

/* From an operand contiguous along the outer index to [outer][stride]: blocks are transposed. Its
 * rows are read again for each panel, so that their elements must be close together. */
CSE_LANES void pack_turned(cse_dtype dtype, const cse_matmul_side *side, int64_t k,
                           const target *to)
{
    for (int64_t p = 0; p < to->depth; p += CSE_LANE_COUNT)
        for (int64_t i = 0; i < to->size; i += CSE_LANE_COUNT) {
            cse_vector x[CSE_LANE_COUNT];
            const cse_lane_mask lanes = cse_lanes_of(to->size - i);
            CSE_UNROLL for (int64_t j = 0; j < CSE_LANE_COUNT; j++)
            {
                int64_t at = (p + j) * side->depth_stride + to->first + i;
                x[j] = p + j < k ? cse_lanes_load(dtype, side->values, at, lanes)
                                 : cse_lanes_of_all(0);
            }
            cse_lanes_transpose(x);
            for (int64_t j = 0; j < CSE_LANE_COUNT && i + j < to->size; j++)
                *(cse_vector *)(to->to + (i + j) * to->stride + p) =
                    to->swap != 0 ? cse_lanes_swap_pairs(x[j]) : x[j];
        }
}

typedef enum packing { COLUMNS_ALONG, COLUMNS_TURNED, ROWS_KEPT, ROWS_TURNED } packing;

CSE_LANES void pack_as(cse_dtype dtype, packing how, const cse_matmul_side *side, int64_t k,
                       const target *to)
{
    if (how == COLUMNS_ALONG)
        pack_along(dtype, side, k, to);
    else if (how == COLUMNS_TURNED)
        pack_transposed(dtype, side, k, to);
    else if (how == ROWS_KEPT)
        pack_kept(dtype, side, k, to);
    else
        pack_turned(dtype, side, k, to);
}

/* Packs from step `begin` of the depth on, of which the operand has `k`. */
CSE_LANE_TARGET static void pack(packing how, const cse_matmul_side *whole, int64_t k,
                                 const target *to)
{
    cse_matmul_side part = *whole;
    const cse_matmul_side *side = &part;
    part.values = (const char *)whole->values +
                  (size_t)(to->begin * whole->depth_stride) * cse_dtype_size(whole->dtype);
    k -= to->begin;
    switch (side->dtype) {
    case CSE_BFLOAT16:
        pack_as(CSE_BFLOAT16, how, side, k, to);
        break;
    case CSE_FLOAT16:
        pack_as(CSE_FLOAT16, how, side, k, to);
        break;
    case CSE_CBFLOAT16:
        pack_as(CSE_CBFLOAT16, how, side, k, to);
        break;
    default:
        pack_as(CSE_FLOAT32, how, side, k, to);
    }
}

static int64_t is_swapped(const cse_narrow_kernel *kernel)
{
    return kernel->order == CSE_PRODUCT_ORDER_DOT ? 1 : 0;
}

/* A block of rows, and a chunk of the depth. */
typedef struct block_range {
    int64_t row, rows, begin, depth;
} block_range;

/* The rows as a tile reads them: packed, or in place. */
static cse_tile begin_rows(const cse_narrow_kernel *kernel, const layout *l,
                           const cse_matmul_side *side, const block_range *range)
{
    cse_tile tile = { .depth = range->depth,
                      .first = range->begin == 0,
                      .to_stride = l->block_stride };
    if (side->dtype == CSE_FLOAT32 && side->depth_stride == 1) {
        tile.from = (const float *)side->values + range->row * side->outer_stride + range->begin;
        tile.row_stride = side->outer_stride;
        tile.depth_stride = 1;
        return tile;
    }
    bool along = side->outer_stride == 1 && side->depth_stride != 1;
    const target rows = { range->row, range->rows,     range->begin,      range->depth,
                          l->row,     l->row_elements, is_swapped(kernel) };
    pack(along ? ROWS_TURNED : ROWS_KEPT, side, kernel->sizes.k, &rows);
    tile.from = l->row;
    tile.row_stride = l->row_elements;
    tile.depth_stride = 1;
    return tile;
}

/* Transposes a block of the exchanged product into a block of the result. */
CSE_LANE_TARGET static void transpose(const layout *l, cse_matmul_block *block)
{
    const cse_matmul_block from = *block;
    for (int64_t r = 0; r < from.rows; r += CSE_LANE_COUNT)
        for (int64_t c = 0; c < from.columns; c += CSE_LANE_COUNT) {
            cse_vector x[CSE_LANE_COUNT];
            CSE_UNROLL for (int64_t i = 0; i < CSE_LANE_COUNT; i++) x[i] =
                *(const cse_vector *)(from.values + (r + i) * from.stride + c);
            cse_lanes_transpose(x);
            for (int64_t i = 0; i < CSE_LANE_COUNT; i++)
                *(cse_vector *)(l->transposed + (c + i) * MOST_BLOCK_ROWS + r) = x[i];
        }
    *block = (cse_matmul_block){ l->transposed, MOST_BLOCK_ROWS, from.column,
                                 from.columns,  from.row,        from.rows };
}

/* The operands of a product after a possible exchange. */
typedef struct work {
    const cse_narrow_kernel *kernel;
    const cse_matmul_side *rows, *columns;
    const cse_matmul_end *end;
    layout l;
} work;

/* The panels that are packed: some columns over the whole depth. */
typedef struct panel_range {
    int64_t first, end;
} panel_range;

static int64_t width_of(const work *w, int64_t panel)
{
    int64_t left = w->columns->size - panel * PANEL_COLUMNS;
    return left < PANEL_COLUMNS ? left : PANEL_COLUMNS;
}

static int64_t padded(int64_t width)
{
    return (width + CSE_LANE_COUNT - 1) / CSE_LANE_COUNT * CSE_LANE_COUNT;
}

/* Bias, relu, rounding and storing of one panel's finished sums. */
static void finish(const work *w, const block_range *range, int64_t panel, const float *sums)
{
    cse_matmul_block block = { sums,        w->l.block_stride,     range->row,
                               range->rows, panel * PANEL_COLUMNS, width_of(w, panel) };
    if (is_exchanged(w->kernel))
        transpose(&w->l, &block);
    CSE_LANED(cse_matmul_finish)(w->end, &block);
}

/* Multiplies packed panels by a block of rows, over a chunk of the depth. */
static void multiply_block(const work *w, const panel_range *panels, const block_range *range)
{
    const layout *l = &w->l;
    const cse_product_order order = w->kernel->order;
    const unsigned mode = _mm_getcsr();
    const bool last = range->begin + range->depth == l->depth, whole = l->chunk == l->depth;
    const cse_tile rows = begin_rows(w->kernel, l, w->rows, range);
    for (int64_t p = panels->first; p < panels->end; p++) {
        int64_t width = width_of(w, p);
        float *sums = l->block + (whole ? 0 : (p - panels->first) * PANEL_COLUMNS);
        cse_tile tile = rows;
        tile.panel = l->panel + (p - panels->first) * l->depth * PANEL_COLUMNS +
                     range->begin * padded(width);
        tile.to = sums;
        if (range->begin == 0 && w->end->continues) {
            const cse_matmul_block block = { sums,        l->block_stride,   range->row,
                                             range->rows, p * PANEL_COLUMNS, width };
            cse_matmul_begin(w->end, &block, sums, range->rows, padded(width));
            tile.first = false;
        }
        if (order != CSE_PRODUCT_ORDER_CHAIN)
            _mm_setcsr(mode | FLUSH_BITS);
        cse_tiles_run(order == CSE_PRODUCT_ORDER_PAIRS ? &cse_tiles_pairs : &cse_tiles_chain, &tile,
                      range->rows, width);
        if (order != CSE_PRODUCT_ORDER_CHAIN)
            _mm_setcsr(mode);
        if (last)
            finish(w, range, p, sums);
    }
}

/* A few steps of the depth at a time, because columns that are contiguous along the outer index lie
 * in other pages at each step. */
static void pack_panels(const work *w, const panel_range *panels)
{
    const bool along = w->columns->outer_stride == 1;
    const int64_t unit = along ? PACKED_DEPTH : w->l.depth;
    for (int64_t begin = 0; begin < w->l.depth; begin += unit)
        for (int64_t p = panels->first; p < panels->end; p++) {
            const int64_t width = width_of(w, p);
            const target panel = { p * PANEL_COLUMNS,
                                   width,
                                   begin,
                                   begin + unit < w->l.depth ? unit : w->l.depth - begin,
                                   w->l.panel + (p - panels->first) * w->l.depth * PANEL_COLUMNS +
                                       begin * padded(width),
                                   padded(width),
                                   is_swapped(w->kernel) };
            pack(along ? COLUMNS_ALONG : COLUMNS_TURNED, w->columns, w->kernel->sizes.k, &panel);
        }
}

static void multiply(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                     const cse_matmul_end *end, void *place)
{
    const bool exchanged = is_exchanged(kernel);
    const work w = { kernel, &sides[exchanged ? 1 : 0], &sides[exchanged ? 0 : 1], end,
                     layout_of(kernel, place) };
    int64_t all = (w.columns->size + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
    for (int64_t first = 0; first < all; first += w.l.panels) {
        const panel_range panels = { first, first + w.l.panels < all ? first + w.l.panels : all };
        pack_panels(&w, &panels);
        for (int64_t row = 0; row < w.rows->size; row += w.l.rows)
            for (int64_t begin = 0; begin < w.l.depth; begin += w.l.chunk) {
                int64_t rows = w.rows->size - row, depth = w.l.depth - begin;
                const block_range range = { row, rows < w.l.rows ? rows : w.l.rows, begin,
                                            depth < w.l.chunk ? depth : w.l.chunk };
                multiply_block(&w, &panels, &range);
            }
    }
}

const cse_narrow_way CSE_LANED(cse_narrow) = {
    .name = CSE_LANE_COUNT == 16 ? "avx512" : "avx2",
    .runs_here = cse_lanes_run_here,
    .orders = CSE_NARROW_ORDERS_ALL,
    .scratch_bytes = scratch_bytes,
    .multiply = multiply,
};

#endif
