/* The parts of the attention kernels for AVX2, over vectors of 16 lanes in two registers; see
 * attention.h. Same bits as the other ways. */
#include "engine/code/kernels/attention.h"

#define CSE_LANE_COUNT 8
#include "engine/code/kernels/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)

#define ROWS_FUNCTION CSE_LANE_TARGET static
#define ROWS_INLINE CSE_LANES

enum { LANES = 2 * CSE_LANE_COUNT, ROWS_IN_TURN = 1, FLUSH_BITS = 0x8040 };
enum { MOST_ROWS = 4, MOST_PAIRED = 2 };

typedef struct lanes {
    __m256 low, high;
} lanes;

#define DEFINE_BINARY(name, instruction)                                          \
    ROWS_INLINE lanes name##_lanes(lanes a, lanes b)                              \
    {                                                                             \
        return (lanes){ instruction(a.low, b.low), instruction(a.high, b.high) }; \
    }

DEFINE_BINARY(mul, _mm256_mul_ps)
DEFINE_BINARY(add, _mm256_add_ps)
DEFINE_BINARY(sub, _mm256_sub_ps)
DEFINE_BINARY(max, _mm256_max_ps)
DEFINE_BINARY(min, _mm256_min_ps)

ROWS_INLINE lanes load_lanes(const float *at)
{
    return (lanes){ _mm256_loadu_ps(at), _mm256_loadu_ps(at + CSE_LANE_COUNT) };
}

ROWS_INLINE void store_lanes(float *at, lanes x)
{
    _mm256_storeu_ps(at, x.low);
    _mm256_storeu_ps(at + CSE_LANE_COUNT, x.high);
}

ROWS_INLINE lanes set_lanes(float value)
{
    return (lanes){ _mm256_set1_ps(value), _mm256_set1_ps(value) };
}

ROWS_INLINE lanes fma_lanes(lanes a, lanes b, lanes c)
{
    return (lanes){ _mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high) };
}

/* Adding 1.5 * 2^23 rounds to an integer; enough for the clamped arguments of 2^x. */
ROWS_INLINE lanes nearest_lanes(lanes x)
{
    const lanes shift = set_lanes(12582912.0f);
    return sub_lanes(add_lanes(x, shift), shift);
}

/* The bits of the shifted number end in those of n. */
ROWS_INLINE __m256 power_of_two(__m256 n)
{
    const cse_words bits = (cse_words)(n + cse_lanes_of_all(12582912.0f));
    return (__m256)((bits - 0x4b400000u + 127u) << 23);
}

ROWS_INLINE lanes scale_lanes(lanes x, lanes n)
{
    return mul_lanes(x, (lanes){ power_of_two(n.low), power_of_two(n.high) });
}

ROWS_INLINE float sum_lanes(lanes x)
{
    const __m256 eight = _mm256_add_ps(x.low, x.high);
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_shuffle_ps(sum, sum, 1)));
}

ROWS_INLINE float maximum_lanes(lanes x)
{
    float values[LANES];
    store_lanes(values, x);
    for (int i = 1; i < LANES; i++)
        values[0] = values[i] > values[0] ? values[i] : values[0];
    return values[0];
}

ROWS_INLINE int within(int64_t number)
{
    return number < 0 ? 0 : number > LANES ? LANES : (int)number;
}

/* All bits of lanes [from, end), of which the first is number `first`. */
ROWS_INLINE __m256 range_of(int first, int from, int end)
{
    const __m256i number =
        _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
    return _mm256_castsi256_ps(
        _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(from), number),
                            _mm256_cmpgt_epi32(_mm256_set1_epi32(end), number)));
}

ROWS_INLINE lanes keep_lanes(lanes x, int64_t from, int64_t end)
{
    const int first = within(from), last = within(end);
    return (lanes){ _mm256_and_ps(x.low, range_of(0, first, last)),
                    _mm256_and_ps(x.high, range_of(CSE_LANE_COUNT, first, last)) };
}

ROWS_INLINE lanes lowest_lanes(lanes x, int64_t count)
{
    const __m256 lowest = _mm256_set1_ps(-__builtin_inff());
    const int end = within(count);
    return (lanes){ _mm256_blendv_ps(lowest, x.low, range_of(0, 0, end)),
                    _mm256_blendv_ps(lowest, x.high, range_of(CSE_LANE_COUNT, 0, end)) };
}

