/* The sum of faults is free of branches, so that the search for the first one costs nothing where
 * there is none. */
#include "workers/worker/index_check.h"

#include <inttypes.h>
#include <stdio.h>

#include "engine/base/types/shape.h"

static const int32_t *values_of(const cse_input_entry *input, const unsigned char *microbatch)
{
    return (const int32_t *)(const void *)(microbatch + input->offset_bytes);
}

int64_t cse_input_wrong_index(const cse_input_entry *input, const unsigned char *microbatch)
{
    const int32_t *values = values_of(input, microbatch);
    const int32_t most = input->index_count > INT32_MAX ? INT32_MAX : (int32_t)input->index_count;
    const int32_t ignored = (int32_t)input->index_ignored;
    const int64_t count = input->index_count > 0 ? cse_shape_elements(input->shape) : 0;
    int64_t faults = 0, at = 0;
    for (int64_t i = 0; i < count; i++)
        faults += ((values[i] >= most) | (values[i] < 0)) & (values[i] != ignored);
    if (faults == 0)
        return -1;
    while ((values[at] < most && values[at] >= 0) || values[at] == ignored)
        at++;
    return at;
}

const char *cse_input_range_text(const cse_input_entry *input, char *text, size_t bytes)
{
    const int length = snprintf(text, bytes, "0 to %" PRId64, input->index_count - 1);
    if (input->index_ignored != 0 && length > 0 && (size_t)length < bytes)
        snprintf(text + length, bytes - (size_t)length, ", and %" PRId64 " for what does not count",
                 input->index_ignored);
    return text;
}

cse_status cse_microbatch_check(const cse_graph *graph, const unsigned char *microbatch)
{
    char range[CSE_RANGE_TEXT_BYTES];
    for (int i = 0; i < graph->input_count; i++) {
        const cse_input_entry *input = &graph->inputs[i];
        const int64_t at = cse_input_wrong_index(input, microbatch);
        if (at >= 0)
            return cse_fail(CSE_DATA,
                            "%" PRId32 " in stream \"%s\" of another host: accepted are %s "
                            "(%s is %" PRId64 ")",
                            values_of(input, microbatch)[at], input->name,
                            cse_input_range_text(input, range, sizeof range), input->index_use,
                            input->index_count);
    }
    return CSE_OK;
}
