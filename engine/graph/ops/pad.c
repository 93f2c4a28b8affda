/* pad: puts a number before, after and between the elements along each axis.
 *
 * Attributes, of an input of rank r: integers[0..r) how many go before along each axis, [r..2r) how
 * many after, [2r..3r) how many between two neighbours; numbers[0] the number. */
#include <math.h>

#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** x with low[i] elements of `value` before and high[i] after it along each axis i, and between[i]
 * between two neighbours; one entry an axis. */
CSE_API cse_tensor *cse_pad_between(cse_tensor *x, const int64_t low[], const int64_t high[],
                                    const int64_t between[], double value)
{
    cse_attributes attributes = { .number_count = 1, .numbers = { value } };
    if (!cse_trace_is_poison(x)) {
        int rank = x->shape.rank;
        attributes.integer_count = 3 * rank;
        for (int i = 0; i < rank; i++) {
            attributes.integers[i] = low[i];
            attributes.integers[rank + i] = high[i];
            attributes.integers[2 * rank + i] = between ? between[i] : 0;
        }
    }
    return cse_trace_1(&cse_op_pad, &attributes, x);
}

/** x with low[i] elements of `value` before and high[i] after it along each axis i; one entry an
 * axis. */
CSE_API cse_tensor *cse_pad(cse_tensor *x, const int64_t low[], const int64_t high[], double value)
{
    return cse_pad_between(x, low, high, NULL, value);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    const int64_t most = (int64_t)1 << 40, *low = in->attributes->integers;
    int rank = in->shapes[0].rank;
    if (in->attributes->integer_count != 3 * rank || in->attributes->number_count != 1)
        return cse_fail(CSE_SHAPE, "a count before, after and between is needed for each axis");
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    for (int i = 0; i < rank; i++) {
        int64_t high = low[rank + i], between = low[2 * rank + i], size = shape->dims[i];
        if (low[i] < 0 || high < 0 || between < 0 || low[i] > most || high > most ||
            between > most / (size + 1))
            return cse_fail(CSE_SHAPE, "the counts of axis %d must be from 0 to 2^40", i);
        shape->dims[i] = low[i] + high + size + (size > 0 ? (size - 1) * between : 0);
    }
    return cse_check_size(*shape);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    const int64_t *low = node->attributes.integers;
    int rank = node->shape.rank;
    int64_t stops[CSE_MAX_RANK], steps[CSE_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        stops[i] = node->shape.dims[i] - low[rank + i];
        steps[i] = low[2 * rank + i] + 1;
    }
    gradients[0] = cse_slice(output_gradient, low, stops, steps);
}

static cse_walk walk_of(const cse_tensor *node)
{
    cse_walk walk = { .shape = node->inputs[0]->shape };
    int64_t strides[CSE_MAX_RANK];
    int rank = node->shape.rank;
    cse_shape_strides(node->inputs[0]->shape, walk.source_strides);
    cse_shape_strides(node->shape, strides);
    for (int i = 0; i < rank; i++) {
        walk.target_strides[i] = strides[i] * (node->attributes.integers[2 * rank + i] + 1);
        walk.target_offset += strides[i] * node->attributes.integers[i];
    }
    return walk;
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    cse_walk walk = walk_of(node);
    int64_t count = cse_shape_elements(node->shape);
    for (int64_t i = 0; i < count; i++)
        cse_write_element(node->dtype, call->output, i, node->attributes.numbers[0]);
    cse_walk_copy(&walk, call->inputs[0], call->output, cse_dtype_size(node->dtype));
}

static void emit_number(cse_text *out, double value)
{
    if (isfinite(value))
        cse_text_add(out, "%.17g", value);
    else if (isnan(value))
        cse_text_add(out, "__builtin_nanf(\"\")");
    else
        cse_text_add(out, "%s__builtin_inff()", value < 0 ? "-" : "");
}

static void emit(cse_text *out, const cse_tensor *node)
{
    cse_walk walk = walk_of(node);
    cse_text_add(out, "for (int64_t i = 0; i < %lld; i++)\ny[i] = %s(",
                 (long long)cse_shape_elements(node->shape), cse_emitted_store(node->dtype));
    emit_number(out, node->attributes.numbers[0]);
    cse_text_add(out, ");\n");
    cse_walk_emit(out, &walk, "x0");
}

const cse_op cse_op_pad = {
    .name = "pad",
    .summary = "a tensor surrounded with a number",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .emit = emit,
};
