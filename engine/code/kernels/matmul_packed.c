/* Products with packed panels in AVX-512: of bfloat16 by AVX512_BF16, in the order `dot`, and all
 * others in float32, in the order `chain`.
 *
 * The product is divided so that each part stays in a level of the cache: pieces of the depth whose
 * panels of 32 columns fit L1 or nearly, a chunk of columns whose panels are packed once for all
 * rows, blocks of rows. Between two pieces of the depth the sums are kept in float32, which is
 * exact, in a block that stays in L2; the last piece adds the bias, rounds and stores. So the bits
 * depend on the operands and the order alone.
 *
 * Where rows are packed, too, and L2 has room for both, columns are packed for one piece at a time:
 * packed over a depth that L2 does not hold, they would be written to the next cache and read from
 * there for each block of rows.
 *
 * Rows whose units (packed_tiles.h) lie one behind the other in memory are read in place. All
 * others are packed to panels like those of the columns: steps are interleaved two by two where
 * they form pairs, zeros fill up an odd depth, and 16-bit values that are no pairs are widened.
 *
 * Exchanged operands: where both could be read in place and the first one is the smaller, the
 * second gives the rows, so that the larger one need not be packed; each block is transposed at its
 * end. */
#include "engine/code/kernels/matmul_few_rows.h"

#include <stdatomic.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__GNUC__)

#include "engine/code/kernels/packed_tiles.h"

enum { PANEL = CSE_PACKED_COLUMNS, STEP_BYTES = CSE_PANEL_STEP_BYTES };
/* In units of the depth, columns and rows that are computed together. */
enum { PIECE = 384, MOST_COLUMNS = 384, MOST_ROWS = 192 };
/* Of packed columns: a deeper product is cut into stretches of the depth. Of the sums that it then
 * keeps of all rows: with more rows, chunks have fewer columns. */
enum { COLUMNS_BYTES = 1 << 22, SUMS_BYTES = 1 << 24 };
/* Packed row by row: panels side by side whose source is read at once; all of the columns where L2
 * holds what is written. */
enum { PACKED_TOGETHER = 4 };

/* How a product is divided, and where its parts are in the scratch memory. */
typedef struct layout {
    bool exchanged, packs_rows;
    bool blocked;           /* finished sums are in the block and are taken from there */
    int64_t steps;          /* of a unit: 2 in the order `dot`, else 1 */
    int64_t stretch, piece; /* of the depth, in units: the packed columns' and what is computed */
    int64_t columns, rows;  /* of a chunk and of a block */
    int64_t together;       /* panels that are packed side by side */
    int64_t sums_stride;    /* of the kept sums */
    int64_t sums_rows;      /* 0: no sums are kept */
    /* Places in the scratch: of packed rows (packed columns are at its beginning), of kept sums,
     * and of a transposed block [columns][rows]; then its end. */
    int64_t row_place, sums_place, transposed_place, bytes;
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

/* Whether an operand's units are in its memory; a pair is where it begins at an even step. */
static bool has_units(const cse_narrow_kernel *kernel, int operand)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    const bool along_depth = operand == 0 ? !s->transpose_a : s->transpose_b;
    return along_depth &&
           (kernel->order == CSE_PRODUCT_ORDER_DOT ? s->k % 2 == 0
                                                   : kernel->dtypes[operand] == CSE_FLOAT32);
}

/* Whether fewer elements are packed then, less those that are transposed. */
static bool is_exchanged(const cse_narrow_kernel *kernel)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    return has_units(kernel, 1) && !s->transpose_a && !kernel->continues &&
           (s->n - s->m) * s->k >= s->m * s->n;
}

/* Of the second cache; 0 where the system does not tell. */
static int64_t second_cache_bytes(void)
{
    static _Atomic int64_t known = -1;
    int64_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes >= 0)
        return bytes;
    bytes = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    bytes = bytes > 0 ? bytes : 0;
    atomic_store_explicit(&known, bytes, memory_order_relaxed);
    return bytes;
}

/* Whether the columns are packed for one piece at a time: over all `units`, they would take more
 * than half of the second cache, but those of a piece, a block of packed rows and its sums are in
 * three quarters of it. */