ROWS_INLINE __m256 choose_spanned(__m256 x, const int32_t *begins, const int32_t *ends,
                                  int32_t query, float other)
{
    const __m256i number = _mm256_set1_epi32(query);
    const __m256i late =
        _mm256_cmpgt_epi32(_mm256_loadu_si256((const __m256i *)(const void *)begins), number);
    const __m256i open =
        _mm256_cmpgt_epi32(_mm256_loadu_si256((const __m256i *)(const void *)ends), number);
    return _mm256_blendv_ps(_mm256_set1_ps(other), x,
                            _mm256_castsi256_ps(_mm256_andnot_si256(late, open)));
}

ROWS_INLINE lanes span_lanes(lanes x, const cse_attention_spans *spans, int64_t at, int32_t query,
                             float other)
{
    const int32_t *begins = spans->begins + at, *ends = spans->ends + at;
    return (lanes){ choose_spanned(x.low, begins, ends, query, other),
                    choose_spanned(x.high, begins + CSE_LANE_COUNT, ends + CSE_LANE_COUNT, query,
                                   other) };
}

ROWS_INLINE lanes read_lanes(cse_dtype dtype, const void *at, int64_t index, int64_t count)
{
    const int low = within(count);
    return (lanes){ cse_lanes_load(dtype, at, index, cse_lanes_of(low)),
                    cse_lanes_load(dtype, at, index + CSE_LANE_COUNT,
                                   low > CSE_LANE_COUNT ? low - CSE_LANE_COUNT : 0) };
}

ROWS_INLINE void write_lanes(cse_dtype dtype, void *at, int64_t index, int64_t count, lanes x)
{
    const int low = within(count);
    cse_lanes_store(dtype, at, index, cse_lanes_of(low), x.low);
    cse_lanes_store(dtype, at, index + CSE_LANE_COUNT,
                    low > CSE_LANE_COUNT ? low - CSE_LANE_COUNT : 0, x.high);
}

/* As VCVTNEPS2BF16 rounds: subnormal numbers become 0. */
ROWS_INLINE cse_words narrow(__m256 x)
{
    const cse_words bits = (cse_words)x, magnitude = bits & 0x7fffffff;
    const cse_choice small = cse_words_less(magnitude, cse_words_of(0x00800000));
    cse_words rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    rounded = cse_words_where(cse_lanes_are_nan(x), bits >> 16 | 0x40, rounded);
    return cse_words_where(small, bits >> 31 << 15, rounded);
}

ROWS_INLINE void pack_lanes(uint16_t *at, lanes x)
{
    cse_halves_write(at, CSE_LANES_ALL, cse_halves_from_words(narrow(x.low)));
    cse_halves_write(at + CSE_LANE_COUNT, CSE_LANES_ALL, cse_halves_from_words(narrow(x.high)));
}

ROWS_INLINE lanes pair_lanes(lanes low, lanes high)
{
    return (lanes){ (__m256)(narrow(low.low) | narrow(high.low) << 16),
                    (__m256)(narrow(low.high) | narrow(high.high) << 16) };
}

ROWS_INLINE void turn_lanes(lanes x[LANES])
{
    float rows[LANES][LANES], columns[LANES][LANES];
    for (int i = 0; i < LANES; i++)
        store_lanes(rows[i], x[i]);
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < LANES; j++)
            columns[j][i] = rows[i][j];
    for (int i = 0; i < LANES; i++)
        x[i] = load_lanes(columns[i]);
}

#include "engine/code/kernels/attention_rows.h"

/* ---- packing ---- */

static void pack_turned(const cse_attention_matrix *m, int64_t depth, float *to)
{
    cse_attention_plain.pack_turned(m, depth, to);
}

static void interleave(const uint16_t *low, const uint16_t *high, int64_t count, uint32_t *to)
{
    cse_attention_plain.interleave(low, high, count, to);
}

/* ---- products ---- */

ROWS_INLINE lanes high_lanes(lanes x)
{
    const __m256 mask = (__m256)cse_words_of(0xffff0000u);
    return (lanes){ _mm256_and_ps(x.low, mask), _mm256_and_ps(x.high, mask) };
}

ROWS_INLINE lanes low_lanes(lanes x)
{
    return (lanes){ (__m256)((cse_words)x.low << 16), (__m256)((cse_words)x.high << 16) };
}

