/* Samples from JSON lines: texts that a tokenizer turns into tokens, or lists of numbers with a
 * label.
 *
 * Texts: a line is a sample, cut to sequence_length tokens or filled up; filled places have the
 * label -100 and attention_mask 0, and so has a prompt, so that the model learns what follows it.
 * Lines are parsed when they are asked for; rows of numbers that are not too many are kept then. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/bad_records.h"
#include "dataloader/files/line_index.h"
#include "dataloader/formats/json_line.h"
#include "dataloader/identity/data_watch.h"
#include "dataloader/inputs/labelled.h"
#include "dataloader/inputs/text_tokens.h"
#include "dataloader/tables/missing_values.h"
#include "engine/base/arena.h"

enum { MOST_FEATURES = 1 << 24, MOST_LOOKED_AT_BYTES = 1 << 25, MOST_KEPT_NUMBERS = 1 << 26 };

typedef struct jsonl {
    cse_file_pool *pool;
    cse_line_index index;
    char *line;
    cse_bad_records bad;
    cse_text_tokens texts;
    char *text_field, *prompt_field;
    /* numbers */
    char *features_field, *label_field, *features_name;
    int64_t features;
    cse_missing_values missing;
    double *fill; /* [features] */
    bool may_lack_answers;
    float *kept; /* [line, features]: rows that were read; NULL: they are too many */
    int32_t *kept_labels;
    bool *is_kept;
    /* of the sample that is being read */
    void *const *outputs;
    int64_t place;
} jsonl;

