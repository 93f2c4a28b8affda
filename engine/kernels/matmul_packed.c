/* Our own float32 matrix product for AVX-512.
 *
 * One operand gives rows: its elements are read in place, whatever their strides, and broadcast.
 * The other gives columns: panels of up to 64 of them are packed, at most DEPTH deep, so that the
 * inner loop reads them in order and from the cache. A tile of rows x columns stays in registers
 * for the depth of a panel: 6 x 64, or other shapes of 24 registers where fewer columns are left.
 * Rows and panels are divided into near-equal tiles, so that no thin one remains at the end.
 *
 * Every element of the result is one chain of fused multiply-adds over k in its order, from 0, then
 * bias, then relu. Between chunks of the depth the partial chain is stored and loaded again, which
 * is exact. So the bits depend on the operands alone: not on the other sizes, on tiles, on
 * alignment or on which operand gives the rows.
 *
 * Exchanged operands: the product is computed as its transpose where that makes packing or reading
 * cheaper: when the second operand is stored transposed and the first has fewer rows, or only the
 * first is transposed and has many more. The result is transposed while its bias is added. */
#include "engine/kernels/matmul_packed.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <assert.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/kernels/matmul_tiles.h"
#include "engine/kernels/scratch.h"

enum { LANES = CSE_LANE_COUNT, MOST_VECTORS = CSE_TILE_MOST_VECTORS };
/* A panel (66 KiB) and a strip of the result (512 KiB) stay in the L2 cache. Panels of 32 KiB,
 * which fit L1, and prefetching rows were no faster. */
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
    cse_scratch *scratch; /* of the panel, then the strip */
    float *panel;         /* [depth][vectors * LANES] */
    float *strip;         /* exchanged: [rows][strip_stride], the result before it is transposed */
    int64_t panel_floats, strip_stride;
} packed_kernel;

/* ---- packing ---- */

/* What one panel holds: columns [column, column + width) of depth [first, first + depth). */
typedef struct panel_range {
    int64_t column, width, first, depth;
} panel_range;

