/* The ModelZoo's GptHDF5MapDataProcessor, which reads what its GptHDF5DataProcessor (gpt_hdf5.c)
 * does: there they differ in whether they seek, here both do. */
#include "dataloader/inputs/hdf5_tokens.h"

const cse_input_descriptor cse_input_gpt_hdf5_map = {
    .name = "GptHDF5MapDataProcessor",
    .summary = "the same by the name of the processor that seeks",
    .settings = cse_gpt_hdf5_settings,
    .open = cse_hdf5_tokens_open,
    .read = cse_hdf5_tokens_read,
    .locate = cse_hdf5_tokens_locate,
    .close = cse_hdf5_tokens_close,
    .describe = cse_hdf5_tokens_describe,
};
