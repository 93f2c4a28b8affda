/* Rotary positions of the decoder, as its settings describe them. */
#ifndef CSE_MODELS_DECODER_POSITIONS_H
#define CSE_MODELS_DECODER_POSITIONS_H

#include "engine/nn/models/decoder_parts.h"

/* The rotation of `head` channels, with the scaling of its positions, into the attention of
 * self->block; the factors of pairs stay in `self`. */
cse_status cse_decoder_read_rotary(const cse_settings *settings, cse_decoder *self, int64_t head);

/* The tokens of the longest sample: more than max_position_embeddings where positions are scaled by
 * the length of a sample. */
int64_t cse_decoder_longest_sample(const cse_settings *settings);

#endif
