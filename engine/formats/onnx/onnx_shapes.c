/* Ops that move elements: other shapes and orders, parts, and choices by index. */
#include <stdint.h>

#include "engine/base/types/shape.h"
#include "engine/formats/onnx/onnx_writer.h"

static const char *first_value(cse_onnx *o, const cse_node *node)
{
    return cse_onnx_value(o, node->inputs[0]);
}

/* One size may be free: it is left to be found. */
static const char *reshape(cse_onnx *o, const cse_node *node, const char *type)
{
    int64_t sizes[CSE_MAX_RANK] = { 0 };
    int open = 0;
    for (int i = 0; i < node->shape.rank; i++) {
        const cse_onnx_size size = cse_onnx_axis(o, node, i);
        sizes[i] = size.per_sample ? -1 : size.size;
        open += size.per_sample;
    }
    const char *x = first_value(o, node);
    return CSE_ONNX_ADD(o, node, type, x,
                        open > 1 ? cse_onnx_shape(o, node, NULL)
                                 : cse_onnx_list(o, sizes, node->shape.rank));
}

/* A size that the input has already is left to it, the free one above all. */
static const char *expand(cse_onnx *o, const cse_node *node, const char *type)
{
    const cse_node *x = node->inputs[0];
    const int more = node->shape.rank - x->shape.rank;
    bool kept[CSE_MAX_RANK] = { false };
    for (int i = more; i < node->shape.rank; i++)
        kept[i] = x->shape.dims[i - more] == node->shape.dims[i];
    const char *value = cse_onnx_value(o, x);
    return CSE_ONNX_ADD(o, node, type, value, cse_onnx_shape(o, node, kept));
}

static const char *transpose(cse_onnx *o, const cse_node *node, const char *type)
{
    cse_text attributes = { 0 };
    const char *x = first_value(o, node);
    cse_onnx_integers(&attributes, "perm", node->attributes.integers, node->shape.rank);
    return cse_onnx_add(o, node, type, (const char *const[]){ x, NULL }, &attributes);
}

/* Along a free axis all is taken, or a part that does not depend on its end. */
static const char *slice(cse_onnx *o, const cse_node *node, const char *type)
{
    const int rank = node->shape.rank;
    const int64_t *a = node->attributes.integers, *b = cse_onnx_other(o, node)->attributes.integers;
    int64_t starts[CSE_MAX_RANK], ends[CSE_MAX_RANK], axes[CSE_MAX_RANK], steps[CSE_MAX_RANK];
    int count = 0;
    for (int i = 0; i < rank; i++) {
        const int64_t whole = node->inputs[0]->shape.dims[i];
        const bool to_end = a[rank + i] == whole;
        if (a[i] != b[i] || a[2 * rank + i] != b[2 * rank + i] ||
            (a[rank + i] != b[rank + i] && !to_end))
            return cse_onnx_fail(o, node, "the part depends on the number of samples");
        if (a[i] == 0 && to_end && a[2 * rank + i] == 1)
            continue;
        axes[count] = i;
        starts[count] = a[i];
        ends[count] = to_end ? INT64_MAX : a[rank + i];
        steps[count++] = a[2 * rank + i];
    }
    const char *x = first_value(o, node);
    if (count == 0)
        return x;
    return CSE_ONNX_ADD(o, node, type, x, cse_onnx_list(o, starts, count),
                        cse_onnx_list(o, ends, count), cse_onnx_list(o, axes, count),
                        cse_onnx_list(o, steps, count));
}

/* From the end to the beginning. */
static const char *flip(cse_onnx *o, const cse_node *node, const char *type)
{
    int64_t starts[CSE_MAX_RANK], ends[CSE_MAX_RANK], axes[CSE_MAX_RANK], steps[CSE_MAX_RANK];
    int count = 0;
    for (int i = 0; i < node->shape.rank; i++) {
        if ((node->attributes.integers[0] >> i & 1) == 0)
            continue;
        axes[count] = i;
        starts[count] = -1;
        ends[count] = -INT64_MAX;
        steps[count++] = -1;
    }
    const char *x = first_value(o, node);
    return CSE_ONNX_ADD(o, node, type, x, cse_onnx_list(o, starts, count),
                        cse_onnx_list(o, ends, count), cse_onnx_list(o, axes, count),
                        cse_onnx_list(o, steps, count));
}

