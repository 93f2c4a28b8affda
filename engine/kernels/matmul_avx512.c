/* Products with 16-bit operands in AVX-512.
 *
 * Operands are widened to float32 while they are packed, so that no float32 copy of a whole one
 * exists: panels of 64 columns over the whole depth, as many as stay in the L2 cache, and blocks of
 * rows. Finished sums lie in a small block until bias, relu and the rounding are applied. The tiles
 * are those of the float32 product.
 *
 * Exchanged operands: when the second operand is stored transposed and the first has fewer rows,
 * the second gives the rows, which are cheaper to pack, and each block is transposed at its end. */
#include "engine/kernels/matmul_narrow.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "engine/kernels/matmul_tiles.h"

enum { PANEL_COLUMNS = CSE_TILE_MOST_VECTORS * CSE_LANE_COUNT, MOST_BLOCK_ROWS = 96 };
enum { PANELS_BYTES = 1 << 20, ROWS_BYTES = 1 << 18, FLUSH_BITS = 0x8040 };

/* How a product is divided, and where its parts are in the scratch memory. */
typedef struct layout {
    int64_t depth;        /* of panels and rows; a multiple of 32 (`pairs`) or 2 (`dot`) */
    int64_t panels;       /* that are packed together */
    int64_t rows;         /* of a block, a multiple of 16 */
    int64_t row_elements; /* between rows that are packed row by row */
    float *panel, *row, *block;
    float *transposed; /* exchanged: [PANEL_COLUMNS][MOST_BLOCK_ROWS] */
} layout;

static bool is_exchanged(const cse_matmul_sizes *s)
{
    return s->transpose_b && s->m < s->n;
}

static layout layout_of(const cse_narrow_kernel *kernel, float *place)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    const int64_t chunk = kernel->order == CSE_PRODUCT_ORDER_PAIRS ? CSE_TILE_PAIRED_DEPTH
                          : kernel->order == CSE_PRODUCT_ORDER_DOT ? 2
                                                                   : 1;
    layout l = { .depth = (s->k + chunk - 1) / chunk * chunk };
    int64_t columns = is_exchanged(s) ? s->m : s->n;
    int64_t all = (columns + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
    l.panels = PANELS_BYTES / (l.depth * PANEL_COLUMNS * (int64_t)sizeof(float));
    l.panels = l.panels < 1 ? 1 : l.panels < all ? l.panels : all;
    l.rows = ROWS_BYTES / (l.depth * (int64_t)sizeof(float)) / CSE_LANE_COUNT * CSE_LANE_COUNT;
    l.rows = l.rows < CSE_LANE_COUNT ? CSE_LANE_COUNT : l.rows;
    l.rows = l.rows < MOST_BLOCK_ROWS ? l.rows : MOST_BLOCK_ROWS;
    /* An odd number of cache lines, so that rows do not fall into the same cache sets. */
    l.row_elements = ((l.depth + CSE_LANE_COUNT - 1) / CSE_LANE_COUNT | 1) * CSE_LANE_COUNT;
    l.panel = place;
    l.row = l.panel + l.panels * l.depth * PANEL_COLUMNS;
    l.block = l.row + l.rows * l.row_elements;
    l.transposed = l.block + MOST_BLOCK_ROWS * PANEL_COLUMNS;
    return l;
}

static size_t scratch_bytes(const cse_narrow_kernel *kernel)
{
    const layout l = layout_of(kernel, NULL);
    return (size_t)(l.panels * l.depth * PANEL_COLUMNS + l.rows * l.row_elements +
                    2 * MOST_BLOCK_ROWS * PANEL_COLUMNS) *
           sizeof(float);
}

/* Where one panel or block of rows is packed to. */
typedef struct target {
    int64_t first, size; /* of the outer index */
    int64_t depth;       /* at least the operand's; the rest is filled with 0 */
    float *to;
    int64_t stride; /* between steps of the depth; for pack_kept, between outer indices */
    int64_t swap;   /* 1: each two steps change places, for the order `dot`; else 0 */
} target;

