/* Products of bfloat16 operands in the processor's matrix units (AMX).
 *
 * The units read tiles of 16 rows of 32 steps of the depth, and of 16 pairs of steps of 16 columns.
 * Rows that are contiguous along the depth are read in place; all else is packed into tiles of 1
 * KiB. A block of 32 x 32 sums stays in four tile registers over a piece of the depth, so that each
 * loaded tile is used twice.
 *
 * Caches: the shorter operand is packed once and stays in L2; the longer one passes in panels of 32
 * outer indices. A piece of a panel fits L1, so a panel meets all of the other operand piece by
 * piece, and the sums of its blocks wait in memory between two pieces. Where the depth is so long
 * that too little of the shorter operand would fit L2, the depth is cut into ranges around all of
 * this, and the sums of the whole chunk wait. Waiting sums are float32 as in the registers, so the
 * bits do not depend on how the depth is cut. Bias, relu and rounding of a block run while the
 * units compute the next one.
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
/* Depth tiles of a piece: a panel of 32 KiB. */
enum { PIECE = 16 };
/* Outer indices of the staying operand that should fit; for fewer the depth is cut into ranges. */
enum { ENOUGH = 768 };

/* ---- packing ---- */

/* How a product is divided. */
typedef struct layout {
    int stays;              /* 0: rows stay packed and columns pass; 1: the reverse */
    bool in_place;          /* rows pass and are not packed */
    int64_t depth_tiles;    /* of the whole depth */
    int64_t range;          /* depth tiles of a range */
    int64_t chunk[2];       /* rows and columns that are packed together */
    char *packed[2];        /* [panel of 16][depth tile of the range][TILE_BYTES] */
    float *sums;            /* [block][BLOCK][BLOCK] */
    bool waits;             /* sums wait for the next piece; else two buffers take turns */
    int64_t blocks;         /* of sums */
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

static layout layout_of(const cse_narrow_kernel *kernel, char *place)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    const int64_t sizes[2] = { s->m, s->n };
    layout l = { .stays = s->m <= s->n ? 0 : 1, .depth_tiles = quotient_up(s->k, TILE_DEPTH) };
    const int passes = 1 - l.stays;
    l.in_place = passes == 0 && !s->transpose_a && s->k % TILE_DEPTH == 0 && s->m % TILE == 0;
    l.range = range_of(sizes[l.stays], l.depth_tiles);
    l.chunk[l.stays] = chunk_of(sizes[l.stays], l.range, STAYING_BYTES);
    l.chunk[passes] = l.in_place ? sizes[0] : chunk_of(sizes[passes], l.range, PASSING_BYTES);
    l.staying_blocks = l.chunk[l.stays] / BLOCK;
    l.waits = l.depth_tiles > PIECE;
    l.blocks = l.range < l.depth_tiles ? l.staying_blocks * quotient_up(sizes[passes], BLOCK)
               : l.waits               ? l.staying_blocks
                                       : 2;
    l.packed[0] = place;
    l.packed[1] = l.packed[0] + (l.in_place ? 0 : l.chunk[0] / TILE * l.range * TILE_BYTES);
    l.sums = (float *)(void *)(l.packed[1] + l.chunk[1] / TILE * l.range * TILE_BYTES);
    return l;
}

static size_t scratch_bytes(const cse_narrow_kernel *kernel)
{
    static char origin[1];
    const layout l = layout_of(kernel, origin);
    return (size_t)((char *)l.sums - origin) + (size_t)(l.blocks * BLOCK * BLOCK) * sizeof(float);
}

