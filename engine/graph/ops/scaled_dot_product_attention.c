/* scaled_dot_product_attention: the values averaged for each query, weighted by the softmax of its
 * scaled products with the keys (Vaswani et al. 2017).
 *
 * Inputs: q [batch, heads, query, head], k [batch, heads, key, head], v [batch, heads, key, value];
 * with dropout also the samples of the weights, int32 [batch, heads, query, key]
 * (engine/graph/ops/random_arguments.h), or without which queries see a key, int32 [batch or 1, 2,
 * key]. Output: [batch, heads, query, value]. Attributes:
 * engine/graph/trace/attention.h.
 *
 * Where the attention pass marked it as whole, the op becomes fused_attention, which stores nothing
 * for each pair of a query and a key. Else it is expanded into matmul, softmax and dropout. The
 * gradient then traces the weights a second time; the simplify pass merges both computations, so
 * the weights are stored from the forward to the backward pass. Scores, softmax and their sums are
 * float32 whatever the type of the inputs; the four products take that type. */
#include <math.h>
#include <stdlib.h>

#include "engine/graph/op.h"
#include "engine/graph/ops/attention.h"
#include "engine/graph/ops/decoding.h"
#include "engine/graph/ops/random_arguments.h"
#include "engine/graph/ops/rows.h"

enum {
    CAUSAL = CSE_ATTENTION_CAUSAL,
    INTEGERS = CSE_ATTENTION_RESULT, /* this op has one result */
    PROBABILITY = CSE_ATTENTION_PROBABILITY,
    FACTOR = CSE_ATTENTION_FACTOR,
    SCALE = CSE_ATTENTION_SCALE,
    NUMBERS = CSE_ATTENTION_NUMBERS
};

static cse_tensor *with_dropout(cse_tensor *const inputs[3], const cse_attention_options *options,
                                cse_attributes *attributes)
{
    attributes->numbers[PROBABILITY] = options->dropout;
    attributes->numbers[FACTOR] = 1 / (1 - options->dropout);
    /* Only the shape and level of the scores are used, which are those of the weights; the unused
     * product is removed as dead code. */
    cse_tensor *scores = cse_matmul(inputs[0], inputs[1], false, true);
    cse_tensor *samples = cse_random_samples(
        "scaled_dot_product_attention", scores, cse_scalar_shape,
        options->dropout_stream ? options->dropout_stream : "attention", attributes);
    attributes->integer_count = INTEGERS;
    return cse_trace(&cse_op_scaled_dot_product_attention, attributes, 4,
                     (cse_tensor *[]){ inputs[0], inputs[1], inputs[2], samples });
}

static cse_tensor *check_options(const cse_attention_options *options)
{
    if (options->scale < 0 || options->window < 0 || options->sink < 0 || options->cap < 0)
        return cse_trace_fail(CSE_USAGE,
                              "scaled_dot_product_attention: scale %g, window %lld, sink %lld and "
                              "cap %g must not be negative",
                              options->scale, (long long)options->window, (long long)options->sink,
                              options->cap);
    return options->dropout >= 0 && options->dropout < 1
               ? NULL
               : cse_trace_fail(CSE_USAGE,
                                "scaled_dot_product_attention: dropout %g is outside [0, 1)",
                                options->dropout);
}

/* Whether only spans of the queries hide keys, which the composite takes. */
static bool has_spans_alone(const cse_attention_options *options)
{
    cse_attention_options others = *options;
    others.spans = NULL;
    return options->spans != NULL && options->dropout == 0 && !cse_attention_is_masked(&others);
}

static cse_tensor *check_spans(cse_tensor *spans, const cse_tensor *q, const cse_tensor *k)
{
    char given[128];
    if (spans == NULL || cse_trace_is_poison(spans))
        return spans;
    if (cse_attention_spans_fit(spans->shape, spans->dtype, q->shape.dims[0], k->shape.dims[2]))
        return NULL;
    return cse_trace_fail(CSE_SHAPE,
                          "scaled_dot_product_attention: the spans are %s %s; they must be int32 "
                          "[batch, 2, key], here [%lld, 2, %lld], or [1, 2, key]",
                          cse_dtype_name(spans->dtype),
                          cse_shape_text(spans->shape, given, sizeof given),
                          (long long)q->shape.dims[0], (long long)k->shape.dims[2]);
}

/** softmax(q k' * scale + mask) v: q [batch, heads, query, head], k [batch, heads, key, head] and v
 * [batch, heads, key, value] give [batch, heads, query, value]. k and v may have fewer heads, a
 * divisor of q's: heads that follow one another share them (grouped-query attention).
 * options->causal: query i uses keys 0 to i only; options->mask, key_lengths, window and spans hide
 * keys, too; the first options->sink keys are not hidden by the window. A query that sees no key,
 * or whose sums with the mask are all below -9e29, gives zeros, as in PyTorch. options->dropout
 * sets weights to 0 at random and divides the others by 1 - dropout. `options` NULL: none of them.
 * Sums are accumulated in at least float32. One kernel computes an attention that has no dropout
 * and no masks but the causal one and spans; others store a weight for each pair of a query and a
 * key. */
