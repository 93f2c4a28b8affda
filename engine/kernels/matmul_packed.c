/* Our own float32 matrix product for AVX-512.
 *
 * One operand gives rows: its elements are broadcast, read where they are, whatever their strides.
 * The other gives columns: panels of up to 64 of them are packed, at most DEPTH deep, so that the
 * inner loop reads them in order and from a near cache. A tile of rows x columns stays in registers
 * for the depth of a panel: 6 x 64, or other shapes of 24 registers where fewer columns are left.
 * Rows and panels are cut into near-equal tiles, so that no thin one remains at the end.
 *
 * Every element of the result is one chain of fused multiply-adds over k in its order, from 0, then
 * bias, then relu. Cutting the depth stores the chain and loads it again, which is exact. So the
 * bits depend on the operands alone: not on sizes around them, on tiles, on alignment or on which
 * operand gives the rows.
 *
 * Exchanged: when the second operand is stored transposed and the first has fewer rows, the product
 * is computed as its transpose: it is cheaper to pack, and the result is turned while its bias is
 * added. */
#include "engine/kernels/matmul.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <stdlib.h>

#include "engine/base/arena.h"

#define AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq")))

enum { LANES = 16, MOST_VECTORS = 4, MOST_ROWS = 14 };
/* A panel (66 KiB) and a strip of the result (512 KiB) stay in the second cache. Panels of 32 KiB,
 * for the first, and fetching rows ahead were no faster. */
enum { DEPTH = 264, MOST_PANELS = 16, STRIP_FLOATS = 1 << 17 };

/* An operand as the loops see it: element (i, p) of the outer index and of k. */
typedef struct side {
    const float *values;
    int64_t outer_stride, depth_stride;
    int64_t size; /* of the outer index */
} side;

typedef struct packed_kernel {
    cse_kernel base;
    cse_matmul_sizes sizes;
    int operands[2], bias;
    bool relu, exchanged;
    int64_t group_panels; /* that share a strip of the result */
    float *panel;         /* [depth][vectors * LANES] */
    float *strip;         /* exchanged: [rows][strip_stride], the result before it is turned */
    int64_t strip_stride;
} packed_kernel;

/* One tile: `rows` broadcast from `from`, columns from the panel, stored at `to`. */
typedef struct tile {
    const float *from;
    int64_t row_stride, depth_stride;
    const float *panel;
    int64_t depth;
    float *to;
    int64_t to_stride;
    __mmask16 last_lanes; /* of the last vector */
    bool first;           /* of the pieces of the depth: the sums start from 0 */
    bool relu;            /* with bias: behind the last piece only */
    const float *bias;    /* by column, or NULL */
} tile;

/* Keeps a loaded value in its register: else gcc reads it from memory once for each row. */
#define KEEP(value) __asm__("" : "+v"(value))

#define UNROLL _Pragma("GCC unroll 16")

/* Each statement of `...` for each sum of the tile. */
#define EACH(ROWS, VECTORS, ...)                                                   \
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int v = 0; v < VECTORS; v++) \
    {                                                                              \
        __mmask16 lanes = v == VECTORS - 1 ? t->last_lanes : 0xffff;               \
        float *at = t->to + r * t->to_stride + v * LANES;                          \
        __VA_ARGS__(void) lanes, (void)at;                                         \
    }

/* The tile of ROWS x VECTORS vectors. A macro, so that each shape is a function whose sums all stay
 * in registers. (max returns its second operand where either is NaN.) */
#define DEFINE_TILE(ROWS, VECTORS)                                                               \
    AVX512 static void tile_##VECTORS##_##ROWS(const tile *t)                                    \
    {                                                                                            \
        __m512 sums[ROWS][VECTORS];                                                              \
        const float *from = t->from, *panel = t->panel;                                          \
        const int64_t row_stride = t->row_stride, depth_stride = t->depth_stride;                \
        const __m512 zero = _mm512_setzero_ps();                                                 \
        EACH(ROWS, VECTORS, __builtin_prefetch(at, 1); sums[r][v] = zero;)                       \
        if (!t->first)                                                                           \
            EACH(ROWS, VECTORS, sums[r][v] = _mm512_maskz_loadu_ps(lanes, at);)                  \
        for (int64_t p = t->depth; p > 0; p--) {                                                 \
            __m512 columns[VECTORS];                                                             \
            UNROLL for (int v = 0; v < VECTORS; v++)                                             \
            {                                                                                    \
                columns[v] = _mm512_load_ps(panel + v * LANES);                                  \
                KEEP(columns[v]);                                                                \
            }                                                                                    \
            UNROLL for (int r = 0; r < ROWS; r++)                                                \
            {                                                                                    \
                __m512 row = _mm512_set1_ps(from[r * row_stride]);                               \
                UNROLL for (int v = 0; v < VECTORS; v++) sums[r][v] =                            \
                    _mm512_fmadd_ps(row, columns[v], sums[r][v]);                                \
            }                                                                                    \
            from += depth_stride;                                                                \
            panel += VECTORS * LANES;                                                            \
        }                                                                                        \
        if (t->bias != NULL)                                                                     \
            EACH(ROWS, VECTORS,                                                                  \
                 sums[r][v] = _mm512_add_ps(sums[r][v],                                          \
                                            _mm512_maskz_loadu_ps(lanes, t->bias + v * LANES));) \
        if (t->relu)                                                                             \
            EACH(ROWS, VECTORS, sums[r][v] = _mm512_max_ps(zero, sums[r][v]);)                   \
        EACH(ROWS, VECTORS, _mm512_mask_storeu_ps(at, lanes, sums[r][v]);)                       \
    }

