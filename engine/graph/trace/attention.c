/* The shapes and spans of attention; see attention.h. */
#include "engine/graph/trace/attention.h"

#include "engine/base/types/shape.h"
#include "engine/graph/graph.h"

static cse_attention_sizes sizes_of(cse_shape q, cse_shape v)
{
    return (cse_attention_sizes){ .batch = q.dims[0],
                                  .heads = q.dims[2],
                                  .queries = q.dims[1],
                                  .keys = v.dims[1],
                                  .head = q.dims[3],
                                  .value = v.dims[3] };
}

cse_status cse_attention_sizes_of(const cse_infer *in, cse_attention_sizes *sizes)
{
    const cse_attributes *attributes = in->attributes;
    cse_shape q = in->shapes[0], k = in->shapes[1], v = in->shapes[2];
    bool fits = attributes->integer_count == CSE_ATTENTION_INTEGERS &&
                attributes->number_count == CSE_ATTENTION_NUMBERS &&
                attributes->integers[CSE_ATTENTION_RESULT] >= 0 &&
                attributes->numbers[CSE_ATTENTION_SCALE] > 0;
    fits = fits && (in->dtypes[0] == CSE_FLOAT32 || in->dtypes[0] == CSE_BFLOAT16);
    for (int i = 0; i < 3; i++)
        fits = fits && in->shapes[i].rank == 4 && in->dtypes[i] == in->dtypes[0];
    fits = fits && q.dims[0] == k.dims[0] && q.dims[0] == v.dims[0] && q.dims[2] == k.dims[2] &&
           q.dims[2] == v.dims[2] && q.dims[3] == k.dims[3] && k.dims[1] == v.dims[1] &&
           q.dims[3] > 0 && k.dims[1] > 0 && v.dims[3] > 0;
    if (!fits)
        return cse_fail(CSE_SHAPE, "q, k and v must be float32 or bfloat16, of one type, [batch, "
                                   "time, heads, head], with a positive scale");
    *sizes = sizes_of(q, v);
    return CSE_OK;
}

cse_attention_sizes cse_attention_sizes_of_node(const cse_tensor *node)
{
    return sizes_of(node->inputs[0]->shape, node->inputs[2]->shape);
}

cse_tensor *cse_attention_spans_of(const cse_tensor *node)
{
    cse_tensor *last = node->inputs[node->input_count - 1];
    return last->dtype == CSE_INT32 && last->shape.rank == 3 ? last : NULL;
}

bool cse_attention_spans_fit(cse_shape spans, cse_dtype dtype, int64_t batch, int64_t keys)
{
    return dtype == CSE_INT32 && spans.rank == 3 && spans.dims[1] == 2 && spans.dims[2] == keys &&
           (spans.dims[0] == 1 || spans.dims[0] == batch);
}

bool cse_attention_reference_spans(const cse_reference *call, int64_t sample, int64_t query,
                                   int64_t key)
{
    const cse_tensor *spans = cse_attention_spans_of(call->node);
    if (spans == NULL)
        return true;
    const int64_t keys = spans->shape.dims[2];
    const int32_t *of = call->inputs[call->node->input_count - 1];
    of += spans->shape.dims[0] > 1 ? sample * 2 * keys : 0;
    return of[key] <= query && query < of[keys + key];
}
