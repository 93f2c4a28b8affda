/* The ModelZoo's GptHDF5DataProcessor: hdf5_tokens.h under its name and keys. */
#include "dataloader/inputs/hdf5_lm_samples.h"
#include "dataloader/inputs/hdf5_tokens.h"
#include "dataloader/inputs/token_streams.h"

const cse_setting cse_gpt_hdf5_settings[] = {
    CSE_HDF5_TOKEN_SETTINGS,
    { .name = "vocab_size",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "no effect: the model's vocab_size counts" },
    { 0 },
};

const cse_input_sample cse_gpt_hdf5_samples[] = {
    { .settings = "data_dir: [$folder/a.h5, $folder/b.h5]",
      .source = "h5py (tests/reference/hdf5_lm.py)",
      .files = { { .name = "b.h5", .text = sample_form, .size = sizeof sample_form - 1 },
                 { .name = "a.h5", .text = sample_form, .size = sizeof sample_form - 1 } },
      .sample_count = 12,
      .value_count = 3,
      .values = { { CSE_INPUT_IDS_STREAM, 5, 3, 503 },
                  { CSE_LABELS_STREAM, 11, 0, 501 },
                  { CSE_MASK_STREAM, 5, 3, 0 } } },
    { .settings =
          "data_dir: $folder/c.h5, max_sequence_length: 4, data_transforms: [{name: "
          "add_sink_tokens, sink_token_id: 9, num_sink_tokens: 2, sink_token_start_pos: 1}]",
      .source = "h5py (tests/reference/hdf5_lm.py), two tokens put before the second",
      .files = { { .name = "c.h5", .text = corpus_form, .size = sizeof corpus_form - 1 } },
      .sample_count = 12,
      .value_count = 9,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 0, 1000 },
                  { CSE_INPUT_IDS_STREAM, 0, 1, 9 },
                  { CSE_INPUT_IDS_STREAM, 0, 2, 9 },
                  { CSE_INPUT_IDS_STREAM, 0, 3, 1001 },
                  { CSE_INPUT_IDS_STREAM, 11, 5, 1047 },
                  { CSE_LABELS_STREAM, 11, 5, 1048 },
                  { CSE_LABELS_STREAM, 11, 1, CSE_IGNORED_LABEL },
                  { CSE_MASK_STREAM, 7, 2, 0 },
                  { CSE_MASK_STREAM, 7, 3, 1 } } },
    { .settings = "data_dir: $folder/c.h5, max_sequence_length: 4, data_transforms: [{name: "
                  "add_sink_tokens, num_sink_tokens: 3, truncate_to_original_length: true}]",
      .source = "h5py (tests/reference/hdf5_lm.py), three tokens before the first",
      .files = { { .name = "c.h5", .text = corpus_form, .size = sizeof corpus_form - 1 } },
      .sample_count = 12,
      .value_count = 4,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 2, 0 },
                  { CSE_INPUT_IDS_STREAM, 0, 3, 1000 },
                  { CSE_LABELS_STREAM, 0, 3, 1001 },
                  { CSE_MASK_STREAM, 0, 0, 0 } } },
    { .settings = "data_dir: $folder, data_transforms: [{name: add_memory_tokens}]",
      .refusal = "accepted: add_sink_tokens" },
    { .settings = "data_dir: $folder", .refusal = "no file ends in .h5" },
    { .settings = NULL },
};

const cse_input_descriptor cse_input_gpt_hdf5 = {
    .name = "GptHDF5DataProcessor",
    .summary = "tokens from HDF5 files, by the name and keys of the ModelZoo",
    .settings = cse_gpt_hdf5_settings,
    .open = cse_hdf5_tokens_open,
    .read = cse_hdf5_tokens_read,
    .locate = cse_hdf5_tokens_locate,
    .close = cse_hdf5_tokens_close,
    .samples = cse_gpt_hdf5_samples,
    .describe = cse_hdf5_tokens_describe,
};
