/* What the attributes of attention mean: of the composite scaled_dot_product_attention and of its
 * gradient, and of the two fused ops, which compute them without storing a value for each query and
 * key. */
#ifndef CSE_TRACE_ATTENTION_H
#define CSE_TRACE_ATTENTION_H

#include "engine/graph/op.h"

/* Integers: the stream of random numbers of dropout and the elements of a sample; whether query i
 * uses keys 0 to i only; whether one kernel may compute the whole (of the composites; set by the
 * attention pass); which result of the op the node is (not of the composite itself). */
enum {
    CSE_ATTENTION_STREAM,
    CSE_ATTENTION_SAMPLE_ELEMENTS,
    CSE_ATTENTION_CAUSAL,
    CSE_ATTENTION_WHOLE,
    CSE_ATTENTION_RESULT,
    CSE_ATTENTION_INTEGERS
};

/* Numbers: probability and factor of dropout, and the scale of the scores. */
enum {
    CSE_ATTENTION_PROBABILITY,
    CSE_ATTENTION_FACTOR,
    CSE_ATTENTION_SCALE,
    CSE_ATTENTION_NUMBERS
};

/* Results of fused_attention: the output [batch, query, heads, value]; of each query, float32
 * [batch, heads, 2, query], first the largest score m before scaling, then the reciprocal of the
 * sum of e^((score - m) scale). */
enum { CSE_ATTENTION_OUTPUT, CSE_ATTENTION_STATISTICS, CSE_ATTENTION_RESULTS };

/* Results of a gradient, and the first three inputs of every attention. */
enum {
    CSE_ATTENTION_QUERY,
    CSE_ATTENTION_KEY,
    CSE_ATTENTION_VALUE,
    CSE_ATTENTION_GRADIENTS,
};

/* The inputs of fused_attention_gradient after these three. */
enum {
    CSE_ATTENTION_OF_OUTPUT = CSE_ATTENTION_GRADIENTS, /* the output */
    CSE_ATTENTION_OF_STATISTICS,
    CSE_ATTENTION_OF_UPSTREAM, /* the gradient of the output */
    CSE_ATTENTION_INPUTS
};

/* Sizes of a fused attention of q [batch, query, heads, head], k [batch, key, heads, head] and v
 * [batch, key, heads, value]. */
typedef struct cse_attention_sizes {
    int64_t batch, heads, queries, keys, head, value;
} cse_attention_sizes;

/* Checks what the fused ops have in common: attributes, and q, k and v. Fails with CSE_SHAPE. */
cse_status cse_attention_sizes_of(const cse_infer *in, cse_attention_sizes *sizes);

/* Of a node whose inputs were checked. */
cse_attention_sizes cse_attention_sizes_of_node(const cse_tensor *node);

/* The last input of an attention or of its gradient, where that says which queries see a key (as in
 * cse_attention_options); NULL: there is none. */
cse_tensor *cse_attention_spans_of(const cse_tensor *node);

/* Whether they are int32 [batch or 1, 2, keys]. */
bool cse_attention_spans_fit(cse_shape spans, cse_dtype dtype, int64_t batch, int64_t keys);

/* In a reference: whether the spans of the call, if it has any, let a query see a key. */
bool cse_attention_reference_spans(const cse_reference *call, int64_t sample, int64_t query,
                                   int64_t key);

#endif
