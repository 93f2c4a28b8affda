/* The parts of the attention kernels that depend on the processor; attention_forward.c and
 * attention_gradient.c put them together.
 *
 * All operands of products are words of 32 bits: a float32, or two bfloat16 that follow one another
 * along the depth of the product, the first one in the low half. Every way computes the same bits:
 *
 *   product   float32: one chain of fused multiply-adds over the depth, from 0 (or from what the
 *             sum holds). bfloat16 in the order `dot`: the same chain, of each pair the second
 *             product first. In the order `pairs`: of each 32 steps of the depth, which
 *             is filled up with zeros, one chain from 0 of the first products of the pairs and
 *             another of the second ones; their sum is added to what the sum holds (product_order.h
 *             chooses). In both, subnormal numbers count as 0 (as VDPBF16PS and TDPBF16PS do).
 *             Steps are counted from the first element of a head, key or query on, so that whole
 *             blocks of 32 may be left out
 *   weight    2^((score - largest score) * factor), before it is divided by the sum
 *   2^x       clamped to [-125, 126]; x = n + r with n the nearest integer, 1 + r P(r) with P of
 *             degree 5, fused; times 2^n
 *   sum       of a row: 16 chains, element j in chain j mod 16; then chains i and i + 8 are added,
 *             i and i + 4, i and i + 2, i and i + 1
 *   rounding  to bfloat16, to nearest even; subnormal numbers become 0
 *
 * In `pairs` a sum may be -0 by underflow before steps of nothing else are added, which make it +0;
 * so a result that is 0 is stored as +0 times its factor, whatever was left out. */
#ifndef CSE_KERNELS_ATTENTION_H
#define CSE_KERNELS_ATTENTION_H

#include <stdbool.h>

#include "engine/base/types/dtype.h"
#include "engine/code/kernels/attention_spans.h"
#include "engine/graph/graph.h"

/* Columns of a panel of a turned matrix; of a kept one at most; both multiples of 16 lanes. */
enum {
    CSE_ATTENTION_TURNED_COLUMNS = CSE_SPANS_BLOCK,
    CSE_ATTENTION_KEPT_COLUMNS = 64,
};

/* Steps that two chains of `pairs` take, and their words. */
enum { CSE_ATTENTION_STEPS = 32, CSE_ATTENTION_CHUNK = CSE_ATTENTION_STEPS / 2 };

/* A matrix [rows, columns] of one head, whose rows are `stride` elements apart. */
typedef struct cse_attention_matrix {
    const void *values;
    cse_dtype dtype; /* float32 or bfloat16 */
    int64_t stride, rows, columns;
} cse_attention_matrix;

/* Adds rows (element (i, p) at from[i * row_stride + p * depth_stride]) times a panel
 * [depth][width] to to[i][...]; `first`: to nothing. `width` is a multiple of 16, at most 64; panel
 * and rows of the result are aligned to 64 bytes. */
typedef struct cse_attention_product {
    const float *from;
    int64_t row_stride, depth_stride, rows;
    const float *panel;
    int64_t depth, width;
    float *to;
    int64_t to_stride;
    bool first;
} cse_attention_product;

/* Turns rows of scores into weights that are not divided by their sum yet, in place; `paired`: as
 * bfloat16 from the start of each row on. Elements from `seen` of a row on, which grows by
 * `seen_step` a row up to `most`, become 0, up to `filled`, a multiple of 16; so do those of keys
 * that do not span the row's query, where `spans` says so for as many keys. A row of nothing else
 * has a maximum and a reciprocal of 0. */
typedef struct cse_attention_softmax {
    float *scores;
    int64_t stride, rows, seen, seen_step, most, filled;
    float factor; /* of the scores, to units of log2 */
    bool paired;
    cse_attention_spans spans;   /* from the key of the first column on */
    int32_t query;               /* of the first row */
    float *maxima, *reciprocals; /* results, by row: of the scores, of the sums */
} cse_attention_softmax;

/* Turns scores [key, query] and the gradient of the weights into weights and the gradient of the
 * unscaled scores. A key at row r is seen by queries from `first_seen` + r on, and by none that
 * `spans` leaves out. */
typedef struct cse_attention_scores {
    float *scores, *gradient;      /* turned in place where they are not `paired` */
    int64_t stride, rows, columns; /* columns: a multiple of 16 */
    int64_t first_seen;            /* may be below 0 */
    cse_attention_spans spans;     /* from the key of the first row on */
    int64_t query;                 /* of the first column */
    float factor;
    const float *maxima, *reciprocals, *means; /* by query */
    /* As bfloat16, rows `paired_stride` apart, which may overlay the scores; and as pairs along the
     * keys in `turned`. */
    bool paired;
    uint16_t *weights, *changes;
    int64_t paired_stride;
    /* [rows / 2][turned_stride]; `by_query`: [columns][turned_stride], of all rows up to a multiple
     * of 32, where those that are missing are 0. */
    float *turned;
    int64_t turned_stride;
    bool by_query;
    int64_t hidden_rows; /* behind the rows: keys that no query of these sees; by_query alone */
} cse_attention_scores;

/* Rows of sums times a factor, rounded to the type of the result. */
typedef struct cse_attention_store {
    const float *from, *factors; /* by row; NULL: `factor` for all */
    int64_t from_stride, rows, columns;
    float factor;
    bool positive; /* a sum of -0 counts as 0 */
    cse_dtype dtype;
    void *to;
    int64_t to_stride;
} cse_attention_store;

typedef struct cse_attention_way {
    const char *name;
    bool (*runs_here)(void);
    /* Around the other functions of a run, in each thread; NULL: nothing is to be done. */
    void (*begin)(void), (*end)(void);
    /* [panel of 32 rows][depth][32] of columns or pairs of columns; what is missing is 0. */
    void (*pack_turned)(const cse_attention_matrix *matrix, int64_t depth, float *to);
    /* to[c] = the word of low[c] and high[c]. */
    void (*interleave)(const uint16_t *low, const uint16_t *high, int64_t count, uint32_t *to);
    void (*multiply)(const cse_attention_product *product);
    void (*softmax)(const cse_attention_softmax *softmax);
    void (*differentiate)(const cse_attention_scores *scores);
    /* `differentiate`, and two first products of 32 columns that neither read nor write what it
     * does, in one stream of instructions; NULL: one after another does as well. */
    void (*differentiate_beside)(const cse_attention_scores *scores,
                                 const cse_attention_product products[2]);
    /* means[i] = the sum of a[i] * b[i]. */
    void (*dot_rows)(const cse_attention_matrix *a, const cse_attention_matrix *b, float *means);
    void (*store)(const cse_attention_store *store);
} cse_attention_way;

/* The order of sums for operands of the type in the graph: `chain` for float32. */
cse_product_order cse_attention_order(const cse_graph *graph, cse_dtype dtype);

/* The first way of the order that runs here, from the one that CSE_ATTENTION in the environment
 * names, for tests and comparisons. All have the same bits. `blocks`: rows of products, and those
 * of their results, have memory up to a whole block of 32; else no way is chosen that needs it. */
const cse_attention_way *cse_attention_choose_way(cse_product_order order, bool blocks);

/* By order. */
extern const cse_attention_way cse_attention_avx512, cse_attention_avx2, cse_attention_plain;
extern const cse_attention_way cse_attention_avx512_bf16, cse_attention_avx512_dot,
    cse_attention_avx2_dot, cse_attention_plain_dot;
extern const cse_attention_way cse_attention_amx, cse_attention_avx512_pairs,
    cse_attention_avx2_pairs, cse_attention_plain_pairs;

#endif