static bool is_by_pieces(const layout *l, int64_t rows, int64_t units)
{
    const int64_t piece_bytes = (l->columns + l->rows) * PIECE * CSE_UNIT_BYTES +
                                l->rows * l->columns * (int64_t)sizeof(float);
    const int64_t second = second_cache_bytes();
    return l->packs_rows && units > PIECE && piece_bytes <= second / 4 * 3 &&
           l->columns * units * CSE_UNIT_BYTES > second / 2 &&
           rows * l->columns * (int64_t)sizeof(float) <= SUMS_BYTES;
}

static layout layout_of(const cse_narrow_kernel *kernel)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    layout l = { .exchanged = is_exchanged(kernel),
                 .steps = kernel->order == CSE_PRODUCT_ORDER_DOT ? 2 : 1 };
    const int64_t rows = l.exchanged ? s->n : s->m, columns = l.exchanged ? s->m : s->n;
    const int64_t units = (s->k + l.steps - 1) / l.steps;
    l.packs_rows = !l.exchanged && !has_units(kernel, 0);
    l.blocked = l.exchanged || kernel->narrow_bias ||
                (kernel->result != CSE_FLOAT32 && kernel->result != CSE_BFLOAT16);
    l.columns = part_of(columns, MOST_COLUMNS, PANEL);
    l.rows = part_of(rows, MOST_ROWS, PANEL);
    l.together = PACKED_TOGETHER;
    l.stretch = part_of(units, COLUMNS_BYTES / CSE_UNIT_BYTES / l.columns, 1);
    if (is_by_pieces(&l, rows, units)) {
        l.together = l.columns / PANEL;
        l.stretch = part_of(units, PIECE, 1);
    } else if (l.stretch < units) {
        const int64_t fitting = SUMS_BYTES / (int64_t)sizeof(float) / rows / PANEL * PANEL;
        l.columns = least(l.columns, fitting > PANEL ? fitting : PANEL);
        l.stretch = part_of(units, COLUMNS_BYTES / CSE_UNIT_BYTES / l.columns, 1);
    }
    l.piece = part_of(l.stretch, PIECE, 1);
    /* An odd number of cache lines, so that rows do not fall into the same cache sets. */
    l.sums_stride = l.columns + CSE_LANE_COUNT;
    l.sums_rows = l.stretch < units ? up(rows, PANEL) : l.blocked || l.piece < units ? l.rows : 0;
    l.row_place = l.columns / PANEL * l.stretch * STEP_BYTES;
    l.sums_place = l.row_place + (l.packs_rows ? l.rows / PANEL * l.piece * STEP_BYTES : 0);
    l.transposed_place = l.sums_place + l.sums_rows * l.sums_stride * (int64_t)sizeof(float);
    l.bytes = l.transposed_place + (l.exchanged ? l.rows * l.columns * (int64_t)sizeof(float) : 0);
    return l;
}

static size_t scratch_bytes(const cse_narrow_kernel *kernel)
{
    return (size_t)layout_of(kernel).bytes;
}

/* ---- packing ---- */

/* A part of an operand, and where its panels begin. */
typedef struct part {
    const cse_matmul_side *side;
    int64_t k, steps;     /* the operand's depth: what lies beyond is 0; steps of a unit */
    int64_t outer, width; /* outer indices: `width` from `outer` on */
    int64_t first, units; /* of the depth */
    int64_t together;     /* panels side by side, as layout has it */
    char *to;             /* [panel][units][PANEL] */
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
        _mm512_store_si512(to + i * (STEP_BYTES / 2), _mm512_permutex2var_epi16(low, from, high));
    }
}

/* One unit of one panel, from an operand that is contiguous along the outer index: `at` is the
 * first element, `left` how many columns there are from it on. */
CSE_LANES void pack_unit(const part *p, cse_dtype dtype, int64_t unit, int64_t at, int64_t left)
{
    char *to = p->to + (p->units * ((p->width - left) / PANEL) + unit) * STEP_BYTES;
    if (p->steps == 2) {
        const uint16_t *from = (const uint16_t *)p->side->values + at;
        const __mmask32 lanes = left >= PANEL ? 0xffffffffu : (1u << left) - 1u;
        const bool whole = 2 * (p->first + unit) + 1 < p->k;
        store_interleaved(
            to, _mm512_maskz_loadu_epi16(lanes, from),
            _mm512_maskz_loadu_epi16(whole ? lanes : 0, from + p->side->depth_stride));
        return;
    }
    CSE_UNROLL for (int64_t i = 0; i < PANEL; i += CSE_LANE_COUNT) _mm512_store_ps(
        (float *)(void *)(to + i * CSE_UNIT_BYTES),
        cse_lanes_load(dtype, p->side->values, at + i, cse_lanes_of(left > i ? left - i : 0)));
}

