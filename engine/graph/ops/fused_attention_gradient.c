/* fused_attention_gradient: the gradients of fused_attention in one kernel.
 *
 * Inputs: q, k, v, output and statistics of the attention, the gradient of the output; all as
 * fused_attention has them; and its spans, if it has any. Results: the gradients with respect to q,
 * k and v. The weights are computed a second time from q, k and the statistics. */
#include <math.h>
#include <stdlib.h>

#include "engine/code/kernels/plan.h"
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/attention.h"

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_attention_sizes s;
    CSE_TRY(cse_attention_sizes_of(in, &s));
    const cse_shape output = { 4, { s.batch, s.queries, s.heads, s.value } };
    const cse_shape statistics = { 4, { s.batch, s.heads, 2, s.queries } };
    if (in->attributes->integers[CSE_ATTENTION_RESULT] >= CSE_ATTENTION_GRADIENTS ||
        !cse_shape_equal(in->shapes[CSE_ATTENTION_OF_OUTPUT], output) ||
        !cse_shape_equal(in->shapes[CSE_ATTENTION_OF_UPSTREAM], output) ||
        !cse_shape_equal(in->shapes[CSE_ATTENTION_OF_STATISTICS], statistics) ||
        !cse_dtype_is_float(in->dtypes[CSE_ATTENTION_OF_OUTPUT]) ||
        in->dtypes[CSE_ATTENTION_OF_STATISTICS] != CSE_FLOAT32 ||
        in->dtypes[CSE_ATTENTION_OF_UPSTREAM] != in->dtypes[0] ||
        (in->input_count > CSE_ATTENTION_INPUTS &&
         !cse_attention_spans_fit(in->shapes[CSE_ATTENTION_INPUTS],
                                  in->dtypes[CSE_ATTENTION_INPUTS], s.batch, s.keys)))
        return cse_fail(CSE_SHAPE,
                        "output, statistics and gradient must be those of the attention");
    *shape = in->shapes[in->attributes->integers[CSE_ATTENTION_RESULT]];
    *dtype = in->dtypes[0];
    return CSE_OK;
}

/* One call: element (batch, time, head, c) of the inputs. */
typedef struct scene {
    const cse_reference *call;
    cse_attention_sizes s;
    int64_t batch, head;
} scene;

static double value_of(const scene *at, int input, int64_t time, int64_t c)
{
    const cse_tensor *node = at->call->node->inputs[input];
    int64_t row = (at->batch * node->shape.dims[1] + time) * node->shape.dims[2] + at->head;
    return cse_read_element(node->dtype, at->call->inputs[input], row * node->shape.dims[3] + c);
}

static double product(const scene *at, int a, int64_t i, int b, int64_t j)
{
    double sum = 0;
    for (int64_t c = 0; c < at->call->node->inputs[a]->shape.dims[3]; c++)
        sum += value_of(at, a, i, c) * value_of(at, b, j, c);
    return sum;
}

/* The weight of a query and a key, and what the result's element is multiplied with. */
static double factor_of(const scene *at, int64_t i, int64_t j, double mean)
{
    const cse_attributes *attributes = &at->call->node->attributes;
    double scale = attributes->numbers[CSE_ATTENTION_SCALE];
    if ((attributes->integers[CSE_ATTENTION_CAUSAL] && j > i) ||
        !cse_attention_reference_spans(at->call, at->batch, i, j))
        return 0;
    int64_t place = (at->batch * at->s.heads + at->head) * 2 * at->s.queries + i;
    const float *statistics = at->call->inputs[CSE_ATTENTION_OF_STATISTICS];
    double score = product(at, 0, i, 1, j) - (double)statistics[place];
    double weight = exp(score * scale) * (double)statistics[place + at->s.queries];
    if (attributes->integers[CSE_ATTENTION_RESULT] == CSE_ATTENTION_VALUE)
        return weight;
    return weight * (product(at, CSE_ATTENTION_OF_UPSTREAM, i, 2, j) - mean) * scale;
}

static void compute_matrix(const scene *at, double *sums)
{
    const cse_tensor *node = at->call->node;
    int result = (int)node->attributes.integers[CSE_ATTENTION_RESULT];
    int other = result == CSE_ATTENTION_QUERY ? CSE_ATTENTION_KEY
                : result == CSE_ATTENTION_KEY ? CSE_ATTENTION_QUERY
                                              : CSE_ATTENTION_OF_UPSTREAM;
    int64_t size = node->shape.dims[3], rows = node->shape.dims[1];
    for (int64_t e = 0; e < rows * size; e++)
        sums[e] = 0;
    for (int64_t i = 0; i < at->s.queries; i++) {
        double mean = product(at, CSE_ATTENTION_OF_OUTPUT, i, CSE_ATTENTION_OF_UPSTREAM, i);
        for (int64_t j = 0; j < at->s.keys; j++) {
            double factor = factor_of(at, i, j, mean);
            bool query = result == CSE_ATTENTION_QUERY;
            for (int64_t c = 0; c < size; c++)
                sums[(query ? i : j) * size + c] += factor * value_of(at, other, query ? j : i, c);
        }
    }
    for (int64_t t = 0; t < rows; t++)
        for (int64_t c = 0; c < size; c++)
            cse_write_element(node->dtype, at->call->output,
                              ((at->batch * rows + t) * at->s.heads + at->head) * size + c,
                              sums[t * size + c]);
}

static void reference(const cse_reference *call)
{
    scene at = { .call = call, .s = cse_attention_sizes_of_node(call->node) };
    int64_t count = call->node->shape.dims[1] * call->node->shape.dims[3];
    double *sums = cse_calloc((size_t)count + 1, sizeof *sums);
    for (at.batch = 0; at.batch < at.s.batch; at.batch++)
        for (at.head = 0; at.head < at.s.heads; at.head++)
            compute_matrix(&at, sums);
    free(sums);
}

static int64_t summed_terms(const cse_tensor *node)
{
    const cse_attention_sizes s = cse_attention_sizes_of_node(node);
    return s.queries > s.keys ? s.queries : s.keys;
}

const cse_op cse_op_fused_attention_gradient = {
    .name = "fused_attention_gradient",
    .summary = "the gradients of fused_attention in one kernel",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = CSE_ATTENTION_INPUTS,
    .max_inputs = CSE_ATTENTION_INPUTS + 1,
    .infer = infer,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_attention_gradient,
                .types = CSE_KERNEL_ANY_FLOAT,
                .results = CSE_ATTENTION_GRADIENTS },
    .summed_terms = summed_terms,
};
