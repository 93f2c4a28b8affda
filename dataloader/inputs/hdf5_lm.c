/* Samples of a language model from HDF5 files (hdf5_tokens.h), under the engine's own name. */
#include "dataloader/inputs/hdf5_tokens.h"
#include "dataloader/inputs/token_streams.h"

static const cse_setting settings_table[] = { CSE_HDF5_TOKEN_SETTINGS, { 0 } };

const cse_input_descriptor cse_input_hdf5_lm = {
    .name = "hdf5_lm",
    .summary = "tokens of a language model from HDF5 files, as ModelZoo has them",
    .settings = settings_table,
    .open = cse_hdf5_tokens_open,
    .read = cse_hdf5_tokens_read,
    .locate = cse_hdf5_tokens_locate,
    .close = cse_hdf5_tokens_close,
    .describe = cse_hdf5_tokens_describe,
};
