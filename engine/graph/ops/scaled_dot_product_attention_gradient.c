/* scaled_dot_product_attention_gradient: the gradient of an attention without dropout with respect
 * to q, k or v.
 *
 * Inputs: q, k, v, and the gradient of the output; the spans of the attention, if it has any.
 * Attributes: engine/graph/trace/attention.h; the
 * result says with respect to which of the first three. One composite for each, so that one kernel
 * can compute all three where the attention pass marked them as whole; else they are expanded, and
 * the simplify pass merges what they have in common. */
#include <math.h>
#include <stdlib.h>

#include "engine/graph/op.h"
#include "engine/graph/ops/attention.h"
#include "engine/graph/ops/rows.h"
#include "engine/graph/trace/trace.h"

static int result_of(const cse_tensor *node)
{
    return (int)node->attributes.integers[CSE_ATTENTION_RESULT];
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    const cse_shape *shapes = in->shapes;
    bool fits = in->attributes->integer_count == CSE_ATTENTION_INTEGERS &&
                in->attributes->number_count == CSE_ATTENTION_NUMBERS;
    for (int i = 0; i < 4; i++)
        fits = fits && shapes[i].rank == 4 && cse_dtype_is_float(in->dtypes[i]) &&
               in->dtypes[i] == in->dtypes[0] && shapes[i].dims[0] == shapes[0].dims[0] &&
               shapes[i].dims[1] == shapes[0].dims[1];
    fits = fits && shapes[0].dims[3] == shapes[1].dims[3] &&
           shapes[1].dims[2] == shapes[2].dims[2] && shapes[3].dims[2] == shapes[0].dims[2] &&
           shapes[3].dims[3] == shapes[2].dims[3];
    fits = fits &&
           (in->input_count < 5 || cse_attention_spans_fit(shapes[4], in->dtypes[4],
                                                           shapes[0].dims[0], shapes[1].dims[2]));
    int64_t result = fits ? in->attributes->integers[CSE_ATTENTION_RESULT] : -1;
    if (result < 0 || result >= CSE_ATTENTION_GRADIENTS)
        return cse_fail(CSE_SHAPE, "q, k, v and the gradient must be those of an attention, "
                                   "[batch, heads, time, head], of one float type");
    *shape = shapes[result];
    *dtype = in->dtypes[0];
    return CSE_OK;
}

/* The gradient of the weights, float32. */
static cse_tensor *by_weight_of(const cse_tensor *node)
{
    return cse_cast(cse_matmul(node->inputs[3], node->inputs[2], false, true), CSE_FLOAT32);
}

static cse_tensor *expand(cse_tensor *node)
{
    if (node->attributes.integers[CSE_ATTENTION_WHOLE])
        return cse_attention_fuse_gradient(node);
    cse_tensor *weights = cse_attention_weights(node, NULL);
    if (result_of(node) == CSE_ATTENTION_VALUE)
        return cse_matmul(cse_cast(weights, node->inputs[0]->dtype), node->inputs[3], true, false);
    cse_tensor *by_score = cse_attention_by_score(node, weights, by_weight_of(node));
    return result_of(node) == CSE_ATTENTION_QUERY
               ? cse_matmul(by_score, node->inputs[1], false, false)
               : cse_matmul(by_score, node->inputs[0], true, false);
}

/* ---- the gradient of the gradient ---- */

static cse_tensor *sum_of(cse_tensor *a, cse_tensor *b)
{
    return a != NULL ? cse_add(a, b) : b;
}

/* What the weights P and the gradient of the weights dP get from G, that of the scores before
 * scaling:
 *
 *   dS = P * (dP - m), m = sum(P * dP) over the row
 *   of dP: P * (G - g), g = sum(P * G)
 *   of P:  G * (dP - m) - g * dP */
static cse_tensor *of_weights(cse_tensor *weights, cse_tensor *by_weight, cse_tensor *g,
                              cse_tensor **of_by_weight)
{
    cse_tensor *mean = cse_row_sum(cse_mul(weights, by_weight));
    cse_tensor *sum = cse_row_sum(cse_mul(weights, g));
    *of_by_weight = cse_mul(weights, cse_sub(g, sum));
    return cse_sub(cse_mul(g, cse_sub(by_weight, mean)), cse_mul(sum, by_weight));
}

/* With A the gradient of the result: dQ = dS K, dK = dS' Q and dV = P' dO are products; dS is as
 * above, and P the softmax of the scaled Q K'. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *const *in = node->inputs;
    cse_tensor *a = output_gradient, *weights = cse_attention_weights(node, NULL), *of_p;
    double scale = node->attributes.numbers[CSE_ATTENTION_SCALE];
    cse_dtype dtype = in[0]->dtype;
    if (result_of(node) == CSE_ATTENTION_VALUE) {
        of_p = cse_cast(cse_matmul(in[3], a, false, true), CSE_FLOAT32);
        gradients[3] = cse_matmul(cse_cast(weights, dtype), a, false, false);
    } else {
        bool query = result_of(node) == CSE_ATTENTION_QUERY;
        cse_tensor *by_weight = by_weight_of(node), *of_by_weight;
        cse_tensor *by_score = cse_attention_by_score(node, weights, by_weight);
        cse_tensor *of_score =
            query ? cse_matmul(a, in[1], false, true) : cse_matmul(in[0], a, false, true);
        gradients[query ? 1 : 0] = cse_matmul(by_score, a, query, false);
        of_p = of_weights(weights, by_weight, cse_scale(cse_cast(of_score, CSE_FLOAT32), scale),
                          &of_by_weight);
        of_by_weight = cse_cast(of_by_weight, dtype);
        gradients[2] = cse_matmul(of_by_weight, in[3], true, false);
        gradients[3] = cse_matmul(of_by_weight, in[2], false, false);
    }
    cse_tensor *through = cse_attention_by_score(node, weights, of_p);
    gradients[0] = sum_of(gradients[0], cse_matmul(through, in[1], false, false));
    gradients[1] = sum_of(gradients[1], cse_matmul(through, in[0], true, false));
}

/* ---- reference ---- */

