/* The parts of the attention kernels for AVX-512: float32, and pairs of bfloat16 without the
 * processor's instruction for them; see attention.h. */
#include "engine/code/kernels/attention.h"
#include "engine/code/kernels/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include "engine/code/kernels/attention_lanes.h"
#include "engine/code/kernels/matmul_tiles.h"

#define ROWS_FUNCTION CSE_AVX512 static
#define ROWS_INLINE CSE_LANES

/* As VCVTNEPS2BF16 rounds. */
CSE_LANES __m256i narrow_lanes(lanes x)
{
    const __m512 magnitude = _mm512_abs_ps(x);
    const __mmask16 small = _mm512_cmp_ps_mask(magnitude, set_lanes(0x1p-126f), _CMP_LT_OQ);
    return cse_lanes_to_bfloat16(_mm512_maskz_mov_ps((__mmask16)~small, x));
}

#include "engine/code/kernels/attention_pack.h"

#include "engine/code/kernels/attention_rows.h"

/* ---- products ---- */

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
    cse_tiles_run(&cse_tiles_chain, &tile, p->rows, p->width);
}

CSE_LANES lanes high_lanes(lanes pairs)
{
    return _mm512_castsi512_ps(
        _mm512_and_epi32(_mm512_castps_si512(pairs), _mm512_set1_epi32((int)0xffff0000u)));
}

CSE_LANES lanes low_lanes(lanes pairs)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(pairs), 16));
}

enum { MOST_VECTORS = CSE_ATTENTION_KEPT_COLUMNS / LANES };

/* One row times the panel. */
CSE_LANES void multiply_row(const cse_attention_product *p, int64_t row, int vectors)
{
    lanes sums[MOST_VECTORS];
    float *to = p->to + row * p->to_stride;
    for (int v = 0; v < vectors; v++)
        sums[v] = p->first ? set_lanes(0) : load_lanes(to + v * LANES);
    for (int64_t step = 0; step < p->depth; step++) {
        const lanes pair = set_lanes(p->from[row * p->row_stride + step * p->depth_stride]);
        const lanes high = high_lanes(pair), low = low_lanes(pair);
        for (int v = 0; v < vectors; v++) {
            const lanes column = load_lanes(p->panel + (step * vectors + v) * LANES);
            sums[v] = fma_lanes(high, high_lanes(column), sums[v]);
            sums[v] = fma_lanes(low, low_lanes(column), sums[v]);
        }
    }
    for (int v = 0; v < vectors; v++)
        store_lanes(to + v * LANES, sums[v]);
}

CSE_AVX512 static void multiply_paired(const cse_attention_product *p)
{
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | CSE_FLUSH_BITS);
    for (int64_t row = 0; row < p->rows; row++)
        switch (p->width / LANES) {
        case 1:
            multiply_row(p, row, 1);
            break;
        case 2:
            multiply_row(p, row, 2);
            break;
        case 3:
            multiply_row(p, row, 3);
            break;
        default:
            multiply_row(p, row, MOST_VECTORS);
        }
    _mm_setcsr(mode);
}

#define WAY(title, product)                                                         \
    {                                                                               \
        .name = title, .runs_here = cse_lanes_run_here, .pack_turned = pack_turned, \
        .interleave = interleave, .multiply = product, .softmax = softmax,          \
        .differentiate = differentiate, .dot_rows = dot_rows, .store = store        \
    }

const cse_attention_way cse_attention_avx512 = WAY("avx512", multiply);
const cse_attention_way cse_attention_avx512_paired = WAY("avx512", multiply_paired);

#else

static bool runs_here(void)
{
    return false;
}

const cse_attention_way cse_attention_avx512 = { .name = "avx512", .runs_here = runs_here };
const cse_attention_way cse_attention_avx512_paired = { .name = "avx512", .runs_here = runs_here };

#endif
