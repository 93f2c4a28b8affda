/* Products of bfloat16 operands in the processor's matrix units (AMX).
 *
 * The units read tiles of 16 rows of 32 steps of the depth, and of 16 pairs of steps of 16 columns.
 * Rows that are contiguous along the depth are read in place; all else is packed into tiles of 1
 * KiB. A block of 32 x 32 sums stays in four tile registers over a piece of the depth, so that each
 * loaded tile is used twice.
 *
 * Caches: the shorter operand is packed once and stays in L2; the longer one passes in panels of 32
 * outer indices. A deep panel meets all of the other operand piece by piece, so that a piece stays
 * near, and the sums of its blocks wait in memory between two pieces. Where the longer operand is
 * contiguous along its outer index, a chunk of it is packed step by step along the depth, which
 * reads long runs of memory, and the sums of the chunk wait. Where the depth is so long that too
 * little of the shorter operand would fit L2, the depth is cut into ranges around all of this, and
 * all sums wait. Where both operands are contiguous along their outer indices, as in gradients of
 * weights, the longer one is cut into slices first, and all sums of a slice wait in L2, so that
 * both operands need be packed for one step of the depth at a time.
 *
 * Waiting sums are float32 as in the registers, so the bits do not depend on how the
 * depth is cut. Bias and rounding of a block run row by row between the multiplications of the next
 * one, whose place in the result is prefetched.
 *
 * The units' arithmetic is fixed by Intel (Software Developer's Manual, TDPBF16PS): the order
 * `pairs` of matmul_tiles.h, round to nearest even, subnormal numbers as 0, whatever the
 * floating-point mode of the process. The other implementations reproduce these bits, so this one
 * can be used wherever it exists. */
#include "engine/code/kernels/matmul_narrow.h"
#include "engine/code/kernels/matrix_units.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__)

#include "engine/code/kernels/lanes.h"
#include "engine/code/kernels/tile_instructions.h"

enum { TILE = 16, TILE_DEPTH = 32, TILE_BYTES = 1024, BLOCK = 2 * TILE };
/* Packed tiles of the operand that stays and of the one that passes; together they fit an L2 cache
 * of 2 MiB. */
enum { STAYING_BYTES = 3 << 19, PASSING_BYTES = 1 << 18 };
/* Depth tiles of a piece, whose panel takes 96 KiB. Shorter pieces would stay in L1, but to load
 * and store the sums in between costs more than to read both panels from L2. */
enum { PIECE = 48 };
/* Depth tiles of a step, where the passing operand is contiguous along its outer index: its rows
 * are then read in long runs. */
enum { STEP = 8 };
/* Depth tiles up to which the passing operand is packed whole, so that no sums wait. */
enum { SHALLOW = 16 };
/* Outer indices of the staying operand that should fit; for fewer the depth is cut into ranges. */
enum { ENOUGH = 768 };
/* Outer indices of a slice, and of the operand beside it: more sums than these do not stay in L2
 * beside a step of both operands. */
enum { SLICE = 384, BESIDE = 768 };
/* Pairs of tiles that are fetched before they are packed: 32 rows of the depth are more than the
 * processor foresees. */
enum { AHEAD = 4 };

/* ---- packing ---- */

/* How a product is divided. */
typedef struct layout {
    int rows;               /* the operand whose indices are the tiles' rows: 0, or exchanged: 1 */
    int64_t size[2];        /* rows and columns of the tiles' sums */
    int stays;              /* 0: rows stay packed and columns pass; 1: the reverse */
    bool in_place;          /* rows pass and are not packed */
    int64_t depth_tiles;    /* of the whole depth */
    int64_t range;          /* depth tiles of a range */
    int64_t step;           /* depth tiles of the passing operand that are packed together */
    int64_t chunk[2];       /* rows and columns that are packed together */
    char *packed[2];        /* [panel of 16][depth tile of the range or step][TILE_BYTES] */
    float *sums;            /* [block][BLOCK][BLOCK] */
    float *turned;          /* exchanged: a block of the result */
    int64_t waiting;        /* rows of blocks whose sums wait; 0: two buffers take turns */
    int64_t staying_blocks; /* of a chunk */
} layout;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t quotient_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* How many of `size` outer indices form a chunk: near-equal chunks of whole blocks that fit in
 * `bytes`. */
static int64_t chunk_of(int64_t size, int64_t depth_tiles, int64_t bytes)
{
    int64_t blocks = quotient_up(size, BLOCK), fitting = bytes / (depth_tiles * 2 * TILE_BYTES);
    int64_t chunks = quotient_up(blocks, fitting < 1 ? 1 : fitting);
    return quotient_up(blocks, chunks) * BLOCK;
}

