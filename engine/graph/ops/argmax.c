/* argmax: where the largest element along one axis is.
 *
 * Attributes: integers[0] the axis. Of equal elements the first counts; a NaN counts as the
 * largest. */
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** Index of the largest element along `axis` (negative: from the end), the first of equals: int32,
 * with x's shape without the axis. No gradient. */
CSE_API cse_tensor *cse_argmax(cse_tensor *x, int axis)
{
    cse_attributes attributes = { .integer_count = 1 };
    if (!cse_trace_is_poison(x))
        attributes.integers[0] = cse_axis(axis, x->shape.rank);
    return cse_trace_1(&cse_op_argmax, &attributes, x);
}

/** Index of the smallest element along `axis`, as cse_argmax gives that of the largest: the first
 * of equals; a NaN counts as the smallest. Of int32, INT32_MIN is not told from its opposite. */
CSE_API cse_tensor *cse_argmin(cse_tensor *x, int axis)
{
    return cse_argmax(cse_neg(x), axis);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    int64_t axis = in->attributes->integers[0];
    if (axis < 0 || axis >= in->shapes[0].rank || in->shapes[0].dims[axis] < 1)
        return cse_fail(CSE_SHAPE, "the axis must be one of the input's and not empty");
    if (in->dtypes[0] == CSE_BOOL)
        return cse_fail(CSE_SHAPE, "the input must be numbers, not bool; cast it first");
    *shape = cse_scalar_shape;
    for (int i = 0; i < in->shapes[0].rank; i++)
        if (i != axis)
            shape->dims[shape->rank++] = in->shapes[0].dims[i];
    *dtype = CSE_INT32;
    return CSE_OK;
}

/* The input as [before, length, after]: the sizes before the axis multiplied, the axis, the sizes
 * after it multiplied. */
static void split(const cse_tensor *node, int64_t *before, int64_t *length, int64_t *after)
{
    cse_shape shape = node->inputs[0]->shape;
    int64_t axis = node->attributes.integers[0];
    *before = *after = 1;
    *length = shape.dims[axis];
    for (int i = 0; i < shape.rank; i++)
        if (i < axis)
            *before *= shape.dims[i];
        else if (i > axis)
            *after *= shape.dims[i];
}

static void reference(const cse_reference *call)
{
    int64_t before, length, after;
    split(call->node, &before, &length, &after);
    cse_dtype dtype = call->node->inputs[0]->dtype;
    int32_t *y = call->output;
    for (int64_t i = 0; i < before; i++)
        for (int64_t k = 0; k < after; k++) {
            int64_t first = i * length * after + k, best = 0;
            double largest = cse_read_element(dtype, call->inputs[0], first);
            for (int64_t j = 1; j < length; j++) {
                double x = cse_read_element(dtype, call->inputs[0], first + j * after);
                if (x > largest || (x != x && largest == largest)) {
                    largest = x;
                    best = j;
                }
            }
            y[i * after + k] = (int32_t)best;
        }
}

static void emit(cse_text *out, const cse_tensor *node)
{
    int64_t before, length, after;
    split(node, &before, &length, &after);
    bool is_integer = node->inputs[0]->dtype == CSE_INT32;
    const char *type = is_integer ? "int32_t" : "float";
    const char *load = cse_emitted_load(node->inputs[0]->dtype);
    cse_text_add(out,
                 "for (int64_t i = 0; i < %lld; i++)\n"
                 "for (int64_t k = 0; k < %lld; k++) {\n"
                 "int32_t best = 0;\n"
                 "%s largest = %s(x0[i * %lld + k]);\n"
                 "for (int32_t j = 1; j < %lld; j++) {\n"
                 "%s value = %s(x0[i * %lld + j * (int64_t)%lld + k]);\n"
                 "if (value > largest%s) {\n"
                 "largest = value;\n"
                 "best = j;\n"
                 "}\n"
                 "}\n"
                 "y[i * %lld + k] = best;\n"
                 "}\n",
                 (long long)before, (long long)after, type, load, (long long)(length * after),
                 (long long)length, type, load, (long long)(length * after), (long long)after,
                 is_integer ? "" : " || (value != value && largest == largest)", (long long)after);
}

const cse_op cse_op_argmax = {
    .name = "argmax",
    .summary = "where the largest element along an axis is",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .reference = reference,
    .emit = emit,
};
