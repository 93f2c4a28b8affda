/* One vector of each text, from the vectors of its tokens, and a loss that learns them from pairs
 * of texts. */
#ifndef CSE_MODELS_SENTENCE_VECTORS_H
#define CSE_MODELS_SENTENCE_VECTORS_H

#include "csengine/modules.h"

#define CSE_POOLING_NAMES "mean|cls|max|mean_sqrt_len_tokens"

/* x [batch, time, channel], mask [batch, time] (NULL: all 1) -> [batch, channel]. */
cse_tensor *cse_pool_tokens(const char *pooling, cse_tensor *x, cse_tensor *mask);
/* x [batch, channel] / its length, which is at least 1e-12. */
cse_tensor *cse_normalize_vectors(cse_tensor *x);
/* vectors [batch, texts, channel] of an anchor, its positive, and negatives: the cross entropy of
 * scale * cosine of each anchor with all other texts of the batch, of which its positive is the
 * right one (Henderson et al. 2017; MultipleNegativesRankingLoss of sentence-transformers). The
 * batch is the microbatch. */
cse_tensor *cse_contrastive_loss(cse_tensor *vectors, double scale);

#endif