/* Near-equal ranges of the depth, few enough that ENOUGH of the staying operand fits. */
static int64_t range_of(int64_t size, int64_t depth_tiles)
{
    int64_t blocks = quotient_up(least(size, ENOUGH), BLOCK);
    int64_t fitting = STAYING_BYTES / (blocks * 2 * TILE_BYTES);
    return quotient_up(depth_tiles, quotient_up(depth_tiles, fitting));
}

/* Whether the second operand gives the rows: where they can be read in place, which else would be
 * transposed while they are packed, and are so many more than those of the first that this costs
 * more than to transpose the result. */
static bool is_exchanged(const cse_narrow_kernel *kernel)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    return s->transpose_b && !kernel->continues && s->n > s->m && s->k % TILE_DEPTH == 0 &&
           s->n % TILE == 0 && s->k / s->m * (s->n - s->m) > s->n;
}

/* Whether the product, or a slice of it, keeps all sums while it goes along the depth. */
static bool is_sliced(const cse_matmul_sizes *s)
{
    return s->transpose_a && !s->transpose_b && least(s->m, s->n) <= BESIDE &&
           s->k > SHALLOW * TILE_DEPTH;
}

/* Rows of blocks whose sums wait while another piece, step or range of their depth is added: of one
 * panel, of a chunk of panels, or of all. */
static int64_t waiting_rows(const layout *l)
{
    const int passes = 1 - l->stays;
    if (l->range < l->depth_tiles)
        return quotient_up(l->size[passes], BLOCK);
    if (l->step < l->range)
        return l->chunk[passes] / BLOCK;
    return l->depth_tiles > PIECE ? 1 : 0;
}

static layout layout_of(const cse_narrow_kernel *kernel, char *place)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    const int64_t sizes[2] = { s->m, s->n };
    const bool kept[2] = { !s->transpose_a, s->transpose_b };
    layout l = { .rows = is_exchanged(kernel) ? 1 : 0,
                 .depth_tiles = quotient_up(s->k, TILE_DEPTH) };
    l.size[0] = sizes[l.rows];
    l.size[1] = sizes[1 - l.rows];
    l.stays = l.size[0] <= l.size[1] ? 0 : 1;
    const int passes = 1 - l.stays;
    const bool passing_kept = kept[passes == 0 ? l.rows : 1 - l.rows];
    l.in_place = passes == 0 && passing_kept && s->k % TILE_DEPTH == 0 && l.size[0] % TILE == 0;
    l.range = is_sliced(s) ? quotient_up(l.depth_tiles, quotient_up(l.depth_tiles, STEP))
                           : range_of(l.size[l.stays], l.depth_tiles);
    l.step = passing_kept || (!is_sliced(s) && l.depth_tiles <= SHALLOW)
                 ? l.range
                 : quotient_up(l.range, quotient_up(l.range, STEP));
    l.chunk[l.stays] = chunk_of(l.size[l.stays], l.range, STAYING_BYTES);
    l.chunk[passes] = l.in_place ? l.size[0] : chunk_of(l.size[passes], l.step, PASSING_BYTES);
    l.staying_blocks = l.chunk[l.stays] / BLOCK;
    l.waiting = waiting_rows(&l);
    const int64_t depth[2] = { l.stays == 0 ? l.range : l.step, l.stays == 0 ? l.step : l.range };
    l.packed[0] = place;
    l.packed[1] = l.packed[0] + (l.in_place ? 0 : l.chunk[0] / TILE * depth[0] * TILE_BYTES);
    l.turned = (float *)(void *)(l.packed[1] + l.chunk[1] / TILE * depth[1] * TILE_BYTES);
    l.sums = l.turned + (l.rows == 1 ? BLOCK * BLOCK : 0);
    return l;
}

static size_t slice_scratch_bytes(const cse_narrow_kernel *kernel)
{
    static char origin[1];
    const layout l = layout_of(kernel, origin);
    const int64_t blocks = l.waiting > 0 ? l.waiting * l.staying_blocks : 2;
    return (size_t)((char *)l.sums - origin) + (size_t)(blocks * BLOCK * BLOCK) * sizeof(float);
}

/* A slice of a product: `size` rows or columns (the longer side of it) from `first` on. */
typedef struct slice {
    bool of_rows;
    int64_t first, size;
} slice;

/* The slice from `first` on, of near-equal ones. */
static slice slice_of(const cse_matmul_sizes *s, int64_t first)
{
    const bool of_rows = s->m > s->n;
    const int64_t all = of_rows ? s->m : s->n;
    const bool whole = !is_sliced(s) || s->m * s->n <= SLICE * SLICE;
    const int64_t blocks = quotient_up(all, BLOCK),
                  each = whole ? all : quotient_up(blocks, quotient_up(all, SLICE)) * BLOCK;
    return (slice){ of_rows, first, least(each, all - first) };
}

