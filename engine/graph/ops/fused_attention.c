/* fused_attention: an attention without dropout in one kernel, which stores nothing for each pair
 * of a query and a key.
 *
 * Inputs: q [batch, query, heads, head], k [batch, key, heads, head], v [batch, key, heads, value].
 * Where only some queries see a key also the spans of those, int32 [batch or 1, 2, key].
 * Results: the output [batch, query, heads, value]; and what the gradient needs of each query's
 * softmax (engine/graph/trace/attention.h). Placed by the expansion of attention, after
 * differentiation. */
#include <math.h>
#include <stdlib.h>

#include "engine/code/kernels/plan.h"
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/attention.h"

static bool wants_statistics(const cse_attributes *attributes)
{
    return attributes->integers[CSE_ATTENTION_RESULT] == CSE_ATTENTION_STATISTICS;
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_attention_sizes s;
    CSE_TRY(cse_attention_sizes_of(in, &s));
    if (in->attributes->integers[CSE_ATTENTION_RESULT] >= CSE_ATTENTION_RESULTS)
        return cse_fail(CSE_SHAPE, "there is no such result");
    if (in->input_count > 3 &&
        !cse_attention_spans_fit(in->shapes[3], in->dtypes[3], s.batch, s.keys))
        return cse_fail(CSE_SHAPE, "spans must be int32 [batch, 2, key]");
    bool statistics = wants_statistics(in->attributes);
    *shape = statistics ? (cse_shape){ 4, { s.batch, s.heads, 2, s.queries } }
                        : (cse_shape){ 4, { s.batch, s.queries, s.heads, s.value } };
    *dtype = statistics ? CSE_FLOAT32 : in->dtypes[0];
    return cse_check_size(*shape);
}

/* The scores of one query before scaling; returns how many keys it sees. */
static int64_t read_scores(const cse_reference *call, const int64_t at[3], double *scores)
{
    const cse_tensor *node = call->node, *q = node->inputs[0];
    const cse_attention_sizes s = cse_attention_sizes_of_node(node);
    bool causal = node->attributes.integers[CSE_ATTENTION_CAUSAL] != 0;
    int64_t seen = causal && at[2] + 1 < s.keys ? at[2] + 1 : s.keys;
    for (int64_t j = 0; j < seen; j++) {
        double sum = 0;
        for (int64_t c = 0; c < s.head; c++)
            sum += cse_read_element(q->dtype, call->inputs[0],
                                    ((at[0] * s.queries + at[2]) * s.heads + at[1]) * s.head + c) *
                   cse_read_element(q->dtype, call->inputs[1],
                                    ((at[0] * s.keys + j) * s.heads + at[1]) * s.head + c);
        scores[j] = cse_attention_reference_spans(call, at[0], at[2], j) ? sum : -INFINITY;
    }
    return seen;
}

/* `at`: batch, head and query. */
static void compute_query(const cse_reference *call, const int64_t at[3], double *weights)
{
    const cse_tensor *node = call->node;
    const cse_attention_sizes s = cse_attention_sizes_of_node(node);
    int64_t seen = read_scores(call, at, weights);
    double maximum = -INFINITY, sum = 0;
    double scale = node->attributes.numbers[CSE_ATTENTION_SCALE];
    for (int64_t j = 0; j < seen; j++)
        maximum = fmax(maximum, weights[j]);
    maximum = maximum > -INFINITY ? maximum : 0;
    for (int64_t j = 0; j < seen; j++)
        sum += weights[j] = weights[j] > -INFINITY ? exp((weights[j] - maximum) * scale) : 0;
    const double reciprocal = sum > 0 ? 1 / sum : 0;
    if (wants_statistics(&node->attributes)) {
        int64_t place = (at[0] * s.heads + at[1]) * 2 * s.queries + at[2];
        cse_write_element(node->dtype, call->output, place, maximum);
        cse_write_element(node->dtype, call->output, place + s.queries, reciprocal);
        return;
    }
    for (int64_t c = 0; c < s.value; c++) {
        double mean = 0;
        for (int64_t j = 0; j < seen; j++)
            mean += weights[j] *
                    cse_read_element(node->inputs[2]->dtype, call->inputs[2],
                                     ((at[0] * s.keys + j) * s.heads + at[1]) * s.value + c);
        cse_write_element(node->dtype, call->output,
                          ((at[0] * s.queries + at[2]) * s.heads + at[1]) * s.value + c,
                          mean * reciprocal);
    }
}

static void reference(const cse_reference *call)
{
    const cse_attention_sizes s = cse_attention_sizes_of_node(call->node);
    double *weights = cse_calloc((size_t)s.keys + 1, sizeof *weights);
    for (int64_t batch = 0; batch < s.batch; batch++)
        for (int64_t head = 0; head < s.heads; head++)
            for (int64_t i = 0; i < s.queries; i++)
                compute_query(call, (int64_t[]){ batch, head, i }, weights);
    free(weights);
}

static int64_t summed_terms(const cse_tensor *node)
{
    const cse_attention_sizes s = cse_attention_sizes_of_node(node);
    return s.head > s.keys ? s.head : s.keys;
}

const cse_op cse_op_fused_attention = {
    .name = "fused_attention",
    .summary = "an attention in one kernel, and the statistics of its rows",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = 3,
    .max_inputs = 4,
    .infer = infer,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_attention,
                .types = CSE_KERNEL_ANY_FLOAT,
                .results = CSE_ATTENTION_RESULTS },
    .summed_terms = summed_terms,
};