CSE_LANES void pack_along(const part *p, cse_dtype dtype)
{
    enum { AHEAD = 8 };
    const int64_t stride = p->side->depth_stride, size = (int64_t)cse_dtype_size(dtype);
    for (int64_t first = 0; first < p->width; first += p->together * PANEL)
        for (int64_t unit = 0; unit < p->units; unit++) {
            const int64_t begin = (p->first + unit) * p->steps * stride + p->outer;
            for (int64_t i = first; i < least(p->width, first + p->together * PANEL); i += PANEL) {
                const char *ahead =
                    (const char *)p->side->values + (begin + i + AHEAD * stride) * size;
                __builtin_prefetch(ahead);
                __builtin_prefetch(ahead + (p->steps == 2 ? stride * size : 64));
                pack_unit(p, dtype, unit, begin + i, p->width - i);
            }
        }
}

/* From an operand that is contiguous along the depth: blocks of 16 x 16 units are transposed. */
CSE_LANES void pack_turned(const part *p, cse_dtype dtype)
{
    const int64_t stride = p->side->outer_stride;
    for (int64_t i = 0; i < p->width; i += CSE_LANE_COUNT)
        for (int64_t unit = 0; unit < p->units; unit += CSE_LANE_COUNT) {
            const int64_t step = (p->first + unit) * p->steps;
            const int64_t left = least(p->k - step, (p->units - unit) * p->steps);
            const __mmask32 pairs = left >= 32 ? 0xffffffffu : (1u << left) - 1u;
            const int64_t at = (p->outer + i) * stride + step;
            char *to =
                p->to + (i / PANEL * p->units + unit) * STEP_BYTES + i % PANEL * CSE_UNIT_BYTES;
            __m512 x[CSE_LANE_COUNT];
            CSE_UNROLL for (int j = 0; j < CSE_LANE_COUNT; j++)
            {
                const bool there = i + j < p->width;
                x[j] = p->steps == 2 ? _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(
                                           there ? pairs : 0,
                                           (const uint16_t *)p->side->values + at + j * stride))
                                     : cse_lanes_load(dtype, p->side->values, at + j * stride,
                                                      there ? cse_lanes_of(left) : 0);
            }
            cse_lanes_transpose(x);
            for (int64_t j = 0; j < CSE_LANE_COUNT && unit + j < p->units; j++)
                _mm512_store_ps((float *)(void *)(to + j * STEP_BYTES), x[j]);
        }
}

CSE_LANES void pack_as(const part *p, cse_dtype dtype)
{
    if (p->side->outer_stride == 1)
        pack_along(p, dtype);
    else
        pack_turned(p, dtype);
}

CSE_AVX512 static void pack(const part *p)
{
    if (p->side->dtype == CSE_FLOAT32)
        pack_as(p, CSE_FLOAT32);
    else if (p->side->dtype == CSE_BFLOAT16)
        pack_as(p, CSE_BFLOAT16);
    else if (p->side->dtype == CSE_FLOAT16)
        pack_as(p, CSE_FLOAT16);
    else
        pack_as(p, CSE_CBFLOAT16);
}

/* ---- the product ---- */

/* The operands of a product after a possible exchange, and where the loops are. The depth is
 * counted in units. */
typedef struct work {
    const cse_narrow_kernel *kernel;
    const cse_matmul_side *rows, *columns;
    const cse_matmul_end *end;
    layout l;
    char *column_panels, *row_panels;
    float *sums, *transposed;
    int64_t all_units;
    int64_t column, width;   /* the chunk of columns */
    int64_t row, height;     /* the block of rows */
    int64_t stretch, packed; /* where the packed columns begin, and their depth */
    int64_t first, units;    /* the piece */
} work;

/* The kept sums of the block's first row. */
static float *sums_of(const work *w)
{
    return w->sums + (w->l.sums_rows > w->l.rows ? w->row * w->l.sums_stride : 0);
}

