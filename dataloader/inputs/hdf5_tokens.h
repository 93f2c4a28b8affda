/* Samples of a language model from HDF5 files in the layouts of the ModelZoo (token_sources.h), of
 * one or several folders or of a mixture of them: what its input functions share.
 *
 * Rows are read when they are asked for: the data may be larger than memory. A label whose
 * attention_mask is 0 becomes -100, which losses leave out. */
#ifndef CSE_DATALOADER_INPUTS_HDF5_TOKENS_H
#define CSE_DATALOADER_INPUTS_HDF5_TOKENS_H

#include "dataloader/epoch_length.h"

/* Rows of a table of settings. */
#define CSE_HDF5_TOKEN_SETTINGS                                                                    \
    { .name = "data_dir",                                                                          \
      .type = CSE_SETTING_PATHS,                                                                   \
      .default_value = "null",                                                                     \
      .doc = "folders of *.h5 files, or such files, read as one; null: mixture has them" },        \
        { .name = "mixture",                                                                       \
          .type = CSE_SETTING_ANY,                                                                 \
          .default_value = "null",                                                                 \
          .doc = "in place of data_dir: a list of {data_dir: FOLDER, weight: NUMBER}; which "      \
                 "folder a "                                                                       \
                 "sample comes from depends on the seeds and its place alone" },                   \
        { .name = "mixture_seed",                                                                  \
          .type = CSE_SETTING_INTEGER,                                                             \
          .default_value = "0",                                                                    \
          .doc = "chooses the order of the sources; with shuffle together with shuffle_seed" },    \
        { .name = "max_sequence_length",                                                           \
          .type = CSE_SETTING_INTEGER,                                                             \
          .default_value = "null",                                                                 \
          .min = 1,                                                                                \
          .max = 1 << 24,                                                                          \
          .doc =                                                                                   \
              "tokens of a sample; null: as the files say, which those of one sequence do not" },  \
        { .name = "data_subset",                                                                   \
          .type = CSE_SETTING_TEXT,                                                                \
          .default_value = "null",                                                                 \
          .doc = "the part of each folder's samples that is used, as \"0.0-0.9\"; null: all" },    \
        CSE_EPOCH_LENGTH_SETTING,                                                                  \
        { .name = "features",                                                                      \
          .type = CSE_SETTING_TEXT_LIST,                                                           \
          .default_value = "[input_ids, attention_mask, labels, attention_span, position_ids]",    \
          .doc = "what stands along the second dimension of the files' dataset, in order" },       \
        { .name = "attention_mask",                                                                \
          .type = CSE_SETTING_BOOL,                                                                \
          .default_value = "true",                                                                 \
          .doc =                                                                                   \
              "attention_mask is a stream, too: models of language take it as the weight of each " \
              "label" },                                                                           \
        { .name = "use_vsl",                                                                       \
          .type = CSE_SETTING_BOOL,                                                                \
          .default_value = "false",                                                                \
          .doc = "several sequences in a sample: attention_mask, attention_span and position_ids " \
                 "are "                                                                            \
                 "streams, too" },                                                                 \
        { .name = "mask_labels",                                                                   \
          .type = CSE_SETTING_BOOL,                                                                \
          .default_value = "true",                                                                 \
          .doc = "labels where attention_mask is 0 become -100" },                                 \
    {                                                                                              \
        .name = "data_transforms", .type = CSE_SETTING_ANY, .default_value = "null",               \
        .doc =                                                                                     \
            "what is changed in each sample: a list of {name: add_sink_tokens, sink_token_id: 0, " \
            "num_sink_tokens: 1, sink_token_start_pos: 0, truncate_to_original_length: false}"     \
    }

cse_status cse_hdf5_tokens_open(cse_input *input, const cse_settings *settings);
cse_status cse_hdf5_tokens_describe(cse_input *input, const cse_settings *settings,
                                    const cse_unseen_data *known);
cse_status cse_hdf5_tokens_read(cse_input *input, const int64_t *indices, int64_t count,
                                void *const outputs[]);
void cse_hdf5_tokens_locate(const cse_input *input, const cse_element_place *place, char *text,
                            size_t size);
void cse_hdf5_tokens_close(cse_input *input);

/* Settings of the ModelZoo's processor, which has two names. */
extern const cse_setting cse_gpt_hdf5_settings[];

#endif
