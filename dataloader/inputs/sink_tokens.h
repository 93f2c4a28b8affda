/* The ModelZoo's data_transforms: tokens that are put into each sample for attention to rest on
 * (Xiao et al. 2023), and do not count in the loss. */
#ifndef CSE_DATALOADER_INPUTS_SINK_TOKENS_H
#define CSE_DATALOADER_INPUTS_SINK_TOKENS_H

#include "csengine/extend.h"

typedef struct cse_sink_tokens {
    int64_t count, place; /* none: 0; before which token they stand */
    int32_t token;
    bool truncates; /* the sample keeps its length */
} cse_sink_tokens;

/* Reads the setting data_transforms: null, or a list of one add_sink_tokens. CSE_CONFIG for other
 * transforms, by name. */
cse_status cse_sink_tokens_read(const cse_settings *settings, cse_sink_tokens *sinks);

/* Tokens of a sample that has `time` before. */
int64_t cse_sink_tokens_length(const cse_sink_tokens *sinks, int64_t time);

/* Puts them into `time` values, in place: `to` has room for the new length. */
void cse_sink_tokens_put(const cse_sink_tokens *sinks, int64_t time, int32_t value, int32_t *to);

#endif
