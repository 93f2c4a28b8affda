/* Products of bfloat16 operands in the processor's matrix units (AMX).
 *
 * Both operands are packed into tiles of 1 KiB, in the order in which the units read them: 16 rows
 * of 32 steps of the depth, and 16 pairs of steps of 16 columns. A block of 32 x 32 sums stays in
 * four tile registers over the whole depth, so that each loaded tile is used twice. What is packed
 * at a time stays in the L2 cache: much of the smaller operand, so that the larger one is packed
 * once, chunk by chunk. Bias, relu and rounding of a block run while the units compute the next
 * one.
 *
 * The units' arithmetic is fixed by Intel (Software Developer's Manual, TDPBF16PS): the order
 * `pairs` of matmul_tiles.h, round to nearest even, subnormal numbers as 0, whatever the
 * floating-point mode of the process. The other implementations reproduce these bits, so this one
 * can be used wherever it exists. */
#include "engine/kernels/matmul_narrow.h"
#include "engine/kernels/matrix_units.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__)

#include "engine/kernels/lanes.h"

enum { TILE = 16, TILE_DEPTH = 32, TILE_BYTES = 1024, BLOCK = 2 * TILE };
/* Bytes of packed tiles, of the operand that stays packed and of the one that is streamed; together
 * they fit an L2 cache of 2 MiB. */
enum { LONG_BYTES = 3 << 19, SHORT_BYTES = 1 << 18 };

#define AMX __attribute__((target("amx-tile,amx-bf16"), noinline))

/* ---- packing ---- */

/* How a product is divided: tiles along the depth, and rows and columns that are packed together.
 */
typedef struct layout {
    int64_t depth_tiles, rows, columns;
    char *row, *column; /* [panel of 16][depth tile][TILE_BYTES] */
    float *block[2];    /* [BLOCK][BLOCK] */
} layout;

/* How many of `size` outer indices form a chunk: near-equal chunks of whole blocks that fit in
 * `bytes`. */
static int64_t chunk_of(int64_t size, int64_t depth_tiles, int64_t bytes)
{
    int64_t blocks = (size + BLOCK - 1) / BLOCK;
    int64_t fitting = bytes / (depth_tiles * 2 * TILE_BYTES);
    fitting = fitting < 1 ? 1 : fitting;
    int64_t chunks = (blocks + fitting - 1) / fitting;
    return (blocks + chunks - 1) / chunks * BLOCK;
}

static layout layout_of(const cse_narrow_kernel *kernel, char *place)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    layout l = { .depth_tiles = (s->k + TILE_DEPTH - 1) / TILE_DEPTH };
    bool few_rows = s->m <= s->n;
    l.rows = chunk_of(s->m, l.depth_tiles, few_rows ? LONG_BYTES : SHORT_BYTES);
    l.columns = chunk_of(s->n, l.depth_tiles, few_rows ? SHORT_BYTES : LONG_BYTES);
    l.row = place;
    l.column = l.row + l.rows / TILE * l.depth_tiles * TILE_BYTES;
    l.block[0] = (float *)(void *)(l.column + l.columns / TILE * l.depth_tiles * TILE_BYTES);
    l.block[1] = l.block[0] + BLOCK * BLOCK;
    return l;
}

static size_t scratch_bytes(const cse_narrow_kernel *kernel)
{
    const layout l = layout_of(kernel, NULL);
    return (size_t)((l.rows + l.columns) / TILE * l.depth_tiles * TILE_BYTES) +
           2 * BLOCK * BLOCK * sizeof(float);
}

/* A range of outer indices of one operand, and where its tiles are packed. */
typedef struct strip {
    const cse_matmul_side *side;
    int64_t k, first, count; /* count: a multiple of TILE; what lies beyond the side is 0 */
    int64_t depth_tiles;
    char *to;
} strip;

/* Loads the tile at outer index `outer` (of the strip) and depth tile `at` of an operand that is
 * contiguous along the depth: each vector holds 16 pairs of steps of one outer index. `whole`: all
 * of the tile lies inside the operand. */
CSE_LANES void load_kept(const strip *s, int64_t outer, int64_t at, bool whole, __m512 x[TILE])
{
    const int64_t stride = s->side->outer_stride, first = s->first + outer, p = at * TILE_DEPTH;
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
    const int64_t stride = s->side->depth_stride, first = s->first + outer, p = at * TILE_DEPTH;
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

/* A tile of rows has a vector for each outer index, a tile of columns one for each pair of steps.
 */
CSE_LANES void pack_tile(const strip *s, int64_t outer, int64_t at, bool columns)
{
    __m512 x[TILE];
    bool whole = s->first + outer + TILE <= s->side->size && (at + 1) * TILE_DEPTH <= s->k;
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
        for (int64_t outer = 0; outer < s->count; outer += TILE)
            pack_tile(s, outer, at, columns);
}

/* ---- the product ---- */

/* The instructions name registers as literals; the barriers tell the compiler that memory is
 * accessed. */
#define LOAD(register, from)                                                              \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #register ::"r"(from), "r"((int64_t)64) \
                     : "memory")
