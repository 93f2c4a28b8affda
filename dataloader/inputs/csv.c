/* Samples from a file of separated values: each line is a sample, one column is the target (a
 * class label or a number), and the other columns are the features in their order.
 *
 * The numbers are kept in double; (x - mean) / std is computed in double and rounded once to
 * float32 when a sample is read. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/csv_table.h"
#include "dataloader/data_watch.h"
#include "dataloader/inputs/labelled.h"
#include "dataloader/inputs/token_streams.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"

typedef struct csv {
    const cse_settings *settings; /* while it is opened */
    cse_csv_table table;
    int64_t answer_column; /* -1: there is none */
    int64_t *columns;      /* [feature] */
    int64_t features;
    bool regression, may_lack_answers;
    double *mean, *std, *fill; /* [feature] */
    char *features_name, *path;
    const char **feature_names; /* [feature], of the table; NULL: it has no header */
    char **class_names;
    int class_count;
} csv;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .doc = "the file, plain or compressed with gzip or zstd" },
    { .name = "label",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "column of the answer: its name in the header, or its number counted from 0, or from "
             "-1 on backwards; needed but for predictions" },
    { .name = "features",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[]",
      .doc = "columns of the features, in this order, by name or number; none: all others than "
             "label, in the order of the file" },
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
    { .name = "regression",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "the answer is a number: stream targets (float32) in place of labels (int32)" },
    { .name = "classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = INT32_MAX,
      .doc = "labels must be from 0 to classes - 1" },
    { .name = "class_names",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[]",
      .doc = "the column of the answer has these words in place of numbers; the first is class 0" },
    { .name = "mean",
      .type = CSE_SETTING_NUMBER_LIST,
      .default_value = "[0.0]",
      .doc = "subtracted from the features: one number for all, or one for each" },
    { .name = "std",
      .type = CSE_SETTING_NUMBER_LIST,
      .default_value = "[1.0]",
      .doc = "divides the features after that: one number for all, or one for each" },
    CSE_MISSING_VALUES_SETTINGS,
    CSE_FEATURES_NAME_SETTING,
    { 0 },
};

/* ---- columns ---- */

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

static cse_status unknown_column(const csv *self, const cse_csv_table *table, const char *setting,
                                 const char *name)
{
    enum { SHOWN = 20 };
    cse_text names = { 0 };
    for (int64_t i = 0; table->names != NULL && i < table->columns && i < SHOWN; i++)
        cse_text_add(&names, "%s%s", i == 0 ? "; the header has " : ", ", table->names[i]);
    if (table->names != NULL && table->columns > SHOWN)
        cse_text_add(&names, ", ...");
    cse_status status = cse_fail(
        CSE_CONFIG,
        "data loader: %s: %s: there is no column \"%s\" in %s: accepted are 0 to %" PRId64 "%s",
        cse_settings_origin(self->settings, setting), setting, name,
        cse_settings_text(self->settings, "path"), table->columns - 1,
        names.data == NULL ? "" : names.data);
    cse_text_clear(&names);
    return status;
}

static cse_status find_answer_column(csv *self, const cse_csv_table *table)
{
    self->answer_column = -1;
    if (!cse_settings_has(self->settings, "label"))
        return self->may_lack_answers
                   ? CSE_OK
                   : cse_fail(CSE_CONFIG,
                              "data loader: %s: label is needed: the column of the answer, by its "
                              "name or number",
                              cse_settings_origin(self->settings, "path"));
    const char *label = cse_settings_text(self->settings, "label");
    self->answer_column = cse_csv_table_find(table, label);
    return self->answer_column >= 0 || self->may_lack_answers
               ? CSE_OK
               : unknown_column(self, table, "label", label);
}

static cse_status take_named_features(csv *self, const cse_csv_table *table)
{
    const int count = cse_settings_count(self->settings, "features");
    for (int i = 0; i < count; i++) {
        const char *name = cse_settings_text_at(self->settings, "features", i);
        const int64_t column = cse_csv_table_find(table, name);
        if (column < 0)
            return unknown_column(self, table, "features", name);
        if (column == self->answer_column)
            return cse_fail(CSE_CONFIG,
                            "data loader: %s: features: column \"%s\" is that of the label, too",
                            cse_settings_origin(self->settings, "features"), name);
        self->columns[self->features++] = column;
    }
    return CSE_OK;
}

