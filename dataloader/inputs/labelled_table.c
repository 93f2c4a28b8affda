/* (x - mean) / std is computed in double and rounded once to float32; samples are kept so. */
#include "dataloader/inputs/labelled_table.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/identity/data_watch.h"
#include "dataloader/inputs/token_streams.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"

enum { AHEAD = 4 }; /* rows */

typedef struct labelled_table {
    cse_table_reader *read;
    const cse_settings *settings; /* while it is opened */
    cse_csv_table table;
    int64_t answer_column; /* -1: there is none */
    int64_t weight_column; /* -1: there is none */
    double *weights;       /* [row]; NULL: there are none */
    int64_t *columns;      /* [feature] */
    int64_t features;
    bool regression, may_lack_answers;
    double *mean, *std, *fill; /* [feature] */
    float *samples;            /* [row, feature] */
    double *answers;           /* [row] */
    char *features_name, *path;
    const char **feature_names; /* [feature], of the table; NULL: it has no header */
    char (*numbers)[24];        /* [feature], of columns: names of those that have none */
    char **class_names;
    int class_count;
} labelled_table;

/* ---- columns ---- */

static cse_status unknown_column(const labelled_table *self, const cse_csv_table *table,
                                 const char *setting, const char *name)
{
    enum { SHOWN = 20 };
    cse_text names = { 0 };
    for (int64_t i = 0; table->names != NULL && i < table->columns && i < SHOWN; i++)
        cse_text_add(&names, "%s%s", i == 0 ? "; the header has " : ", ", table->names[i]);
    if (table->names != NULL && table->columns > SHOWN)
        cse_text_add(&names, ", ...");
    if (table->names == NULL)
        cse_text_add(&names, "; if the first line names the columns, set header: true");
    cse_status status = cse_fail(
        CSE_CONFIG,
        "data loader: %s: %s: there is no column \"%s\" in %s: accepted are 0 to %" PRId64 "%s",
        cse_settings_origin(self->settings, setting), setting, name,
        cse_settings_text(self->settings, "path"), table->columns - 1,
        names.data == NULL ? "" : names.data);
    cse_text_clear(&names);
    return status;
}

static cse_status find_answer_column(labelled_table *self, const cse_csv_table *table)
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

/* Where answers are not needed, weights are not either. */
static cse_status find_weight_column(labelled_table *self, const cse_csv_table *table)
{
    self->weight_column = -1;
    if (!cse_settings_has(self->settings, "weights"))
        return CSE_OK;
    const char *name = cse_settings_text(self->settings, "weights");
    self->weight_column = cse_csv_table_find(table, name);
    if (self->weight_column < 0 && !self->may_lack_answers)
        return unknown_column(self, table, "weights", name);
    return self->weight_column < 0 || self->weight_column != self->answer_column
               ? CSE_OK
               : cse_fail(CSE_CONFIG,
                          "data loader: %s: weights: column \"%s\" is that of the label, too",
                          cse_settings_origin(self->settings, "weights"), name);
}

static cse_status take_named_features(labelled_table *self, const cse_csv_table *table)
{
    const int count = cse_settings_count(self->settings, "features");
    for (int i = 0; i < count; i++) {
        const char *name = cse_settings_text_at(self->settings, "features", i);
        const int64_t column = cse_csv_table_find(table, name);
        if (column < 0)
            return unknown_column(self, table, "features", name);
        if (column == self->answer_column && self->may_lack_answers) {
            self->answer_column = -1; /* a number that stands for a column of another table */
        } else if (column == self->answer_column) {
            return cse_fail(CSE_CONFIG,
                            "data loader: %s: features: column \"%s\" is that of the label, too",
                            cse_settings_origin(self->settings, "features"), name);
        }
        if (column == self->weight_column)
            return cse_fail(CSE_CONFIG,
                            "data loader: %s: features: column \"%s\" is that of the weights, too",
                            cse_settings_origin(self->settings, "features"), name);
        self->columns[self->features++] = column;
    }
    return CSE_OK;
}

