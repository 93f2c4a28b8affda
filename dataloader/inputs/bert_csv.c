/* bert_csv: samples from tables of lists; see csv_lists.h. */
#include "dataloader/inputs/csv_lists.h"

const cse_input_descriptor cse_input_bert_csv = {
    .name = "bert_csv",
    .summary = "masked language models' samples from tables of lists, as ModelZoo has them",
    .settings = cse_csv_lists_settings,
    .open = cse_csv_lists_open,
    .read = cse_csv_lists_read,
    .locate = cse_csv_lists_locate,
    .close = cse_csv_lists_close,
    .describe = cse_csv_lists_describe,
};