/* A range of outer indices of one operand, and where its tiles are packed. */
typedef struct strip {
    const cse_matmul_side *side;
    int64_t k, first, count; /* count: a multiple of TILE; what lies beyond the side is 0 */
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

/* A tile of rows has a vector for each outer index, a tile of columns one for each pair of steps.
 */
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

/* Where the tiles of a panel lie, in bytes: along the depth, of the rows of a tile, and of the
 * panel of 16 beside it. */
typedef struct panel {
    const char *from;
    int64_t step, stride, beside;
} panel;

/* 32 x 32 sums, and where they lie: rows are `stride` bytes apart; those before are packed. */
typedef struct block_sums {
    const float *before; /* NULL: 0 */
    float *to;
    int64_t stride;
} block_sums;

/* Adds the products over `tiles` depth tiles of two panels of rows and two of columns. */
CSE_TILES static void multiply_block(panel row, panel column, int64_t tiles, block_sums sums)
{
    const float *before = sums.before;
    float *to = sums.to;
    const int64_t stride = sums.stride, lower = TILE * stride / (int64_t)sizeof *to;
    if (before == NULL) {
        CSE_TILE_ZERO(0);
        CSE_TILE_ZERO(1);
        CSE_TILE_ZERO(2);
        CSE_TILE_ZERO(3);
    } else {
        CSE_TILE_LOAD(0, before, BLOCK * sizeof *to);
        CSE_TILE_LOAD(1, before + TILE, BLOCK * sizeof *to);
        CSE_TILE_LOAD(2, before + TILE * BLOCK, BLOCK * sizeof *to);
        CSE_TILE_LOAD(3, before + TILE * BLOCK + TILE, BLOCK * sizeof *to);
    }
    for (; tiles > 0; tiles--, row.from += row.step, column.from += column.step) {
        CSE_TILE_LOAD(4, row.from, row.stride);
        CSE_TILE_LOAD(6, column.from, column.stride);
        CSE_TILE_MULTIPLY(0, 4, 6);
        CSE_TILE_LOAD(7, column.from + column.beside, column.stride);
        CSE_TILE_MULTIPLY(1, 4, 7);
        CSE_TILE_LOAD(5, row.from + row.beside, row.stride);
        CSE_TILE_MULTIPLY(2, 5, 6);
        CSE_TILE_MULTIPLY(3, 5, 7);
    }
    CSE_TILE_STORE(0, to, stride);
    CSE_TILE_STORE(1, to + TILE, stride);
    CSE_TILE_STORE(2, to + lower, stride);
    CSE_TILE_STORE(3, to + lower + TILE, stride);
}

/* A chunk of the staying operand and one of the other, over one range of the depth. */
typedef struct work {
    const cse_narrow_kernel *kernel;
    const layout *l;
    const cse_matmul_side *sides;
    const cse_matmul_end *end;
    int64_t start[2];         /* where the chunks begin */
    int64_t depth, tiles;     /* where the range begins, and its depth tiles */
    cse_matmul_block pending; /* whose epilogue is due; no rows: none */
} work;

/* The panel of 32 outer indices from `outer` (of the chunk) on, at depth tile `at` of the range. */
static panel panel_of(const work *w, int side, int64_t outer, int64_t at)
{
    if (side == 0 && w->l->in_place) {
        const int64_t stride = w->sides[0].outer_stride * (int64_t)sizeof(uint16_t);
        const bool single = w->start[0] + outer + TILE >= w->sides[0].size;
        return (panel){ (const char *)w->sides[0].values + (w->start[0] + outer) * stride +
                            (w->depth + at) * TILE_DEPTH * (int64_t)sizeof(uint16_t),
                        TILE_DEPTH * sizeof(uint16_t), stride,
                        /* Beyond the last row the same ones are read again, for nothing. */
                        single ? 0 : TILE * stride };
    }
    return (panel){ w->l->packed[side] + (outer / TILE * w->tiles + at) * TILE_BYTES, TILE_BYTES,
                    TILE_BYTES / TILE, w->tiles * TILE_BYTES };
}

static void finish_pending(work *w)
{
    if (w->pending.rows > 0)
        cse_matmul_finish_avx512(w->end, &w->pending);
    w->pending.rows = 0;
}

/* One block over one piece; `outer`: of rows and columns in their chunks. */
static void multiply_piece(work *w, const int64_t outer[2], int64_t at, float *sums)
{
    const layout *l = w->l;
    const cse_matmul_end *end = w->end;
    const int64_t tiles = least(PIECE, w->tiles - at), row = w->start[0] + outer[0],
                  column = w->start[1] + outer[1];
    const bool first = w->depth + at == 0, last = w->depth + at + tiles == l->depth_tiles;
    const cse_matmul_block block = { sums,   BLOCK,
                                     row,    least(BLOCK, w->kernel->sizes.m - row),
                                     column, least(BLOCK, w->kernel->sizes.n - column) };
    const bool bare = end->dtype == CSE_FLOAT32 && end->bias == NULL && !end->relu &&
                      block.rows == BLOCK && block.columns == BLOCK;
    const bool direct = last && bare;
    float *to = direct ? (float *)end->to + row * end->stride + column : sums;
    if (first && end->continues)
        cse_matmul_begin(end, &block, sums, BLOCK, BLOCK);
    multiply_block(panel_of(w, 0, outer[0], at), panel_of(w, 1, outer[1], at), tiles,
                   (block_sums){ first && !end->continues ? NULL : sums, to,
                                 (direct ? end->stride : BLOCK) * (int64_t)sizeof *to });
    finish_pending(w);
    if (last && !direct)
        w->pending = block;
}

/* Each panel of the passing chunk meets the whole staying chunk, piece by piece. */
static void multiply_chunks(work *w)
{
    const layout *l = w->l;
    const int64_t sizes[2] = { w->kernel->sizes.m, w->kernel->sizes.n };
    const int stays = l->stays, passes = 1 - stays;
    int64_t ends[2], turn = 0, outer[2];
    for (int i = 0; i < 2; i++)
        ends[i] = least(l->chunk[i], sizes[i] - w->start[i]);
    for (outer[passes] = 0; outer[passes] < ends[passes]; outer[passes] += BLOCK) {
        /* The sums that wait for the next piece: of this panel, or of all panels. */
        int64_t number = (w->start[passes] + outer[passes]) / BLOCK;
        float *sums = l->sums;
        if (l->range < l->depth_tiles)
            sums += number * l->staying_blocks * BLOCK * BLOCK;
        for (int64_t at = 0; at < w->tiles; at += PIECE)
            for (outer[stays] = 0; outer[stays] < ends[stays]; outer[stays] += BLOCK) {
                int64_t block = l->waits ? outer[stays] / BLOCK : turn;
                turn = 1 - turn;
                if (w->pending.values == sums + block * BLOCK * BLOCK)
                    finish_pending(w);
                multiply_piece(w, outer, at, sums + block * BLOCK * BLOCK);
            }
    }
}

/* Packs a chunk from `first` on, or what is left of the operand. */
static void pack_chunk(work *w, int side, int64_t first)
{
    w->start[side] = first;
    if (side == 0 && w->l->in_place)
        return;
    int64_t left = quotient_up(w->sides[side].size - first, BLOCK) * BLOCK;
    const strip s = {
        &w->sides[side], w->kernel->sizes.k, first, least(w->l->chunk[side], left), w->depth,
        w->tiles,        w->l->packed[side]
    };
    pack(&s, side == 1);
}

static void multiply(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                     const cse_matmul_end *end, void *place)
{
    const layout l = layout_of(kernel, place);
    const int stays = l.stays, passes = 1 - stays;
    work w = { .kernel = kernel, .l = &l, .sides = sides, .end = end };
    cse_tiles_configure();
    for (int64_t i = 0; i < sides[stays].size; i += l.chunk[stays])
        for (w.depth = 0; w.depth < l.depth_tiles; w.depth += l.range) {
            w.tiles = least(l.range, l.depth_tiles - w.depth);
            pack_chunk(&w, stays, i);
            for (int64_t j = 0; j < sides[passes].size; j += l.chunk[passes]) {
                bool packed =
                    i > 0 && l.chunk[passes] >= sides[passes].size && l.range == l.depth_tiles;
                if (packed)
                    w.start[passes] = j;
                else
                    pack_chunk(&w, passes, j);
                multiply_chunks(&w);
            }
        }
    finish_pending(&w);
    cse_tiles_release();
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
