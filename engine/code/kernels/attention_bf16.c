/* The parts of the attention kernels for pairs of bfloat16 with AVX-512's instructions for them
 * (VDPBF16PS, VCVTNEPS2BF16); see attention.h. */
#include "engine/code/kernels/attention.h"
#include "engine/code/kernels/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include "engine/code/kernels/attention_lanes.h"

#include "engine/code/kernels/attention_bf16_rows.h"
#include "engine/code/kernels/matmul_tiles.h"

/* ---- products ---- */

#define KEEP(value) __asm__("" : "+v"(value))
#define UNROLL CSE_UNROLL

/* Repeats the statement `...` for each sum of the tile. */
#define EACH(ROWS, VECTORS, ...)                                                   \
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int v = 0; v < VECTORS; v++) \
    {                                                                              \
        float *at = t->to + r * t->to_stride + v * LANES;                          \
        __VA_ARGS__(void) at;                                                      \
    }

/* As the tiles of matmul_tiles_in_lanes.h, with pairs for elements. */
#define DEFINE_TILE(ROWS, VECTORS)                                                     \
    CSE_AVX512_BF16 static void tile_##VECTORS##_##ROWS(const cse_tile *t)             \
    {                                                                                  \
        lanes sums[ROWS][VECTORS];                                                     \
        const float *from = t->from, *panel = t->panel;                                \
        const int64_t row_stride = t->row_stride, depth_stride = t->depth_stride;      \
        EACH(ROWS, VECTORS, sums[r][v] = set_lanes(0);)                                \
        if (!t->first)                                                                 \
            EACH(ROWS, VECTORS, sums[r][v] = load_lanes(at);)                          \
        for (int64_t p = t->depth; p > 0; p--) {                                       \
            lanes columns[VECTORS];                                                    \
            UNROLL for (int v = 0; v < VECTORS; v++)                                   \
            {                                                                          \
                columns[v] = load_lanes(panel + v * LANES);                            \
                KEEP(columns[v]);                                                      \
            }                                                                          \
            UNROLL for (int r = 0; r < ROWS; r++)                                      \
            {                                                                          \
                const lanes row = set_lanes(from[r * row_stride]);                     \
                UNROLL for (int v = 0; v < VECTORS; v++) sums[r][v] =                  \
                    _mm512_dpbf16_ps(sums[r][v], (__m512bh)row, (__m512bh)columns[v]); \
            }                                                                          \
            from += depth_stride;                                                      \
            panel += VECTORS * LANES;                                                  \
        }                                                                              \
        EACH(ROWS, VECTORS, store_lanes(at, sums[r][v]);)                              \
    }

#define TO_6(X, V) X(1, V) X(2, V) X(3, V) X(4, V) X(5, V) X(6, V)
#define TO_8(X, V) TO_6(X, V) X(7, V) X(8, V)
#define TO_12(X, V) TO_8(X, V) X(9, V) X(10, V) X(11, V) X(12, V)
#define ENTRY(ROWS, VECTORS) [ROWS] = tile_##VECTORS##_##ROWS,

TO_12(DEFINE_TILE, 1)
TO_12(DEFINE_TILE, 2)
TO_8(DEFINE_TILE, 3)
TO_6(DEFINE_TILE, 4)

static const cse_tiles tiles = {
    .run = { [1] = { TO_12(ENTRY, 1) },
             [2] = { TO_12(ENTRY, 2) },
             [3] = { TO_8(ENTRY, 3) },
             [4] = { TO_6(ENTRY, 4) } },
    .most_rows = { 0, 12, 12, 8, 6 },
};

static void multiply(const cse_attention_product *p)
{
    cse_tile tile = { .from = p->from,
                      .row_stride = p->row_stride,
                      .depth_stride = p->depth_stride,
                      .panel = p->panel,
                      .depth = p->depth,
                      .to = p->to,
                      .to_stride = p->to_stride,
                      .first = p->first };
    cse_tiles_run(&tiles, &tile, p->rows, p->width);
}

static bool runs_here(void)
{
    return cse_isa_runs(CSE_ISA_AVX512_BF16);
}

const cse_attention_way cse_attention_avx512_bf16 = {
    .name = "avx512_bf16",
    .runs_here = runs_here,
    .pack_turned = pack_turned,
    .interleave = interleave,
    .multiply = multiply,
    .softmax = softmax,
    .differentiate = differentiate,
    .dot_rows = dot_rows,
    .store = store,
};

#else

static bool runs_here(void)
{
    return false;
}

const cse_attention_way cse_attention_avx512_bf16 = { .name = "avx512_bf16",
                                                      .runs_here = runs_here };

#endif