#define TO_6(X, V) X(1, V) X(2, V) X(3, V) X(4, V) X(5, V) X(6, V)
#define TO_8(X, V) TO_6(X, V) X(7, V) X(8, V)
#define TO_12(X, V) TO_8(X, V) X(9, V) X(10, V) X(11, V) X(12, V)
#define TO_14(X, V) TO_12(X, V) X(13, V) X(14, V)

TO_14(DEFINE_TILE, 1)
TO_12(DEFINE_TILE, 2)
TO_8(DEFINE_TILE, 3)
TO_6(DEFINE_TILE, 4)

#define TILE_ENTRY(ROWS, VECTORS) [ROWS] = tile_##VECTORS##_##ROWS,

/* By vectors and rows; NULL where the sums would not fit the registers. */
static void (*const tiles[MOST_VECTORS + 1][MOST_ROWS + 1])(const tile *) = {
    [1] = { TO_14(TILE_ENTRY, 1) },
    [2] = { TO_12(TILE_ENTRY, 2) },
    [3] = { TO_8(TILE_ENTRY, 3) },
    [4] = { TO_6(TILE_ENTRY, 4) },
};
static const int most_rows[MOST_VECTORS + 1] = { 0, 14, 12, 8, 6 };

/* ---- packing ---- */

/* What one panel holds: columns [column, column + width) of depth [first, first + depth). */
typedef struct panel_piece {
    int64_t column, width, first, depth;
} panel_piece;

/* Columns that lie side by side in memory: rows of the panel are copied. */
AVX512 static void pack_rows(const side *columns, const panel_piece *piece, float *panel)
{
    int vectors = (int)((piece->width + LANES - 1) / LANES);
    __mmask16 last = (__mmask16)(0xffffu >> (vectors * LANES - piece->width));
    const float *from = columns->values + piece->column + piece->first * columns->depth_stride;
    for (int64_t p = 0; p < piece->depth; p++) {
        __builtin_prefetch(from + 4 * columns->depth_stride);
        __builtin_prefetch(from + 4 * columns->depth_stride + 2 * LANES);
        for (int v = 0; v < vectors - 1; v++)
            _mm512_store_ps(panel + v * LANES, _mm512_loadu_ps(from + v * LANES));
        _mm512_store_ps(panel + (vectors - 1) * LANES,
                        _mm512_maskz_loadu_ps(last, from + (vectors - 1) * LANES));
        from += columns->depth_stride;
        panel += vectors * LANES;
    }
}