/* From an operand contiguous along the outer index to [depth][stride]: rows are copied. */
CSE_LANES void pack_along(cse_dtype dtype, const cse_matmul_side *side, int64_t k, const target *to)
{
    for (int64_t p = 0; p < to->depth; p++)
        for (int64_t i = 0; i < to->size; i += CSE_LANE_COUNT) {
            __mmask16 lanes = p < k ? cse_lanes_of(to->size - i) : 0;
            int64_t at = p * side->depth_stride + to->first + i;
            _mm512_store_ps(to->to + (p ^ to->swap) * to->stride + i,
                            cse_lanes_load(dtype, side->values, at, lanes));
        }
}

/* From an operand contiguous along the depth to [depth][stride]: blocks are transposed. */
CSE_LANES void pack_transposed(cse_dtype dtype, const cse_matmul_side *side, int64_t k,
                               const target *to)
{
    for (int64_t i = 0; i < to->size; i += CSE_LANE_COUNT)
        for (int64_t p = 0; p < to->depth; p += CSE_LANE_COUNT) {
            __m512 x[CSE_LANE_COUNT];
            __mmask16 lanes = cse_lanes_of(p < k ? k - p : 0);
            CSE_UNROLL for (int64_t j = 0; j < CSE_LANE_COUNT; j++)
            {
                int64_t at = (to->first + i + j) * side->outer_stride + p;
                x[j] = i + j < to->size ? cse_lanes_load(dtype, side->values, at, lanes)
                                        : _mm512_setzero_ps();
            }
            cse_lanes_transpose(x);
            for (int64_t j = 0; j < CSE_LANE_COUNT && p + j < to->depth; j++)
                _mm512_store_ps(to->to + ((p + j) ^ to->swap) * to->stride + i, x[j]);
        }
}

/* From an operand contiguous along the depth to [outer][stride]: rows are copied. */
CSE_LANES void pack_kept(cse_dtype dtype, const cse_matmul_side *side, int64_t k, const target *to)
{
    for (int64_t i = 0; i < to->size; i++)
        for (int64_t p = 0; p < to->depth; p += CSE_LANE_COUNT) {
            __mmask16 lanes = cse_lanes_of(p < k ? k - p : 0);
            int64_t at = (to->first + i) * side->outer_stride + p;
            __m512 x = cse_lanes_load(dtype, side->values, at, lanes);
            _mm512_store_ps(to->to + i * to->stride + p,
                            to->swap != 0 ? _mm512_permute_ps(x, 0xb1) : x);
        }
}

typedef enum packing { ALONG, TURNED, KEPT } packing;

CSE_LANES void pack_as(cse_dtype dtype, packing how, const cse_matmul_side *side, int64_t k,
                       const target *to)
{
    if (how == ALONG)
        pack_along(dtype, side, k, to);
    else if (how == TURNED)
        pack_transposed(dtype, side, k, to);
    else
        pack_kept(dtype, side, k, to);
}