CSE_API cse_tensor *cse_scaled_dot_product_attention(cse_tensor *q, cse_tensor *k, cse_tensor *v,
                                                     const cse_attention_options *options)
{
    const cse_attention_options defaults = { .causal = false };
    options = options ? options : &defaults;
    const cse_decoding *decoding = cse_trace_decoding();
    if (decoding != NULL)
        return decoding->attend(decoding->self, q, k, v, options);
    cse_tensor *const inputs[] = { q, cse_attention_repeat_heads(k, q),
                                   cse_attention_repeat_heads(v, q) };
    cse_attributes attributes = { .integer_count = INTEGERS, .number_count = NUMBERS };
    attributes.integers[CAUSAL] = options->causal;
    attributes.numbers[FACTOR] = 1;
    attributes.numbers[SCALE] = options->scale;
    if (options->scale == 0 && !cse_trace_is_poison(q) && q->shape.rank == 4)
        attributes.numbers[SCALE] = 1 / sqrt((double)cse_row_length(q->shape));
    cse_tensor *wrong = check_options(options);
    if (wrong != NULL)
        return wrong;
    /* Checks the shapes; where it is not used it is removed as dead code. */
    cse_tensor *plain = cse_trace(&cse_op_scaled_dot_product_attention, &attributes, 3, inputs);
    if (cse_trace_is_poison(plain))
        return plain;
    wrong = check_spans(options->spans, inputs[0], inputs[1]);
    if (wrong != NULL)
        return wrong;
    cse_attention_options needed = *options;
    if (options->causal && options->window >= q->shape.dims[2])
        needed.window = 0; /* nothing is that far behind, and one kernel does the whole */
    if (has_spans_alone(&needed))
        return cse_trace(&cse_op_scaled_dot_product_attention, &attributes, 4,
                         (cse_tensor *[]){ inputs[0], inputs[1], inputs[2], needed.spans });
    if (cse_attention_is_masked(&needed))
        return cse_attention_masked(inputs, attributes.numbers[SCALE], &needed);
    return options->dropout == 0 ? plain : with_dropout(inputs, options, &attributes);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_shape q = in->shapes[0], k = in->shapes[1], v = in->shapes[2];
    for (int i = 0; i < 3; i++)
        if (in->shapes[i].rank != 4 || in->dtypes[i] != in->dtypes[0] ||
            !cse_dtype_is_float(in->dtypes[i]))
            return cse_fail(CSE_SHAPE, "q, k and v must be floats of one type, [batch, heads, "
                                       "time, head]; reshape and transpose them first");
    bool fits = q.dims[3] == k.dims[3] && k.dims[2] == v.dims[2] && q.dims[3] > 0 && k.dims[2] > 0;
    for (int i = 0; i < 2; i++)
        fits = fits && q.dims[i] == k.dims[i] && q.dims[i] == v.dims[i];
    if (!fits)
        return cse_fail(CSE_SHAPE,
                        "q, k and v must agree in batch and heads (or those of k and v "
                        "divide q's), q and k in the head's size, k and v in their time");
    cse_shape weights = { 4, { q.dims[0], q.dims[1], q.dims[2], k.dims[2] } };
    if (in->input_count > 3 &&
        (in->dtypes[3] != CSE_INT32 || !cse_shape_equal(in->shapes[3], weights)) &&
        !cse_attention_spans_fit(in->shapes[3], in->dtypes[3], q.dims[0], k.dims[2]))
        return cse_fail(CSE_SHAPE, "the samples must be int32 [batch, heads, query, key], or spans "
                                   "int32 [batch, 2, key]");
    *shape = q;
    shape->dims[3] = v.dims[3];
    *dtype = in->dtypes[0];
    return cse_check_size(weights);
}

static bool has_dropout(const cse_tensor *node)
{
    return node->input_count > 3 && cse_attention_spans_of(node) == NULL;
}

/* Applies dropout to the weights or to their gradient, with the same mask and factor. */
static cse_tensor *dropped(const cse_tensor *node, cse_tensor *x)
{
    cse_attributes attributes = node->attributes;
    if (!has_dropout(node))
        return x;
    attributes.integer_count = attributes.number_count = 2;
    attributes.integers[CAUSAL] = 0;
    attributes.numbers[SCALE] = 0;
    return cse_trace_2(&cse_op_dropout, &attributes, x, node->inputs[3]);
}

