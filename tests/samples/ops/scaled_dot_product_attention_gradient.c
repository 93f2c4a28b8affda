/* Samples of scaled_dot_product_attention_gradient, with independent values. */
#include "engine/graph/trace/attention.h"
#include "tests/samples/samples.h"

/* Sums of at most 7 products below 4, thrice, with weights that sum to 1: some tens of roundings of
 * values below 30. */
#define SAMPLE(title, causal, result)                                               \
    {                                                                               \
        .name = title,                                                              \
        .inputs = { CSE_FLOATS(-2, 2, 1, 2, 5, 3), CSE_FLOATS(-2, 2, 1, 2, 7, 3),   \
                    CSE_FLOATS(-1, 1, 1, 2, 7, 4), CSE_FLOATS(-1, 1, 1, 2, 5, 4) }, \
        .input_count = 4,                                                           \
        .attributes = { CSE_ATTENTION_INTEGERS,                                     \
                        CSE_ATTENTION_NUMBERS,                                      \
                        { 0, 0, (causal), 0, (result) },                            \
                        { 0, 1, 0.5 },                                              \
                        NULL },                                                     \
        .tolerance = 1e-4                                                           \
    }

#define SPANNED(title, result)                                                    \
    {                                                                             \
        .name = title,                                                            \
        .inputs = { CSE_FLOATS(-2, 2, 2, 2, 5, 3), CSE_FLOATS(-2, 2, 2, 2, 7, 3), \
                    CSE_FLOATS(-1, 1, 2, 2, 7, 4), CSE_FLOATS(-1, 1, 2, 2, 5, 4), \
                    CSE_INTEGERS(0, 6, 2, 2, 7) },                                \
        .input_count = 5,                                                         \
        .attributes = { CSE_ATTENTION_INTEGERS,                                   \
                        CSE_ATTENTION_NUMBERS,                                    \
                        { 0, 0, 0, 0, (result) },                                 \
                        { 0, 1, 0.5 },                                            \
                        NULL },                                                   \
        .tolerance = 1e-4                                                         \
    }

static const cse_op_sample samples[] = {
    SAMPLE("of the queries", 0, CSE_ATTENTION_QUERY),
    SAMPLE("of the keys", 0, CSE_ATTENTION_KEY),
    SAMPLE("of the values", 0, CSE_ATTENTION_VALUE),
    SAMPLE("causal, of the queries", 1, CSE_ATTENTION_QUERY),
    SAMPLE("causal, of the keys", 1, CSE_ATTENTION_KEY),
    SAMPLE("causal, of the values", 1, CSE_ATTENTION_VALUE),
    SPANNED("with spans, of the queries", CSE_ATTENTION_QUERY),
    SPANNED("with spans, of the keys", CSE_ATTENTION_KEY),
    SPANNED("with spans, of the values", CSE_ATTENTION_VALUE),
    { .name = NULL },
};

CSE_SAMPLES(op, scaled_dot_product_attention_gradient, samples);
