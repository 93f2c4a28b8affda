/* Texts, or pairs of them, each with a class, from tables (.csv, .tsv), JSON lines (.jsonl), or
 * files that are a text each (.txt, which have no class): what a BERT that classifies is trained
 * with.
 *
 * Lines are read and cut into pieces of words when they are asked for. */
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/bad_records.h"
#include "dataloader/files/whole_file.h"
#include "dataloader/inputs/sentence_labels.h"
#include "dataloader/inputs/text_lines.h"
#include "dataloader/inputs/token_streams.h"
#include "dataloader/tokens/bert_words.h"
#include "engine/base/config/settings.h"

enum { MOST_TEXT = 1 << 24 };
enum { FIRST, SECOND, LABEL, COLUMNS };

typedef struct sentences {
    cse_arena *arena;
    cse_text_lines lines; /* of tables and JSON lines: first text, second, label */
    const char **texts;   /* paths of texts */
    int text_count;
    cse_sentence_labels labels;
    bool may_lack_label;
    cse_sentence_tokens tokens;
    cse_whole_file file;
    cse_bad_records bad;
    /* of the sample that is being read */
    void *const *outputs;
    int64_t place;
} sentences;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATHS,
      .doc =
          "files of one kind: .csv and .tsv with a line that names the columns, .jsonl, or .txt, "
          "each of which is a text without a class; not compressed" },
    { .name = "text",
      .type = CSE_SETTING_TEXT,
      .default_value = "text",
      .doc = "column, or member of a line, that is the text" },
    { .name = "second",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "the same of a second text, where samples are pairs" },
    { .name = "label",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "the same of the class; null: label, where there is one: predictions need none" },
    { .name = "class_names",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[]",
      .doc = "words that stand for classes, the first for class 0; []: classes are whole numbers" },
    { .name = "label_type",
      .type = CSE_SETTING_CHOICE,
      .default_value = "class",
      .choices = "class|numbers|classes",
      .doc = "class: the one class of a text; numbers: of a regression, or one for each class; "
             "classes: all classes that hold, in a list, or between commas, semicolons or bars" },
    { .name = "num_labels",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = CSE_MOST_SENTENCE_LABELS,
      .doc = "numbers of a label that is no single class; null: one, or one for each of "
             "class_names" },
    CSE_BERT_VOCABULARY_SETTING,
    CSE_BERT_LOWER_SETTING,
    { .name = "max_sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "128",
      .min = 4,
      .max = CSE_SENTENCE_TIME,
      .doc = "tokens of a sample: longer texts are cut, shorter ones filled up" },
    CSE_TEXT_DELIMITER_SETTING,
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

/* ---- a sample ---- */

static void *labels_of(const sentences *self)
{
    return self->outputs[CSE_SENTENCE_LABELS];
}

static void put_no_class(const sentences *self)
{
    cse_sentence_labels_put_none(&self->labels, labels_of(self), self->place);
}

static cse_status take_row(const sentences *self, char *line, int file)
{
    char *fields[CSE_MOST_LINE_TEXTS];
    CSE_TRY(cse_text_lines_fields(&self->lines, line, file, fields));
    CSE_TRY(cse_sentence_tokens_put(&self->tokens, (char *const[]){ fields[FIRST], fields[SECOND] },
                                    self->outputs, self->place));
    if (fields[LABEL] != NULL)
        return cse_sentence_labels_put_text(&self->labels, fields[LABEL], labels_of(self),
                                            self->place);
    put_no_class(self);
    return CSE_OK;
}

static cse_status take_members(const sentences *self, const json_t *json)
{
    char *texts[2] = { NULL, NULL };
    cse_status status = CSE_OK;
    for (int s = 0; s < 2 && status == CSE_OK; s++) {
        const char *text = json_string_value(json_object_get(json, self->lines.names[s]));
        if (self->lines.names[s] != NULL && text == NULL)
            status = cse_fail(CSE_DATA, "it has no text in member \"%s\"", self->lines.names[s]);
        else if (text != NULL)
            texts[s] = cse_strdup(text);
    }
    if (status == CSE_OK)
        status = cse_sentence_tokens_put(&self->tokens, texts, self->outputs, self->place);
    free(texts[0]);
    free(texts[1]);
    if (status != CSE_OK)
        return status;
    const json_t *label = json_object_get(json, self->lines.names[LABEL]);
    if (label == NULL && self->lines.may_lack_last) {
        put_no_class(self);
        return CSE_OK;
    }
    return cse_sentence_labels_put_json(&self->labels, label, labels_of(self), self->place);
}