static const cse_setting settings_table[] = {
    { .name = "path", .type = CSE_SETTING_PATH, .doc = "the file, not compressed" },
    { .name = "tokenizer",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc = "a tokenizer.json, or a folder with it or with vocab.json and merges.txt; null: lines "
             "hold numbers" },
    { .name = "text",
      .type = CSE_SETTING_TEXT,
      .default_value = "text",
      .doc = "member of a line that is the text" },
    { .name = "prompt",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "member that precedes the text and is not learned" },
    { .name = "sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1024",
      .min = 1,
      .max = 1 << 24,
      .doc = "tokens of one sample" },
    CSE_END_OF_TEXT_SETTING,
    { .name = "features",
      .type = CSE_SETTING_TEXT,
      .default_value = "features",
      .doc = "without a tokenizer: member that is a list of numbers" },
    { .name = "label",
      .type = CSE_SETTING_TEXT,
      .default_value = "label",
      .doc = "without a tokenizer: member that is the class, a whole number from 0 on" },
    CSE_MISSING_VALUES_SETTINGS,
    CSE_FEATURES_NAME_SETTING,
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

/* ---- a line ---- */

static cse_status parse_line(jsonl *self, int64_t index, json_t **json)
{
    const cse_line *line = &self->index.lines[index];
    const bool is_text = self->texts.tokenizer != NULL;
    const char *const names[] = { is_text ? self->text_field : self->features_field,
                                  is_text ? self->prompt_field : self->label_field, NULL };
    CSE_TRY(cse_file_pool_read(self->pool, 0, line->offset, self->line, (size_t)line->bytes));
    return cse_json_line_read(self->line, (size_t)line->bytes, names, json);
}

static cse_status within_line(const jsonl *self, int64_t index, cse_status status)
{
    return status == CSE_OK ? CSE_OK
                            : cse_fail_within(status, "%s: line %" PRId64 ": ",
                                              cse_file_pool_path_view(self->pool, 0),
                                              self->index.lines[index].number);
}

static cse_status encode_member(jsonl *self, const json_t *json, const char *field)
{
    const json_t *text = json_object_get(json, field);
    if (!json_is_string(text))
        return cse_fail(CSE_DATA, "it has no text in member \"%s\"", field);
    return cse_text_tokens_add(&self->texts, json_string_value(text), json_string_length(text));
}

static cse_status take_text(jsonl *self, const json_t *json)
{
    self->texts.ids.count = 0;
    if (self->prompt_field != NULL)
        CSE_TRY(encode_member(self, json, self->prompt_field));
    const int64_t learned_from = (int64_t)self->texts.ids.count;
    CSE_TRY(encode_member(self, json, self->text_field));
    cse_text_tokens_put(&self->texts, learned_from, self->outputs, self->place);
    return CSE_OK;
}

static cse_status take_feature(const jsonl *self, const json_t *value, size_t i, float *feature)
{
    if (json_is_null(value) && self->missing == CSE_MISSING_FILLED) {
        *feature = (float)self->fill[i];
        return CSE_OK;
    }
    if (json_is_null(value))
        return cse_fail(CSE_DATA, "member \"%s\": place %zu is null, NaN or infinite: %s",
                        self->features_field, i, CSE_MISSING_HINT);
    *feature =
        json_is_boolean(value) ? (float)json_is_true(value) : (float)json_number_value(value);
    if ((!json_is_number(value) && !json_is_boolean(value)) || !isfinite(*feature))
        return cse_fail(CSE_DATA,
                        "member \"%s\": place %zu holds no number that float32 has: accepted are "
                        "sizes up to 3.4e38",
                        self->features_field, i);
    return CSE_OK;
}

static cse_status take_label(const jsonl *self, const json_t *label, int32_t *number)
{
    *number = CSE_IGNORED_LABEL;
    if (label == NULL && self->may_lack_answers)
        return CSE_OK;
    return cse_json_int32(label, number) && *number >= 0
               ? CSE_OK
               : cse_fail(CSE_DATA, "member \"%s\" is no whole number from 0 on",
                          self->label_field);
}

static cse_status take_numbers(jsonl *self, const json_t *json)
{
    size_t i;
    const json_t *value, *list = json_object_get(json, self->features_field);
    float *features = (float *)self->outputs[CSE_FEATURES_STREAM] + self->place * self->features;
    if (!json_is_array(list) || (int64_t)json_array_size(list) != self->features)
        return cse_fail(CSE_DATA, "member \"%s\" is no list of %" PRId64 " numbers",
                        self->features_field, self->features);
    json_array_foreach(list, i, value)
    {
        CSE_TRY(take_feature(self, value, i, &features[i]));
    }
    return take_label(self, json_object_get(json, self->label_field),
                      (int32_t *)self->outputs[CSE_ANSWERS_STREAM] + self->place);
}

/* ---- rows that are kept ---- */

static float *features_at_place(const jsonl *self)
{
    return (float *)self->outputs[CSE_FEATURES_STREAM] + self->place * self->features;
}

static int32_t *label_at_place(const jsonl *self)
{
    return (int32_t *)self->outputs[CSE_ANSWERS_STREAM] + self->place;
}

static void begin_keeping(jsonl *self)
{
    const int64_t rows = self->index.count;
    if (self->features > MOST_KEPT_NUMBERS / rows)
        return;
    self->kept = cse_malloc((size_t)(rows * self->features) * sizeof *self->kept);
    self->kept_labels = cse_malloc((size_t)rows * sizeof *self->kept_labels);
    self->is_kept = cse_calloc((size_t)rows, sizeof *self->is_kept);
}

static bool take_kept(const jsonl *self, int64_t index)
{
    if (self->kept == NULL || !self->is_kept[index])
        return false;
    memcpy(features_at_place(self), self->kept + index * self->features,
           (size_t)self->features * sizeof *self->kept);
    *label_at_place(self) = self->kept_labels[index];
    return true;
}

static void keep(const jsonl *self, int64_t index)
{
    if (self->kept == NULL)
        return;
    memcpy(self->kept + index * self->features, features_at_place(self),
           (size_t)self->features * sizeof *self->kept);
    self->kept_labels[index] = *label_at_place(self);
    self->is_kept[index] = true;
}

static cse_status read_line(void *argument, int64_t index)
{
    jsonl *self = argument;
    json_t *json = NULL;
    if (take_kept(self, index))
        return CSE_OK;
    cse_status status = parse_line(self, index, &json);
    if (status == CSE_OK)
        status = self->texts.tokenizer != NULL ? take_text(self, json) : take_numbers(self, json);
    json_decref(json);
    if (status == CSE_OK)
        keep(self, index);
    return within_line(self, index, status);
}

/* ---- a look at all lines of numbers ---- */

static bool has_null(const json_t *list)
{
    size_t i;
    const json_t *value;
    json_array_foreach(list, i, value)
    {
        if (json_is_null(value))
            return true;
    }
    return false;
}

/* Lines with values that are missing are taken out of the index. */
static cse_status drop_lines(jsonl *self)
{
    int64_t kept = 0;
    const int64_t count = self->index.count;
    for (int64_t i = 0; i < count; i++) {
        json_t *json = NULL;
        CSE_TRY(within_line(self, i, parse_line(self, i, &json)));
        const bool is_missing = has_null(json_object_get(json, self->features_field)) ||
                                json_is_null(json_object_get(json, self->label_field));
        json_decref(json);
        if (!is_missing)
            self->index.lines[kept++] = self->index.lines[i];
    }
    self->index.count = kept;
    return cse_missing_values_told(cse_file_pool_path_view(self->pool, 0), count - kept, kept);
}

/* All are read once before the first step, where they are not too many. */
static cse_status look_at_lines(jsonl *self, int64_t *limit)
{
    int32_t label = 0;
    float *features = cse_calloc((size_t)self->features, sizeof *features);
    void *const outputs[] = { features, &label };
    cse_status status = CSE_OK;
    self->outputs = outputs;
    self->place = 0;
    for (int64_t i = 0; i < self->index.count && status == CSE_OK; i++) {
        status = read_line(self, i);
        if (status == CSE_DATA && self->bad.skips)
            status = CSE_OK;
        else if (label >= *limit)
            *limit = (int64_t)label + 1;
    }
    self->outputs = NULL;
    free(features);
    return status;
}

/* ---- the input function ---- */

/* As many features as the first line has. */
static cse_status count_features(jsonl *self)
{
    json_t *json = NULL;
    cse_status status = parse_line(self, 0, &json);
    const json_t *list = json_object_get(json, self->features_field);
    if (status == CSE_OK && (json_array_size(list) < 1 || json_array_size(list) > MOST_FEATURES))
        status = cse_fail(CSE_DATA, "member \"%s\" is no list of numbers", self->features_field);
    self->features = (int64_t)json_array_size(list);
    json_decref(json);
    return within_line(self, 0, status);
}

static cse_status open_numbers(jsonl *self, cse_input *input, const cse_settings *settings)
{
    const char *path = cse_file_pool_path_view(self->pool, 0);
    self->missing = cse_missing_values_read(settings);
    CSE_TRY(count_features(self));
    CSE_TRY(cse_feature_numbers(settings, "fill_value", self->features, path, &self->fill));
    if (self->missing == CSE_MISSING_DROPPED)
        CSE_TRY(drop_lines(self));
    if (self->index.count > 0)
        begin_keeping(self);
    return cse_data_is_first_look() && cse_file_pool_bytes(self->pool, 0) <= MOST_LOOKED_AT_BYTES
               ? look_at_lines(self, &input->label_limit)
               : CSE_OK;
}

static cse_status open_file(jsonl *self, cse_input *input, const cse_settings *settings)
{
    int file;
    int64_t longest = 0;
    CSE_TRY(cse_file_pool_add(self->pool, cse_settings_text(settings, "path"), &file));
    CSE_TRY(cse_line_index_make(&self->index, self->pool, file));
    if (self->index.count == 0)
        return cse_fail(CSE_DATA, "%s: it has no line", cse_file_pool_path_view(self->pool, file));
    for (int64_t i = 0; i < self->index.count; i++)
        if (self->index.lines[i].bytes > longest)
            longest = self->index.lines[i].bytes;
    self->line = cse_malloc((size_t)longest + 1);
    return cse_settings_has(settings, "tokenizer") ? cse_text_tokens_open(&self->texts, settings)
                                                   : open_numbers(self, input, settings);
}

static void jsonl_close(cse_input *input)
{
    jsonl *self = input->self;
    cse_file_pool_destroy(&self->pool);
    cse_line_index_clear(&self->index);
    cse_text_tokens_clear(&self->texts);
    free(self->line);
    free(self->fill);
    free(self->kept);
    free(self->kept_labels);
    free(self->is_kept);
    free(self->text_field);
    free(self->prompt_field);
    free(self->features_field);
    free(self->label_field);
    free(self->features_name);
    free(self);
    input->self = NULL;
}

static cse_status jsonl_open(cse_input *input, const cse_settings *settings)
{
    jsonl *self = input->self = cse_calloc(1, sizeof *self);
    self->pool = cse_file_pool_new(NULL, NULL);
    self->text_field = cse_strdup(cse_settings_text(settings, "text"));
    if (cse_settings_has(settings, "prompt"))
        self->prompt_field = cse_strdup(cse_settings_text(settings, "prompt"));
    self->features_field = cse_strdup(cse_settings_text(settings, "features"));
    self->label_field = cse_strdup(cse_settings_text(settings, "label"));
    self->features_name = cse_strdup(cse_settings_text(settings, "features_name"));
    cse_bad_records_read(settings, &self->bad);
    self->may_lack_answers = input->may_lack_answers;
    cse_status status = open_file(self, input, settings);
    if (status != CSE_OK) {
        jsonl_close(input);
        return status;
    }
    input->sample_count = self->index.count;
    snprintf(input->source, sizeof input->source, "%s", cse_settings_text(settings, "path"));
    if (self->texts.tokenizer != NULL)
        cse_describe_tokens(input, self->texts.time, true);
    else
        cse_describe_labelled(input, self->features_name, cse_shape_of(self->features), false);
    return CSE_OK;
}

static cse_status jsonl_read(cse_input *input, const int64_t *indices, int64_t count,
                             void *const outputs[])
{
    jsonl *self = input->self;
    int descriptor;
    self->outputs = outputs;
    cse_file_pool_look_once(self->pool);
    CSE_TRY(cse_file_pool_descriptor(self->pool, 0, &descriptor)); /* kept rows are those of it */
    for (self->place = 0; self->place < count; self->place++)
        CSE_TRY(cse_read_good_record(&self->bad, indices[self->place], self->index.count, read_line,
                                     self));
    return CSE_OK;
}

static void jsonl_locate(const cse_input *input, const cse_element_place *place, char *text,
                         size_t size)
{
    const jsonl *self = input->self;
    snprintf(text, size, "%s: line %" PRId64, cse_file_pool_path_view(self->pool, 0),
             self->index.lines[place->sample].number);
}

const cse_input_descriptor cse_input_jsonl = {
    .name = "jsonl",
    .summary = "JSON lines: texts with a tokenizer, or numbers with a label",
    .settings = settings_table,
    .open = jsonl_open,
    .read = jsonl_read,
    .locate = jsonl_locate,
    .close = jsonl_close,
};