static int64_t sliced_size(const cse_matmul_sizes *s)
{
    return s->m > s->n ? s->m : s->n;
}

static cse_narrow_kernel kernel_of_slice(const cse_narrow_kernel *kernel, const slice *part)
{
    cse_narrow_kernel own = *kernel;
    if (part->of_rows)
        own.sizes.m = part->size;
    else
        own.sizes.n = part->size;
    return own;
}

static size_t scratch_bytes(const cse_narrow_kernel *kernel)
{
    size_t most = 0;
    slice part;
    for (int64_t at = 0; at < sliced_size(&kernel->sizes); at += part.size) {
        part = slice_of(&kernel->sizes, at);
        const cse_narrow_kernel own = kernel_of_slice(kernel, &part);
        const size_t bytes = slice_scratch_bytes(&own);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* A range of outer indices of one operand, and where its tiles are packed. */
typedef struct strip {
    const cse_matmul_side *side;
    int64_t k, first, count; /* count: a multiple of BLOCK; what lies beyond the side is 0 */
    int64_t first_depth, depth_tiles; /* the range of the depth, in tiles */
    char *to;
} strip;

/* Loads the tile at outer index `outer` (of the strip) and depth tile `at` (of the range) of an
 * operand that is contiguous along the depth: each vector holds 16 pairs of steps of one outer
 * index. `whole`: all of the tile lies inside the operand. */
CSE_LANES void load_kept(const strip *s, int64_t outer, int64_t at, bool whole, __m512 x[TILE])
{
    const int64_t stride = s->side->outer_stride, first = s->first + outer,
                  p = (s->first_depth + at) * TILE_DEPTH;
    const uint16_t *from = (const uint16_t *)s->side->values + first * stride + p;
    const __mmask32 lanes = s->k - p >= TILE_DEPTH ? 0xffffffffu : (1u << (s->k - p)) - 1u;
    CSE_UNROLL for (int i = 0; i < TILE; i++)
    {
        __mmask32 kept = whole ? 0xffffffffu : first + i < s->side->size ? lanes : 0;
        x[i] = _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(kept, from + i * stride));
    }
}

/* The same for an operand that is contiguous along the outer index: each vector holds one pair of
 * steps of 16 outer indices. */
CSE_LANES void load_paired(const strip *s, int64_t outer, int64_t at, bool whole, __m512 x[TILE])
{
    const int64_t stride = s->side->depth_stride, first = s->first + outer,
                  p = (s->first_depth + at) * TILE_DEPTH;
    const uint16_t *from = (const uint16_t *)s->side->values + p * stride + first;
    const __mmask16 lanes = cse_lanes_of(s->side->size > first ? s->side->size - first : 0);
    CSE_UNROLL for (int i = 0; i < TILE; i++)
    {
        __mmask16 even = whole ? 0xffff : p + 2 * i < s->k ? lanes : 0;
        __mmask16 odd = whole ? 0xffff : p + 2 * i + 1 < s->k ? lanes : 0;
        __m256i low = _mm256_maskz_loadu_epi16(even, from + 2 * i * stride);
        __m256i high = _mm256_maskz_loadu_epi16(odd, from + (2 * i + 1) * stride);
        x[i] = _mm512_castsi512_ps(_mm512_or_epi32(
            _mm512_cvtepu16_epi32(low), _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16)));
    }
}

CSE_LANES void store_tile(const strip *s, int64_t outer, int64_t at, const __m512 x[TILE])
{
    char *to = s->to + (outer / TILE * s->depth_tiles + at) * TILE_BYTES;
    CSE_UNROLL for (int i = 0; i < TILE; i++)
        _mm512_store_ps((float *)(void *)(to + i * (TILE_BYTES / TILE)), x[i]);
}

/* A tile of rows has a vector for each outer index, one of columns for each pair of steps. */
CSE_LANES void pack_tile(const strip *s, int64_t outer, int64_t at, bool columns)
{
    __m512 x[TILE];
    bool whole =
        s->first + outer + TILE <= s->side->size && (s->first_depth + at + 1) * TILE_DEPTH <= s->k;
    bool kept = s->side->depth_stride == 1;
    if (kept && whole)
        load_kept(s, outer, at, true, x);
    else if (kept)
        load_kept(s, outer, at, false, x);
    else if (whole)
        load_paired(s, outer, at, true, x);
    else
        load_paired(s, outer, at, false, x);
    if (kept == columns)
        cse_lanes_transpose(x);
    store_tile(s, outer, at, x);
}

