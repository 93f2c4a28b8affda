/* Samples of masked language models from HDF5 files (masked_tokens.h). */
#include "dataloader/inputs/masked_tokens.h"

const cse_input_descriptor cse_input_bert_hdf5 = {
    .name = "bert_hdf5",
    .summary = "masked language models' samples from HDF5 files, as ModelZoo has them",
    .settings = cse_masked_tokens_settings,
    .open = cse_masked_tokens_open,
    .read = cse_masked_tokens_read,
    .locate = cse_masked_tokens_locate,
    .close = cse_masked_tokens_close,
    .describe = cse_masked_tokens_describe,
};
