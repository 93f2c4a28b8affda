/* Products of bfloat16 with AVX512_BF16, in the order `dot`.
 *
 * The product is divided so that each part stays in a level of the cache: pieces of the depth whose
 * panels of 32 columns fit L1, a chunk of columns whose panels fit L2 and are packed once for all
 * rows, blocks of rows. Between two pieces of the depth the sums are kept in float32, which is
 * exact, in a block that stays in L2 too; the last piece adds the bias, rounds and stores.
 *
 * Rows whose pairs of steps lie together in memory are read in place. All others are packed to
 * panels like those of the columns: steps are interleaved two by two, and zeros fill up an odd
 * depth.
 *
 * Exchanged operands: where both could be read in place and the first one is much the smaller, the
 * second gives the rows, so that the larger one need not be packed; each block is transposed at its
 * end. */
#include "engine/kernels/matmul_narrow.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "engine/kernels/dot_tiles.h"

enum { PANEL = CSE_DOT_COLUMNS, PAIR_BYTES = CSE_DOT_PAIR_BYTES };
/* In elements: of the depth, of columns and of rows that are computed together. */
enum { PIECE = 384, MOST_COLUMNS = 384, MOST_ROWS = 192 };
/* Of packed columns. A deeper product is cut into stretches of the depth. */
enum { COLUMNS_BYTES = 3 << 19 };
/* Packed row by row: panels side by side whose source is read at once. */
enum { PACKED_TOGETHER = 4 };

/* How a product is divided, and where its parts are in the scratch memory. */
typedef struct layout {
    bool exchanged, packs_rows;
    bool blocked;             /* finished sums are in the block and are taken from there */
    int64_t stretch;          /* of the depth: what is packed of a chunk of columns; even */
    int64_t columns, rows;    /* of a chunk and of a block */
    int64_t sums_stride;      /* of the kept sums */
    int64_t sums_rows;        /* 0: the sums of one row tile never leave the registers */
    char *column, *row;       /* panels */
    float *sums, *transposed; /* transposed: [columns][rows] */
} layout;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t up(int64_t size, int64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* The size of near-equal parts of `size`, none larger than `most`, in whole units. */
static int64_t part_of(int64_t size, int64_t most, int64_t unit)
{
    int64_t parts = (size + most - 1) / most;
    return up((size + parts - 1) / parts, unit);
}

static bool is_exchanged(const cse_matmul_sizes *s)
{
    return s->transpose_b && !s->transpose_a && s->k % 2 == 0 && s->n >= 4 * s->m;
}

static layout layout_of(const cse_narrow_kernel *kernel, char *place)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    const int64_t depth = up(s->k, 2);
    layout l = { .exchanged = is_exchanged(s) };
    const int64_t rows = l.exchanged ? s->n : s->m, columns = l.exchanged ? s->m : s->n;
    l.packs_rows = !l.exchanged && (s->transpose_a || s->k % 2 != 0);
    l.blocked = l.exchanged || (kernel->result != CSE_FLOAT32 && kernel->result != CSE_BFLOAT16);
    l.columns = part_of(columns, MOST_COLUMNS, PANEL);
    l.rows = part_of(rows, MOST_ROWS, PANEL);
    l.stretch = part_of(depth, up(COLUMNS_BYTES / 2 / l.columns, 2), 2);
    /* An odd number of cache lines, so that rows do not fall into the same cache sets. */
    l.sums_stride = l.columns + CSE_LANE_COUNT;
    l.sums_rows = l.stretch < depth ? up(rows, PANEL) : l.blocked || depth > PIECE ? l.rows : 0;
    l.column = place;
    l.row = l.column + l.columns / PANEL * (l.stretch / 2) * PAIR_BYTES;
    l.sums =
        (float *)(void *)(l.row + (l.packs_rows ? l.rows / PANEL * (PIECE / 2) * PAIR_BYTES : 0));
    l.transposed = l.sums + l.sums_rows * l.sums_stride;
    return l;
}

