/* The ModelZoo's GptHDF5DataProcessor: hdf5_tokens.h under its name and keys. */
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

const cse_input_descriptor cse_input_gpt_hdf5 = {
    .name = "GptHDF5DataProcessor",
    .summary = "tokens from HDF5 files, by the name and keys of the ModelZoo",
    .settings = cse_gpt_hdf5_settings,
    .open = cse_hdf5_tokens_open,
    .read = cse_hdf5_tokens_read,
    .locate = cse_hdf5_tokens_locate,
    .close = cse_hdf5_tokens_close,
    .describe = cse_hdf5_tokens_describe,
};