/* Columns that are contiguous along the outer index: rows of the panel are copied. */
CSE_AVX512 static void pack_rows(const side *columns, const panel_range *range, float *panel)
{
    int vectors = (int)((range->width + LANES - 1) / LANES);
    __mmask16 last = (__mmask16)(0xffffu >> (vectors * LANES - range->width));
    const float *from = columns->values + range->column + range->first * columns->depth_stride;
    for (int64_t p = 0; p < range->depth; p++) {
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

/* Loads `rows` rows of `lanes` elements, the rest zero, and transposes them. */
CSE_AVX512 static inline void load_transposed(const float *from, int64_t stride, int64_t rows,
                                              __mmask16 lanes, __m512 x[LANES])
{
    CSE_UNROLL for (int i = 0; i < LANES; i++) x[i] =
        i < rows ? _mm512_maskz_loadu_ps(lanes, from + i * stride) : _mm512_setzero_ps();
    cse_lanes_transpose(x);
}

/* Columns that are contiguous along k: transposed block by block. */
CSE_AVX512 static void pack_transposed(const side *columns, const panel_range *range, float *panel)
{
    int64_t stride = (range->width + LANES - 1) / LANES * LANES;
    for (int64_t c = 0; c < range->width; c += LANES) {
        const float *from =
            columns->values + (range->column + c) * columns->outer_stride + range->first;
        for (int64_t p = 0; p < range->depth; p += LANES) {
            __m512 x[LANES];
            load_transposed(from + p, columns->outer_stride, range->width - c,
                            cse_lanes_of(range->depth - p), x);
            for (int64_t i = 0; i < LANES && p + i < range->depth; i++)
                _mm512_store_ps(panel + (p + i) * stride + c, x[i]);
        }
    }
}

/* ---- the product ---- */

/* Panels that share a strip of the result, so that its sums stay in the cache over all chunks of
 * the depth. */
typedef struct panel_group {
    int count;
    int64_t first[MOST_PANELS + 1]; /* borders in columns; the last is the end */
    float *values;                  /* the strip: the result itself, or what is transposed later */
    int64_t stride;
    const float *bias; /* of its first column, or NULL */
    bool relu;
} panel_group;

static void multiply_group(const packed_kernel *kernel, const side *rows, const side *columns,
                           const panel_group *group)
{
    int64_t k = kernel->sizes.k, chunks = (k + DEPTH - 1) / DEPTH;
    for (int64_t i = 0; i < chunks; i++) {
        int64_t first = cse_border(k, chunks, i), depth = cse_border(k, chunks, i + 1) - first;
        bool last = i == chunks - 1;
        for (int p = 0; p < group->count; p++) {
            int64_t column = group->first[p], offset = column - group->first[0];
            const panel_range range = { column, group->first[p + 1] - column, first, depth };
            cse_tile t = { .from = rows->values + first * rows->depth_stride,
                           .row_stride = rows->outer_stride,
                           .depth_stride = rows->depth_stride,
                           .panel = kernel->panel,
                           .depth = depth,
                           .to = group->values + offset,
                           .to_stride = group->stride,
                           .first = i == 0,
                           .relu = last && group->relu,
                           .bias = last && group->bias ? group->bias + offset : NULL };
            (columns->outer_stride == 1 ? pack_rows : pack_transposed)(columns, &range,
                                                                       kernel->panel);
            cse_tiles_run(&cse_tiles_chain, &t, rows->size, range.width);
        }
    }
}

/* Transposes the strip [n][width] into columns of the exchanged result: rows of y. */
CSE_AVX512 static void transpose_strip(const packed_kernel *kernel, const int64_t span[2],
                                       const float *bias, float *y)
{
    int64_t n = kernel->sizes.n, width = span[1] - span[0];
    for (int64_t r = 0; r < n; r += LANES) {
        __mmask16 lanes = cse_lanes_of(n - r);
        __m512 add = bias ? _mm512_maskz_loadu_ps(lanes, bias + r) : _mm512_setzero_ps();
        for (int64_t c = 0; c < width; c += LANES) {
            __m512 x[LANES];
            load_transposed(kernel->strip + r * kernel->strip_stride + c, kernel->strip_stride,
                            n - r, cse_lanes_of(width - c), x);
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
        int64_t first = cse_border(total, groups, i), end = cse_border(total, groups, i + 1);
        panel_group group = { .count = (int)(end - first) };
        for (int64_t panel = first; panel <= end; panel++) {
            int64_t column = cse_border(vectors, total, panel) * LANES;
            group.first[panel - first] = column < columns->size ? column : columns->size;
        }
        const int64_t span[2] = { group.first[0], group.first[group.count] };
        group.values = kernel->exchanged ? kernel->strip : y + span[0];
        group.stride = kernel->exchanged ? kernel->strip_stride : kernel->sizes.n;
        group.bias = bias && !kernel->exchanged ? bias + span[0] : NULL;
        group.relu = kernel->relu && !kernel->exchanged;
        multiply_group(kernel, rows, columns, &group);
        if (kernel->exchanged)
            transpose_strip(kernel, span, bias, y);
    }
}

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    packed_kernel *kernel = (packed_kernel *)base;
    const cse_matmul_sizes *s = &kernel->sizes;
    kernel->panel = cse_scratch_view(kernel->scratch);
    kernel->strip = kernel->panel + kernel->panel_floats;
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
    cse_scratch_release(&kernel->scratch);
    free(kernel);
}

bool cse_matmul_packed_runs_here(void)
{
    return cse_lanes_run_here();
}

cse_kernel *cse_matmul_packed_new(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes)
{
    packed_kernel *kernel = cse_calloc(1, sizeof *kernel);
    int64_t depth = sizes->k < DEPTH ? sizes->k : DEPTH;
    assert(sizes->batches * sizes->m * sizes->n > 0 && sizes->k > 0);
    assert(plan->dtype == CSE_FLOAT32 && cse_kernel_plan_has_one_type(plan));
    *kernel = (packed_kernel){
        .base = { .run = run,
                  .destroy = destroy,
                  .implementation = "packed:avx512",
                  .order = "chain",
                  .flops = cse_matmul_flops(sizes) },
        .sizes = *sizes,
        .operands = { plan->operands[0], plan->operands[1] },
        .bias = plan->bias,
        .relu = plan->relu,
        .exchanged = sizes->transpose_b ? sizes->m < sizes->n
                                        : sizes->transpose_a && sizes->m > 2 * sizes->n,
    };
    int64_t rows = kernel->exchanged ? sizes->n : sizes->m;
    int64_t columns = kernel->exchanged ? sizes->m : sizes->n;
    int64_t all = (columns + MOST_VECTORS * LANES - 1) / (MOST_VECTORS * LANES);
    int64_t fitting = STRIP_FLOATS / (rows * MOST_VECTORS * LANES);
    fitting = fitting < 1 ? 1 : fitting < MOST_PANELS ? fitting : MOST_PANELS;
    kernel->group_panels = fitting < all ? fitting : all;
    kernel->panel_floats = depth * MOST_VECTORS * LANES;
    /* An odd number of cache lines, so that rows do not fall into the same cache sets. */
    kernel->strip_stride = kernel->group_panels * MOST_VECTORS * LANES + LANES;
    int64_t floats = kernel->panel_floats;
    floats += kernel->exchanged ? sizes->n * kernel->strip_stride : 0;
    kernel->scratch = cse_scratch_share(plan->graph, (size_t)floats * sizeof(float));
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
