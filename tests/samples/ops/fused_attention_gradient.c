/* Samples of fused_attention_gradient, with independent values. */
#include "engine/graph/trace/attention.h"
#include "tests/samples/samples.h"

/* The inputs are drawn independently, so the weights need not sum to 1: below e^(6 / 4), times
 * gradients below 8, summed over 40 queries with some tens of roundings each. */
#define SAMPLE(title, causal, result)                                                 \
    {                                                                                 \
        .name = title,                                                                \
        .inputs = { CSE_FLOATS(-1, 1, 2, 37, 2, 5), CSE_FLOATS(-1, 1, 2, 40, 2, 5),   \
                    CSE_FLOATS(-1, 1, 2, 40, 2, 3), CSE_FLOATS(-1, 1, 2, 37, 2, 3),   \
                    CSE_FLOATS(-1, 1, 2, 2, 2, 37), CSE_FLOATS(-1, 1, 2, 37, 2, 3) }, \
        .input_count = 6,                                                             \
        .attributes = { CSE_ATTENTION_INTEGERS,                                       \
                        CSE_ATTENTION_NUMBERS,                                        \
                        { 0, 0, (causal), 0, (result) },                              \
                        { 0, 1, 0.25 },                                               \
                        NULL },                                                       \
        .tolerance = 2e-4                                                             \
    }

static const cse_op_sample samples[] = {
    SAMPLE("of the queries", 0, CSE_ATTENTION_QUERY),
    SAMPLE("of the keys", 0, CSE_ATTENTION_KEY),
    SAMPLE("of the values", 0, CSE_ATTENTION_VALUE),
    SAMPLE("causal, of the queries", 1, CSE_ATTENTION_QUERY),
    SAMPLE("causal, of the keys", 1, CSE_ATTENTION_KEY),
    SAMPLE("causal, of the values", 1, CSE_ATTENTION_VALUE),
    { .name = NULL },
};

CSE_SAMPLES(op, fused_attention_gradient, samples);