static cse_tensor *expand(cse_tensor *node)
{
    if (node->attributes.integers[CSE_ATTENTION_WHOLE])
        return cse_attention_fuse(node);
    cse_tensor *weights = cse_attention_weights(node, NULL);
    weights = dropped(node, weights);
    return cse_matmul(cse_cast(weights, node->dtype), node->inputs[2], false, false);
}

/* With P the softmax, D the dropout and O = D(P) V:
 *
 *   dV = D(P)' dO
 *   dP = D(dO V')
 *   dS = P * (dP - sum(P * dP)) * scale over each row
 *   dQ = dS K
 *   dK = dS' Q
 *
 * Where a score is masked, P is 0 and so is dS. Without dropout the gradient is a composite of its
 * own. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *q = node->inputs[0], *k = node->inputs[1], *v = node->inputs[2];
    if (!has_dropout(node)) {
        cse_attention_trace_gradients(node, output_gradient, gradients);
        return;
    }
    cse_tensor *weights = cse_attention_weights(node, NULL);
    cse_tensor *used = cse_cast(dropped(node, weights), node->dtype);
    cse_tensor *by_weight = cse_matmul(output_gradient, v, false, true);
    by_weight = dropped(node, cse_cast(by_weight, CSE_FLOAT32));
    cse_tensor *by_score = cse_attention_by_score(node, weights, by_weight);
    gradients[0] = cse_matmul(by_score, k, false, false);
    gradients[1] = cse_matmul(by_score, q, true, false);
    gradients[2] = cse_matmul(used, output_gradient, true, false);
}

/* The weights of one query, after dropout, in double. `row` counts over batch, heads and queries.
 */
static void reference_weights(const cse_reference *call, int64_t row, double *weights)
{
    const cse_tensor *node = call->node, *q = node->inputs[0], *k = node->inputs[1];
    const double *numbers = node->attributes.numbers;
    int64_t queries = q->shape.dims[2], keys = k->shape.dims[2], size = q->shape.dims[3];
    int64_t seen = keys, batch = row / queries;
    double maximum = -INFINITY, sum = 0;
    if (node->attributes.integers[CAUSAL] && row % queries + 1 < keys)
        seen = row % queries + 1;
    for (int64_t j = 0; j < seen; j++) {
        double product = 0;
        for (int64_t c = 0; c < size; c++)
            product += cse_read_element(q->dtype, call->inputs[0], row * size + c) *
                       cse_read_element(k->dtype, call->inputs[1], (batch * keys + j) * size + c);
        weights[j] = product * numbers[SCALE];
        if (!cse_attention_reference_spans(call, batch / k->shape.dims[1], row % queries, j))
            weights[j] = -INFINITY;
        maximum = fmax(maximum, weights[j]);
    }
    for (int64_t j = 0; j < seen; j++)
        sum += weights[j] = weights[j] > -INFINITY ? exp(weights[j] - maximum) : 0;
    for (int64_t j = 0; j < keys; j++) {
        uint32_t words[4];
        weights[j] = j < seen && sum > 0 ? weights[j] / sum : 0;
        if (!has_dropout(node))
            continue;
        cse_reference_draw(call, row * keys + j, words);
        bool zero = cse_uniform_from_bits(words[0]) < (float)numbers[PROBABILITY];
        weights[j] = zero ? 0 : weights[j] * numbers[FACTOR];
    }
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node, *v = node->inputs[2];
    int64_t queries = node->shape.dims[2], size = node->shape.dims[3], keys = v->shape.dims[2];
    double *weights = cse_calloc((size_t)keys, sizeof *weights);
    for (int64_t row = 0; row < cse_row_count(node->shape); row++) {
        reference_weights(call, row, weights);
        for (int64_t c = 0; c < size; c++) {
            double sum = 0;
            for (int64_t j = 0; j < keys; j++)
                sum += weights[j] * cse_read_element(v->dtype, call->inputs[2],
                                                     (row / queries * keys + j) * size + c);
            cse_write_element(node->dtype, call->output, row * size + c, sum);
        }
    }
    free(weights);
}

/* The larger of the two inner sizes: scores sum over a head, outputs over the keys. */
static int64_t summed_terms(const cse_tensor *node)
{
    cse_shape q = node->inputs[0]->shape, k = node->inputs[1]->shape;
    int64_t head = q.dims[q.rank - 1], keys = k.dims[k.rank - 2];
    return head > keys ? head : keys;
}

const cse_op cse_op_scaled_dot_product_attention = {
    .name = "scaled_dot_product_attention",
    .summary = "values averaged by the softmax of scaled products of queries and keys",
    .kind = CSE_OP_COMPOSITE,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = 3,
    .max_inputs = 4,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .summed_terms = summed_terms,
    .expand = expand,
};
