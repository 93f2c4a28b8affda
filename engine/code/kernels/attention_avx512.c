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

enum { MOST_VECTORS = CSE_ATTENTION_KEPT_COLUMNS / LANES, PAIRED_ROWS = 4, PAIRED_VECTORS = 2 };

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

/* `rows` rows from `row` on times `vectors` vectors of the panel from `column` on, in the order
 * `pairs`. */
CSE_LANES void multiply_pairs_rows(const cse_attention_product *p, int rows, int vectors,
                                   int64_t row, int64_t column)
{
    const float *from = p->from + row * p->row_stride, *panel = p->panel + column;
    float *to = p->to + row * p->to_stride + column;
    for (int64_t chunk = 0; chunk < p->depth; chunk += CSE_ATTENTION_CHUNK) {
        lanes even[PAIRED_ROWS][PAIRED_VECTORS], odd[PAIRED_ROWS][PAIRED_VECTORS];
        CSE_UNROLL for (int r = 0; r < rows; r++) CSE_UNROLL for (int v = 0; v < vectors; v++)
            even[r][v] = odd[r][v] = set_lanes(0);
        for (int step = 0; step < CSE_ATTENTION_CHUNK; step++) {
            CSE_UNROLL for (int v = 0; v < vectors; v++)
            {
                const lanes columns = load_lanes(panel + v * LANES);
                const lanes low = low_lanes(columns), high = high_lanes(columns);
                CSE_UNROLL for (int r = 0; r < rows; r++)
                {
                    const lanes pair = set_lanes(from[r * p->row_stride]);
                    even[r][v] = fma_lanes(low_lanes(pair), low, even[r][v]);
                    odd[r][v] = fma_lanes(high_lanes(pair), high, odd[r][v]);
                }
            }
            from += p->depth_stride;
            panel += p->width;
        }
        CSE_UNROLL for (int r = 0; r < rows; r++) CSE_UNROLL for (int v = 0; v < vectors; v++)
        {
            float *at = to + r * p->to_stride + v * LANES;
            const lanes before = p->first && chunk == 0 ? set_lanes(0) : load_lanes(at);
            store_lanes(at, add_lanes(before, add_lanes(even[r][v], odd[r][v])));
        }
    }
}

CSE_AVX512 static void multiply_pairs(const cse_attention_product *p)
{
    const unsigned mode = _mm_getcsr();
    const int64_t paired = p->width / (PAIRED_VECTORS * LANES) * PAIRED_VECTORS * LANES;
    _mm_setcsr(mode | CSE_FLUSH_BITS);
    for (int64_t row = 0; row < p->rows;) {
        const bool several = row + PAIRED_ROWS <= p->rows;
        for (int64_t column = 0; column < paired; column += PAIRED_VECTORS * LANES)
            if (several)
                multiply_pairs_rows(p, PAIRED_ROWS, PAIRED_VECTORS, row, column);
            else
                multiply_pairs_rows(p, 1, PAIRED_VECTORS, row, column);
        if (paired < p->width && several)
            multiply_pairs_rows(p, PAIRED_ROWS, 1, row, paired);
        else if (paired < p->width)
            multiply_pairs_rows(p, 1, 1, row, paired);
        row += several ? PAIRED_ROWS : 1;
    }
    _mm_setcsr(mode);
}

CSE_AVX512 static void multiply_dot(const cse_attention_product *p)
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
const cse_attention_way cse_attention_avx512_dot = WAY("avx512", multiply_dot);
const cse_attention_way cse_attention_avx512_pairs = WAY("avx512", multiply_pairs);

#else

static bool runs_here(void)
{
    return false;
}

const cse_attention_way cse_attention_avx512 = { .name = "avx512", .runs_here = runs_here };
const cse_attention_way cse_attention_avx512_dot = { .name = "avx512", .runs_here = runs_here };
const cse_attention_way cse_attention_avx512_pairs = { .name = "avx512", .runs_here = runs_here };

#endif
