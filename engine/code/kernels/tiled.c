/* Emulated accumulation of a product; see tiled.h.
 *
 * Operands are widened to float32 while they are packed, which is exact: rows [m][depth], and a
 * panel of 32 columns at a time, [depth][32]. A block of 8 rows and 32 columns keeps its running
 * sums; each tile's terms are added in registers, then the block is rounded, element by element,
 * with the functions that generated code uses too. Vector lanes are columns, so no sum is split.
 *
 * The depth is divided into chunks of whole tiles, which changes no result. */
#include "engine/code/kernels/tiled.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/instruction_set.h"
#include "engine/base/random.h"
#include "engine/base/types/narrow.h"

#define INLINE static inline __attribute__((always_inline))

enum { ROWS = 8, COLUMNS = 32, CHUNK = 1024 };

typedef struct block {
    cse_accumulation how;
    const float *rows; /* [ROWS][depth] */
    int64_t row_stride;
    const float *panel; /* [depth][COLUMNS] */
    int64_t depth;
    const uint64_t *keys;    /* of the tiles, from the first of the chunk */
    uint32_t elements[ROWS]; /* the first column's */
    float running[ROWS][COLUMNS];
} block;

struct cse_tiled {
    cse_accumulation how;
    cse_dtype dtype; /* of the operands */
    cse_tiled_sizes sizes;
    int64_t chunk; /* terms that are packed at once: whole tiles */
    float *rows, *panel;
    uint64_t *keys; /* by tile, for stochastic rounding */
    void (*run_block)(block *b);
    void (*widen)(cse_dtype dtype, const uint16_t *from, float *to, int64_t count);
};

/* ---- one block ---- */

/* Loops of a constant number of lanes over branch-free functions, which compilers vectorise. */
#define EACH_LANE(expression)            \
    for (int l = 0; l < COLUMNS; l++) {  \
        const float x = to[l] + tile[l]; \
        to[l] = expression;              \
    }                                    \
    break

INLINE void round_row(const block *b, float *to, const float *tile)
{
    switch (b->how.across) {
    case CSE_BFLOAT16:
        EACH_LANE(cse_round_bfloat16(x));
    case CSE_FLOAT16:
        EACH_LANE(cse_round_float16(x));
    default:
        EACH_LANE(cse_round_cbfloat16(x));
    }
}

INLINE void round_row_stochastically(const block *b, float *to, const float *tile,
                                     const uint32_t *random)
{
    switch (b->how.across) {
    case CSE_BFLOAT16:
        EACH_LANE(cse_round_bfloat16_stochastic(x, random[l]));
    case CSE_FLOAT16:
        EACH_LANE(cse_round_float16_stochastic(x, random[l]));
    default:
        EACH_LANE(cse_round_cbfloat16_stochastic(x, random[l]));
    }
}

/* The tile's sums are added to the running sums, which are rounded. */
INLINE void end_tile(block *b, float tile[ROWS][COLUMNS], int64_t number)
{
    uint32_t random[COLUMNS];
    for (int r = 0; r < ROWS; r++) {
        if (!b->how.stochastic) {
            round_row(b, b->running[r], tile[r]);
            continue;
        }
        const uint64_t key = b->keys[number];
        for (int l = 0; l < COLUMNS; l++)
            random[l] = cse_hash_bits(key, b->elements[r] + (uint32_t)l);
        round_row_stochastically(b, b->running[r], tile[r], random);
    }
}

INLINE void run_block_in_lanes(block *b)
{
    float tile[ROWS][COLUMNS];
    for (int64_t first = 0, number = 0; first < b->depth; number++) {
        int64_t left = b->depth - first;
        int64_t end = first + (left < b->how.tile_length ? left : b->how.tile_length);
        memset(tile, 0, sizeof tile);
        for (; first < end; first++)
            for (int r = 0; r < ROWS; r++)
                for (int l = 0; l < COLUMNS; l++)
                    tile[r][l] = __builtin_fmaf(b->rows[r * b->row_stride + first],
                                                b->panel[first * COLUMNS + l], tile[r][l]);
        end_tile(b, tile, number);
    }
}

