/* Streams and samples of the random ops; see random_arguments.h. */
#include "engine/graph/ops/random_arguments.h"

#include <stdio.h>

/* [micro_batch_size] sample positions, broadcast over each sample's elements. */
static cse_tensor *broadcast_samples(cse_shape shape, int64_t samples)
{
    cse_shape column = { .rank = shape.rank }, wide = shape;
    for (int i = 0; i < shape.rank; i++)
        column.dims[i] = i == 0 ? samples : 1;
    if (shape.dims[0] != samples) {
        column = cse_shape_of(samples, 1);
        wide = cse_shape_of(samples, cse_shape_elements(shape) / samples);
    }
    cse_tensor *positions = cse_reshape(cse_sample_index(), column);
    return cse_reshape(cse_broadcast_to(positions, wide), shape);
}

/* A stream's name counts within its scope, so that layers of one kind draw different numbers. */
static uint32_t stream_number(const char *stream)
{
    char name[640];
    const char *scope = cse_trace_scope_view();
    snprintf(name, sizeof name, "%s%s%s", scope, scope[0] ? "." : "", stream);
    return (uint32_t)cse_hash_string(name);
}

cse_tensor *cse_random_samples(const char *op_name, const cse_tensor *like, cse_shape shape,
                               const char *stream, cse_attributes *attributes)
{
    cse_graph *graph = cse_trace_graph();
    char text[128];
    if (graph == NULL || (like != NULL && cse_trace_is_poison(like)))
        return graph ? graph->poison : NULL;
    if (stream == NULL || stream[0] == '\0')
        return cse_trace_fail(CSE_USAGE,
                              "%s: give the stream a name; two of one name draw the "
                              "same numbers",
                              op_name);
    shape = like != NULL ? like->shape : shape;
    int64_t elements = cse_shape_elements(shape), samples = 1;
    if (like != NULL && like->batch)
        samples = graph->micro_batch_size;
    if (samples < 1 || elements / samples > UINT32_MAX ||
        (like != NULL && like->batch && (shape.rank == 0 || shape.dims[0] % samples != 0)))
        return cse_trace_fail(CSE_SHAPE,
                              "%s of %s: the first axis must hold the %lld samples of a "
                              "microbatch, of less than 2^32 elements each",
                              op_name, cse_shape_text(shape, text, sizeof text),
                              (long long)samples);
    attributes->integer_count = 2;
    attributes->integers[0] = stream_number(stream);
    attributes->integers[1] = elements / samples > 0 ? elements / samples : 1;
    if (like != NULL && like->batch)
        return broadcast_samples(shape, samples);
    return cse_broadcast_to(cse_constant_int(0), shape);
}

cse_status cse_infer_random(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (in->dtypes[0] != CSE_INT32)
        return cse_fail(CSE_SHAPE, "sample positions must be int32, not %s",
                        cse_dtype_name(in->dtypes[0]));
    if (in->attributes->integer_count < 2 || in->attributes->integers[1] < 1)
        return cse_fail(CSE_SHAPE, "a sample must have elements");
    *shape = in->shapes[0];
    *dtype = CSE_FLOAT32;
    return CSE_OK;
}

void cse_reference_draw(const cse_reference *call, int64_t index, uint32_t words[4])
{
    const cse_tensor *node = call->node;
    const int32_t *samples = call->inputs[node->input_count - 1];
    cse_draw_words(call->seed, call->step, (uint32_t)node->attributes.integers[0],
                   (uint32_t)samples[index],
                   (uint32_t)((call->first_element + index) % node->attributes.integers[1]), words);
}
