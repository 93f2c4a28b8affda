/* Samples from a table in Parquet or Arrow: each row is a sample, as a line of `csv` is. Texts and
 * lists are read by `arrow`, which takes files in Parquet, too. */
#include "dataloader/inputs/labelled_table.h"
#include "dataloader/tables/parquet_table.h"

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .doc = "the file, Parquet or Arrow, or a folder of *.parquet; Parquet is read by pyarrow or "
             "duckdb of Python" },
    CSE_LABELLED_TABLE_SETTINGS,
    { 0 },
};

static cse_status read_table(const cse_settings *settings, cse_csv_options *options,
                             cse_csv_table *table)
{
    return cse_parquet_table_read(cse_settings_text(settings, "path"), options, table);
}

static cse_status parquet_open(cse_input *input, const cse_settings *settings)
{
    return cse_labelled_table_open(input, settings, read_table);
}

const cse_input_descriptor cse_input_parquet = {
    .name = "parquet",
    .summary = "one sample a row of a table in Parquet or Arrow",
    .settings = settings_table,
    .open = parquet_open,
    .read = cse_labelled_table_read,
    .locate = cse_labelled_table_locate,
    .close = cse_labelled_table_close,
};