static cse_status choose_columns(void *argument, const cse_csv_table *table, cse_csv_use *uses)
{
    labelled_table *self = argument;
    const int named = cse_settings_count(self->settings, "features");
    const bool words = cse_settings_count(self->settings, "class_names") > 0;
    if (table->columns < 2 && cse_settings_has(self->settings, "label") && !self->may_lack_answers)
        return cse_fail(CSE_DATA,
                        "%s: one column only, expected features and a label: set delimiter to the "
                        "character between the fields of this file",
                        self->path);
    CSE_TRY(find_answer_column(self, table));
    CSE_TRY(find_weight_column(self, table));
    self->columns = cse_calloc((size_t)(table->columns + named), sizeof *self->columns);
    for (int64_t i = 0; i < table->columns && named == 0; i++)
        if (i != self->answer_column && i != self->weight_column)
            self->columns[self->features++] = i;
    CSE_TRY(take_named_features(self, table));
    for (int64_t i = 0; i < table->columns; i++)
        uses[i] = CSE_CSV_PASSED;
    for (int64_t i = 0; i < self->features; i++)
        uses[self->columns[i]] = CSE_CSV_FEATURE;
    if (self->answer_column >= 0)
        uses[self->answer_column] = words ? CSE_CSV_WORDS : CSE_CSV_ANSWER;
    if (self->weight_column >= 0 && !self->may_lack_answers)
        uses[self->weight_column] = CSE_CSV_ANSWER;
    return CSE_OK;
}

/* ---- the table ---- */

static double answer(const labelled_table *self, int64_t row)
{
    double value = (double)NAN;
    if (self->answer_column >= 0)
        value = self->table.values[row * self->table.columns + self->answer_column];
    return isnan(value) && !self->regression ? CSE_IGNORED_LABEL : value;
}

/* "a.csv:3" or "a.parquet: row 2". */
static void print_row(const labelled_table *self, int64_t line, char *text, size_t size)
{
    if (self->table.counts_rows)
        snprintf(text, size, "%s: row %" PRId64, self->path, line);
    else
        snprintf(text, size, "%s:%" PRId64, self->path, line);
}

/* Labels are below *limit afterwards. */
static cse_status check_labels(const labelled_table *self, int64_t *limit)
{
    int64_t classes = INT32_MAX;
    char where[PATH_MAX + 64];
    if (cse_settings_has(self->settings, "classes"))
        classes = cse_settings_integer(self->settings, "classes");
    for (int64_t row = 0; row < self->table.rows; row++) {
        double label = answer(self, row);
        if (label == CSE_IGNORED_LABEL && self->may_lack_answers)
            continue;
        if (label < 0 || label >= (double)classes || label != (double)(int64_t)label) {
            print_row(self, self->table.lines[row], where, sizeof where);
            return cse_fail(CSE_DATA,
                            "%s: label %g in column %" PRId64
                            ", expected a whole number from 0 to %" PRId64
                            ": set classes, label or regression to what the file holds",
                            where, label, self->answer_column, classes - 1);
        }
        if (label >= (double)*limit)
            *limit = (int64_t)label + 1;
    }
    return CSE_OK;
}

static cse_status read_weights(labelled_table *self)
{
    double sum = 0;
    char where[PATH_MAX + 64];
    if (self->weight_column < 0 || self->may_lack_answers)
        return CSE_OK;
    self->weights = cse_calloc((size_t)self->table.rows + 1, sizeof *self->weights);
    for (int64_t row = 0; row < self->table.rows; row++) {
        const double weight = self->table.values[row * self->table.columns + self->weight_column];
        print_row(self, self->table.lines[row], where, sizeof where);
        if (!(weight >= 0))
            return cse_fail(CSE_DATA,
                            "%s: %g in column %" PRId64
                            " is no weight of a sample: accepted are numbers from 0 on",
                            where, weight, self->weight_column);
        sum += self->weights[row] = weight;
    }
    return sum > 0 && isfinite(sum) ? CSE_OK
                                    : cse_fail(CSE_DATA,
                                               "%s: the sum of the weights in column %" PRId64
                                               " is %g: accepted are finite sums above 0",
                                               self->path, self->weight_column, sum);
}

/* Whole numbers that float32 rounds are features of another value: an identifier, mostly. */
static void tell_rounded(const labelled_table *self)
{
    const cse_csv_table *table = &self->table;
    char where[PATH_MAX + 64];
    print_row(self, table->rounded_line, where, sizeof where);
    if (table->rounded > 0)
        cse_data_tell("%s: column %" PRId64
                      ": a whole number is beyond the 24 bits of float32 and is rounded, as are "
                      "%" PRId64 " in all",
                      where, table->rounded_column, table->rounded);
}

static cse_status load_table(labelled_table *self)
{
    cse_csv_options options = { .missing = cse_missing_values_read(self->settings),
                                .may_lack_answers = self->may_lack_answers,
                                .choose = choose_columns,
                                .self = self };
    self->class_count = cse_settings_count(self->settings, "class_names");
    self->class_names = cse_calloc((size_t)self->class_count + 1, sizeof *self->class_names);
    for (int i = 0; i < self->class_count; i++)
        self->class_names[i] = cse_strdup(cse_settings_text_at(self->settings, "class_names", i));
    options.words = (const char *const *)self->class_names;
    options.word_count = self->class_count;
    return self->read(self->settings, &options, &self->table);
}