static size_t scratch_bytes(const cse_narrow_kernel *kernel)
{
    const layout l = layout_of(kernel, NULL);
    return (size_t)((char *)(l.transposed + (l.exchanged ? l.rows * l.columns : 0)) - (char *)NULL);
}

/* ---- packing ---- */

/* A part of an operand, and where its panels begin; each has `pairs` pairs. */
typedef struct part {
    const cse_matmul_side *side;
    int64_t k;            /* the operand's depth: what lies beyond is 0 */
    int64_t outer, width; /* outer indices: `width` from `outer` on */
    int64_t depth, pairs; /* pairs of steps from `depth` on */
    int64_t panel_bytes;  /* from panel to panel */
    char *to;
} part;

/* Interleaves two rows of 32 values: [2i] is low[i], [2i + 1] is high[i]. */
CSE_LANES void store_interleaved(char *to, __m512i low, __m512i high)
{
    static const uint16_t order[2][32] = {
        { 0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
          8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47 },
        { 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
          24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63 },
    };
    CSE_UNROLL for (int i = 0; i < 2; i++)
    {
        const __m512i from = _mm512_loadu_si512(order[i]);
        _mm512_store_si512(to + i * (PAIR_BYTES / 2), _mm512_permutex2var_epi16(low, from, high));
    }
}

/* From an operand that is contiguous along the outer index. */
CSE_AVX512 static void pack_along(const part *p)
{
    const int64_t stride = p->side->depth_stride, panels = (p->width + PANEL - 1) / PANEL;
    for (int64_t first = 0; first < panels; first += PACKED_TOGETHER)
        for (int64_t pair = 0; pair < p->pairs; pair++) {
            const int64_t step = p->depth + 2 * pair;
            const uint16_t *from =
                (const uint16_t *)p->side->values + step * stride + p->outer + first * PANEL;
            for (int64_t i = first; i < least(panels, first + PACKED_TOGETHER); i++) {
                const int64_t left = p->width - i * PANEL;
                const __mmask32 lanes = left >= PANEL ? 0xffffffffu : (1u << left) - 1u;
                const __mmask32 low = step < p->k ? lanes : 0, high = step + 1 < p->k ? lanes : 0;
                __builtin_prefetch(from + 8 * stride);
                __builtin_prefetch(from + 9 * stride);
                store_interleaved(p->to + i * p->panel_bytes + pair * PAIR_BYTES,
                                  _mm512_maskz_loadu_epi16(low, from),
                                  _mm512_maskz_loadu_epi16(high, from + stride));
                from += PANEL;
            }
        }
}

/* From an operand that is contiguous along the depth: blocks of 16 x 16 pairs are transposed. */
CSE_AVX512 static void pack_turned(const part *p)
{
    const int64_t stride = p->side->outer_stride;
    for (int64_t i = 0; i < p->width; i += CSE_LANE_COUNT)
        for (int64_t pair = 0; pair < p->pairs; pair += CSE_LANE_COUNT) {
            const int64_t step = p->depth + 2 * pair;
            const int64_t left = least(p->k - step, 2 * (p->pairs - pair));
            const __mmask32 lanes = left >= 32 ? 0xffffffffu : (1u << left) - 1u;
            const uint16_t *from =
                (const uint16_t *)p->side->values + (p->outer + i) * stride + step;
            char *to = p->to + i / PANEL * p->panel_bytes + pair * PAIR_BYTES + i % PANEL * 4;
            __m512 x[CSE_LANE_COUNT];
            CSE_UNROLL for (int j = 0; j < CSE_LANE_COUNT; j++) x[j] = _mm512_castsi512_ps(
                _mm512_maskz_loadu_epi16(i + j < p->width ? lanes : 0, from + j * stride));
            cse_lanes_transpose(x);
            for (int64_t j = 0; j < CSE_LANE_COUNT && pair + j < p->pairs; j++)
                _mm512_store_ps((float *)(void *)(to + j * PAIR_BYTES), x[j]);
        }
}

