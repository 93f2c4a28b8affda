/* slice: every step-th element of a range along each axis.
 *
 * Attributes, of an input of rank r: integers[0..r) the starts, [r..2r) the stops (exclusive),
 * [2r..3r) the steps, at least 1; all within the input. */
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/* Whether the range of each axis, as slice keeps it, is the whole axis. */
static bool is_whole(const cse_attributes *attributes, cse_shape shape)
{
    bool whole = true;
    for (int i = 0; whole && i < shape.rank; i++)
        whole = attributes->integers[i] == 0 &&
                attributes->integers[shape.rank + i] == shape.dims[i] &&
                attributes->integers[2 * shape.rank + i] == 1;
    return whole;
}

/** Elements starts[i], starts[i] + steps[i], ... below stops[i] of each axis i; one entry an axis
 * of x. Negative starts and stops count from the end; INT64_MAX stops at the end. `steps` NULL:
 * all 1. A slice of everything is x itself. */
CSE_API cse_tensor *cse_slice(cse_tensor *x, const int64_t starts[], const int64_t stops[],
                              const int64_t steps[])
{
    cse_attributes attributes = { .integer_count = 0 };
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_slice, &attributes, x);
    int rank = x->shape.rank;
    attributes.integer_count = 3 * rank;
    for (int i = 0; i < rank; i++) {
        int64_t size = x->shape.dims[i], stop = stops[i] == INT64_MAX ? size : stops[i];
        attributes.integers[i] = starts[i] < 0 ? starts[i] + size : starts[i];
        attributes.integers[rank + i] = stop < 0 ? stop + size : stop;
        attributes.integers[2 * rank + i] = steps ? steps[i] : 1;
    }
    return is_whole(&attributes, x->shape) ? x : cse_trace_1(&cse_op_slice, &attributes, x);
}

/** Elements [start, stop) of one axis of x (negative axis, start and stop count from the end). */
CSE_API cse_tensor *cse_slice_axis(cse_tensor *x, int axis, int64_t start, int64_t stop)
{
    int64_t starts[CSE_MAX_RANK] = { 0 }, stops[CSE_MAX_RANK];
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_slice, NULL, x);
    int along = cse_axis(axis, x->shape.rank);
    if (along < 0)
        return cse_trace_fail(CSE_SHAPE, "slice: axis %d is outside rank %d", axis, x->shape.rank);
    for (int i = 0; i < x->shape.rank; i++)
        stops[i] = INT64_MAX;
    starts[along] = start;
    stops[along] = stop;
    return cse_slice(x, starts, stops, NULL);
}

/** x cut along `axis` (negative: from the end) into `count` parts of `sizes`, which add up to the
 * axis; part i goes to parts[i]. */
CSE_API void cse_split(cse_tensor *x, int axis, const int64_t sizes[], int count,
                       cse_tensor *parts[])
{
    int64_t start = 0, total = 0;
    int along = cse_trace_is_poison(x) ? -1 : cse_axis(axis, x->shape.rank);
    for (int i = 0; i < count; i++)
        total += sizes[i];
    cse_tensor *wrong = NULL;
    if (along >= 0 && total != x->shape.dims[along])
        wrong =
            cse_trace_fail(CSE_SHAPE, "split: the sizes add up to %lld, axis %d has %lld elements",
                           (long long)total, axis, (long long)x->shape.dims[along]);
    for (int i = 0; i < count; start += sizes[i++])
        parts[i] = wrong ? wrong : cse_slice_axis(x, axis, start, start + sizes[i]);
}

/** x cut along `axis` (negative: from the end) into at most `count` parts of one size, but for the
 * last, as PyTorch's chunk; returns how many there are. */
CSE_API int cse_chunk(cse_tensor *x, int axis, int count, cse_tensor *parts[])
{
    int along = cse_trace_is_poison(x) ? -1 : cse_axis(axis, x->shape.rank), made = 0;
    if (along < 0 || count < 1) {
        for (int i = 0; i < count; i++)
            parts[i] = cse_slice_axis(x, axis, 0, 1);
        return count;
    }
    int64_t whole = x->shape.dims[along], size = (whole + count - 1) / count;
    for (int64_t start = 0; start < whole; start += size)
        parts[made++] =
            cse_slice_axis(x, along, start, start + size < whole ? start + size : whole);
    return made;
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    int rank = in->shapes[0].rank;
    if (in->attributes->integer_count != 3 * rank)
        return cse_fail(CSE_SHAPE, "a start, a stop and a step are needed for each axis");
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    for (int i = 0; i < rank; i++) {
        int64_t start = in->attributes->integers[i], stop = in->attributes->integers[rank + i];
        int64_t step = in->attributes->integers[2 * rank + i], size = in->shapes[0].dims[i];
        if (start < 0 || start >= stop || stop > size || step < 1)
            return cse_fail(CSE_SHAPE,
                            "[%lld, %lld) by %lld is no range of axis %d, which has %lld elements; "
                            "it must hold at least one, and the step be at least 1",
                            (long long)start, (long long)stop, (long long)step, i, (long long)size);
        shape->dims[i] = (stop - start - 1) / step + 1;
    }
    return CSE_OK;
}

/* Elements that were left out have gradient 0, so the gradient is padded around and between. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    const int64_t *starts = node->attributes.integers;
    int rank = node->shape.rank;
    int64_t high[CSE_MAX_RANK], between[CSE_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        between[i] = starts[2 * rank + i] - 1;
        int64_t last = starts[i] + (node->shape.dims[i] - 1) * starts[2 * rank + i];
        high[i] = node->inputs[0]->shape.dims[i] - 1 - last;
    }
    gradients[0] = cse_pad_between(output_gradient, starts, high, between, 0);
}

static cse_walk walk_of(const cse_tensor *node)
{
    cse_walk walk = { .shape = node->shape };
    int64_t strides[CSE_MAX_RANK];
    int rank = node->shape.rank;
    cse_shape_strides(node->inputs[0]->shape, strides);
    cse_shape_strides(node->shape, walk.target_strides);
    for (int i = 0; i < rank; i++) {
        walk.source_strides[i] = strides[i] * node->attributes.integers[2 * rank + i];
        walk.source_offset += strides[i] * node->attributes.integers[i];
    }
    return walk;
}

static void reference(const cse_reference *call)
{
    cse_walk walk = walk_of(call->node);
    cse_walk_copy(&walk, call->inputs[0], call->output, cse_dtype_size(call->node->dtype));
}

static void emit(cse_text *out, const cse_tensor *node)
{
    cse_walk walk = walk_of(node);
    cse_walk_emit(out, &walk, "x0");
}

const cse_op cse_op_slice = {
    .name = "slice",
    .summary = "every step-th element of a range along each axis",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .emit = emit,
};