/* Sizes and values of one call; `matrix` counts over batch and heads. */
typedef struct scene {
    const cse_reference *call;
    int64_t queries, keys, head, value, matrix;
} scene;

static double product(const scene *s, int a, int64_t i, int b, int64_t j)
{
    const cse_tensor *node = s->call->node;
    int64_t size = node->inputs[a]->shape.dims[3];
    int64_t first = (s->matrix * node->inputs[a]->shape.dims[2] + i) * size;
    int64_t second = (s->matrix * node->inputs[b]->shape.dims[2] + j) * size;
    double sum = 0;
    for (int64_t c = 0; c < size; c++)
        sum += cse_read_element(node->inputs[a]->dtype, s->call->inputs[a], first + c) *
               cse_read_element(node->inputs[b]->dtype, s->call->inputs[b], second + c);
    return sum;
}

/* Row i of P and of dS. */
static void rows_of(const scene *s, int64_t i, double *weights, double *by_score)
{
    const cse_attributes *attributes = &s->call->node->attributes;
    double scale = attributes->numbers[CSE_ATTENTION_SCALE], maximum = -INFINITY, sum = 0, mean = 0;
    bool causal = attributes->integers[CSE_ATTENTION_CAUSAL] != 0;
    int64_t seen = causal && i + 1 < s->keys ? i + 1 : s->keys;
    const int64_t sample = s->matrix / s->call->node->inputs[0]->shape.dims[1];
    for (int64_t j = 0; j < seen; j++) {
        weights[j] = cse_attention_reference_spans(s->call, sample, i, j)
                         ? product(s, 0, i, 1, j) * scale
                         : -INFINITY;
        maximum = fmax(maximum, weights[j]);
    }
    for (int64_t j = 0; j < seen; j++)
        sum += weights[j] = weights[j] > -INFINITY ? exp(weights[j] - maximum) : 0;
    for (int64_t j = 0; j < s->keys; j++) {
        weights[j] = j < seen && sum > 0 ? weights[j] / sum : 0;
        by_score[j] = product(s, 3, i, 2, j);
        mean += weights[j] * by_score[j];
    }
    for (int64_t j = 0; j < s->keys; j++)
        by_score[j] = weights[j] * (by_score[j] - mean) * scale;
}

/* Adds what query i gives to the matrix. */
static void add_row(const scene *s, int64_t i, double *rows, double *sums)
{
    const cse_reference *call = s->call;
    int result = result_of(call->node), other = result == 0 ? 1 : result == 1 ? 0 : 3;
    double *weights = rows, *by_score = rows + s->keys;
    const double *factors = result == CSE_ATTENTION_VALUE ? weights : by_score;
    int64_t size = call->node->shape.dims[3];
    const cse_tensor *from = call->node->inputs[other];
    rows_of(s, i, weights, by_score);
    for (int64_t j = 0; j < s->keys; j++)
        for (int64_t c = 0; c < size; c++) {
            int64_t row = result == CSE_ATTENTION_QUERY ? j : i;
            int64_t at = (s->matrix * from->shape.dims[2] + row) * size + c;
            sums[(result == CSE_ATTENTION_QUERY ? i : j) * size + c] +=
                factors[j] * cse_read_element(from->dtype, call->inputs[other], at);
        }
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    cse_shape q = node->inputs[0]->shape, v = node->inputs[2]->shape;
    scene s = { call, q.dims[2], v.dims[2], q.dims[3], v.dims[3], 0 };
    int64_t count = node->shape.dims[2] * node->shape.dims[3];
    double *rows = cse_calloc((size_t)(2 * s.keys) + 1, sizeof *rows);
    double *sums = cse_calloc((size_t)count + 1, sizeof *sums);
    for (; s.matrix < q.dims[0] * q.dims[1]; s.matrix++) {
        for (int64_t e = 0; e < count; e++)
            sums[e] = 0;
        for (int64_t i = 0; i < s.queries; i++)
            add_row(&s, i, rows, sums);
        for (int64_t e = 0; e < count; e++)
            cse_write_element(node->dtype, call->output, s.matrix * count + e, sums[e]);
    }
    free(rows);
    free(sums);
}

/* The larger of the two sums over the time. */
static int64_t summed_terms(const cse_tensor *node)
{
    int64_t queries = node->inputs[0]->shape.dims[2], keys = node->inputs[1]->shape.dims[2];
    return queries > keys ? queries : keys;
}

const cse_op cse_op_scaled_dot_product_attention_gradient = {
    .name = "scaled_dot_product_attention_gradient",
    .summary = "the gradient of an attention with respect to its queries, keys or values",
    .kind = CSE_OP_COMPOSITE,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = 4,
    .max_inputs = 5,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .summed_terms = summed_terms,
    .expand = expand,
};

void cse_attention_trace_gradients(cse_tensor *node, cse_tensor *output_gradient,
                                   cse_tensor *gradients[])
{
    cse_tensor *spans = cse_attention_spans_of(node);
    cse_tensor *const inputs[] = { node->inputs[0], node->inputs[1], node->inputs[2],
                                   output_gradient, spans };
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++) {
        cse_attributes attributes = cse_attention_attributes(node, i);
        gradients[i] = cse_trace(&cse_op_scaled_dot_product_attention_gradient, &attributes,
                                 spans != NULL ? 5 : 4, inputs);
    }
}
