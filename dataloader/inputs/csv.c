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

static const char table[] =
    "width,kind,height\n1,0,10\n2,2,20\n3,1,-30\n4.5,0,0\n5,1,1e2\n6,0,0.5\n"
    "7,2,7\n8,1,-0.25\n9,2,90\n10,0,100\n";

static const char words[] =
    "width,kind\n1,cat\n2,dog\n3,\"a fox\"\n4,cat\n5,cat\n6,dog\n7,dog\n8,cat\n"
    "9,a fox\n10,cat\n";

static const cse_input_sample samples[] = {
    { .settings = "path: $folder/words.csv, label: kind, class_names: [cat, dog, a fox]",
      .source = "by hand",
      .files = { { .name = "words.csv", .text = words } },
      .sample_count = 10,
      .value_count = 4,
      .values = { { CSE_FEATURES_STREAM, 1, 0, 2 },
                  { CSE_ANSWERS_STREAM, 0, 0, 0 },
                  { CSE_ANSWERS_STREAM, 5, 0, 1 },
                  { CSE_ANSWERS_STREAM, 8, 0, 2 } } },
    { .settings = "path: $folder/words.csv, label: 1, class_names: [cat, dog]",
      .refusal = "words.csv:4:3: \"a fox\" is none of the 2 class names",
      .files = { { .name = "words.csv", .text = words } } },
    { .settings = "path: $folder/table.csv, label: kind, mean: [2, 0], std: [0.5, 100]",
      .source = "(x - mean) / std by hand",
      .files = { { .name = "table.csv", .text = table } },
      .sample_count = 10,
      .value_count = 8,
      .values = { { CSE_FEATURES_STREAM, 0, 0, -2 },
                  { CSE_FEATURES_STREAM, 3, 0, 5 },
                  { CSE_FEATURES_STREAM, 4, 1, 1 },
                  { CSE_FEATURES_STREAM, 7, 1, -0.0025 },
                  { CSE_ANSWERS_STREAM, 0, 0, 0 },
                  { CSE_ANSWERS_STREAM, 1, 0, 2 },
                  { CSE_ANSWERS_STREAM, 2, 0, 1 },
                  { CSE_ANSWERS_STREAM, 9, 0, 0 } } },
    { .settings = "path: $folder/table.csv, label: 2, regression: true",
      .source = "the file's numbers",
      .files = { { .name = "table.csv", .text = table } },
      .sample_count = 10,
      .value_count = 5,
      .values = { { CSE_FEATURES_STREAM, 0, 1, 0 },
                  { CSE_FEATURES_STREAM, 3, 0, 4.5 },
                  { CSE_ANSWERS_STREAM, 2, 0, -30 },
                  { CSE_ANSWERS_STREAM, 4, 0, 100 },
                  { CSE_ANSWERS_STREAM, 7, 0, -0.25 } } },
    { .settings = "path: $folder/table.csv, label: weight",
      .refusal = "the header has width, kind, height",
      .files = { { .name = "table.csv", .text = table } } },
    { .settings = "path: $folder/table.csv, label: kind", .refusal = "cannot open" },
    { .settings = NULL },
};

const cse_input_descriptor cse_input_csv = {
    .name = "csv",
    .summary = "one sample a line of a file of separated values",
    .settings = settings_table,
    .open = csv_open,
    .read = cse_labelled_table_read,
    .locate = cse_labelled_table_locate,
    .close = cse_labelled_table_close,
    .samples = samples,
};
