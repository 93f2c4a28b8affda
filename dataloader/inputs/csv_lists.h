/* Samples of masked language models from tables whose fields are lists, "[101, 7592, 102]", what
 * the input functions with its two names share.
 *
 * Columns are input_ids, attention_mask, labels, and, where they are there, token_type_ids,
 * next_sentence_label, masked_lm_positions and masked_lm_weights, which is the stream
 * masked_lm_mask. A line is a sample. The first line of each file names its columns. */
#ifndef CSE_DATALOADER_INPUTS_CSV_LISTS_H
#define CSE_DATALOADER_INPUTS_CSV_LISTS_H

#include "dataloader/input.h"

extern const cse_setting cse_csv_lists_settings[];

cse_status cse_csv_lists_open(cse_input *input, const cse_settings *settings);
cse_status cse_csv_lists_describe(cse_input *input, const cse_settings *settings,
                                  const cse_unseen_data *known);
cse_status cse_csv_lists_read(cse_input *input, const int64_t *indices, int64_t count,
                              void *const outputs[]);
void cse_csv_lists_locate(const cse_input *input, const cse_element_place *place, char *text,
                          size_t size);
void cse_csv_lists_close(cse_input *input);

#endif
