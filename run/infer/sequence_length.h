/* Lengths of the sequences that a language model is compiled for. */
#ifndef CSE_RUN_INFER_SEQUENCE_LENGTH_H
#define CSE_RUN_INFER_SEQUENCE_LENGTH_H

#include "csengine/train.h"

/* The most tokens that the model takes, by its setting max_position_embeddings; 0: it has none. */
int64_t cse_longest_sequence(const cse_model *model);

/* The next power of two of at least 16, so that other lengths find the same compiled pass, but no
 * more than `longest` (0: any). */
int64_t cse_compiled_length(int64_t tokens, int64_t longest);

/* Its setting vocab_size; 0: it has none. */
int64_t cse_model_vocabulary(const cse_model *model);

#endif