/* The tile at row `i` of the block and column `j` of the chunk, as yet without operands. */
static cse_packed_tile tile_at(const work *w, int64_t i, int64_t j)
{
    const cse_matmul_end *end = w->end;
    float *kept = sums_of(w) + i * w->l.sums_stride + j;
    const int64_t column = w->column + j, at = (w->row + i) * end->stride + column;
    const bool continues = end->continues && w->first == 0;
    cse_packed_tile tile = { .units = w->units,
                             .dot = w->l.steps == 2,
                             .old = continues      ? (const float *)end->to + at
                                    : w->first > 0 ? kept
                                                   : NULL,
                             .old_stride = continues ? end->stride : w->l.sums_stride,
                             .to = kept,
                             .to_stride = w->l.sums_stride };
    if (w->first + w->units < w->all_units || w->l.blocked)
        return tile;
    tile.narrow = end->dtype == CSE_BFLOAT16;
    tile.to = tile.narrow ? (void *)((uint16_t *)end->to + at) : (float *)end->to + at;
    tile.to_stride = end->stride;
    tile.bias = end->bias != NULL ? end->bias + column : NULL;
    tile.relu = end->relu;
    return tile;
}

/* Where rows are read: the first one of the block's row `i`, and the distances. */
typedef struct row_source {
    const char *from;
    int64_t row_bytes, unit_bytes;
} row_source;

static row_source rows_at(const work *w, int64_t i)
{
    if (w->l.packs_rows)
        return (row_source){ w->row_panels + i / PANEL * w->units * STEP_BYTES, CSE_UNIT_BYTES,
                             STEP_BYTES };
    const int64_t row_bytes = w->rows->outer_stride * (CSE_UNIT_BYTES / w->l.steps);
    return (row_source){ (const char *)w->rows->values + (w->row + i) * row_bytes +
                             w->first * CSE_UNIT_BYTES,
                         row_bytes, CSE_UNIT_BYTES };
}

/* Fetches rows [first, end) of the 32 rows that come after those of the source: many rows of one or
 * two pages each are more than the processor foresees. */
static void fetch_ahead(const work *w, const row_source *rows, int64_t first, int64_t end)
{
    for (int64_t r = PANEL + first; r < PANEL + end; r++)
        for (int64_t at = 0; at < w->units * CSE_UNIT_BYTES; at += 64)
            __builtin_prefetch(rows->from + r * rows->row_bytes + at);
}

/* Fetches the sums that the tile to the right of this one, of `rows` rows, goes on from. */
static void fetch_sums(const cse_packed_tile *tile, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t v = PANEL; v < 2 * PANEL; v += CSE_LANE_COUNT)
            __builtin_prefetch(tile->old + r * tile->old_stride + v, 1);
}

/* Rows `i` to `i + count` of the block, a panel's at most, times all panels of the chunk. */
static void multiply_rows(const work *w, int64_t i, int64_t count)
{
    const row_source rows = rows_at(w, i);
    const int64_t tiles = (count + CSE_PACKED_ROWS - 1) / CSE_PACKED_ROWS;
    for (int64_t j = 0; j < w->width; j += PANEL) {
        const char *panel =
            w->column_panels + (j / PANEL * w->packed + w->first - w->stretch) * STEP_BYTES;
        if (!w->l.packs_rows)
            fetch_ahead(w, &rows, PANEL * j / w->width,
                        least(PANEL, PANEL * (j + PANEL) / w->width));
        for (int64_t t = 0, done = 0, size; t < tiles; t++, done += size) {
            cse_packed_tile tile = tile_at(w, i + done, j);
            size = (count - done) / (tiles - t);
            tile.from = rows.from + done * rows.row_bytes;
            tile.row_bytes = rows.row_bytes;
            tile.unit_bytes = rows.unit_bytes;
            tile.panel = panel;
            if (w->l.packs_rows && tile.old != NULL && j + PANEL < w->width)
                fetch_sums(&tile, size);
            cse_packed_tile_run(&tile, size, least(PANEL, w->width - j));
        }
    }
}

