/* What the forward kernel of attention and that of its gradients share; see attention_forward.c. */
#ifndef CSE_KERNELS_ATTENTION_PARTS_H
#define CSE_KERNELS_ATTENTION_PARTS_H

#include "engine/code/kernels/attention.h"
#include "engine/code/kernels/plan.h"
#include "engine/code/kernels/scratch.h"
#include "engine/graph/trace/attention.h"

typedef struct cse_attention_kernel {
    cse_kernel base;
    const cse_attention_way *way;
    cse_attention_sizes sizes;
    cse_dtype dtype; /* of the operands */
    cse_dtype result_dtypes[CSE_MAX_RESULTS], output_dtype;
    int operands[CSE_ATTENTION_INPUTS];
    int spans;            /* the operand that has them; -1: none */
    int64_t spans_stride; /* from sample to sample; 0: the same for all */
    cse_product_order order;
    bool causal, paired;
    float scale;
    cse_scratch *scratch;
} cse_attention_kernel;

/* What one head is computed from; the last four of the gradient alone. */
typedef struct cse_attention_operands {
    cse_attention_matrix queries, keys, values, output, upstream;
    const int32_t *spans; /* [2, key], of the sample */
    const float *statistics;
    void *const *results;
    int64_t place[2];
} cse_attention_operands;

/* Scratch memory of which parts are taken one after another; with a NULL start they are only
 * counted. */
typedef struct cse_attention_allotment {
    float *start;
    int64_t floats;
} cse_attention_allotment;

/* Rows, as pack_rows left them, times columns [first, end) of a turned matrix, to rows of `stride`.
 */
typedef struct cse_attention_turned_product {
    const float *rows;
    int64_t row_count, depth;
    const float *turned;
    int64_t first, end; /* `first` is a multiple of the block */
    float *to;
    int64_t stride;
} cse_attention_turned_product;

static inline int64_t cse_attention_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cse_attention_round_up(int64_t size, int64_t multiple)
{
    return (size + multiple - 1) / multiple * multiple;
}

static inline bool cse_attention_by_pairs(const cse_attention_kernel *kernel)
{
    return kernel->order == CSE_PRODUCT_ORDER_PAIRS;
}

static inline bool cse_attention_has_spans(const cse_attention_kernel *kernel)
{
    return kernel->spans >= 0;
}

/* `size` elements along the depth of a product, filled up with zeros as the order wants it. */
int64_t cse_attention_filled_up(const cse_attention_kernel *kernel, int64_t size);

/* Words that they take. */
int64_t cse_attention_words_of(const cse_attention_kernel *kernel, int64_t size);

/* A head of an operand or result [batch, time, heads, size]: `whole` has its place, type and sizes.
 */
cse_attention_matrix cse_attention_head_of(const cse_attention_kernel *kernel,
                                           cse_attention_matrix whole, const int64_t place[2]);
const char *cse_attention_row_at(const cse_attention_matrix *m, int64_t row);

/* Rows [first, first + count) one after another, [count][depth]. */
void cse_attention_pack_rows(const cse_attention_kernel *kernel, const cse_attention_matrix *m,
                             int64_t first, int64_t count, float *to);

/* Begins to load rows [first, end), as far as there are, before they are read or written: rows of a
 * head lie too far apart for the processor to foresee them. */
void cse_attention_prefetch_rows(const cse_attention_matrix *m, int64_t first, int64_t end,
                                 bool write);

/* Rows [first, first + count) as panels of columns, [panel][depth][width], whose depth is along the
 * rows. */
void cse_attention_pack_kept(const cse_attention_kernel *kernel, const cse_attention_matrix *m,
                             int64_t first, int64_t count, float *to);

/* Floats that such panels, or those of a way's pack_turned, take. */
int64_t cse_attention_kept_floats(const cse_attention_kernel *kernel, int64_t rows,
                                  int64_t columns);
int64_t cse_attention_turned_floats(const cse_attention_kernel *kernel, int64_t rows,
                                    int64_t columns);

/* As many floats, aligned to 64 bytes; NULL where there is no start. */
float *cse_attention_take(cse_attention_allotment *from, int64_t floats);
cse_packed_spans cse_attention_lay_out_spans(const cse_attention_kernel *kernel,
                                             cse_attention_allotment *from);
void cse_attention_pack_spans(const cse_attention_kernel *kernel, const int32_t *spans,
                              const cse_packed_spans *to);

void cse_attention_multiply_turned(const cse_attention_kernel *kernel,
                                   const cse_attention_turned_product *t);

/* Rows times a kept matrix of `columns` columns, whose panels are `panel_depth` words deep, from
 * word `first` on. */
void cse_attention_multiply_kept(const cse_attention_kernel *kernel, cse_attention_product product,
                                 int64_t columns, int64_t panel_depth, int64_t first);

/* Rows are an odd number of cache lines apart, so as not to fall into the same cache sets. */
int64_t cse_attention_stride_of(int64_t columns);

/* Of head `number` of the batch. */
cse_attention_operands cse_attention_operands_of(const cse_attention_kernel *kernel,
                                                 const void *const inputs[], int64_t number);

/* Around the work of a thread. */
void cse_attention_begin_way(const cse_attention_kernel *kernel);
void cse_attention_end_way(const cse_attention_kernel *kernel);

/* The kernel of the gradients (attention_gradient.c), and the scratch memory that it takes. */
void cse_attention_run_gradient(cse_kernel *base, const void *const inputs[], void *output);
int64_t cse_attention_gradient_floats(const cse_attention_kernel *kernel);

#endif