CSE_LANES void transpose_tile(char *at)
{
    __m512 x[TILE];
    CSE_UNROLL for (int i = 0; i < TILE; i++) x[i] =
        _mm512_load_ps((const float *)(void *)(at + i * (TILE_BYTES / TILE)));
    cse_lanes_transpose(x);
    CSE_UNROLL for (int i = 0; i < TILE; i++)
        _mm512_store_ps((float *)(void *)(at + i * (TILE_BYTES / TILE)), x[i]);
}

/* Two tiles side by side of an operand that is contiguous along the outer index and has all of
 * them: whole cache lines are read. */
CSE_LANES void pack_two_tiles(const strip *s, int64_t outer, int64_t at, bool columns)
{
    const int64_t stride = s->side->depth_stride;
    const uint16_t *from = (const uint16_t *)s->side->values +
                           (s->first_depth + at) * TILE_DEPTH * stride + s->first + outer;
    char *left = s->to + (outer / TILE * s->depth_tiles + at) * TILE_BYTES;
    char *right = left + s->depth_tiles * TILE_BYTES;
    const __m512i lefts = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0),
                  rights = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    for (int64_t i = 0; i < TILE; i++) {
        const __m512i even = _mm512_loadu_si512(from + 2 * i * stride),
                      odd = _mm512_loadu_si512(from + (2 * i + 1) * stride);
        /* Of each 8 columns of the tiles, the first 4 and the last 4. */
        const __m512i low = _mm512_unpacklo_epi16(even, odd),
                      high = _mm512_unpackhi_epi16(even, odd);
        _mm512_store_si512(left + i * (TILE_BYTES / TILE),
                           _mm512_permutex2var_epi64(low, lefts, high));
        _mm512_store_si512(right + i * (TILE_BYTES / TILE),
                           _mm512_permutex2var_epi64(low, rights, high));
    }
    if (columns)
        return;
    transpose_tile(left);
    transpose_tile(right);
}

/* Fetches the rows of the two tiles that are packed AHEAD turns after those at `outer`. */
CSE_LANES void fetch_two_tiles(const strip *s, int64_t outer, int64_t at)
{
    const int64_t stride = s->side->depth_stride * (int64_t)sizeof(uint16_t);
    const int64_t later = outer + AHEAD * BLOCK, turns = later / s->count;
    const char *from = (const char *)s->side->values +
                       (s->first_depth + at + turns) * TILE_DEPTH * stride +
                       (s->first + later % s->count) * (int64_t)sizeof(uint16_t);
    for (int64_t i = 0; i < TILE_DEPTH; i++)
        __builtin_prefetch(from + i * stride);
}

CSE_LANES void pack_paired(const strip *s, int64_t outer, int64_t at, bool columns)
{
    fetch_two_tiles(s, outer, at);
    if (s->first + outer + BLOCK <= s->side->size &&
        (s->first_depth + at + 1) * TILE_DEPTH <= s->k) {
        pack_two_tiles(s, outer, at, columns);
        return;
    }
    pack_tile(s, outer, at, columns);
    pack_tile(s, outer + TILE, at, columns);
}

/* Packs all tiles of the strip, in the order in which the operand lies in memory. */
CSE_AVX512 static void pack(const strip *s, bool columns)
{
    if (s->side->depth_stride == 1) {
        for (int64_t outer = 0; outer < s->count; outer += TILE)
            for (int64_t at = 0; at < s->depth_tiles; at++)
                pack_tile(s, outer, at, columns);
        return;
    }
    for (int64_t at = 0; at < s->depth_tiles; at++)
        for (int64_t outer = 0; outer < s->count; outer += BLOCK)
            pack_paired(s, outer, at, columns);
}

/* ---- a block ---- */

/* Where the tiles of a panel of rows lie, in bytes: along the depth, of the rows of a tile, and of
 * the panel of 16 beside it. Those of columns are packed. */
typedef struct panel {
    const char *from;
    int64_t step, stride, beside;
} panel;

/* What is done between the multiplications of a block: nothing, its place in the result is
 * prefetched, or that and rows of another block are finished. */
typedef enum meanwhile {
    NOTHING,
    FETCH,
    NARROW,
    NARROW_BIASED,
    NARROW_TWICE, /* before the bias and after it */
    WIDE,
    WIDE_BIASED
} meanwhile;

