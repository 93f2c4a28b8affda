/* What attention, its gradient and the fused ops share: the softmax as primitives, and the fused
 * nodes that stand for a whole composite. */
#ifndef CSE_OPS_ATTENTION_H
#define CSE_OPS_ATTENTION_H

#include "csengine/op_options.h"
#include "engine/graph/graph.h"
#include "engine/graph/trace/attention.h"
#include "engine/graph/trace/attention_pages.h"

/* Labels of what cse_attention_weights traces. */
#define CSE_ATTENTION_SCORES "scores"
#define CSE_ATTENTION_PROBABILITIES "probabilities"

/* Traces the weights of `node`, whose first inputs are q and k: float32 [batch, heads, query, key],
 * before dropout. `scores`: those that they are the softmax of, masked; may be NULL. */
cse_tensor *cse_attention_weights(const cse_tensor *node, cse_tensor **scores);

/* The gradient of the products of q and k, in the type of the inputs, from the weights and their
 * gradient. */
cse_tensor *cse_attention_by_score(const cse_tensor *node, cse_tensor *weights,
                                   cse_tensor *by_weight);

/* Traces the three gradients of an attention without dropout as composites. */
void cse_attention_trace_gradients(cse_tensor *node, cse_tensor *output_gradient,
                                   cse_tensor *gradients[]);

/* k or v [batch, heads, ...] of fewer heads than q, each repeated for the heads of q that share it;
 * `x` itself where they have as many, or do not fit. */
cse_tensor *cse_attention_repeat_heads(cse_tensor *x, const cse_tensor *q);

/* Whether `options` ask for more than a composite of the engine computes: masks, lengths, a window,
 * a cap of the scores. */
bool cse_attention_is_masked(const cse_attention_options *options);

/* Traces the attention of q, k and v under the masks of `options` by products and a softmax. */
cse_tensor *cse_attention_masked(cse_tensor *const inputs[3], double scale,
                                 const cse_attention_options *options);

/* The fused nodes that compute an attention, or the result of a gradient, that was marked as whole.
 * They have the time before the heads; transposes put that right, and meet those of the model. */
cse_tensor *cse_attention_fuse(const cse_tensor *node);
cse_tensor *cse_attention_fuse_gradient(const cse_tensor *node);

/* The attention of one more token to keys and values in pages; the inputs are those of
 * attention_pages.h. */
cse_tensor *cse_paged_attention(cse_tensor *const inputs[CSE_PAGED_INPUTS], double scale);

/* The attributes of `node` for an op of several results. */
cse_attributes cse_attention_attributes(const cse_tensor *node, int result);

#endif
