/* What differs from layer to layer of the decoder. */
#ifndef CSE_MODELS_DECODER_LAYERS_H
#define CSE_MODELS_DECODER_LAYERS_H

#include "engine/nn/models/decoder_parts.h"

/* Makes the kinds of layers of self->block, which has all that a layer may have: with and without
 * a window, with and without rotation. */
cse_status cse_decoder_read_kinds(const cse_settings *settings, cse_decoder *self);
const cse_block_module *cse_decoder_kind_of(const cse_decoder *self, const cse_settings *settings,
                                            int layer);

#endif