/* One block: 32 x 32 sums over `tiles` depth tiles. Bytes between rows: `stride`. */
typedef struct block_work {
    panel row, column;
    int64_t tiles;
    const float *before; /* sums that this adds to, packed; NULL: 0 */
    char *to;
    int64_t stride;
    /* Whole rows of finished sums that are stored meanwhile. */
    meanwhile does;
    const float *sums, *bias;
    const uint16_t *narrow_bias;
    char *result;
    int64_t rows, result_stride;
    int64_t ahead; /* from there to this block's place in the result */
} block_work;

CSE_LANES __m512i rounded_above(__m512 x)
{
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    return _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
}

/* 32 numbers rounded as cse_lanes_to_bfloat16 does: their upper halves are put together. */
CSE_LANES __m512i to_bfloat16(__m512 left, __m512 right)
{
    const __m512i upper =
        _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                         25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    if (__builtin_expect(_mm512_cmp_ps_mask(left, right, _CMP_UNORD_Q) == 0, 1))
        return _mm512_permutex2var_epi16(rounded_above(left), upper, rounded_above(right));
    return _mm512_inserti64x4(_mm512_castsi256_si512(cse_lanes_to_bfloat16(left)),
                              cse_lanes_to_bfloat16(right), 1);
}

/* Half of 32 numbers of bfloat16: the left one, 0, or the right one, 1. */
CSE_LANES __m512 half_of(__m512i bits, const int half)
{
    const __m256i own = _mm512_extracti64x4_epi64(bits, half);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(own), 16));
}

enum { LINE = 64 };

CSE_LANES bool is_narrow(meanwhile does)
{
    return does == NARROW || does == NARROW_BIASED || does == NARROW_TWICE;
}

CSE_LANES void fetch_line(const char *place)
{
    __asm__ volatile("prefetchw %0" ::"m"(*place));
}

/* What is done after a multiplication, as cse_matmul_finish does it, and the next row. */
CSE_LANES void do_meanwhile(meanwhile does, block_work *b, const __m512 bias[2])
{
    if (does == NOTHING)
        return;
    if (does != FETCH) {
        __m512 left = _mm512_load_ps(b->sums), right = _mm512_load_ps(b->sums + TILE);
        if (does == NARROW_TWICE) {
            const __m512i once = to_bfloat16(left, right);
            left = half_of(once, 0);
            right = half_of(once, 1);
        }
        if (does == NARROW_BIASED || does == NARROW_TWICE || does == WIDE_BIASED) {
            left = _mm512_add_ps(left, bias[0]);
            right = _mm512_add_ps(right, bias[1]);
        }
        if (is_narrow(does)) {
            _mm512_storeu_si512(b->result, to_bfloat16(left, right));
        } else {
            _mm512_storeu_ps(b->result, left);
            _mm512_storeu_ps(b->result + LINE, right);
        }
        b->sums += BLOCK;
    }
    fetch_line(b->result + b->ahead);
    if (!is_narrow(does))
        fetch_line(b->result + b->ahead + LINE);
    b->result += b->result_stride;
}

/* One step of the depth. */
CSE_TILE_LANES void multiply_step(meanwhile does, block_work *b, const __m512 bias[2])
{
    CSE_TILE_LOAD(4, b->row.from, b->row.stride);
    CSE_TILE_LOAD(6, b->column.from, TILE_BYTES / TILE);
    CSE_TILE_MULTIPLY(0, 4, 6);
    do_meanwhile(does, b, bias);
    CSE_TILE_LOAD(7, b->column.from + b->column.beside, TILE_BYTES / TILE);
    CSE_TILE_MULTIPLY(1, 4, 7);
    do_meanwhile(does, b, bias);
    CSE_TILE_LOAD(5, b->row.from + b->row.beside, b->row.stride);
    CSE_TILE_MULTIPLY(2, 5, 6);
    do_meanwhile(does, b, bias);
    CSE_TILE_MULTIPLY(3, 5, 7);
    do_meanwhile(does, b, bias);
    b->row.from += b->row.step;
    b->column.from += TILE_BYTES;
}