static cse_status take_json(const sentences *self, const char *line)
{
    json_t *json = NULL;
    CSE_TRY(cse_text_lines_members(&self->lines, line, &json));
    cse_status status = take_members(self, json);
    json_decref(json);
    return status;
}

static cse_status read_text(sentences *self, int64_t index)
{
    const char *path = self->texts[index];
    CSE_TRY(cse_whole_file_read(&self->file, path, MOST_TEXT));
    if (self->file.size == 0 || memchr(self->file.bytes, '\0', self->file.size) != NULL)
        return cse_fail(CSE_DATA, "%s: it is no text: it is empty, or a byte of it is 0", path);
    char *const texts[] = { cse_calloc(self->file.size + 1, 1), NULL };
    memcpy(texts[0], self->file.bytes, self->file.size);
    cse_status status = cse_sentence_tokens_put(&self->tokens, texts, self->outputs, self->place);
    free(texts[0]);
    put_no_class(self);
    return status;
}

static cse_status read_sample(void *argument, int64_t index)
{
    int file;
    char *line, where[PATH_MAX];
    sentences *self = argument;
    if (self->lines.form == CSE_TEXT_PLAIN)
        return read_text(self, index);
    CSE_TRY(cse_line_files_read(&self->lines.files, index, &line, &file));
    cse_status status =
        self->lines.form == CSE_TEXT_TABLES ? take_row(self, line, file) : take_json(self, line);
    if (status == CSE_OK)
        return CSE_OK;
    cse_line_files_locate(&self->lines.files, index, where, sizeof where);
    return cse_fail_within(status, "%s: ", where);
}

static cse_status sentences_read(cse_input *input, const int64_t *indices, int64_t count,
                                 void *const outputs[])
{
    sentences *self = input->self;
    self->outputs = outputs;
    for (self->place = 0; self->place < count; self->place++)
        CSE_TRY(cse_read_good_record(&self->bad, indices[self->place], input->sample_count,
                                     read_sample, self));
    return CSE_OK;
}

static void sentences_locate(const cse_input *input, const cse_element_place *place, char *text,
                             size_t size)
{
    const sentences *self = input->self;
    if (self->lines.form == CSE_TEXT_PLAIN)
        snprintf(text, size, "%s", self->texts[place->sample]);
    else
        cse_line_files_locate(&self->lines.files, place->sample, text, size);
}

/* ---- opening ---- */

static cse_status add_file(sentences *self, const char *path)
{
    int descriptor;
    if (self->lines.form != CSE_TEXT_PLAIN)
        return cse_line_files_add(&self->lines.files, path);
    if (self->lines.files.pool == NULL)
        self->lines.files.pool = cse_file_pool_new(NULL, NULL);
    /* Known to be there, and part of the identity of the data. */
    CSE_TRY(cse_file_pool_add(self->lines.files.pool, path, &descriptor));
    self->texts[self->text_count++] = cse_arena_string(self->arena, path);
    return CSE_OK;
}

static cse_status add_files(sentences *self, const cse_settings *settings)
{
    const int count = cse_settings_count(settings, "path");
    self->texts = cse_arena_alloc(self->arena, ((size_t)count + 1) * sizeof *self->texts);
    for (int i = 0; i < count; i++) {
        const char *path = cse_settings_text_at(settings, "path", i);
        CSE_TRY(cse_text_lines_take_form(&self->lines, path));
        CSE_TRY(add_file(self, path));
    }
    return self->lines.form == CSE_TEXT_TABLES ? cse_text_lines_find_columns(&self->lines) : CSE_OK;
}

static const char *text_of(const sentences *self, const cse_settings *settings, const char *name)
{
    return cse_settings_has(settings, name)
               ? cse_arena_string(self->arena, cse_settings_text(settings, name))
               : NULL;
}

static int64_t label_count(const cse_sentence_labels *labels)
{
    return labels->kind != CSE_LABEL_CLASS && labels->class_count > 0 ? labels->class_count : 1;
}

