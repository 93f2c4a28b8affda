/* Samples from a file of separated values: each line is a sample. */
#include <string.h>

#include "dataloader/inputs/labelled_table.h"

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .doc = "the file, plain or compressed with gzip or zstd" },
    { .name = "delimiter",
      .type = CSE_SETTING_TEXT,
      .default_value = "\",\"",
      .doc = "the one character between fields" },
    { .name = "decimal",
      .type = CSE_SETTING_TEXT,
      .default_value = "\".\"",
      .doc = "the decimal separator in numbers: \".\" or \",\"" },
    { .name = "header",
      .type = CSE_SETTING_BOOL,
      .default_value = "true",
      .doc = "the first line names the columns" },
    CSE_LABELLED_TABLE_SETTINGS,
    { 0 },
};

static cse_status delimiters_of(const cse_settings *settings, cse_csv_options *options)
{
    const char *text = cse_settings_text(settings, "delimiter");
    const char *decimal = cse_settings_text(settings, "decimal");
    if (strcmp(decimal, ".") != 0 && strcmp(decimal, ",") != 0)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: decimal is \"%s\": accepted are \".\" and \",\"",
                        cse_settings_origin(settings, "decimal"), decimal);
    if (strlen(text) != 1 || strchr("\"\r\n+-.0123456789eE", text[0]) != NULL ||
        text[0] == decimal[0])
        return cse_fail(
            CSE_CONFIG,
            "data loader: %s: delimiter is \"%s\": accepted is one character that is no part of a "
            "number, such as \",\", \";\" or \"\\t\"",
            cse_settings_origin(settings, "delimiter"), text);
    options->delimiter = text[0];
    options->decimal = decimal[0];
    return CSE_OK;
}

static cse_status read_table(const cse_settings *settings, cse_csv_options *options,
                             cse_csv_table *table)
{
    options->header = cse_settings_bool(settings, "header");
    CSE_TRY(delimiters_of(settings, options));
    return cse_csv_table_read(cse_settings_text(settings, "path"), options, table);
}

static cse_status csv_open(cse_input *input, const cse_settings *settings)
{
    return cse_labelled_table_open(input, settings, read_table);
}

const cse_input_descriptor cse_input_csv = {
    .name = "csv",
    .summary = "one sample a line of a file of separated values",
    .settings = settings_table,
    .open = csv_open,
    .read = cse_labelled_table_read,
    .locate = cse_labelled_table_locate,
    .close = cse_labelled_table_close,
};