CSE_TILE_LANES void multiply_as(meanwhile does, const block_work *block)
{
    enum { ROW = BLOCK * sizeof(float), MULTIPLICATIONS = 4 };
    block_work b = *block;
    __m512 bias[2] = { _mm512_setzero_ps(), _mm512_setzero_ps() };
    if (does == NARROW_BIASED || does == WIDE_BIASED) {
        bias[0] = _mm512_loadu_ps(b.bias);
        bias[1] = _mm512_loadu_ps(b.bias + TILE);
    }
    if (does == NARROW_TWICE) {
        const __m512i bits = _mm512_loadu_si512(b.narrow_bias);
        bias[0] = half_of(bits, 0);
        bias[1] = half_of(bits, 1);
    }
    if (b.before == NULL) {
        CSE_TILE_ZERO(0);
        CSE_TILE_ZERO(1);
        CSE_TILE_ZERO(2);
        CSE_TILE_ZERO(3);
    } else {
        CSE_TILE_LOAD(0, b.before, ROW);
        CSE_TILE_LOAD(1, b.before + TILE, ROW);
        CSE_TILE_LOAD(2, b.before + TILE * BLOCK, ROW);
        CSE_TILE_LOAD(3, b.before + TILE * BLOCK + TILE, ROW);
    }
    const int64_t steps = does == NOTHING ? 0 : least(b.rows / MULTIPLICATIONS, b.tiles);
    for (int64_t i = 0; i < steps; i++)
        multiply_step(does, &b, bias);
    for (int64_t i = steps; i < b.tiles; i++)
        multiply_step(NOTHING, &b, bias);
    CSE_TILE_STORE(0, b.to, b.stride);
    CSE_TILE_STORE(1, b.to + LINE, b.stride);
    CSE_TILE_STORE(2, b.to + TILE * b.stride, b.stride);
    CSE_TILE_STORE(3, b.to + TILE * b.stride + LINE, b.stride);
    if (does != NOTHING && does != FETCH)
        for (int64_t i = steps * MULTIPLICATIONS; i < b.rows; i++)
            do_meanwhile(does, &b, bias);
}

#define DEFINE_MULTIPLY(NAME, DOES)                 \
    CSE_TILES static void NAME(const block_work *b) \
    {                                               \
        multiply_as(DOES, b);                       \
    }

DEFINE_MULTIPLY(multiply_alone, NOTHING)
DEFINE_MULTIPLY(multiply_fetching, FETCH)
DEFINE_MULTIPLY(multiply_narrowing, NARROW)
DEFINE_MULTIPLY(multiply_narrowing_biased, NARROW_BIASED)
DEFINE_MULTIPLY(multiply_narrowing_twice, NARROW_TWICE)
DEFINE_MULTIPLY(multiply_storing, WIDE)
DEFINE_MULTIPLY(multiply_storing_biased, WIDE_BIASED)

static void multiply_block(const block_work *b)
{
    static void (*const by[])(const block_work *) = {
        [NOTHING] = multiply_alone,
        [FETCH] = multiply_fetching,
        [NARROW] = multiply_narrowing,
        [NARROW_BIASED] = multiply_narrowing_biased,
        [NARROW_TWICE] = multiply_narrowing_twice,
        [WIDE] = multiply_storing,
        [WIDE_BIASED] = multiply_storing_biased,
    };
    by[b->does](b);
}

/* Transposes 32 x 32 sums. */
CSE_AVX512 static void turn_block(const float *from, float *to)
{
    for (int64_t row = 0; row < BLOCK; row += TILE)
        for (int64_t column = 0; column < BLOCK; column += TILE) {
            __m512 x[TILE];
            CSE_UNROLL for (int i = 0; i < TILE; i++) x[i] =
                _mm512_load_ps(from + (row + i) * BLOCK + column);
            cse_lanes_transpose(x);
            CSE_UNROLL for (int i = 0; i < TILE; i++)
                _mm512_store_ps(to + (column + i) * BLOCK + row, x[i]);
        }
}

/* ---- the product ---- */

/* Packed tiles of one operand: a chunk of it over a part of the depth. */
typedef struct packed_part {
    int64_t start;        /* of the chunk */
    int64_t depth, tiles; /* where the part of the depth begins, and its depth tiles */
} packed_part;

typedef struct work {
    const cse_narrow_kernel *kernel;
    const layout *l;
    const cse_matmul_side *sides[2]; /* that give rows and columns */
    const cse_matmul_end *end;
    packed_part part[2];
    cse_matmul_block pending; /* of the result, whose epilogue is due; no rows: none */
    const float *pending_sums;
} work;

/* The panel of 32 outer indices from `outer` (of the chunk) on, at depth tile `at`. */
static panel panel_of(const work *w, int side, int64_t outer, int64_t at)
{
    const packed_part *part = &w->part[side];
    if (side == 0 && w->l->in_place) {
        const int64_t stride = w->sides[0]->outer_stride * (int64_t)sizeof(uint16_t);
        const bool single = part->start + outer + TILE >= w->sides[0]->size;
        return (panel){ (const char *)w->sides[0]->values + (part->start + outer) * stride +
                            at * TILE_DEPTH * (int64_t)sizeof(uint16_t),
                        TILE_DEPTH * sizeof(uint16_t), stride,
                        /* Beyond the last row the same ones are read again, for nothing. */
                        single ? 0 : TILE * stride };
    }
    return (panel){ w->l->packed[side] +
                        (outer / TILE * part->tiles + at - part->depth) * TILE_BYTES,
                    TILE_BYTES, TILE_BYTES / TILE, part->tiles * TILE_BYTES };
}