CSE_AVX512 static void pack(packing how, const cse_matmul_side *side, int64_t k, const target *to)
{
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

/* The rows as a tile reads them: packed, or in place. */
static cse_tile begin_rows(const cse_narrow_kernel *kernel, const layout *l,
                           const cse_matmul_side *side, int64_t first, int64_t size)
{
    cse_tile tile = { .depth = l->depth, .first = true, .to_stride = PANEL_COLUMNS };
    if (side->dtype == CSE_FLOAT32 && side->depth_stride == 1) {
        tile.from = (const float *)side->values + first * side->outer_stride;
        tile.row_stride = side->outer_stride;
        tile.depth_stride = 1;
        return tile;
    }
    bool along = side->outer_stride == 1 && side->depth_stride != 1;
    const target rows = {
        first, size, l->depth, l->row, along ? l->rows : l->row_elements, is_swapped(kernel)
    };
    pack(along ? ALONG : KEPT, side, kernel->sizes.k, &rows);
    tile.from = l->row;
    tile.row_stride = along ? 1 : l->row_elements;
    tile.depth_stride = along ? l->rows : 1;
    return tile;
}

/* Transposes a block of the exchanged product into a block of the result. */
CSE_AVX512 static void transpose(const layout *l, cse_matmul_block *block)
{
    const cse_matmul_block from = *block;
    for (int64_t r = 0; r < from.rows; r += CSE_LANE_COUNT)
        for (int64_t c = 0; c < from.columns; c += CSE_LANE_COUNT) {
            __m512 x[CSE_LANE_COUNT];
            CSE_UNROLL for (int64_t i = 0; i < CSE_LANE_COUNT; i++) x[i] =
                _mm512_load_ps(from.values + (r + i) * from.stride + c);
            cse_lanes_transpose(x);
            CSE_UNROLL for (int64_t i = 0; i < CSE_LANE_COUNT; i++)
                _mm512_store_ps(l->transposed + (c + i) * MOST_BLOCK_ROWS + r, x[i]);
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

/* Multiplies panels [first, end), which are packed already, by all rows. */
static void multiply_panels(const work *w, int64_t first, int64_t end)
{
    const layout *l = &w->l;
    const unsigned mode = _mm_getcsr();
    const bool exchanged = is_exchanged(&w->kernel->sizes);
    const bool flushed = w->kernel->order != CSE_PRODUCT_ORDER_CHAIN;
    const cse_tiles *tiles =
        w->kernel->order == CSE_PRODUCT_ORDER_PAIRS ? &cse_tiles_pairs : &cse_tiles_chain;
    for (int64_t row = 0; row < w->rows->size; row += l->rows) {
        int64_t count = w->rows->size - row < l->rows ? w->rows->size - row : l->rows;
        const cse_tile rows = begin_rows(w->kernel, l, w->rows, row, count);
        for (int64_t p = first; p < end; p++) {
            int64_t column = p * PANEL_COLUMNS, left = w->columns->size - column;
            cse_tile tile = rows;
            cse_matmul_block block = { l->block, PANEL_COLUMNS,
                                       row,      count,
                                       column,   left < PANEL_COLUMNS ? left : PANEL_COLUMNS };
            tile.panel = l->panel + (p - first) * l->depth * PANEL_COLUMNS;
            tile.to = l->block;
            if (flushed)
                _mm_setcsr(mode | FLUSH_BITS);
            cse_tiles_run(tiles, &tile, count, block.columns);
            if (flushed)
                _mm_setcsr(mode);
            if (exchanged)
                transpose(l, &block);
            cse_matmul_finish_avx512(w->end, &block);
        }
    }
}

static void multiply(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                     const cse_matmul_end *end, void *place)
{
    const bool exchanged = is_exchanged(&kernel->sizes);
    const work w = { kernel, &sides[exchanged ? 1 : 0], &sides[exchanged ? 0 : 1], end,
                     layout_of(kernel, place) };
    const cse_matmul_side *columns = w.columns;
    int64_t all = (columns->size + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
    for (int64_t first = 0; first < all; first += w.l.panels) {
        int64_t last = first + w.l.panels < all ? first + w.l.panels : all;
        for (int64_t p = first; p < last; p++) {
            int64_t left = columns->size - p * PANEL_COLUMNS;
            int64_t width = left < PANEL_COLUMNS ? left : PANEL_COLUMNS;
            const target panel = { p * PANEL_COLUMNS,
                                   width,
                                   w.l.depth,
                                   w.l.panel + (p - first) * w.l.depth * PANEL_COLUMNS,
                                   (width + CSE_LANE_COUNT - 1) / CSE_LANE_COUNT * CSE_LANE_COUNT,
                                   is_swapped(kernel) };
            pack(columns->outer_stride == 1 ? ALONG : TURNED, columns, kernel->sizes.k, &panel);
        }
        multiply_panels(&w, first, last);
    }
}

const cse_narrow_way cse_narrow_avx512 = {
    .name = "avx512",
    .runs_here = cse_lanes_run_here,
    .orders = CSE_NARROW_ORDERS_ALL,
    .scratch_bytes = scratch_bytes,
    .multiply = multiply,
};

#else

static bool runs_here(void)
{
    return false;
}

const cse_narrow_way cse_narrow_avx512 = { .name = "avx512", .runs_here = runs_here };

#endif
