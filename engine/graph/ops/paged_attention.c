/* paged_attention: the attention of one more token of each sequence, whose keys and values before
 * it lie in pages (engine/graph/trace/attention_pages.h).
 *
 * Output: [batch, heads, 1, value], with the bits of the last query of a causal attention over the
 * whole sequence (fused_attention). Placed by who decodes (run/infer/token_decoder.c); it has no
 * gradient. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/types/dtype.h"
#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/attention.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/attention_pages.h"

cse_tensor *cse_paged_attention(cse_tensor *const inputs[CSE_PAGED_INPUTS], double scale)
{
    const cse_attributes attributes = { .number_count = 1, .numbers = { scale } };
    return cse_trace(&cse_op_paged_attention, &attributes, CSE_PAGED_INPUTS, inputs);
}

static bool is_row(cse_shape shape, int64_t batch, int64_t heads, int64_t size)
{
    return cse_shape_equal(shape, (cse_shape){ 4, { batch, heads, 1, size } });
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    const cse_shape *s = in->shapes, q = s[CSE_PAGED_QUERY], k = s[CSE_PAGED_KEY],
                    v = s[CSE_PAGED_VALUE], table = s[CSE_PAGED_TABLE];
    bool fits = q.rank == 4 && k.rank == 4 && v.rank == 4 && table.rank == 2 &&
                cse_dtype_is_float(in->dtypes[0]);
    for (int i = 0; fits && i < CSE_PAGED_INPUTS; i++)
        fits = in->dtypes[i] == (i < CSE_PAGED_KEYS ? in->dtypes[0] : CSE_INT32);
    const int64_t batch = q.dims[0], kept = k.dims[1], head = q.dims[3], value = v.dims[3];
    fits = fits && kept > 0 && q.dims[1] % kept == 0 && head > 0 && value > 0 &&
           is_row(q, batch, q.dims[1], head) && is_row(k, batch, kept, head) &&
           is_row(v, batch, kept, value) && table.dims[0] == batch && table.dims[1] > 1;
    const int64_t words[] = { kept * cse_page_key_words(head), kept * cse_page_value_words(value) };
    for (int i = 0; fits && i < 2; i++)
        fits = s[CSE_PAGED_KEYS + i].rank == 3 && s[CSE_PAGED_KEYS + i].dims[1] > 0 &&
               cse_shape_equal(s[CSE_PAGED_KEYS + i],
                               cse_shape_of(batch, s[CSE_PAGED_KEYS].dims[1], words[i]));
    if (!fits)
        return cse_fail(CSE_SHAPE, "q, k and v must be floats of one token, and pools and table "
                                   "int32 of pages for their heads");
    *shape = (cse_shape){ 4, { batch, q.dims[1], 1, value } };
    *dtype = in->dtypes[0];
    return cse_check_size(*shape);
}

/* ---- in double ---- */

/* What one head of a sequence sees. */
typedef struct view {
    const cse_reference *call;
    int64_t batch, kept; /* the sequence, and the head of keys and values */
} view;

static int64_t past_of(const view *w)
{
    const int64_t columns = w->call->node->inputs[CSE_PAGED_TABLE]->shape.dims[1];
    const int32_t *table = w->call->inputs[CSE_PAGED_TABLE];
    return table[w->batch * columns];
}

/* Element `c` of key or value `which` of a token. */
static double element(const view *w, int which, int64_t token, int64_t c)
{
    const cse_tensor *node = w->call->node, *row = node->inputs[which];
    const int64_t heads = row->shape.dims[1], size = row->shape.dims[3];
    if (token == past_of(w))
        return cse_read_element(row->dtype, w->call->inputs[which],
                                (w->batch * heads + w->kept) * size + c);
    const int64_t columns = node->inputs[CSE_PAGED_TABLE]->shape.dims[1];
    const int32_t *table = w->call->inputs[CSE_PAGED_TABLE];
    const int64_t page = table[w->batch * columns + 1 + token / CSE_PAGE_TOKENS];
    const bool key = which == CSE_PAGED_KEY;
    const int64_t words = key ? cse_page_key_words(size) : cse_page_value_words(size);
    const int64_t at = key ? cse_page_key_at(token % CSE_PAGE_TOKENS, c)
                           : cse_page_value_at(size, token % CSE_PAGE_TOKENS, c);
    return cse_read_element(CSE_FLOAT32, w->call->inputs[key ? CSE_PAGED_KEYS : CSE_PAGED_VALUES],
                            (page * heads + w->kept) * words + at);
}

static void compute_head(const cse_reference *call, int64_t batch, int64_t head, double *weights)
{
    const cse_tensor *node = call->node, *q = node->inputs[0];
    const int64_t heads = q->shape.dims[1], size = q->shape.dims[3], value = node->shape.dims[3];
    const view w = { call, batch, head * node->inputs[1]->shape.dims[1] / heads };
    const int64_t seen = past_of(&w) + 1, row = batch * heads + head;
    double maximum = -INFINITY, sum = 0;
    for (int64_t t = 0; t < seen; t++) {
        double product = 0;
        for (int64_t c = 0; c < size; c++)
            product += cse_read_element(q->dtype, call->inputs[0], row * size + c) *
                       element(&w, CSE_PAGED_KEY, t, c);
        weights[t] = product * node->attributes.numbers[0];
        maximum = fmax(maximum, weights[t]);
    }
    for (int64_t t = 0; t < seen; t++)
        sum += weights[t] = exp(weights[t] - maximum);
    for (int64_t c = 0; c < value; c++) {
        double mean = 0;
        for (int64_t t = 0; t < seen; t++)
            mean += weights[t] * element(&w, CSE_PAGED_VALUE, t, c);
        cse_write_element(node->dtype, call->output, row * value + c, mean / sum);
    }
}

static int64_t most_tokens(const cse_tensor *node)
{
    return (node->inputs[CSE_PAGED_TABLE]->shape.dims[1] - 1) * CSE_PAGE_TOKENS;
}

static void reference(const cse_reference *call)
{
    const cse_shape q = call->node->inputs[0]->shape;
    double *weights = cse_calloc((size_t)most_tokens(call->node) + 1, sizeof *weights);
    for (int64_t batch = 0; batch < q.dims[0]; batch++)
        for (int64_t head = 0; head < q.dims[1]; head++)
            compute_head(call, batch, head, weights);
    free(weights);
}

static int64_t summed_terms(const cse_tensor *node)
{
    const int64_t head = node->inputs[0]->shape.dims[3], tokens = most_tokens(node);
    return head > tokens ? head : tokens;
}

const cse_op cse_op_paged_attention = {
    .name = "paged_attention",
    .summary = "the attention of one more token to keys and values in pages",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = CSE_PAGED_INPUTS,
    .max_inputs = CSE_PAGED_INPUTS,
    .infer = infer,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_paged_attention, .types = CSE_KERNEL_ANY_FLOAT },
    .summed_terms = summed_terms,
};
