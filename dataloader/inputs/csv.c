/* Samples from a file of separated values: each line is a sample, one column is the target (a
 * class label or a number), and the other columns are the features in their order.
 *
 * The numbers are kept in double; (x - mean) / std is computed in double and rounded once to
 * float32 when a sample is read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/csv_table.h"
#include "dataloader/inputs/labelled.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"

typedef struct csv {
    cse_csv_table table;
    int64_t answer_column;
    int64_t features;
    bool regression;
    double *mean, *std; /* [feature] */
    char *features_name, *path;
} csv;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .doc = "the file, plain or compressed with gzip or zstd" },
    { .name = "label",
      .type = CSE_SETTING_TEXT,
      .doc = "column of the answer: its name in the header, or its number counted from 0" },
    { .name = "delimiter",
      .type = CSE_SETTING_TEXT,
      .default_value = "\",\"",
      .doc = "the one character between fields" },
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
    CSE_FEATURES_NAME_SETTING,
    { 0 },
};

static cse_status delimiter_of(const cse_settings *settings, char *delimiter)
{
    const char *text = cse_settings_text(settings, "delimiter");
    if (strlen(text) != 1 || strchr("\"\r\n+-.0123456789eE", text[0]) != NULL)
        return cse_fail(
            CSE_CONFIG,
            "data loader: %s: delimiter is \"%s\": accepted is one character that is no part of a "
            "number, such as \",\", \";\" or \"\\t\"",
            cse_settings_origin(settings, "delimiter"), text);
    *delimiter = text[0];
    return CSE_OK;
}

static cse_status unknown_column(const csv *self, const cse_settings *settings)
{
    enum { SHOWN = 20 };
    cse_text names = { 0 };
    for (int64_t i = 0; self->table.names != NULL && i < self->table.columns && i < SHOWN; i++)
        cse_text_add(&names, "%s%s", i == 0 ? "; the header has " : ", ", self->table.names[i]);
    if (self->table.names != NULL && self->table.columns > SHOWN)
        cse_text_add(&names, ", ...");
    cse_status status = cse_fail(
        CSE_CONFIG,
        "data loader: %s: label: there is no column \"%s\" in %s: accepted are 0 to %" PRId64 "%s",
        cse_settings_origin(settings, "label"), cse_settings_text(settings, "label"),
        cse_settings_text(settings, "path"), self->table.columns - 1,
        names.data == NULL ? "" : names.data);
    cse_text_clear(&names);
    return status;
}

static cse_status find_answer_column(csv *self, const cse_settings *settings)
{
    const char *label = cse_settings_text(settings, "label");
    for (int64_t i = 0; self->table.names != NULL && i < self->table.columns; i++)
        if (strcmp(self->table.names[i], label) == 0) {
            self->answer_column = i;
            return CSE_OK;
        }
    size_t digits = strspn(label, "0123456789");
    if (digits == 0 || digits > 9 || label[digits] != '\0' || atoi(label) >= self->table.columns)
        return unknown_column(self, settings);
    self->answer_column = atoi(label);
    return CSE_OK;
}

static double answer(const csv *self, int64_t row)
{
    return self->table.values[row * self->table.columns + self->answer_column];
}

static cse_status check_labels(const csv *self, const cse_settings *settings)
{
    int64_t classes = INT32_MAX;
    if (cse_settings_has(settings, "classes"))
        classes = cse_settings_integer(settings, "classes");
    for (int64_t row = 0; row < self->table.rows; row++) {
        double label = answer(self, row);
        if (label < 0 || label >= (double)classes || label != (double)(int64_t)label)
            return cse_fail(CSE_DATA,
                            "%s:%" PRId64 ": label %g in column %" PRId64
                            ", expected a whole number from 0 to %" PRId64
                            ": set classes, label or regression to what the file holds",
                            cse_settings_text(settings, "path"), self->table.first_line + row,
                            label, self->answer_column, classes - 1);
    }
    return CSE_OK;
}

