/* Samples of paged_attention, with independent values. */
#include "engine/graph/trace/attention_pages.h"
#include "tests/samples/samples.h"

/* Words of the pools are numbers from 0.25 to 1 in float32. The table has 0 and 1 alone: of a token
 * or none before, and of the first two pages. Longer sequences are in check_paged_attention. */
#define SAMPLE(title, batch, heads, kept, head, value, columns)                                    \
    {                                                                                              \
        .name = title,                                                                             \
        .inputs = { CSE_FLOATS(-2, 2, batch, heads, 1, head),                                      \
                    CSE_FLOATS(-2, 2, batch, kept, 1, head),                                       \
                    CSE_FLOATS(-1, 1, batch, kept, 1, value),                                      \
                    CSE_INTEGERS(0x3e800000, 0x3f7fffff, batch, 2, kept * head * CSE_PAGE_TOKENS), \
                    CSE_INTEGERS(0x3e800000, 0x3f7fffff, batch, 2,                                 \
                                 kept * (columns)*CSE_PAGE_TOKENS),                                \
                    CSE_INTEGERS(0, 1, batch, 3) },                                                \
        .input_count = CSE_PAGED_INPUTS, .attributes = { 0, 1, { 0 }, { 0.25 }, NULL },            \
        .tolerance = 6e-5, .skip_gradient = true                                                   \
    }

static const cse_op_sample samples[] = {
    SAMPLE("heads of their own", 2, 2, 2, 5, 3, 16),
    SAMPLE("heads that share keys", 1, 6, 2, 16, 70, 80),
    { .name = NULL },
};

CSE_SAMPLES(op, paged_attention, samples);
