/* The sum of faults is free of branches, so that the search for the first one costs nothing where
 * there is none. */
#include "workers/worker/index_check.h"

#include <inttypes.h>

#include "engine/types/shape.h"

static const int32_t *values_of(const cse_input_entry *input, const unsigned char *microbatch)
{
    return (const int32_t *)(const void *)(microbatch + input->offset_bytes);
}

int64_t cse_input_wrong_index(const cse_input_entry *input, const unsigned char *microbatch)
{
    const int32_t *values = values_of(input, microbatch);
    const int32_t most = input->index_count > INT32_MAX ? INT32_MAX : (int32_t)input->index_count;
    const int32_t least = input->index_not_negative ? 0 : INT32_MIN;
    const int64_t count = input->index_count > 0 ? cse_shape_elements(input->shape) : 0;
    int64_t faults = 0, at = 0;
    for (int64_t i = 0; i < count; i++)
        faults += (values[i] >= most) | (values[i] < least);
    if (faults == 0)
        return -1;
    while (values[at] < most && values[at] >= least)
        at++;
    return at;
}

cse_status cse_microbatch_check(const cse_graph *graph, const unsigned char *microbatch)
{
    for (int i = 0; i < graph->input_count; i++) {
        const cse_input_entry *input = &graph->inputs[i];
        const int64_t at = cse_input_wrong_index(input, microbatch);
        if (at >= 0)
            return cse_fail(CSE_DATA,
                            "%" PRId32 " in stream \"%s\" of another host: accepted are indices "
                            "below %" PRId64 " (%s)",
                            values_of(input, microbatch)[at], input->name, input->index_count,
                            input->index_use);
    }
    return CSE_OK;
}
