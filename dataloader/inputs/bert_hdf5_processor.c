/* The ModelZoo's BertHDF5DataProcessor: bert_hdf5.c under its name. */
#include "dataloader/inputs/masked_tokens.h"

const cse_input_descriptor cse_input_bert_hdf5_processor = {
    .name = "BertHDF5DataProcessor",
    .summary = "the same by the name of the ModelZoo's processor",
    .settings = cse_masked_tokens_settings,
    .open = cse_masked_tokens_open,
    .read = cse_masked_tokens_read,
    .locate = cse_masked_tokens_locate,
    .close = cse_masked_tokens_close,
    .describe = cse_masked_tokens_describe,
};