static void finish_pending(work *w)
{
    if (w->pending.rows > 0)
        cse_matmul_finish_avx512(w->end, &w->pending);
    w->pending.rows = 0;
}

/* Sums that are finished; `block`: their place but for an exchange. */
static void finish_later(work *w, const cse_matmul_block *block)
{
    w->pending = *block;
    w->pending_sums = block->values;
    if (w->l->rows == 0)
        return;
    turn_block(block->values, w->l->turned);
    w->pending = (cse_matmul_block){ w->l->turned,   BLOCK,      block->column,
                                     block->columns, block->row, block->rows };
}

static char *place_of(const cse_matmul_end *end, int64_t row, int64_t column)
{
    return (char *)end->to +
           (row * end->stride + column) * (int64_t)(end->dtype == CSE_FLOAT32 ? 4 : 2);
}

/* What can be done while the block `own` of the result is multiplied; NULL: it is not finished. */
static void plan_meanwhile(const work *w, const cse_matmul_block *own, block_work *b)
{
    const cse_matmul_end *end = w->end;
    const cse_matmul_block *pending = &w->pending;
    const bool narrow = end->dtype == CSE_BFLOAT16, biased = end->bias != NULL;
    char *place = own != NULL ? place_of(end, own->row, own->column) : NULL;
    if (!narrow && end->dtype != CSE_FLOAT32)
        return;
    b->result_stride = end->stride * (narrow ? 2 : 4);
    if (pending->rows > 0 && pending->columns == BLOCK && !end->relu) {
        b->does = end->narrow_bias != NULL ? NARROW_TWICE
                  : narrow                 ? (biased ? NARROW_BIASED : NARROW)
                                           : (biased ? WIDE_BIASED : WIDE);
        b->narrow_bias = end->narrow_bias != NULL ? end->narrow_bias + pending->column : NULL;
        b->sums = pending->values;
        b->bias = biased ? end->bias + pending->column : NULL;
        b->result = place_of(end, pending->row, pending->column);
        b->rows = pending->rows;
        b->ahead = place != NULL ? place - b->result : 0;
    } else if (own != NULL) {
        b->does = FETCH;
        b->result = place;
        b->rows = own->rows;
    }
}

/* A piece of the depth: `tiles` from `at` on. */
typedef struct piece {
    int64_t at, tiles;
} piece;

/* One block over one piece; `outer`: of rows and columns in their chunks. */
static void multiply_piece(work *w, const int64_t outer[2], const piece *p, float *sums)
{
    const layout *l = w->l;
    const cse_matmul_end *end = w->end;
    const int64_t row = w->part[0].start + outer[0], column = w->part[1].start + outer[1];
    const bool first = p->at == 0, last = p->at + p->tiles == l->depth_tiles;
    const cse_matmul_block block = { sums,   BLOCK,
                                     row,    least(BLOCK, l->size[0] - row),
                                     column, least(BLOCK, l->size[1] - column) };
    const bool bare = end->dtype == CSE_FLOAT32 && end->bias == NULL && !end->relu &&
                      l->rows == 0 && block.rows == BLOCK && block.columns == BLOCK;
    const bool direct = last && bare;
    block_work b = { .row = panel_of(w, 0, outer[0], p->at),
                     .column = panel_of(w, 1, outer[1], p->at),
                     .tiles = p->tiles,
                     .before = first && !end->continues ? NULL : sums,
                     .to = direct ? place_of(end, row, column) : (char *)sums,
                     .stride = (direct ? end->stride : BLOCK) * (int64_t)sizeof *sums };
    if (first && end->continues)
        cse_matmul_begin(end, &block, sums, BLOCK, BLOCK);
    plan_meanwhile(w, last && l->rows == 0 ? &block : NULL, &b);
    multiply_block(&b);
    if (b.does > FETCH)
        w->pending.rows = 0;
    finish_pending(w);
    if (last && !direct)
        finish_later(w, &block);
}

