/* Decoding: a model's forward pass over tokens that follow others, which it saw in passes before.
 *
 * A causal model needs two things of the tokens before: how many there are, for positions, and the
 * keys and values of each attention. Who traces such a pass (run/infer/token_decoder.h) puts both
 * in the graph; models and ops ask for them here, so that one forward function serves training and
 * decoding alike. */
#ifndef CSE_OPS_DECODING_H
#define CSE_OPS_DECODING_H

#include "csengine/op_options.h"
#include "engine/graph/graph.h"

typedef struct cse_decoding {
    void *self;
    /* int32 [batch]: tokens of each sequence before this pass; NULL: none, it is the first. */
    cse_tensor *past;
    /* With `past`: keys that the pass sees, of places from 0 on, those to come among them. */
    int64_t keys;
    int64_t longest; /* tokens that a sequence may come to have */
    /* Computes an attention, and refuses one that is not causal. q, k and v are of this pass alone:
     * [batch, heads, time, channel]. */
    cse_tensor *(*attend)(void *self, cse_tensor *q, cse_tensor *k, cse_tensor *v,
                          const cse_attention_options *options);
} cse_decoding;

/* Of the graph that is traced; NULL: the pass sees whole sequences. */
const cse_decoding *cse_trace_decoding(void);

/* An attention of `attend` itself: the op, without asking the graph's decoding again. */
cse_tensor *cse_plain_attention(cse_tensor *q, cse_tensor *k, cse_tensor *v,
                                const cse_attention_options *options);

/* int32 [batch, count]: the place of each of `count` tokens in its sequence, where tokens are
 * decoded that follow others; else NULL: they are 0 to count - 1. */
cse_tensor *cse_trace_following_positions(int64_t count);

#endif