static void fill(labelled_table *self)
{
    for (int64_t row = 0; row < self->table.rows; row++)
        for (int64_t i = 0; i < self->features; i++) {
            double *value = self->table.values + row * self->table.columns + self->columns[i];
            if (isnan(*value))
                *value = self->fill[i];
        }
}

/* What the samples are made of is not needed any more then. */
static void make_samples(labelled_table *self)
{
    cse_csv_table *table = &self->table;
    const int64_t features = self->features;
    self->samples = cse_malloc((size_t)table->rows * (size_t)features * sizeof *self->samples + 1);
    self->answers = cse_malloc((size_t)table->rows * sizeof *self->answers + 1);
    for (int64_t row = 0; row < table->rows; row++) {
        const double *values = table->values + row * table->columns;
        float *sample = self->samples + row * features;
        for (int64_t i = 0; i < features; i++)
            sample[i] = (float)((values[self->columns[i]] - self->mean[i]) / self->std[i]);
        self->answers[row] = answer(self, row);
    }
    free(table->values);
    table->values = NULL;
}

static cse_status load(labelled_table *self, cse_input *input)
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
    CSE_TRY(read_weights(self));
    make_samples(self);
    return CSE_OK;
}

/* ---- the input function ---- */

void cse_labelled_table_close(cse_input *input)
{
    labelled_table *self = input->self;
    cse_csv_table_clear(&self->table);
    for (int i = 0; i < self->class_count; i++)
        free(self->class_names[i]);
    free(self->class_names);
    free(self->feature_names);
    free(self->numbers);
    free(self->columns);
    free(self->weights);
    free(self->mean);
    free(self->std);
    free(self->fill);
    free(self->samples);
    free(self->answers);
    free(self->features_name);
    free(self->path);
    free(self);
    input->self = NULL;
}

static void describe(cse_input *input)
{
    labelled_table *self = input->self;
    input->sample_count = self->table.rows;
    input->sample_weights = self->weights;
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
    self->numbers = cse_calloc((size_t)self->features, sizeof *self->numbers);
    for (int64_t i = 0; i < self->features; i++) {
        const char *name = self->table.names[self->columns[i]];
        snprintf(self->numbers[i], sizeof self->numbers[i], "%" PRId64, self->columns[i]);
        self->feature_names[i] = name[0] != '\0' ? name : self->numbers[i];
    }
    input->feature_names = self->feature_names;
    input->feature_count = self->features;
}

cse_status cse_labelled_table_open(cse_input *input, const cse_settings *settings,
                                   cse_table_reader *read)
{
    labelled_table *self = input->self = cse_calloc(1, sizeof *self);
    self->read = read;
    self->settings = settings;
    self->may_lack_answers = input->may_lack_answers;
    self->path = cse_strdup(cse_settings_text(settings, "path"));
    self->features_name = cse_strdup(cse_settings_text(settings, "features_name"));
    cse_status status = load(self, input);
    if (status == CSE_OK)
        describe(input);
    else
        cse_labelled_table_close(input);
    return status;
}

void cse_labelled_table_locate(const cse_input *input, const cse_element_place *place, char *text,
                               size_t size)
{
    const labelled_table *self = input->self;
    print_row(self, self->table.lines[place->sample], text, size);
    const size_t used = strlen(text);
    if (!place->whole)
        snprintf(text + used, size - used, ": column %" PRId64,
                 place->stream == CSE_ANSWERS_STREAM ? self->answer_column
                                                     : self->columns[place->element]);
}

/* Its numbers come nearer to the processor while other rows are copied. */
static void expect(const labelled_table *self, int64_t row)
{
    enum { LINE_BYTES = 64 };
    const char *sample = (const char *)(self->samples + row * self->features);
    for (size_t at = 0; at < (size_t)self->features * sizeof(float); at += LINE_BYTES)
        __builtin_prefetch(sample + at);
    __builtin_prefetch(&self->answers[row]);
}

cse_status cse_labelled_table_read(cse_input *input, const int64_t *indices, int64_t count,
                                   void *const outputs[])
{
    const labelled_table *self = input->self;
    float *features = outputs[CSE_FEATURES_STREAM];
    for (int64_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            expect(self, indices[i + AHEAD]);
        memcpy(features + i * self->features, self->samples + indices[i] * self->features,
               (size_t)self->features * sizeof *features);
        cse_write_answer(outputs, i, self->regression, self->answers[indices[i]]);
    }
    return CSE_OK;
}
