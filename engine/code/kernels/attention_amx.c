/* The parts of the attention kernels for pairs of bfloat16 with the processor's matrix units (AMX)
 * and AVX-512's rounding to bfloat16 (VCVTNEPS2BF16); see attention.h.
 *
 * Rows and panels already lie as the units read them: 16 rows of 16 words each are a tile, of words
 * along the depth or of columns. */
#include "engine/code/kernels/attention.h"
#include "engine/code/kernels/lanes.h"
#include "engine/code/kernels/matrix_units.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__)
#include "engine/code/kernels/attention_lanes.h"

#include "engine/code/kernels/attention_bf16_rows.h"
#include "engine/code/kernels/tile_instructions.h"

/* ---- products ---- */

enum { TILE = 16, BLOCK = 2 * TILE, WORD = sizeof(float) };

/* A block of 32 x 32 sums, or of half as many rows or columns, stays in tile registers over the
 * whole depth. */
#define DEFINE_BLOCK(name, LOWER, RIGHT)                                                    \
    CSE_TILES static void name(const cse_attention_product *p, int64_t row, int64_t column) \
    {                                                                                       \
        const int64_t row_bytes = p->row_stride * WORD, panel_bytes = p->width * WORD,      \
                      sum_bytes = p->to_stride * WORD;                                      \
        const float *from = p->from + row * p->row_stride, *panel = p->panel + column;      \
        float *to = p->to + row * p->to_stride + column;                                    \
        if (p->first) {                                                                     \
            CSE_TILE_ZERO(0);                                                               \
            CSE_TILE_ZERO(1);                                                               \
            CSE_TILE_ZERO(2);                                                               \
            CSE_TILE_ZERO(3);                                                               \
        } else {                                                                            \
            CSE_TILE_LOAD(0, to, sum_bytes);                                                \
            RIGHT(CSE_TILE_LOAD(1, to + TILE, sum_bytes);)                                  \
            LOWER(CSE_TILE_LOAD(2, to + TILE * p->to_stride, sum_bytes);)                   \
            LOWER(RIGHT(CSE_TILE_LOAD(3, to + TILE * p->to_stride + TILE, sum_bytes);))     \
        }                                                                                   \
        for (int64_t word = 0; word < p->depth; word += CSE_ATTENTION_CHUNK) {              \
            CSE_TILE_LOAD(4, from + word, row_bytes);                                       \
            CSE_TILE_LOAD(6, panel + word * p->width, panel_bytes);                         \
            CSE_TILE_MULTIPLY(0, 4, 6);                                                     \
            RIGHT(CSE_TILE_LOAD(7, panel + word * p->width + TILE, panel_bytes);)           \
            RIGHT(CSE_TILE_MULTIPLY(1, 4, 7);)                                              \
            LOWER(CSE_TILE_LOAD(5, from + word + TILE * p->row_stride, row_bytes);)         \
            LOWER(CSE_TILE_MULTIPLY(2, 5, 6);)                                              \
            LOWER(RIGHT(CSE_TILE_MULTIPLY(3, 5, 7);))                                       \
        }                                                                                   \
        CSE_TILE_STORE(0, to, sum_bytes);                                                   \
        RIGHT(CSE_TILE_STORE(1, to + TILE, sum_bytes);)                                     \
        LOWER(CSE_TILE_STORE(2, to + TILE * p->to_stride, sum_bytes);)                      \
        LOWER(RIGHT(CSE_TILE_STORE(3, to + TILE * p->to_stride + TILE, sum_bytes);))        \
    }

#define WITH(...) __VA_ARGS__
#define WITHOUT(...)

DEFINE_BLOCK(multiply_whole, WITH, WITH)
DEFINE_BLOCK(multiply_upper, WITHOUT, WITH)
DEFINE_BLOCK(multiply_left, WITH, WITHOUT)
DEFINE_BLOCK(multiply_tile, WITHOUT, WITHOUT)

/* Rows beyond the last one, up to a whole tile, give sums that nobody reads. */
static void multiply(const cse_attention_product *p)
{
    for (int64_t row = 0; row < p->rows; row += BLOCK)
        for (int64_t column = 0; column < p->width; column += BLOCK) {
            const bool lower = row + TILE < p->rows, right = column + TILE < p->width;
            if (lower && right)
                multiply_whole(p, row, column);
            else if (right)
                multiply_upper(p, row, column);
            else if (lower)
                multiply_left(p, row, column);
            else
                multiply_tile(p, row, column);
        }
}

/* ---- products beside the vector units' work ---- */

/* The processor looks some hundred instructions ahead: less than what 32 keys and 32 queries take
 * to be differentiated. So that both kinds of units work at once, the products' instructions are
 * spread among the others, the four of a chunk of the depth with two pairs of keys behind each. */
enum { PAIRS_OF_STEP = 2 };

#define BESIDE_TARGET __attribute__((CSE_TILE_TARGET)) CSE_AVX512_BF16
#define BESIDE_INLINE static inline __attribute__((always_inline)) BESIDE_TARGET