static cse_status choose_columns(void *argument, const cse_csv_table *table, cse_csv_use *uses)
{
    csv *self = argument;
    const int named = cse_settings_count(self->settings, "features");
    const bool words = cse_settings_count(self->settings, "class_names") > 0;
    CSE_TRY(find_answer_column(self, table));
    const int64_t least = self->answer_column >= 0 ? 2 : 1;
    if (table->columns < least)
        return cse_fail(CSE_DATA,
                        "%s: one column only, expected features and a label: is the delimiter "
                        "\"%s\" right?",
                        self->path, cse_settings_text(self->settings, "delimiter"));
    self->columns = cse_calloc((size_t)(table->columns + named), sizeof *self->columns);
    for (int64_t i = 0; i < table->columns && named == 0; i++)
        if (i != self->answer_column)
            self->columns[self->features++] = i;
    CSE_TRY(take_named_features(self, table));
    for (int64_t i = 0; i < table->columns; i++)
        uses[i] = CSE_CSV_PASSED;
    for (int64_t i = 0; i < self->features; i++)
        uses[self->columns[i]] = CSE_CSV_FEATURE;
    if (self->answer_column >= 0)
        uses[self->answer_column] = words ? CSE_CSV_WORDS : CSE_CSV_ANSWER;
    return CSE_OK;
}

/* ---- the table ---- */

static double answer(const csv *self, int64_t row)
{
    if (self->answer_column < 0)
        return self->regression ? (double)NAN : CSE_IGNORED_LABEL;
    return self->table.values[row * self->table.columns + self->answer_column];
}

/* Labels are below *limit afterwards. */
static cse_status check_labels(const csv *self, int64_t *limit)
{
    int64_t classes = INT32_MAX;
    if (cse_settings_has(self->settings, "classes"))
        classes = cse_settings_integer(self->settings, "classes");
    for (int64_t row = 0; row < self->table.rows; row++) {
        double label = answer(self, row);
        if (label < 0 || label >= (double)classes || label != (double)(int64_t)label)
            return cse_fail(CSE_DATA,
                            "%s:%" PRId64 ": label %g in column %" PRId64
                            ", expected a whole number from 0 to %" PRId64
                            ": set classes, label or regression to what the file holds",
                            self->path, self->table.lines[row], label, self->answer_column,
                            classes - 1);
        if (label >= (double)*limit)
            *limit = (int64_t)label + 1;
    }
    return CSE_OK;
}

/* Whole numbers that float32 rounds are features of another value: an identifier, mostly. */
static void tell_rounded(const csv *self)
{
    const cse_csv_table *table = &self->table;
    if (table->rounded > 0)
        cse_data_tell("%s:%" PRId64 ": column %" PRId64
                      ": a whole number is beyond the 24 bits of float32 and is rounded, as are "
                      "%" PRId64 " in all",
                      self->path, table->rounded_line, table->rounded_column, table->rounded);
}

static cse_status load_table(csv *self)
{
    cse_csv_options options = { .header = cse_settings_bool(self->settings, "header"),
                                .missing = cse_missing_values_read(self->settings),
                                .choose = choose_columns,
                                .self = self };
    CSE_TRY(delimiters_of(self->settings, &options));
    self->class_count = cse_settings_count(self->settings, "class_names");
    self->class_names = cse_calloc((size_t)self->class_count + 1, sizeof *self->class_names);
    for (int i = 0; i < self->class_count; i++)
        self->class_names[i] = cse_strdup(cse_settings_text_at(self->settings, "class_names", i));
    options.words = (const char *const *)self->class_names;
    options.word_count = self->class_count;
    return cse_csv_table_read(self->path, &options, &self->table);
}

static void fill(csv *self)
{
    for (int64_t row = 0; row < self->table.rows; row++)
        for (int64_t i = 0; i < self->features; i++) {
            double *value = self->table.values + row * self->table.columns + self->columns[i];
            if (isnan(*value))
                *value = self->fill[i];
        }
}

