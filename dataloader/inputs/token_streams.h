/* Shared by input functions for language models: the streams of one sample of tokens. */
#ifndef CSE_DATALOADER_INPUTS_TOKEN_STREAMS_H
#define CSE_DATALOADER_INPUTS_TOKEN_STREAMS_H

#include "dataloader/input.h"

enum { CSE_INPUT_IDS_STREAM, CSE_LABELS_STREAM, CSE_MASK_STREAM, CSE_TOKEN_STREAMS };

/* The label of a position that no loss looks at. */
enum { CSE_IGNORED_LABEL = -100 };

/* input_ids, labels and, with `has_mask`, attention_mask: each int32 [time]. */
void cse_describe_tokens(cse_input *input, int64_t time, bool has_mask);

/* Labels where the mask is 0 become CSE_IGNORED_LABEL. */
void cse_ignore_masked(int32_t *labels, const int32_t *mask, int64_t time);

#endif
