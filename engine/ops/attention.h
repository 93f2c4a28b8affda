/* What attention, its gradient and the fused ops share: the softmax as primitives, and the fused
 * nodes that stand for a whole composite. */
#ifndef CSE_OPS_ATTENTION_H
#define CSE_OPS_ATTENTION_H

#include "engine/graph/graph.h"
#include "engine/trace/attention.h"

/* Traces the weights of `node`, whose first inputs are q and k: float32 [batch, heads, query, key],
 * before dropout. */
cse_tensor *cse_attention_weights(const cse_tensor *node);

/* The gradient of the products of q and k, in the type of the inputs, from the weights and their
 * gradient. */
cse_tensor *cse_attention_by_score(const cse_tensor *node, cse_tensor *weights,
                                   cse_tensor *by_weight);

/* Traces the three gradients of an attention without dropout as composites. */
void cse_attention_trace_gradients(cse_tensor *node, cse_tensor *output_gradient,
                                   cse_tensor *gradients[]);

/* The fused nodes that compute an attention, or the result of a gradient, that was marked as whole.
 * They have the time before the heads; transposes put that right, and meet those of the model. */
cse_tensor *cse_attention_fuse(const cse_tensor *node);
cse_tensor *cse_attention_fuse_gradient(const cse_tensor *node);

#endif
