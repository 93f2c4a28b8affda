/* The streams of tokens. */
#include "dataloader/inputs/token_streams.h"

void cse_describe_tokens(cse_input *input, int64_t time, bool has_mask)
{
    static const char *const names[CSE_TOKEN_STREAMS] = { "input_ids", "labels", "attention_mask" };
    input->stream_count = has_mask ? CSE_TOKEN_STREAMS : CSE_TOKEN_STREAMS - 1;
    for (int s = 0; s < input->stream_count; s++)
        input->streams[s] =
            (cse_stream){ .name = names[s], .shape = cse_shape_of(time), .dtype = CSE_INT32 };
}

void cse_ignore_masked(int32_t *labels, const int32_t *mask, int64_t time)
{
    for (int64_t t = 0; t < time; t++)
        if (mask[t] == 0)
            labels[t] = CSE_IGNORED_LABEL;
}
