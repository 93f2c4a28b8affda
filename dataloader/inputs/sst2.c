/* The ModelZoo's SST2DataProcessor: sentences of films, 0 for bad and 1 for good ones. */
#include "dataloader/inputs/glue_sentences.h"

static const cse_glue_task task = { .training = "train.tsv",
                                    .validation = { "dev.tsv" },
                                    .sentences = { "sentence" },
                                    .label = "label" };

static cse_status sst2_open(cse_input *input, const cse_settings *settings)
{
    return cse_glue_open(input, settings, &task);
}

const cse_input_descriptor cse_input_sst2 = {
    .name = "SST2DataProcessor",
    .summary = "sentences with a class from the tables of SST-2, as the ModelZoo has them",
    .settings = cse_glue_settings,
    .open = sst2_open,
    .read = cse_glue_read,
    .locate = cse_glue_locate,
    .close = cse_glue_close,
    .describe = cse_glue_describe,
};
