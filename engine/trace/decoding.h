/* Decoding: a model's forward pass over tokens that follow others, which it saw in passes before.
 *
 * A causal model needs two things of the tokens before: how many there are, for positions, and the
 * keys and values of each attention. Who traces such a pass (run/infer/decoding.h) puts both in the
 * graph; models and ops ask for them here, so that one forward function serves training and
 * decoding alike. */
#ifndef CSE_TRACE_DECODING_H
#define CSE_TRACE_DECODING_H

#include "csengine/op_options.h"
#include "engine/graph/graph.h"

typedef struct cse_decoding {
    void *self;
    /* int32 [batch]: tokens of each sequence before this pass; NULL: none, it is the first. */
    cse_tensor *past;
    /* Computes an attention that is causal. q, k and v are of this pass alone: [batch, heads, time,
     * channel]. */
    cse_tensor *(*attend)(void *self, cse_tensor *q, cse_tensor *k, cse_tensor *v,
                          const cse_attention_options *options);
} cse_decoding;

/* Of the graph that is traced; NULL: the pass sees whole sequences. */
const cse_decoding *cse_trace_decoding(void);

/* int32: the place of each of `count` tokens in its sequence: [count], or, where tokens are decoded
 * that follow others, [batch, count]. */
cse_tensor *cse_token_positions(int64_t count);

/* Rows of a table of learned positions [position, channel] for `count` tokens: [count, channel], or
 * [batch, count, channel] where tokens are decoded that follow others. */
cse_tensor *cse_position_rows(cse_tensor *table, int64_t count);

#endif