static void pack(const part *p)
{
    (p->side->outer_stride == 1 ? pack_along : pack_turned)(p);
}

/* ---- the product ---- */

/* The operands of a product after a possible exchange, and where the loops are. */
typedef struct work {
    const cse_narrow_kernel *kernel;
    const cse_matmul_side *rows, *columns;
    const cse_matmul_end *end;
    layout l;
    int64_t column, width;         /* the chunk of columns */
    int64_t row, height;           /* the block of rows */
    int64_t stretch, packed_pairs; /* where the packed columns begin, and their depth */
    int64_t depth, pairs;          /* the piece */
} work;

/* The kept sums of the block's first row. */
static float *sums_of(const work *w)
{
    return w->l.sums + (w->l.sums_rows > w->l.rows ? w->row * w->l.sums_stride : 0);
}

/* The tile at row `i` of the block and column `j` of the chunk, as yet without operands. */
static cse_dot_tile tile_at(const work *w, int64_t i, int64_t j)
{
    const cse_matmul_end *end = w->end;
    const bool last = w->depth + 2 * w->pairs >= w->kernel->sizes.k;
    float *kept = sums_of(w) + i * w->l.sums_stride + j;
    cse_dot_tile tile = { .pairs = w->pairs,
                          .old = w->depth > 0 ? kept : NULL,
                          .old_stride = w->l.sums_stride,
                          .to = kept,
                          .to_stride = w->l.sums_stride };
    if (!last || w->l.blocked)
        return tile;
    const int64_t column = w->column + j, at = (w->row + i) * end->stride + column;
    tile.narrow = end->dtype == CSE_BFLOAT16;
    tile.to = tile.narrow ? (void *)((uint16_t *)end->to + at) : (float *)end->to + at;
    tile.to_stride = end->stride;
    tile.bias = end->bias != NULL ? end->bias + column : NULL;
    tile.relu = end->relu;
    return tile;
}

/* Fetches rows [first, end) of the 32 rows that come after those at `from`: many rows of one or two
 * pages each are more than the processor foresees. */
static void fetch_ahead(const work *w, const char *from, int64_t first, int64_t end)
{
    const int64_t row_bytes = w->rows->outer_stride * 2;
    for (int64_t r = PANEL + first; r < PANEL + end; r++)
        for (int64_t at = 0; at < w->pairs * 4; at += 64)
            __builtin_prefetch(from + r * row_bytes + at);
}

/* Rows `i` to `i + rows` of the block times all panels of the chunk. */
static void multiply_rows(const work *w, int64_t i, int64_t rows, int64_t split)
{
    const int64_t stride = w->rows->outer_stride;
    const char *from =
        w->l.packs_rows
            ? w->l.row + i / PANEL * w->pairs * PAIR_BYTES + i % PANEL * 4
            : (const char *)((const uint16_t *)w->rows->values + (w->row + i) * stride + w->depth);
    const int64_t row_bytes = w->l.packs_rows ? 4 : stride * 2;
    for (int64_t j = 0; j < w->width; j += PANEL) {
        const char *panel = w->l.column + j / PANEL * w->packed_pairs * PAIR_BYTES +
                            (w->depth - w->stretch) / 2 * PAIR_BYTES;
        if (!w->l.packs_rows)
            fetch_ahead(w, from, PANEL * j / w->width,
                        least(PANEL, PANEL * (j + PANEL) / w->width));
        for (int64_t s = 0, done = 0; s < split; s++) {
            const int64_t count = (rows - done) / (split - s);
            cse_dot_tile tile = tile_at(w, i + done, j);
            tile.from = from + done * row_bytes;
            tile.row_bytes = row_bytes;
            tile.pair_bytes = w->l.packs_rows ? PAIR_BYTES : 4;
            tile.panel = panel;
            cse_dot_tile_run(&tile, count, least(PANEL, w->width - j));
            done += count;
        }
    }
}

