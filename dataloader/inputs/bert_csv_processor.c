/* The ModelZoo's BertCSVDataProcessor: bert_csv.c under its name. */
#include "dataloader/inputs/csv_lists.h"

const cse_input_descriptor cse_input_bert_csv_processor = {
    .name = "BertCSVDataProcessor",
    .summary = "the same by the name of the ModelZoo's processor",
    .settings = cse_csv_lists_settings,
    .open = cse_csv_lists_open,
    .read = cse_csv_lists_read,
    .locate = cse_csv_lists_locate,
    .close = cse_csv_lists_close,
    .describe = cse_csv_lists_describe,
};