/* The list `name` of the settings, one value for each feature; the caller frees `*values`. */
static cse_status spread(const csv *self, const cse_settings *settings, const char *name,
                         double **values)
{
    int count = cse_settings_count(settings, name);
    if (count != 1 && count != self->features)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: %s has %d numbers: accepted are 1 or %" PRId64
                        ", one for each feature of %s",
                        cse_settings_origin(settings, name), name, count, self->features,
                        cse_settings_text(settings, "path"));
    *values = cse_calloc((size_t)self->features, sizeof **values);
    for (int64_t i = 0; i < self->features; i++)
        (*values)[i] = cse_settings_number_at(settings, name, count == 1 ? 0 : (int)i);
    return CSE_OK;
}

static cse_status load_table(csv *self, const cse_settings *settings, char delimiter)
{
    const int count = cse_settings_count(settings, "class_names");
    const char **names = cse_calloc((size_t)count + 1, sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = cse_settings_text_at(settings, "class_names", i);
    const cse_csv_words words = { .column = cse_settings_text(settings, "label"),
                                  .words = names,
                                  .count = count };
    cse_status status = cse_csv_table_load_words(cse_settings_text(settings, "path"), delimiter,
                                                 cse_settings_bool(settings, "header"),
                                                 count > 0 ? &words : NULL, &self->table);
    free(names);
    return status;
}

static cse_status load(csv *self, const cse_settings *settings)
{
    char delimiter = 0;
    CSE_TRY(delimiter_of(settings, &delimiter));
    CSE_TRY(load_table(self, settings, delimiter));
    if (self->table.columns < 2)
        return cse_fail(CSE_DATA,
                        "%s: one column only, expected features and a label: is the delimiter "
                        "\"%c\" right?",
                        cse_settings_text(settings, "path"), delimiter);
    self->features = self->table.columns - 1;
    self->regression = cse_settings_bool(settings, "regression");
    CSE_TRY(find_answer_column(self, settings));
    if (!self->regression)
        CSE_TRY(check_labels(self, settings));
    CSE_TRY(spread(self, settings, "mean", &self->mean));
    CSE_TRY(spread(self, settings, "std", &self->std));
    for (int64_t i = 0; i < self->features; i++)
        if (!(self->std[i] > 0))
            return cse_fail(CSE_CONFIG,
                            "data loader: %s: std: number %" PRId64 " is %g: accepted is above 0",
                            cse_settings_origin(settings, "std"), i, self->std[i]);
    return CSE_OK;
}

static void csv_close(cse_input *input)
{
    csv *self = input->self;
    cse_csv_table_clear(&self->table);
    free(self->mean);
    free(self->std);
    free(self->features_name);
    free(self->path);
    free(self);
    input->self = NULL;
}

static cse_status csv_open(cse_input *input, const cse_settings *settings)
{
    csv *self = input->self = cse_calloc(1, sizeof *self);
    cse_status status = load(self, settings);
    if (status != CSE_OK) {
        csv_close(input);
        return status;
    }
    self->path = cse_strdup(cse_settings_text(settings, "path"));
    self->features_name = cse_strdup(cse_settings_text(settings, "features_name"));
    input->sample_count = self->table.rows;
    snprintf(input->source, sizeof input->source, "%s", cse_settings_text(settings, "path"));
    cse_describe_labelled(input, self->features_name, cse_shape_of(self->features),
                          self->regression);
    return CSE_OK;
}

static void read_features(const csv *self, int64_t row, float *features)
{
    const double *values = self->table.values + row * self->table.columns;
    for (int64_t i = 0; i < self->features; i++) {
        double value = values[i < self->answer_column ? i : i + 1];
        features[i] = (float)((value - self->mean[i]) / self->std[i]);
    }
}

static void csv_locate(const cse_input *input, const cse_element_place *place, char *text,
                       size_t size)
{
    const csv *self = input->self;
    int64_t before = place->element < self->answer_column ? 0 : 1;
    snprintf(text, size, "%s:%" PRId64 ": column %" PRId64, self->path,
             self->table.first_line + place->sample,
             place->stream == CSE_ANSWERS_STREAM ? self->answer_column : place->element + before);
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
