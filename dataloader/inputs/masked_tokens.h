/* Samples of masked language models from HDF5 files in the ModelZoo's layout, what the input
 * functions with its two names share.
 *
 * Each file has two datasets: data [samples, features, time], whose features are input_ids,
 * attention_mask and, where there are four, attention_span and position_ids; and labels [samples,
 * features, places], which are labels alone, one for each token, or labels, masked_lm_positions and
 * masked_lm_mask, one for each token that was hidden. Rows are read when they are asked for. */
#ifndef CSE_DATALOADER_INPUTS_MASKED_TOKENS_H
#define CSE_DATALOADER_INPUTS_MASKED_TOKENS_H

#include "dataloader/input.h"

extern const cse_setting cse_masked_tokens_settings[];

cse_status cse_masked_tokens_open(cse_input *input, const cse_settings *settings);
cse_status cse_masked_tokens_describe(cse_input *input, const cse_settings *settings,
                                      const cse_unseen_data *known);
cse_status cse_masked_tokens_read(cse_input *input, const int64_t *indices, int64_t count,
                                  void *const outputs[]);
void cse_masked_tokens_locate(const cse_input *input, const cse_element_place *place, char *text,
                              size_t size);
void cse_masked_tokens_close(cse_input *input);

#endif
