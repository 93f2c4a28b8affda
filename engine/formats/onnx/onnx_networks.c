/* What networks are made of: sums, products of matrices, norms, softmax, attention, convolutions
 * and pooling. */
#include <stddef.h>

#include "engine/formats/onnx/onnx_writer.h"
#include "engine/graph/trace/attention.h"
#include "engine/graph/trace/windows.h"

/* Of scores that are masked: their exponential is 0, beside any score of finite inputs. */
static const double masked_score = -1e30;

/* Over all axes where none is named. */
static int axes_of(const cse_node *node, int64_t axes[CSE_MAX_RANK])
{
    const cse_attributes *a = &node->attributes;
    const int named = a->integer_count - 1, rank = node->inputs[0]->shape.rank;
    for (int i = 0; i < named; i++)
        axes[i] = a->integers[1 + i];
    for (int i = 0; named == 0 && i < rank; i++)
        axes[i] = i;
    return named > 0 ? named : rank;
}

/* ReduceSum takes its axes as an input, ReduceMax as an attribute. */
static const char *reduce(cse_onnx *o, const cse_node *node, const char *type)
{
    int64_t axes[CSE_MAX_RANK];
    const int count = axes_of(node, axes);
    const bool is_sum = node->op->role == CSE_OP_ROLE_SUM;
    const char *x = cse_onnx_value(o, node->inputs[0]);
    cse_text attributes = { 0 };
    if (!is_sum)
        cse_onnx_integers(&attributes, "axes", axes, count);
    cse_onnx_integer(&attributes, "keepdims", node->attributes.integers[0] != 0);
    const char *const inputs[] = { x, is_sum ? cse_onnx_list(o, axes, count) : NULL, NULL };
    return cse_onnx_add(o, node, type, inputs, &attributes);
}

static const char *argmax(cse_onnx *o, const cse_node *node, const char *type)
{
    cse_text attributes = { 0 }, cast = { 0 };
    const char *x = cse_onnx_value(o, node->inputs[0]);
    cse_onnx_integer(&attributes, "axis", node->attributes.integers[0]);
    cse_onnx_integer(&attributes, "keepdims", 0);
    const char *wide = cse_onnx_add(o, node, type, (const char *const[]){ x, NULL }, &attributes);
    cse_onnx_integer(&cast, "to", CSE_ONNX_INT32);
    return cse_onnx_add(o, node, "Cast", (const char *const[]){ wide, NULL }, &cast);
}

/* An operator on the last axis. */
static const char *on_rows(cse_onnx *o, const cse_node *node, const char *type)
{
    cse_text attributes = { 0 };
    const char *x = cse_onnx_value(o, node->inputs[0]);
    cse_onnx_integer(&attributes, "axis", -1);
    return cse_onnx_add(o, node, type, (const char *const[]){ x, NULL }, &attributes);
}

static const char *layer_norm(cse_onnx *o, const cse_node *node, const char *type)
{
    const char *inputs[4] = { NULL };
    cse_text attributes = { 0 };
    for (int i = 0; i < 3; i++)
        inputs[i] = cse_onnx_value(o, node->inputs[i]);
    cse_onnx_integer(&attributes, "axis", -1);
    cse_onnx_number(&attributes, "epsilon", node->attributes.numbers[0]);
    return cse_onnx_add(o, node, type, inputs, &attributes);
}

/* x / sqrt(mean(x^2) + epsilon) * weight: the operator set has none for it. */
static const char *rms_norm(cse_onnx *o, const cse_node *node, const char *type)
{
    cse_text attributes = { 0 };
    const char *x = cse_onnx_value(o, node->inputs[0]);
    const char *weight = cse_onnx_narrow_value(o, node->inputs[1]);
    const char *squares = CSE_ONNX_ADD(o, node, "Mul", x, x);
    cse_onnx_integers(&attributes, "axes", (const int64_t[]){ -1 }, 1);
    const char *mean =
        cse_onnx_add(o, node, "ReduceMean", (const char *const[]){ squares, NULL }, &attributes);
    mean = CSE_ONNX_ADD(o, node, "Add", mean,
                        cse_onnx_scalar(o, CSE_FLOAT32, node->attributes.numbers[0]));
    const char *unit = CSE_ONNX_ADD(o, node, "Div", x, CSE_ONNX_ADD(o, node, "Sqrt", mean));
    return CSE_ONNX_ADD(o, node, type, unit, weight);
}