/* An operator on all inputs along the axis of the attributes. */
static const char *along(cse_onnx *o, const cse_node *node, const char *type)
{
    const char *inputs[CSE_MAX_INPUTS + 1] = { NULL };
    cse_text attributes = { 0 };
    for (int i = 0; i < node->input_count; i++)
        inputs[i] = cse_onnx_value(o, node->inputs[i]);
    cse_onnx_integer(&attributes, "axis", node->attributes.integers[0]);
    return cse_onnx_add(o, node, type, inputs, &attributes);
}

/* Rows of a table. */
static const char *gather(cse_onnx *o, const cse_node *node, const char *type)
{
    const char *table = first_value(o, node), *indices = cse_onnx_value(o, node->inputs[1]);
    return CSE_ONNX_ADD(o, node, type, table, indices);
}

static const char *pad(cse_onnx *o, const cse_node *node, const char *type)
{
    const int rank = node->shape.rank;
    const int64_t *a = node->attributes.integers;
    for (int i = 0; i < rank; i++)
        if (a[2 * rank + i] != 0)
            return cse_onnx_fail(o, node, "ONNX puts nothing between elements");
    const char *x = first_value(o, node);
    return CSE_ONNX_ADD(o, node, type, x, cse_onnx_list(o, a, 2 * rank),
                        cse_onnx_scalar(o, node->dtype, node->attributes.numbers[0]));
}

/* The same row everywhere. */
static const char *iota(cse_onnx *o, const cse_node *node, const char *type)
{
    const cse_onnx_size row = cse_onnx_axis(o, node, node->shape.rank - 1);
    bool kept[CSE_MAX_RANK] = { false };
    if (row.per_sample)
        return cse_onnx_fail(o, node, "the numbers in a row depend on the number of samples");
    const char *value = cse_onnx_row(o, node->attributes.integers, row.size, false);
    if (node->shape.rank == 1)
        return value;
    kept[node->shape.rank - 1] = true;
    return CSE_ONNX_ADD(o, node, type, value, cse_onnx_shape(o, node, kept));
}

static const char *one_hot(cse_onnx *o, const cse_node *node, const char *type)
{
    cse_text attributes = { 0 };
    const cse_onnx_size row = cse_onnx_axis(o, node, node->shape.rank - 1);
    const char *labels = cse_onnx_narrow_value(o, node->inputs[0]);
    if (row.per_sample)
        return cse_onnx_fail(o, node, "the number of classes depends on that of samples");
    const char *hit = CSE_ONNX_ADD(o, node, "Equal", labels,
                                   cse_onnx_row(o, (const int64_t[]){ 0, 1 }, row.size, false));
    cse_onnx_integer(&attributes, "to", CSE_ONNX_FLOAT);
    return cse_onnx_add(o, node, type, (const char *const[]){ hit, NULL }, &attributes);
}

static const char *cumsum(cse_onnx *o, const cse_node *node, const char *type)
{
    cse_text attributes = { 0 };
    const char *x = first_value(o, node);
    const char *axis = cse_onnx_scalar(o, CSE_INT32, (double)node->attributes.integers[0]);
    cse_onnx_integer(&attributes, "reverse", node->attributes.integers[1] != 0);
    return cse_onnx_add(o, node, type, (const char *const[]){ x, axis, NULL }, &attributes);
}

const cse_onnx_mapping cse_onnx_shapes[] = {
    { "reshape", reshape, "Reshape" },
    { "broadcast_to", expand, "Expand" },
    { "transpose", transpose, "Transpose" },
    { "slice", slice, "Slice" },
    { "flip", flip, "Slice" },
    { "concat", along, "Concat" },
    { "take_along", along, "GatherElements" },
    { "gather", gather, "Gather" },
    { "embedding", gather, "Gather" },
    { "pad", pad, "Pad" },
    { "iota", iota, "Expand" },
    { "one_hot", one_hot, "Cast" },
    { "cumsum", cumsum, "CumSum" },
    { .op = NULL },
};