#define STORE(register, to, stride) \
    __asm__ volatile("tilestored %%tmm" #register ", (%0,%1,1)" ::"r"(to), "r"(stride) : "memory")
#define ZERO(register) __asm__ volatile("tilezero %%tmm" #register ::)
#define MULTIPLY(sums, rows, columns) \
    __asm__ volatile("tdpbf16ps %%tmm" #columns ", %%tmm" #rows ", %%tmm" #sums ::)

/* Configures all eight tile registers as 16 rows of 64 bytes. */
AMX static void configure(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } tiles __attribute__((aligned(64))) = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        tiles.row_bytes[i] = TILE_BYTES / TILE;
        tiles.rows[i] = TILE;
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(tiles));
}

AMX static void release(void)
{
    __asm__ volatile("tilerelease" ::);
}

/* 32 x 32 sums, of the two row panels from `row` and the two column panels from `column` on. */
AMX static void multiply_block(const layout *l, const char *row, const char *column, float *to,
                               int64_t stride_bytes)
{
    const int64_t next = l->depth_tiles * TILE_BYTES;
    ZERO(0);
    ZERO(1);
    ZERO(2);
    ZERO(3);
    for (const char *end = row + next; row < end; row += TILE_BYTES, column += TILE_BYTES) {
        LOAD(4, row);
        LOAD(6, column);
        MULTIPLY(0, 4, 6);
        LOAD(7, column + next);
        MULTIPLY(1, 4, 7);
        LOAD(5, row + next);
        MULTIPLY(2, 5, 6);
        MULTIPLY(3, 5, 7);
    }
    STORE(0, to, stride_bytes);
    STORE(1, to + TILE, stride_bytes);
    to = (float *)(void *)((char *)to + TILE * stride_bytes);
    STORE(2, to, stride_bytes);
    STORE(3, to + TILE, stride_bytes);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The packed rows, which begin at `row` of the result, times the packed columns from `column` on.
 */
static void multiply_packed(const cse_matmul_sizes *s, const layout *l, int64_t row, int64_t column,
                            const cse_matmul_end *end)
{
    const int64_t panel_bytes = l->depth_tiles * TILE_BYTES;
    const bool bare = end->dtype == CSE_FLOAT32 && end->bias == NULL && !end->relu;
    cse_matmul_block unfinished = { .rows = 0 };
    int current = 0;
    for (int64_t i = 0; i < l->rows && row + i < s->m; i += BLOCK)
        for (int64_t j = 0; j < l->columns && column + j < s->n; j += BLOCK) {
            const cse_matmul_block block = { l->block[current], BLOCK,
                                             row + i,           least(BLOCK, s->m - row - i),
                                             column + j,        least(BLOCK, s->n - column - j) };
            const char *rows = l->row + i / TILE * panel_bytes;
            const char *columns = l->column + j / TILE * panel_bytes;
            if (bare && block.rows == BLOCK && block.columns == BLOCK) {
                float *to = (float *)end->to + block.row * end->stride + block.column;
                multiply_block(l, rows, columns, to, end->stride * (int64_t)sizeof *to);
                continue;
            }
            multiply_block(l, rows, columns, l->block[current], BLOCK * sizeof(float));
            if (unfinished.rows > 0)
                cse_matmul_finish_avx512(end, &unfinished);
            unfinished = block;
            current = 1 - current;
        }
    if (unfinished.rows > 0)
        cse_matmul_finish_avx512(end, &unfinished);
}

/* Packs outer indices from `first` on: `most`, or fewer at the end of the operand. */
static void pack_from(strip *s, int64_t first, int64_t most, bool columns)
{
    s->first = first;
    s->count = least(most, (s->side->size - first + BLOCK - 1) / BLOCK * BLOCK);
    pack(s, columns);
}

static void multiply(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                     const cse_matmul_end *end, void *place)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    const layout l = layout_of(kernel, place);
    strip strips[2] = { { &sides[0], s->k, 0, 0, l.depth_tiles, l.row },
                        { &sides[1], s->k, 0, 0, l.depth_tiles, l.column } };
    const int64_t chunks[2] = { l.rows, l.columns };
    const int kept = s->m <= s->n ? 0 : 1, passing = 1 - kept;
    configure();
    for (int64_t i = 0; i < sides[kept].size; i += chunks[kept]) {
        pack_from(&strips[kept], i, chunks[kept], kept == 1);
        for (int64_t j = 0; j < sides[passing].size; j += chunks[passing]) {
            if (i == 0 || chunks[passing] < sides[passing].size)
                pack_from(&strips[passing], j, chunks[passing], passing == 1);
            multiply_packed(s, &l, kept == 0 ? i : j, kept == 0 ? j : i, end);
        }
    }
    release();
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