/* One piece of the depth: a block of rows times a chunk of columns. */
static void multiply_piece(const work *w)
{
    if (w->l.packs_rows)
        pack(&(part){ w->rows, w->kernel->sizes.k, w->l.steps, w->row, w->height, w->first,
                      w->units, w->l.together, w->row_panels });
    for (int64_t i = 0; i < w->height; i += PANEL)
        multiply_rows(w, i, least(PANEL, w->height - i));
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
                _mm512_store_ps(w->transposed + (c + i) * stride + r, x[i]);
        }
    *block = (cse_matmul_block){ w->transposed,  stride,     block->column,
                                 block->columns, block->row, block->rows };
}

/* A block of rows times a chunk of columns, over the packed stretch of the depth. */
static void multiply_block(work *w)
{
    const int64_t end = w->stretch + w->packed;
    for (w->first = w->stretch; w->first < end; w->first += w->l.piece) {
        w->units = least(w->l.piece, end - w->first);
        multiply_piece(w);
    }
    if (!w->l.blocked || end < w->all_units)
        return;
    cse_matmul_block block = {
        sums_of(w), w->l.sums_stride, w->row, w->height, w->column, w->width
    };
    if (w->l.exchanged)
        transpose(w, &block);
    cse_matmul_finish_avx512(w->end, &block);
}

static bool is_few(const cse_narrow_kernel *kernel)
{
    return kernel->sizes.m <= CSE_MATMUL_FEW_ROWS && has_units(kernel, 0) && has_units(kernel, 1) &&
           !kernel->continues;
}

static void multiply_few(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                         const cse_matmul_end *end)
{
    const bool dot = kernel->order == CSE_PRODUCT_ORDER_DOT;
    const int64_t bytes = CSE_UNIT_BYTES / (dot ? 2 : 1);
    cse_matmul_few_run(&(cse_matmul_few){ .x = sides[0].values,
                                          .matrix = sides[1].values,
                                          .x_bytes = sides[0].outer_stride * bytes,
                                          .row_bytes = sides[1].outer_stride * bytes,
                                          .units = kernel->sizes.k * bytes / CSE_UNIT_BYTES,
                                          .rows = kernel->sizes.m,
                                          .columns = sides[1].size,
                                          .dot = dot,
                                          .end = end });
}

static void multiply(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                     const cse_matmul_end *end, void *place)
{
    if (is_few(kernel)) {
        multiply_few(kernel, sides, end);
        return;
    }
    const bool exchanged = is_exchanged(kernel);
    work w = { kernel, &sides[exchanged ? 1 : 0], &sides[exchanged ? 0 : 1],
               end,    .l = layout_of(kernel),    .column_panels = place };
    w.row_panels = w.column_panels + w.l.row_place;
    w.sums = (float *)(void *)(w.column_panels + w.l.sums_place);
    w.transposed = (float *)(void *)(w.column_panels + w.l.transposed_place);
    w.all_units = (kernel->sizes.k + w.l.steps - 1) / w.l.steps;
    for (w.column = 0; w.column < w.columns->size; w.column += w.l.columns) {
        w.width = least(w.l.columns, w.columns->size - w.column);
        for (w.stretch = 0; w.stretch < w.all_units; w.stretch += w.l.stretch) {
            w.packed = least(w.l.stretch, w.all_units - w.stretch);
            pack(&(part){ w.columns, kernel->sizes.k, w.l.steps, w.column, w.width, w.stretch,
                          w.packed, w.l.together, w.column_panels });
            for (w.row = 0; w.row < w.rows->size; w.row += w.l.rows) {
                w.height = least(w.l.rows, w.rows->size - w.row);
                multiply_block(&w);
            }
        }
    }
}

#define RUNS_DOT cse_packed_dot_runs_here
#define RUNS_CHAIN cse_lanes_run_here
#define MULTIPLY .scratch_bytes = scratch_bytes, .multiply = multiply

#else

static bool runs_here(void)
{
    return false;
}

#define RUNS_DOT runs_here
#define RUNS_CHAIN runs_here
#define MULTIPLY .multiply = NULL

#endif

const cse_narrow_way cse_narrow_dot = {
    .name = "avx512_bf16", .runs_here = RUNS_DOT, .orders = 1 << CSE_PRODUCT_ORDER_DOT, MULTIPLY
};

const cse_narrow_way cse_narrow_packed = {
    .name = "packed", .runs_here = RUNS_CHAIN, .orders = 1 << CSE_PRODUCT_ORDER_CHAIN, MULTIPLY
};
