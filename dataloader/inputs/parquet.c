/* Samples from a table in Parquet or Arrow: each row is a sample, as a line of `csv` is. Texts and
 * lists are read by `arrow`, which takes files in Parquet, too. */
#include "dataloader/inputs/arrow_samples.h"
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

/* Values of Parquet are held by tests/dataloader/check_tables.sh, where a Python can write it. */
static const cse_input_sample samples[] = {
    { .settings = "path: $folder/a.arrow, label: label, features: [small, flag], std: [2, 1]",
      .source = "pyarrow (tests/reference/arrow.py)",
      .files = { { .name = "a.arrow", .text = stream_form, .size = sizeof stream_form - 1 } },
      .sample_count = 12,
      .value_count = 3,
      .values = { { CSE_FEATURES_STREAM, 9, 0, -4.5 },
                  { CSE_FEATURES_STREAM, 3, 1, 1 },
                  { CSE_ANSWERS_STREAM, 5, 0, 2 } } },
    { .settings = "path: $folder/a.arrow, label: label",
      .refusal = "name the columns of single numbers with features",
      .files = { { .name = "a.arrow", .text = stream_form, .size = sizeof stream_form - 1 } } },
    { .settings = "path: $folder/a.parquet, label: y",
      .refusal = "a.parquet",
      .files = { { .name = "a.parquet", .text = "x,y\n1,0\n" } } },
    { .settings = "path: $folder/a.parquet, label: y", .refusal = "cannot open" },
    { .settings = NULL },
};

const cse_input_descriptor cse_input_parquet = {
    .name = "parquet",
    .summary = "one sample a row of a table in Parquet or Arrow",
    .settings = settings_table,
    .open = parquet_open,
    .read = cse_labelled_table_read,
    .locate = cse_labelled_table_locate,
    .close = cse_labelled_table_close,
    .samples = samples,
};
