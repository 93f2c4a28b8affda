/* Samples of fused_attention, with independent values. */
#include "engine/graph/trace/attention.h"
#include "tests/samples/samples.h"

/* Scores and outputs are sums of at most 70 terms of some units: 70 roundings of them, and the
 * exponential of a score that is off by 1e-5. */
#define SAMPLE(title, causal, result, q, k, v)                                                   \
    {                                                                                            \
        .name = title, .inputs = { CSE_FLOATS q, CSE_FLOATS k, CSE_FLOATS v }, .input_count = 3, \
        .attributes = { CSE_ATTENTION_INTEGERS,                                                  \
                        CSE_ATTENTION_NUMBERS,                                                   \
                        { 0, 0, (causal), 0, (result) },                                         \
                        { 0, 1, 0.25 },                                                          \
                        NULL },                                                                  \
        .tolerance = 6e-5                                                                        \
    }

#define SPANNED(title, result)                                                        \
    {                                                                                 \
        .name = title,                                                                \
        .inputs = { CSE_FLOATS(-1, 1, 2, 70, 2, 17), CSE_FLOATS(-1, 1, 2, 70, 2, 17), \
                    CSE_FLOATS(-1, 1, 2, 70, 2, 16), CSE_INTEGERS(0, 71, 2, 2, 70) }, \
        .input_count = 4,                                                             \
        .attributes = { CSE_ATTENTION_INTEGERS,                                       \
                        CSE_ATTENTION_NUMBERS,                                        \
                        { 0, 0, 0, 0, (result) },                                     \
                        { 0, 1, 0.25 },                                               \
                        NULL },                                                       \
        .tolerance = 6e-5                                                             \
    }

static const cse_op_sample samples[] = {
    SAMPLE("every key", 0, CSE_ATTENTION_OUTPUT, (-2, 2, 2, 5, 3, 4), (-2, 2, 2, 7, 3, 4),
           (-1, 1, 2, 7, 3, 6)),
    SAMPLE("of every key", 0, CSE_ATTENTION_STATISTICS, (-2, 2, 2, 5, 3, 4), (-2, 2, 2, 7, 3, 4),
           (-1, 1, 2, 7, 3, 6)),
    SAMPLE("causal", 1, CSE_ATTENTION_OUTPUT, (-1, 1, 2, 70, 2, 17), (-1, 1, 2, 70, 2, 17),
           (-1, 1, 2, 70, 2, 16)),
    SAMPLE("of a causal one", 1, CSE_ATTENTION_STATISTICS, (-1, 1, 2, 70, 2, 17),
           (-1, 1, 2, 70, 2, 17), (-1, 1, 2, 70, 2, 16)),
    SPANNED("keys that some queries see", CSE_ATTENTION_OUTPUT),
    SPANNED("of keys that some queries see", CSE_ATTENTION_STATISTICS),
    { .name = NULL },
};

CSE_SAMPLES(op, fused_attention, samples);