/* ---- products ---- */

/* With the last two axes exchanged. */
static const char *turned(cse_onnx *o, const cse_node *node, const char *x, int rank)
{
    int64_t axes[CSE_MAX_RANK];
    cse_text attributes = { 0 };
    for (int i = 0; i < rank; i++)
        axes[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    cse_onnx_integers(&attributes, "perm", axes, rank);
    return cse_onnx_add(o, node, "Transpose", (const char *const[]){ x, NULL }, &attributes);
}

static const char *matmul(cse_onnx *o, const cse_node *node, const char *type)
{
    const int64_t *turn = node->attributes.integers;
    const int rank = node->shape.rank;
    const char *a = cse_onnx_value(o, node->inputs[0]), *b = cse_onnx_value(o, node->inputs[1]);
    cse_text attributes = { 0 };
    if (rank == 2 && (turn[0] != 0 || turn[1] != 0)) {
        cse_onnx_integer(&attributes, "transA", turn[0]);
        cse_onnx_integer(&attributes, "transB", turn[1]);
        return cse_onnx_add(o, node, "Gemm", (const char *const[]){ a, b, NULL }, &attributes);
    }
    a = turn[0] != 0 ? turned(o, node, a, rank) : a;
    b = turn[1] != 0 ? turned(o, node, b, rank) : b;
    return CSE_ONNX_ADD(o, node, type, a, b);
}

/* Keys that come after the query get the number. */
static const char *hide_later(cse_onnx *o, const cse_node *node, const char *scores, double number)
{
    const cse_shape q = node->inputs[0]->shape, k = node->inputs[node->input_count > 1]->shape;
    const bool of_attention = node->input_count > 1;
    const int64_t from_0[] = { 0, 1 };
    const char *keys =
        cse_onnx_row(o, from_0, of_attention ? k.dims[k.rank - 2] : q.dims[q.rank - 1], false);
    const char *queries = cse_onnx_row(o, from_0, q.dims[q.rank - 2], true);
    return CSE_ONNX_ADD(o, node, "Where", CSE_ONNX_ADD(o, node, "LessOrEqual", keys, queries),
                        scores, cse_onnx_scalar(o, CSE_FLOAT32, number));
}

static const char *causal_mask(cse_onnx *o, const cse_node *node, const char *type)
{
    (void)type;
    return hide_later(o, node, cse_onnx_value(o, node->inputs[0]), node->attributes.numbers[0]);
}

/* The begin or the end of each key's span, as [batch or 1, 1, 1, key]. */
static const char *bounds(cse_onnx *o, const cse_node *node, const char *spans, int which)
{
    const int64_t first[] = { which }, end[] = { which + 1 }, one[] = { 1 };
    const int64_t shape[] = { -1, 1, 1, node->inputs[CSE_ATTENTION_KEY]->shape.dims[2] };
    const char *part =
        CSE_ONNX_ADD(o, node, "Slice", spans, cse_onnx_list(o, first, 1), cse_onnx_list(o, end, 1),
                     cse_onnx_list(o, one, 1), cse_onnx_list(o, one, 1));
    return CSE_ONNX_ADD(o, node, "Reshape", part, cse_onnx_list(o, shape, 4));
}

/* Which queries see which keys (cse_attention_spans_of), as [batch or 1, 1, query, key]. */
static const char *visible(cse_onnx *o, const cse_node *node, const cse_node *spans)
{
    const int64_t from_0[] = { 0, 1 };
    const char *value = cse_onnx_value(o, spans);
    const char *queries = cse_onnx_row(o, from_0, node->inputs[0]->shape.dims[2], true);
    return CSE_ONNX_ADD(o, node, "And",
                        CSE_ONNX_ADD(o, node, "LessOrEqual", bounds(o, node, value, 0), queries),
                        CSE_ONNX_ADD(o, node, "Less", queries, bounds(o, node, value, 1)));
}

static const char *attention(cse_onnx *o, const cse_node *node, const char *type)
{
    const cse_node *spans = cse_attention_spans_of(node);
    if (node->input_count > 3 && spans == NULL)
        return cse_onnx_fail(o, node, "it has dropout, which an evaluation has not");
    const char *q = cse_onnx_value(o, node->inputs[CSE_ATTENTION_QUERY]);
    const char *k = cse_onnx_value(o, node->inputs[CSE_ATTENTION_KEY]);
    const char *v = cse_onnx_value(o, node->inputs[CSE_ATTENTION_VALUE]);
    const char *seen = spans != NULL ? visible(o, node, spans) : NULL;
    cse_text attributes = { 0 };
    const char *scores = CSE_ONNX_ADD(o, node, type, q, turned(o, node, k, 4));
    scores = CSE_ONNX_ADD(
        o, node, "Mul", scores,
        cse_onnx_scalar(o, CSE_FLOAT32, node->attributes.numbers[CSE_ATTENTION_SCALE]));
    if (seen != NULL)
        scores = CSE_ONNX_ADD(o, node, "Where", seen, scores,
                              cse_onnx_scalar(o, CSE_FLOAT32, masked_score));
    if (node->attributes.integers[CSE_ATTENTION_CAUSAL])
        scores = hide_later(o, node, scores, masked_score);
    cse_onnx_integer(&attributes, "axis", -1);
    const char *weights =
        cse_onnx_add(o, node, "Softmax", (const char *const[]){ scores, NULL }, &attributes);
    if (seen != NULL) /* a query that sees no key has the mean of none: 0 */
        weights = CSE_ONNX_ADD(o, node, "Where", seen, weights, cse_onnx_scalar(o, CSE_FLOAT32, 0));
    return CSE_ONNX_ADD(o, node, type, weights, v);
}

/* ---- windows ---- */

static void add_window(cse_text *attributes, const int64_t *a, const int64_t kernel[2])
{
    const int64_t *padding = a + CSE_WINDOW_PADDING;
    const int64_t sides[] = { padding[0], padding[1], padding[0], padding[1] };
    cse_onnx_integers(attributes, "kernel_shape", kernel, 2);
    cse_onnx_integers(attributes, "strides", a + CSE_WINDOW_STRIDE, 2);
    cse_onnx_integers(attributes, "pads", sides, 4);
}

static const char *convolution(cse_onnx *o, const cse_node *node, const char *type)
{
    const int64_t *a = node->attributes.integers;
    const char *x = cse_onnx_value(o, node->inputs[0]);
    const char *weight = cse_onnx_value(o, node->inputs[1]);
    cse_text attributes = { 0 };
    add_window(&attributes, a, node->inputs[1]->shape.dims + 2);
    cse_onnx_integers(&attributes, "dilations", a + CSE_WINDOW_DILATION, 2);
    cse_onnx_integer(&attributes, "group", a[CSE_CONV_GROUPS]);
    return cse_onnx_add(o, node, type, (const char *const[]){ x, weight, NULL }, &attributes);
}

static const char *pool(cse_onnx *o, const cse_node *node, const char *type)
{
    const int64_t *a = node->attributes.integers;
    const char *x = cse_onnx_value(o, node->inputs[0]);
    cse_text attributes = { 0 };
    add_window(&attributes, a, a + CSE_POOL_KERNEL);
    if (type[0] == 'A')
        cse_onnx_integer(&attributes, "count_include_pad", a[CSE_POOL_COUNT_PADDING] != 0);
    return cse_onnx_add(o, node, type, (const char *const[]){ x, NULL }, &attributes);
}

const cse_onnx_mapping cse_onnx_networks[] = {
    { "sum", reduce, "ReduceSum" },
    { "max", reduce, "ReduceMax" },
    { "argmax", argmax, "ArgMax" },
    { "softmax", on_rows, "Softmax" },
    { "log_softmax", on_rows, "LogSoftmax" },
    { "layer_norm", layer_norm, "LayerNormalization" },
    { "rms_norm", rms_norm, "Mul" },
    { "matmul", matmul, "MatMul" },
    { "causal_mask", causal_mask, "Where" },
    { "scaled_dot_product_attention", attention, "MatMul" },
    { "conv2d", convolution, "Conv" },
    { "max_pool2d", pool, "MaxPool" },
    { "avg_pool2d", pool, "AveragePool" },
    { .op = NULL },
};
