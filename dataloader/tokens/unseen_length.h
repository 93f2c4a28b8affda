/* The number of tokens of samples whose files are not there, for an input function's `describe`. */
#ifndef CSE_DATALOADER_TOKENS_UNSEEN_LENGTH_H
#define CSE_DATALOADER_TOKENS_UNSEEN_LENGTH_H

#include "csengine/input.h"

/* The setting max_sequence_length, or else the model's longest sample. CSE_CONFIG when neither is
 * known. */
cse_status cse_unseen_length(const cse_settings *settings, const cse_unseen_data *known,
                             int64_t *length);

#endif