static cse_status load(csv *self, cse_input *input)
{
    const cse_settings *settings = self->settings;
    self->regression = cse_settings_bool(settings, "regression");
    CSE_TRY(load_table(self));
    input->label_limit = self->class_count;
    if (!self->regression && self->answer_column >= 0)
        CSE_TRY(check_labels(self, &input->label_limit));
    CSE_TRY(cse_feature_numbers(settings, "mean", self->features, self->path, &self->mean));
    CSE_TRY(cse_feature_numbers(settings, "std", self->features, self->path, &self->std));
    CSE_TRY(cse_feature_numbers(settings, "fill_value", self->features, self->path, &self->fill));
    for (int64_t i = 0; i < self->features; i++)
        if (!(self->std[i] > 0))
            return cse_fail(CSE_CONFIG,
                            "data loader: %s: std: number %" PRId64 " is %g: accepted is above 0",
                            cse_settings_origin(settings, "std"), i, self->std[i]);
    tell_rounded(self);
    fill(self);
    return CSE_OK;
}

/* ---- the input function ---- */

static void csv_close(cse_input *input)
{
    csv *self = input->self;
    cse_csv_table_clear(&self->table);
    for (int i = 0; i < self->class_count; i++)
        free(self->class_names[i]);
    free(self->class_names);
    free(self->feature_names);
    free(self->columns);
    free(self->mean);
    free(self->std);
    free(self->fill);
    free(self->features_name);
    free(self->path);
    free(self);
    input->self = NULL;
}

static void describe(cse_input *input)
{
    csv *self = input->self;
    input->sample_count = self->table.rows;
    snprintf(input->source, sizeof input->source, "%s", self->path);
    cse_describe_labelled(input, self->features_name, cse_shape_of(self->features),
                          self->regression);
    if (self->class_count > 0) {
        input->class_names = (const char *const *)self->class_names;
        input->class_count = self->class_count;
    }
    if (self->table.names == NULL)
        return;
    self->feature_names = cse_calloc((size_t)self->features, sizeof *self->feature_names);
    for (int64_t i = 0; i < self->features; i++)
        self->feature_names[i] = self->table.names[self->columns[i]];
    input->feature_names = self->feature_names;
    input->feature_count = self->features;
}

static cse_status csv_open(cse_input *input, const cse_settings *settings)
{
    csv *self = input->self = cse_calloc(1, sizeof *self);
    self->settings = settings;
    self->may_lack_answers = input->may_lack_answers;
    self->path = cse_strdup(cse_settings_text(settings, "path"));
    self->features_name = cse_strdup(cse_settings_text(settings, "features_name"));
    cse_status status = load(self, input);
    if (status == CSE_OK)
        describe(input);
    else
        csv_close(input);
    return status;
}

static void read_features(const csv *self, int64_t row, float *features)
{
    const double *values = self->table.values + row * self->table.columns;
    for (int64_t i = 0; i < self->features; i++)
        features[i] = (float)((values[self->columns[i]] - self->mean[i]) / self->std[i]);
}

static void csv_locate(const cse_input *input, const cse_element_place *place, char *text,
                       size_t size)
{
    const csv *self = input->self;
    const int used =
        snprintf(text, size, "%s:%" PRId64, self->path, self->table.lines[place->sample]);
    if (!place->whole && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ": column %" PRId64,
                 place->stream == CSE_ANSWERS_STREAM ? self->answer_column
                                                     : self->columns[place->element]);
}

static cse_status csv_read(cse_input *input, const int64_t *indices, int64_t count,
                           void *const outputs[])
{
    const csv *self = input->self;
    float *features = outputs[CSE_FEATURES_STREAM];
    for (int64_t i = 0; i < count; i++) {
        read_features(self, indices[i], features + i * self->features);
        cse_write_answer(outputs, i, self->regression, answer(self, indices[i]));
    }
    return CSE_OK;
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
    .read = csv_read,
    .locate = csv_locate,
    .close = csv_close,
    .samples = samples,
};