INLINE void widen_in_lanes(cse_dtype dtype, const uint16_t *from, float *to, int64_t count)
{
    enum { LANES = 16 };
    int64_t whole = count - count % LANES;
#define EACH_VALUE(load)                       \
    for (int64_t i = 0; i < whole; i += LANES) \
        for (int l = 0; l < LANES; l++)        \
            to[i + l] = load(from[i + l]);     \
    for (int64_t i = whole; i < count; i++)    \
        to[i] = load(from[i]);                 \
    break
    switch (dtype) {
    case CSE_BFLOAT16:
        EACH_VALUE(cse_load_bfloat16);
    case CSE_FLOAT16:
        EACH_VALUE(cse_load_float16);
    default:
        EACH_VALUE(cse_load_cbfloat16);
    }
#undef EACH_VALUE
}

static void run_block_portably(block *b)
{
    run_block_in_lanes(b);
}

static void widen_portably(cse_dtype dtype, const uint16_t *from, float *to, int64_t count)
{
    widen_in_lanes(dtype, from, to, count);
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define VECTORISED __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic")))
#define AVX2 __attribute__((target("avx2,fma"))) VECTORISED
#define AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq"))) VECTORISED
#define UNROLL _Pragma("GCC unroll 8")

AVX2 static void run_block_avx2(block *b)
{
    run_block_in_lanes(b);
}

AVX2 static void widen_avx2(cse_dtype dtype, const uint16_t *from, float *to, int64_t count)
{
    widen_in_lanes(dtype, from, to, count);
}

AVX512 static void widen_avx512(cse_dtype dtype, const uint16_t *from, float *to, int64_t count)
{
    widen_in_lanes(dtype, from, to, count);
}

AVX512 static void run_block_avx512(block *b)
{
    _Alignas(64) float tile[ROWS][COLUMNS];
    const float *panel = b->panel;
    for (int64_t first = 0, number = 0; first < b->depth; number++) {
        int64_t left = b->depth - first;
        int64_t terms = left < b->how.tile_length ? left : b->how.tile_length;
        __m512 sums[ROWS][2];
        UNROLL for (int r = 0; r < ROWS; r++) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
        const float *rows = b->rows + first;
        for (int64_t p = 0; p < terms; p++, panel += COLUMNS) {
            const __m512 low = _mm512_load_ps(panel), high = _mm512_load_ps(panel + 16);
            UNROLL for (int r = 0; r < ROWS; r++)
            {
                const __m512 row = _mm512_set1_ps(rows[r * b->row_stride + p]);
                sums[r][0] = _mm512_fmadd_ps(row, low, sums[r][0]);
                sums[r][1] = _mm512_fmadd_ps(row, high, sums[r][1]);
            }
        }
        UNROLL for (int r = 0; r < ROWS; r++)
        {
            _mm512_store_ps(tile[r], sums[r][0]);
            _mm512_store_ps(tile[r] + 16, sums[r][1]);
        }
        end_tile(b, tile, number);
        first += terms;
    }
}

static void choose_code(cse_tiled *tiled)
{
    const char *asked = getenv("CSE_TILED");
    bool portable = asked != NULL && strcmp(asked, "portable") == 0;
    bool narrow = asked != NULL && strcmp(asked, "avx2") == 0;
    bool avx512 = cse_isa_runs(CSE_ISA_AVX512) && !narrow, avx2 = cse_isa_runs(CSE_ISA_AVX2);
    tiled->run_block = portable ? run_block_portably
                       : avx512 ? run_block_avx512
                       : avx2   ? run_block_avx2
                                : run_block_portably;
    tiled->widen = portable ? widen_portably
                   : avx512 ? widen_avx512
                   : avx2   ? widen_avx2
                            : widen_portably;
}

#else

static void choose_code(cse_tiled *tiled)
{
    tiled->run_block = run_block_portably;
    tiled->widen = widen_portably;
}

#endif

/* ---- packing ---- */

/* Packs elements [first, first + count) of the outer index at depth [from, from + depth) into
 * packed[i * stride + p * depth_stride]. `line` buffers what is contiguous in memory. */
typedef struct packing {
    int64_t first, count, from, depth;
    float *packed;
    int64_t stride, depth_stride;
} packing;

static void pack(const cse_tiled *tiled, const cse_tiled_operand *o, const packing *p)
{
    float line[512];
    bool along_depth = o->depth_stride == 1;
    int64_t lines = along_depth ? p->count : p->depth, length = along_depth ? p->depth : p->count;
    int64_t line_stride = along_depth ? p->stride : p->depth_stride;
    int64_t step = along_depth ? p->depth_stride : p->stride;
    const uint16_t *values = o->values + p->first * o->stride + p->from * o->depth_stride;
    for (int64_t i = 0; i < lines; i++) {
        const uint16_t *from = values + i * (along_depth ? o->stride : o->depth_stride);
        float *to = p->packed + i * line_stride;
        if (step == 1) {
            tiled->widen(tiled->dtype, from, to, length);
            continue;
        }
        for (int64_t at = 0; at < length; at += 512) {
            int64_t count = length - at < 512 ? length - at : 512;
            tiled->widen(tiled->dtype, from + at, line, count);
            for (int64_t l = 0; l < count; l++)
                to[(at + l) * step] = line[l];
        }
    }
}

/* ---- the product ---- */

/* Multiplies all rows by the packed panel, whose first column is `column`. */
static void run_panel(cse_tiled *tiled, block *b, int64_t column, uint32_t first_element,
                      float *sums)
{
    int64_t m = tiled->sizes.m, n = tiled->sizes.n;
    size_t width = (size_t)(n - column < COLUMNS ? n - column : COLUMNS) * sizeof(float);
    for (int64_t row = 0; row < m; row += ROWS) {
        int64_t rows = m - row < ROWS ? m - row : ROWS;
        b->rows = tiled->rows + row * tiled->chunk;
        for (int64_t r = 0; r < rows; r++) {
            memcpy(b->running[r], sums + (row + r) * n + column, width);
            b->elements[r] = first_element + (uint32_t)((row + r) * n + column);
        }
        tiled->run_block(b);
        for (int64_t r = 0; r < rows; r++)
            memcpy(sums + (row + r) * n + column, b->running[r], width);
    }
}

void cse_tiled_run(cse_tiled *tiled, const cse_kernel *kernel, const cse_tiled_operand operands[2],
                   cse_tiled_place place, float *sums)
{
    const cse_tiled_sizes *s = &tiled->sizes;
    block b = { .how = tiled->how, .row_stride = tiled->chunk, .panel = tiled->panel };
    for (int64_t t = 0; tiled->how.stochastic && t * tiled->how.tile_length < s->k; t++)
        tiled->keys[t] =
            cse_hash_key(kernel->seed, kernel->step, tiled->how.stream, place.sample, (uint32_t)t);
    memset(sums, 0, (size_t)(s->m * s->n) * sizeof *sums);
    for (int64_t first = 0; first < s->k; first += tiled->chunk) {
        b.depth = s->k - first < tiled->chunk ? s->k - first : tiled->chunk;
        b.keys = tiled->keys + first / tiled->how.tile_length;
        const packing rows = { 0, s->m, first, b.depth, tiled->rows, tiled->chunk, 1 };
        pack(tiled, &operands[0], &rows);
        for (int64_t column = 0; column < s->n; column += COLUMNS) {
            int64_t count = s->n - column < COLUMNS ? s->n - column : COLUMNS;
            const packing panel = { column, count, first, b.depth, tiled->panel, 1, COLUMNS };
            pack(tiled, &operands[1], &panel);
            run_panel(tiled, &b, column, place.first_element, sums);
        }
    }
}

cse_tiled *cse_tiled_new(const cse_node *node, cse_tiled_sizes sizes)
{
    cse_tiled *tiled = cse_calloc(1, sizeof *tiled);
    int64_t length = node->accumulation.tile_length;
    assert(length > 0 && node->inputs[0]->dtype == node->inputs[1]->dtype &&
           cse_dtype_size(node->inputs[0]->dtype) == sizeof(uint16_t));
    int64_t tiles = (sizes.k + length - 1) / length, chunk = (CHUNK + length - 1) / length * length;
    *tiled = (cse_tiled){ .how = node->accumulation,
                          .dtype = node->inputs[0]->dtype,
                          .sizes = sizes,
                          .chunk = chunk < sizes.k ? chunk : sizes.k };
    int64_t rows = (sizes.m + ROWS - 1) / ROWS * ROWS;
    tiled->rows = cse_aligned_calloc((size_t)(rows * tiled->chunk + 1) * sizeof(float));
    tiled->panel = cse_aligned_calloc((size_t)(tiled->chunk + 1) * COLUMNS * sizeof(float));
    tiled->keys = cse_calloc((size_t)tiles + 1, sizeof *tiled->keys);
    choose_code(tiled);
    return tiled;
}

void cse_tiled_destroy(cse_tiled **tiled)
{
    if (*tiled == NULL)
        return;
    free((*tiled)->rows);
    free((*tiled)->panel);
    free((*tiled)->keys);
    free(*tiled);
    *tiled = NULL;
}

uint32_t cse_tiled_sample(const cse_node *node, const cse_kernel *kernel)
{
    return node->batch ? (uint32_t)kernel->first_sample : 0;
}
