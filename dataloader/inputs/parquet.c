/* Samples from a table in Parquet: each row is a sample. Texts in Parquet are read by `arrow`, which
 * takes such files, too. */
#include "dataloader/inputs/labelled_table.h"
#include "dataloader/parquet_table.h"

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .doc = "the file, or a folder of *.parquet; pyarrow or duckdb of Python reads it" },
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

/* Values are held by tests/dataloader/check_parquet.sh, where a Python can write Parquet. */
static const cse_input_sample samples[] = {
    { .settings = "path: $folder/a.parquet, label: y",
      .refusal = "it is no Parquet: it does not begin with PAR1",
      .files = { { .name = "a.parquet", .text = "x,y\n1,0\n" } } },
    { .settings = "path: $folder/a.parquet, label: y", .refusal = "cannot open" },
    { .settings = NULL },
};

const cse_input_descriptor cse_input_parquet = {
    .name = "parquet",
    .summary = "one sample a row of a table in Parquet",
    .settings = settings_table,
    .open = parquet_open,
    .read = cse_labelled_table_read,
    .locate = cse_labelled_table_locate,
    .close = cse_labelled_table_close,
    .samples = samples,
};