/* A 16 x 16 block turned in registers. */
AVX512 static inline void turn_block(__m512 x[LANES])
{
    __m512 y[LANES];
    UNROLL for (int i = 0; i < LANES; i += 2)
    {
        y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
    }
    UNROLL for (int i = 0; i < LANES; i += 4)
    {
        UNROLL for (int j = 0; j < 2; j++)
        {
            __m512d low = _mm512_castps_pd(y[i + j]), high = _mm512_castps_pd(y[i + 2 + j]);
            x[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            x[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
    }
    /* Now x[4 i + j] holds, in its quarter q, column 4 q + j of rows 4 i to 4 i + 3. */
    UNROLL for (int j = 0; j < 4; j++)
    {
        __m512 low = _mm512_shuffle_f32x4(x[j], x[4 + j], 0x88);
        __m512 low_odd = _mm512_shuffle_f32x4(x[j], x[4 + j], 0xdd);
        __m512 high = _mm512_shuffle_f32x4(x[8 + j], x[12 + j], 0x88);
        __m512 high_odd = _mm512_shuffle_f32x4(x[8 + j], x[12 + j], 0xdd);
        y[j] = _mm512_shuffle_f32x4(low, high, 0x88);
        y[8 + j] = _mm512_shuffle_f32x4(low, high, 0xdd);
        y[4 + j] = _mm512_shuffle_f32x4(low_odd, high_odd, 0x88);
        y[12 + j] = _mm512_shuffle_f32x4(low_odd, high_odd, 0xdd);
    }
    UNROLL for (int i = 0; i < LANES; i++) x[i] = y[i];
}

/* Loads `rows` rows of `lanes` elements, the rest zero, and turns them. */
AVX512 static inline void load_turned(const float *from, int64_t stride, int64_t rows,
                                      __mmask16 lanes, __m512 x[LANES])
{
    UNROLL for (int i = 0; i < LANES; i++) x[i] =
        i < rows ? _mm512_maskz_loadu_ps(lanes, from + i * stride) : _mm512_setzero_ps();
    turn_block(x);
}

static inline __mmask16 lanes_of(int64_t count)
{
    return (__mmask16)(count >= LANES ? 0xffffu : (1u << count) - 1u);
}

/* Columns of which each lies in one piece: turned block by block. */
AVX512 static void pack_turned(const side *columns, const panel_piece *piece, float *panel)
{
    int64_t stride = (piece->width + LANES - 1) / LANES * LANES;
    for (int64_t c = 0; c < piece->width; c += LANES) {
        const float *from =
            columns->values + (piece->column + c) * columns->outer_stride + piece->first;
        for (int64_t p = 0; p < piece->depth; p += LANES) {
            __m512 x[LANES];
            load_turned(from + p, columns->outer_stride, piece->width - c,
                        lanes_of(piece->depth - p), x);
            for (int64_t i = 0; i < LANES && p + i < piece->depth; i++)
                _mm512_store_ps(panel + (p + i) * stride + c, x[i]);
        }
    }
}

/* ---- the product ---- */

/* The border before piece `index` of `pieces` near-equal pieces of `size`. */
static int64_t border(int64_t size, int64_t pieces, int64_t index)
{
    return size / pieces * index + (size % pieces < index ? size % pieces : index);
}

/* Panels that share a strip of the result, so that its sums stay in the cache while the pieces of
 * the depth go by. */
typedef struct panel_group {
    int count;
    int64_t first[MOST_PANELS + 1]; /* borders in columns; the last is the end */
    float *values;                  /* of the strip: the result itself, or what is turned later */
    int64_t stride;
    const float *bias; /* of its first column, or NULL */
    bool relu;
} panel_group;

/* All rows against the packed panel `t->panel`; `t` says where the first tile reads and stores. */
static void multiply_panel(tile *t, int64_t rows, int64_t width)
{
    int vectors = (int)((width + LANES - 1) / LANES);
    int64_t count = (rows + most_rows[vectors] - 1) / most_rows[vectors];
    t->last_lanes = lanes_of(width - (vectors - 1) * LANES);
    for (int64_t i = 0; i < count; i++) {
        int64_t size = border(rows, count, i + 1) - border(rows, count, i);
        tiles[vectors][size](t);
        t->from += size * t->row_stride;
        t->to += size * t->to_stride;
    }
}

static void multiply_group(const packed_kernel *kernel, const side *rows, const side *columns,
                           const panel_group *group)
{
    int64_t k = kernel->sizes.k, pieces = (k + DEPTH - 1) / DEPTH;
    for (int64_t i = 0; i < pieces; i++) {
        int64_t first = border(k, pieces, i), depth = border(k, pieces, i + 1) - first;
        bool last = i == pieces - 1;
        for (int p = 0; p < group->count; p++) {
            int64_t column = group->first[p], offset = column - group->first[0];
            const panel_piece piece = { column, group->first[p + 1] - column, first, depth };
            tile t = { .from = rows->values + first * rows->depth_stride,
                       .row_stride = rows->outer_stride,
                       .depth_stride = rows->depth_stride,
                       .panel = kernel->panel,
                       .depth = depth,
                       .to = group->values + offset,
                       .to_stride = group->stride,
                       .first = i == 0,
                       .relu = last && group->relu,
                       .bias = last && group->bias ? group->bias + offset : NULL };
            (columns->outer_stride == 1 ? pack_rows : pack_turned)(columns, &piece, kernel->panel);
            multiply_panel(&t, rows->size, piece.width);
        }
    }
}

/* Turns the strip [n][width] into columns of the exchanged result: rows of y. */
AVX512 static void turn_strip(const packed_kernel *kernel, const int64_t span[2], const float *bias,
                              float *y)
{
    int64_t n = kernel->sizes.n, width = span[1] - span[0];
    for (int64_t r = 0; r < n; r += LANES) {
        __mmask16 lanes = lanes_of(n - r);
        __m512 add = bias ? _mm512_maskz_loadu_ps(lanes, bias + r) : _mm512_setzero_ps();
        for (int64_t c = 0; c < width; c += LANES) {
            __m512 x[LANES];
            load_turned(kernel->strip + r * kernel->strip_stride + c, kernel->strip_stride, n - r,
                        lanes_of(width - c), x);
            for (int64_t i = 0; i < LANES && c + i < width; i++) {
                __m512 sum = bias ? _mm512_add_ps(x[i], add) : x[i];
                sum = kernel->relu ? _mm512_max_ps(_mm512_setzero_ps(), sum) : sum;
                _mm512_mask_storeu_ps(y + (span[0] + c + i) * n + r, lanes, sum);
            }
        }
    }
}

static void multiply(const packed_kernel *kernel, const side *a, const side *b, const float *bias,
                     float *y)
{
    const side *rows = kernel->exchanged ? b : a, *columns = kernel->exchanged ? a : b;
    int64_t vectors = (columns->size + LANES - 1) / LANES;
    int64_t total = (vectors + MOST_VECTORS - 1) / MOST_VECTORS;
    int64_t groups = (total + kernel->group_panels - 1) / kernel->group_panels;
    for (int64_t i = 0; i < groups; i++) {
        int64_t first = border(total, groups, i), end = border(total, groups, i + 1);
        panel_group group = { .count = (int)(end - first) };
        for (int64_t panel = first; panel <= end; panel++) {
            int64_t column = border(vectors, total, panel) * LANES;
            group.first[panel - first] = column < columns->size ? column : columns->size;
        }
        const int64_t span[2] = { group.first[0], group.first[group.count] };
        group.values = kernel->exchanged ? kernel->strip : y + span[0];
        group.stride = kernel->exchanged ? kernel->strip_stride : kernel->sizes.n;
        group.bias = bias && !kernel->exchanged ? bias + span[0] : NULL;
        group.relu = kernel->relu && !kernel->exchanged;
        multiply_group(kernel, rows, columns, &group);
        if (kernel->exchanged)
            turn_strip(kernel, span, bias, y);
    }
}

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    const packed_kernel *kernel = (const packed_kernel *)base;
    const cse_matmul_sizes *s = &kernel->sizes;
    const float *bias = kernel->bias >= 0 ? inputs[kernel->bias] : NULL;
    side a = { inputs[kernel->operands[0]], s->transpose_a ? 1 : s->k, s->transpose_a ? s->m : 1,
               s->m };
    side b = { inputs[kernel->operands[1]], s->transpose_b ? s->k : 1, s->transpose_b ? 1 : s->n,
               s->n };
    for (int64_t batch = 0; batch < s->batches; batch++) {
        multiply(kernel, &a, &b, bias, (float *)output + batch * s->m * s->n);
        a.values += s->m * s->k;
        b.values += s->k * s->n;
    }
}

static void destroy(cse_kernel *base)
{
    packed_kernel *kernel = (packed_kernel *)base;
    free(kernel->panel);
    free(kernel->strip);
    free(kernel);
}

bool cse_matmul_packed_runs_here(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

cse_kernel *cse_matmul_packed_new(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes)
{
    packed_kernel *kernel = cse_calloc(1, sizeof *kernel);
    int64_t depth = sizes->k < DEPTH ? sizes->k : DEPTH;
    *kernel = (packed_kernel){
        .base = { .run = run,
                  .destroy = destroy,
                  .implementation = "packed:avx512",
                  .flops = cse_matmul_flops(sizes) },
        .sizes = *sizes,
        .operands = { plan->operands[0], plan->operands[1] },
        .bias = plan->bias,
        .relu = plan->relu,
        .exchanged = sizes->transpose_b && sizes->m < sizes->n,
    };
    int64_t rows = kernel->exchanged ? sizes->n : sizes->m;
    int64_t columns = kernel->exchanged ? sizes->m : sizes->n;
    int64_t all = (columns + MOST_VECTORS * LANES - 1) / (MOST_VECTORS * LANES);
    int64_t fitting = STRIP_FLOATS / (rows * MOST_VECTORS * LANES);
    fitting = fitting < 1 ? 1 : fitting < MOST_PANELS ? fitting : MOST_PANELS;
    kernel->group_panels = fitting < all ? fitting : all;
    kernel->panel = cse_aligned_calloc((size_t)depth * MOST_VECTORS * LANES * sizeof(float));
    if (kernel->exchanged) {
        /* An odd number of cache lines: rows must not meet in the same sets. */
        kernel->strip_stride = kernel->group_panels * MOST_VECTORS * LANES + LANES;
        kernel->strip =
            cse_aligned_calloc((size_t)sizes->n * (size_t)kernel->strip_stride * sizeof(float));
    }
    return &kernel->base;
}

#else

bool cse_matmul_packed_runs_here(void)
{
    return false;
}

cse_kernel *cse_matmul_packed_new(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes)
{
    (void)plan;
    (void)sizes;
    return NULL;
}

#endif