/* Each panel of the passing chunk meets the whole staying chunk, piece by piece. */
static void multiply_chunks(work *w)
{
    const layout *l = w->l;
    const int stays = l->stays, passes = 1 - stays;
    const packed_part *passing = &w->part[passes];
    const int64_t end = passing->depth + passing->tiles,
                  size = quotient_up(passing->tiles, quotient_up(passing->tiles, PIECE));
    int64_t ends[2], turn = 0, outer[2];
    for (int i = 0; i < 2; i++)
        ends[i] = least(l->chunk[i], l->size[i] - w->part[i].start);
    for (outer[passes] = 0; outer[passes] < ends[passes]; outer[passes] += BLOCK) {
        /* The sums that wait for another piece: of this panel, of the chunk's, or of all panels. */
        const int64_t number = (passing->start + outer[passes]) / BLOCK,
                      row = l->waiting > 0 ? number % l->waiting : 0;
        piece p = { passing->depth, 0 };
        for (; p.at < end; p.at += size) {
            p.tiles = least(size, end - p.at);
            for (outer[stays] = 0; outer[stays] < ends[stays]; outer[stays] += BLOCK) {
                const int64_t block =
                    l->waiting > 0 ? row * l->staying_blocks + outer[stays] / BLOCK : turn;
                float *sums = l->sums + block * BLOCK * BLOCK;
                turn = 1 - turn;
                if (w->pending.rows > 0 && w->pending_sums == sums)
                    finish_pending(w);
                multiply_piece(w, outer, &p, sums);
            }
        }
    }
}

/* Packs a chunk, or what is left of the operand, over a part of the depth. */
static void pack_part(work *w, int side, packed_part part)
{
    w->part[side] = part;
    if (side == 0 && w->l->in_place)
        return;
    const int64_t left = quotient_up(w->l->size[side] - part.start, BLOCK) * BLOCK;
    const strip s = { w->sides[side],    w->kernel->sizes.k,
                      part.start,        least(w->l->chunk[side], left),
                      part.depth,        part.tiles,
                      w->l->packed[side] };
    pack(&s, side == 1);
}

/* All of the passing operand meets the chunk of the staying one that is packed. `packed`: where the
 * passing one is packed as a whole, it is so already. */
static void pass(work *w, bool packed)
{
    const layout *l = w->l;
    const int passes = 1 - l->stays;
    const packed_part *staying = &w->part[l->stays];
    const int64_t end = staying->depth + staying->tiles;
    for (int64_t j = 0; j < l->size[passes]; j += l->chunk[passes])
        for (int64_t depth = staying->depth; depth < end; depth += l->step) {
            if (!packed || l->chunk[passes] < l->size[passes] || l->step < l->depth_tiles)
                pack_part(w, passes, (packed_part){ j, depth, least(l->step, end - depth) });
            multiply_chunks(w);
        }
}

static void multiply_slice(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                           const cse_matmul_end *end, void *place)
{
    const layout l = layout_of(kernel, place);
    work w = {
        .kernel = kernel, .l = &l, .sides = { &sides[l.rows], &sides[1 - l.rows] }, .end = end
    };
    cse_tiles_configure();
    for (int64_t i = 0; i < l.size[l.stays]; i += l.chunk[l.stays])
        for (int64_t depth = 0; depth < l.depth_tiles; depth += l.range) {
            pack_part(&w, l.stays,
                      (packed_part){ i, depth, least(l.range, l.depth_tiles - depth) });
            pass(&w, i > 0);
        }
    finish_pending(&w);
    cse_tiles_release();
}

static void multiply(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                     const cse_matmul_end *end, void *place)
{
    slice part;
    for (int64_t at = 0; at < sliced_size(&kernel->sizes); at += part.size) {
        part = slice_of(&kernel->sizes, at);
        const cse_narrow_kernel own = kernel_of_slice(kernel, &part);
        cse_matmul_side of[2] = { sides[0], sides[1] };
        cse_matmul_side *cut = &of[part.of_rows ? 0 : 1];
        cse_matmul_end to = *end;
        cut->values = (const uint16_t *)cut->values + at * cut->outer_stride;
        cut->size = part.size;
        to.to = part.of_rows ? place_of(end, at, 0) : place_of(end, 0, at);
        to.bias = end->bias != NULL && !part.of_rows ? end->bias + at : end->bias;
        to.narrow_bias =
            end->narrow_bias != NULL && !part.of_rows ? end->narrow_bias + at : end->narrow_bias;
        multiply_slice(&own, of, &to, place);
    }
}

const cse_narrow_way cse_narrow_amx = {
    .name = "amx",
    .runs_here = cse_matrix_units_run_here,
    .orders = 1 << CSE_PRODUCT_ORDER_PAIRS,
    .scratch_bytes = scratch_bytes,
    .multiply = multiply,
};

#else

const cse_narrow_way cse_narrow_amx = { .name = "amx",
                                        .runs_here = cse_matrix_units_run_here,
                                        .orders = 1 << CSE_PRODUCT_ORDER_PAIRS };

#endif