typedef struct tile_stream {
    const cse_attention_product *product, *end;
    int64_t word;
} tile_stream;

typedef struct pair_stream {
    const cse_attention_scores *scores;
    lanes *pairs;
    int64_t column;
    int next; /* pair of keys */
} pair_stream;

BESIDE_INLINE void take_pairs(pair_stream *of, bool work, bool masked)
{
    if (work)
        for (int i = 0; i < PAIRS_OF_STEP; i++, of->next++)
            of->pairs[of->next] =
                differentiate_two(of->scores, 2 * of->next, BLOCK, of->column, masked);
}

BESIDE_INLINE void begin_sums(const tile_stream *tiles)
{
    if (tiles->word == 0) {
        CSE_TILE_ZERO(0);
        CSE_TILE_ZERO(1);
        CSE_TILE_ZERO(2);
        CSE_TILE_ZERO(3);
    }
}

/* Stores the sums of a product that is complete. */
BESIDE_INLINE void end_chunk(tile_stream *tiles)
{
    const cse_attention_product *p = tiles->product;
    const int64_t bytes = p->to_stride * WORD;
    float *lower = p->to + TILE * p->to_stride;
    tiles->word += CSE_ATTENTION_CHUNK;
    if (tiles->word < p->depth)
        return;
    CSE_TILE_STORE(0, p->to, bytes);
    CSE_TILE_STORE(1, p->to + TILE, bytes);
    CSE_TILE_STORE(2, lower, bytes);
    CSE_TILE_STORE(3, lower + TILE, bytes);
    tiles->product++;
    tiles->word = 0;
}

/* A chunk of the depth, of one of the products, and as many pairs of keys as belong beside it. */
BESIDE_INLINE void take_chunk(tile_stream *tiles, pair_stream *pairs, bool work, bool masked)
{
    const cse_attention_product *p = tiles->product;
    const int64_t row_bytes = p->row_stride * WORD;
    const float *from = p->from + tiles->word, *panel = p->panel + tiles->word * BLOCK;
    begin_sums(tiles);
    CSE_TILE_LOAD(4, from, row_bytes);
    CSE_TILE_LOAD(6, panel, BLOCK * WORD);
    CSE_TILE_MULTIPLY(0, 4, 6);
    take_pairs(pairs, work, masked);
    CSE_TILE_LOAD(7, panel + TILE, BLOCK * WORD);
    CSE_TILE_MULTIPLY(1, 4, 7);
    take_pairs(pairs, work, masked);
    CSE_TILE_LOAD(5, from + TILE * p->row_stride, row_bytes);
    CSE_TILE_MULTIPLY(2, 5, 6);
    take_pairs(pairs, work, masked);
    CSE_TILE_MULTIPLY(3, 5, 7);
    take_pairs(pairs, work, masked);
    end_chunk(tiles);
}

/* 16 queries with what there is of chunks. */
BESIDE_INLINE void differentiate_column(tile_stream *tiles, const cse_attention_scores *scores,
                                        int64_t column, bool masked)
{
    lanes pairs[LANES];
    pair_stream of = { .scores = scores, .pairs = pairs, .column = column };
    while (of.next < LANES && tiles->product < tiles->end)
        take_chunk(tiles, &of, true, masked);
    while (of.next < LANES)
        take_pairs(&of, true, masked);
    store_by_query(scores, 0, column, pairs);
}

BESIDE_TARGET __attribute__((noinline)) static void
differentiate_whole(const cse_attention_scores *scores, const cse_attention_product products[2])
{
    /* A copy that no store can change. */
    const cse_attention_scores copy = *scores;
    tile_stream tiles = { products, products + 2, 0 };
    for (int64_t column = 0; column < BLOCK; column += LANES)
        if (all_seen(&copy, 0, BLOCK, column))
            differentiate_column(&tiles, &copy, column, false);
        else
            differentiate_column(&tiles, &copy, column, true);
    pair_stream nothing = { .next = LANES };
    while (tiles.product < tiles.end)
        take_chunk(&tiles, &nothing, false, false);
}

static void differentiate_beside(const cse_attention_scores *scores,
                                 const cse_attention_product products[2])
{
    if (scores->rows == BLOCK && scores->columns == BLOCK && products[0].rows > TILE) {
        differentiate_whole(scores, products);
        return;
    }
    multiply(&products[0]);
    multiply(&products[1]);
    differentiate(scores);
}

const cse_attention_way cse_attention_amx = {
    .name = "amx",
    .runs_here = cse_matrix_units_run_here,
    .begin = cse_tiles_configure,
    .end = cse_tiles_release,
    .pack_turned = pack_turned,
    .interleave = interleave,
    .multiply = multiply,
    .softmax = softmax,
    .differentiate = differentiate,
    .differentiate_beside = differentiate_beside,
    .dot_rows = dot_rows,
    .store = store,
};

#else

const cse_attention_way cse_attention_amx = { .name = "amx",
                                              .runs_here = cse_matrix_units_run_here };

#endif