static cse_status read_labels(sentences *self, const cse_settings *settings)
{
    cse_sentence_labels *labels = &self->labels;
    const char *type = cse_settings_text(settings, "label_type");
    labels->kind = strcmp(type, "numbers") == 0   ? CSE_LABEL_NUMBERS
                   : strcmp(type, "classes") == 0 ? CSE_LABEL_CLASSES
                                                  : CSE_LABEL_CLASS;
    labels->name = self->lines.names[LABEL];
    labels->class_count = cse_settings_count(settings, "class_names");
    labels->classes =
        cse_arena_alloc(self->arena, ((size_t)labels->class_count + 1) * sizeof *labels->classes);
    for (int i = 0; i < labels->class_count; i++)
        labels->classes[i] =
            cse_arena_string(self->arena, cse_settings_text_at(settings, "class_names", i));
    labels->count = cse_settings_has(settings, "num_labels")
                        ? cse_settings_integer(settings, "num_labels")
                        : label_count(labels);
    if (labels->kind == CSE_LABEL_CLASSES && !cse_settings_has(settings, "num_labels") &&
        labels->class_count == 0)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: label_type classes needs num_labels or "
                        "class_names",
                        cse_settings_origin(settings, "label_type"));
    return CSE_OK;
}

static cse_status read_settings(sentences *self, const cse_settings *settings)
{
    self->lines.count = COLUMNS;
    self->lines.names[FIRST] = text_of(self, settings, "text");
    self->lines.names[SECOND] = text_of(self, settings, "second");
    self->lines.may_lack_last = !cse_settings_has(settings, "label");
    self->lines.names[LABEL] =
        self->lines.may_lack_last ? "label" : text_of(self, settings, "label");
    CSE_TRY(read_labels(self, settings));
    self->tokens.time = cse_settings_integer(settings, "max_sequence_length");
    cse_bad_records_read(settings, &self->bad);
    return cse_text_lines_read_delimiter(&self->lines, settings);
}

static void sentences_close(cse_input *input)
{
    sentences *self = input->self;
    cse_text_lines_clear(&self->lines);
    cse_sentence_tokens_clear(&self->tokens);
    cse_whole_file_clear(&self->file);
    cse_arena_destroy(&self->arena);
    free(self);
    input->self = NULL;
}

static cse_status open_all(sentences *self, const cse_settings *settings)
{
    CSE_TRY(read_settings(self, settings));
    CSE_TRY(add_files(self, settings));
    return cse_bert_words_open(&self->tokens, settings);
}

/* The first sample, so that settings which do not fit the data are told before a run begins. */
static cse_status try_first(sentences *self)
{
    int32_t *values[CSE_SENTENCE_LABELS + 1];
    for (int s = 0; s <= CSE_SENTENCE_LABELS; s++)
        values[s] = cse_calloc((size_t)(self->tokens.time + self->labels.count), sizeof *values[s]);
    self->outputs = (void *const *)values;
    self->place = 0;
    cse_status status = read_sample(self, 0);
    for (int s = 0; s <= CSE_SENTENCE_LABELS; s++)
        free(values[s]);
    return status;
}

static cse_status sentences_open(cse_input *input, const cse_settings *settings)
{
    sentences *self = input->self = cse_calloc(1, sizeof *self);
    self->arena = cse_arena_new();
    cse_status status = open_all(self, settings);
    if (status == CSE_OK && !self->bad.skips)
        status = try_first(self);
    if (status != CSE_OK) {
        sentences_close(input);
        return status;
    }
    cse_sentence_streams(input, self->tokens.time);
    cse_sentence_labels_describe(&self->labels, &input->streams[CSE_SENTENCE_LABELS]);
    input->sample_count =
        self->lines.form == CSE_TEXT_PLAIN ? self->text_count : self->lines.files.samples;
    input->class_names = self->labels.class_count > 0 ? self->labels.classes : NULL;
    input->class_count = self->labels.class_count;
    snprintf(input->source, sizeof input->source, "%s",
             cse_file_pool_path_view(self->lines.files.pool, 0));
    return CSE_OK;
}

static cse_status sentences_describe(cse_input *input, const cse_settings *settings,
                                     const cse_unseen_data *known)
{
    sentences read = { .arena = cse_arena_new() };
    (void)known;
    cse_sentence_streams(input, cse_settings_integer(settings, "max_sequence_length"));
    cse_status status = read_labels(&read, settings);
    if (status == CSE_OK)
        cse_sentence_labels_describe(&read.labels, &input->streams[CSE_SENTENCE_LABELS]);
    cse_arena_destroy(&read.arena);
    return status;
}

const cse_input_descriptor cse_input_sentences = {
    .name = "sentences",
    .summary = "texts with a class, of tables or JSON lines, for a BERT that classifies",
    .settings = settings_table,
    .open = sentences_open,
    .read = sentences_read,
    .locate = sentences_locate,
    .close = sentences_close,
    .describe = sentences_describe,
};
