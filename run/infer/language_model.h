/* What is known of a model as a language model: its vocabulary, its sequences, its logits. */
#ifndef CSE_RUN_INFER_LANGUAGE_MODEL_H
#define CSE_RUN_INFER_LANGUAGE_MODEL_H

#include "csengine/train.h"

/* The most tokens that the model takes, by its setting max_position_embeddings; 0: it has none. */
int64_t cse_longest_sequence(const cse_model *model);

/* The next power of two of at least 16, so that other lengths find the same compiled pass, but no
 * more than `longest` (0: any). */
int64_t cse_compiled_length(int64_t tokens, int64_t longest);

/* Its setting vocab_size; 0: it has none. */
int64_t cse_model_vocabulary(const cse_model *model);

/* CSE_DATA: the token is none of a vocabulary of that size. */
cse_status cse_check_token(int32_t token, int64_t vocabulary);

/* While tracing: logits [batch, time, vocabulary] of tokens [batch, time]; where the model gives no
 * such tensor the trace fails. */
cse_tensor *cse_language_logits(cse_model *model, cse_tensor *tokens);

#endif