/* 16 columns of `rows` rows, whose sums stay in registers. */
ROWS_INLINE void multiply_rows(const cse_attention_product *p, int rows, int64_t row,
                               int64_t column, bool paired)
{
    float *to = p->to + row * p->to_stride + column;
    const float *from = p->from + row * p->row_stride, *panel = p->panel + column;
    lanes sums[MOST_ROWS];
    CSE_UNROLL for (int r = 0; r < rows; r++) sums[r] =
        p->first ? set_lanes(0) : load_lanes(to + r * p->to_stride);
    for (int64_t step = 0; step < p->depth; step++, from += p->depth_stride, panel += p->width) {
        const lanes columns = load_lanes(panel);
        CSE_UNROLL for (int r = 0; r < rows; r++)
        {
            const lanes factor = set_lanes(from[r * p->row_stride]);
            if (paired) {
                sums[r] = fma_lanes(high_lanes(factor), high_lanes(columns), sums[r]);
                sums[r] = fma_lanes(low_lanes(factor), low_lanes(columns), sums[r]);
            } else {
                sums[r] = fma_lanes(factor, columns, sums[r]);
            }
        }
    }
    CSE_UNROLL for (int r = 0; r < rows; r++) store_lanes(to + r * p->to_stride, sums[r]);
}

/* The same in the order `pairs`. */
ROWS_INLINE void multiply_pairs_rows(const cse_attention_product *p, int rows, int64_t row,
                                     int64_t column)
{
    float *to = p->to + row * p->to_stride + column;
    const float *from = p->from + row * p->row_stride, *panel = p->panel + column;
    for (int64_t chunk = 0; chunk < p->depth; chunk += CSE_ATTENTION_CHUNK) {
        lanes even[MOST_PAIRED], odd[MOST_PAIRED];
        CSE_UNROLL for (int r = 0; r < rows; r++) even[r] = odd[r] = set_lanes(0);
        for (int step = 0; step < CSE_ATTENTION_CHUNK; step++) {
            const lanes columns = load_lanes(panel);
            CSE_UNROLL for (int r = 0; r < rows; r++)
            {
                const lanes factor = set_lanes(from[r * p->row_stride]);
                even[r] = fma_lanes(low_lanes(factor), low_lanes(columns), even[r]);
                odd[r] = fma_lanes(high_lanes(factor), high_lanes(columns), odd[r]);
            }
            from += p->depth_stride;
            panel += p->width;
        }
        CSE_UNROLL for (int r = 0; r < rows; r++)
        {
            float *at = to + r * p->to_stride;
            const lanes before = p->first && chunk == 0 ? set_lanes(0) : load_lanes(at);
            store_lanes(at, add_lanes(before, add_lanes(even[r], odd[r])));
        }
    }
}

CSE_LANE_TARGET static void multiply_by_pairs(const cse_attention_product *p)
{
    int64_t row = 0;
    for (; row + MOST_PAIRED <= p->rows; row += MOST_PAIRED)
        for (int64_t column = 0; column < p->width; column += LANES)
            multiply_pairs_rows(p, MOST_PAIRED, row, column);
    for (; row < p->rows; row++)
        for (int64_t column = 0; column < p->width; column += LANES)
            multiply_pairs_rows(p, 1, row, column);
}

ROWS_INLINE void multiply_as(const cse_attention_product *p, bool paired)
{
    for (int64_t row = 0; row < p->rows; row += MOST_ROWS)
        for (int64_t column = 0; column < p->width; column += LANES)
            switch (p->rows - row) {
            case 1:
                multiply_rows(p, 1, row, column, paired);
                break;
            case 2:
                multiply_rows(p, 2, row, column, paired);
                break;
            case 3:
                multiply_rows(p, 3, row, column, paired);
                break;
            default:
                multiply_rows(p, MOST_ROWS, row, column, paired);
            }
}

CSE_LANE_TARGET static void multiply(const cse_attention_product *p)
{
    multiply_as(p, false);
}

CSE_LANE_TARGET static void multiply_by_dot(const cse_attention_product *p)
{
    multiply_as(p, true);
}

/* Subnormal numbers count as 0. */
static void flushed(void (*product)(const cse_attention_product *), const cse_attention_product *p)
{
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | FLUSH_BITS);
    product(p);
    _mm_setcsr(mode);
}

static void multiply_dot(const cse_attention_product *p)
{
    flushed(multiply_by_dot, p);
}

static void multiply_pairs(const cse_attention_product *p)
{
    flushed(multiply_by_pairs, p);
}

#define WAY(product)                                                                 \
    {                                                                                \
        .name = "avx2", .runs_here = cse_lanes_run_here, .pack_turned = pack_turned, \
        .interleave = interleave, .multiply = product, .softmax = softmax,           \
        .differentiate = differentiate, .dot_rows = dot_rows, .store = store         \
    }

#else

static bool runs_here(void)
{
    return false;
}

#define WAY(product)                           \
    {                                          \
        .name = "avx2", .runs_here = runs_here \
    }

#endif

const cse_attention_way cse_attention_avx2 = WAY(multiply);
const cse_attention_way cse_attention_avx2_dot = WAY(multiply_dot);
const cse_attention_way cse_attention_avx2_pairs = WAY(multiply_pairs);