/* One piece of the depth: a block of rows times a chunk of columns. */
static void multiply_piece(const work *w)
{
    if (w->l.packs_rows)
        pack(&(part){ w->rows, w->kernel->sizes.k, w->row, w->height, w->depth, w->pairs,
                      w->pairs * PAIR_BYTES, w->l.row });
    for (int64_t i = 0; i < w->height; i += PANEL) {
        const int64_t rows = least(PANEL, w->height - i);
        multiply_rows(w, i, rows, (rows + CSE_DOT_ROWS - 1) / CSE_DOT_ROWS);
    }
}

/* Transposes the block of finished sums, of the exchanged product. */
CSE_AVX512 static void transpose(const work *w, cse_matmul_block *block)
{
    const int64_t stride = w->l.rows;
    for (int64_t r = 0; r < block->rows; r += CSE_LANE_COUNT)
        for (int64_t c = 0; c < block->columns; c += CSE_LANE_COUNT) {
            __m512 x[CSE_LANE_COUNT];
            CSE_UNROLL for (int64_t i = 0; i < CSE_LANE_COUNT; i++) x[i] =
                _mm512_load_ps(block->values + (r + i) * block->stride + c);
            cse_lanes_transpose(x);
            CSE_UNROLL for (int64_t i = 0; i < CSE_LANE_COUNT; i++)
                _mm512_store_ps(w->l.transposed + (c + i) * stride + r, x[i]);
        }
    *block = (cse_matmul_block){ w->l.transposed, stride,     block->column,
                                 block->columns,  block->row, block->rows };
}

/* A block of rows times a chunk of columns, over the packed stretch of the depth. */
static void multiply_block(work *w)
{
    const int64_t end = least(w->kernel->sizes.k, w->stretch + 2 * w->packed_pairs);
    const int64_t piece = part_of(2 * w->packed_pairs, PIECE, 2);
    for (w->depth = w->stretch; w->depth < end; w->depth += piece) {
        w->pairs = (least(piece, end - w->depth) + 1) / 2;
        multiply_piece(w);
    }
    if (!w->l.blocked || end < w->kernel->sizes.k)
        return;
    cse_matmul_block block = {
        sums_of(w), w->l.sums_stride, w->row, w->height, w->column, w->width
    };
    if (w->l.exchanged)
        transpose(w, &block);
    cse_matmul_finish_avx512(w->end, &block);
}

static void multiply(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                     const cse_matmul_end *end, void *place)
{
    const bool exchanged = is_exchanged(&kernel->sizes);
    const int64_t k = kernel->sizes.k;
    work w = { kernel, &sides[exchanged ? 1 : 0], &sides[exchanged ? 0 : 1], end,
               .l = layout_of(kernel, place) };
    for (w.column = 0; w.column < w.columns->size; w.column += w.l.columns) {
        w.width = least(w.l.columns, w.columns->size - w.column);
        for (w.stretch = 0; w.stretch < k; w.stretch += w.l.stretch) {
            w.packed_pairs = (least(w.l.stretch, k - w.stretch) + 1) / 2;
            pack(&(part){ w.columns, k, w.column, w.width, w.stretch, w.packed_pairs,
                          w.packed_pairs * PAIR_BYTES, w.l.column });
            for (w.row = 0; w.row < w.rows->size; w.row += w.l.rows) {
                w.height = least(w.l.rows, w.rows->size - w.row);
                multiply_block(&w);
            }
        }
    }
}

const cse_narrow_way cse_narrow_dot = {
    .name = "avx512_bf16",
    .runs_here = cse_dot_tiles_run_here,
    .orders = 1 << CSE_PRODUCT_ORDER_DOT,
    .scratch_bytes = scratch_bytes,
    .multiply = multiply,
};

#else

static bool runs_here(void)
{
    return false;
}

const cse_narrow_way cse_narrow_dot = { .name = "avx512_bf16",
                                        .runs_here = runs_here,
                                        .orders = 1 << CSE_PRODUCT_ORDER_DOT };

#endif
