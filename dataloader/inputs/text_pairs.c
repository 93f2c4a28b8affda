/* Texts that belong together, such as a question and its answer, from tables (.csv, .tsv), JSON
 * lines (.jsonl) or plain lines (.txt), each as tokens of its own: what an encoder learns vectors
 * of texts from, or makes them of.
 *
 * Streams: input_ids, attention_mask and token_type_ids, int32 [texts, time]; of one text [time].
 * Lines are read and cut into pieces of words when they are asked for. */
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/bad_records.h"
#include "dataloader/input.h"
#include "dataloader/inputs/text_lines.h"
#include "dataloader/tokens/bert_words.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"

enum { STREAMS = 3 };

typedef struct text_pairs {
    cse_arena *arena;
    cse_text_lines lines; /* its names are those of the texts of a sample */
    cse_sentence_tokens tokens;
    cse_bad_records bad;
    /* of the sample that is being read */
    void *const *outputs;
    int64_t place;
} text_pairs;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATHS,
      .doc =
          "files of one kind: .csv and .tsv with a line that names the columns, .jsonl, or .txt, "
          "each line of which is a text; not compressed" },
    { .name = "texts",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[anchor, positive]",
      .doc = "columns, or members of a line, that are the texts of a sample: one, or an anchor, "
             "what belongs to it, and texts that do not; of .txt one, by any name" },
    CSE_BERT_VOCABULARY_SETTING,
    CSE_BERT_LOWER_SETTING,
    { .name = "max_sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "128",
      .min = 4,
      .max = CSE_SENTENCE_TIME,
      .doc = "tokens of a text: longer texts are cut, shorter ones filled up" },
    CSE_TEXT_DELIMITER_SETTING,
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

/* ---- a sample ---- */

static cse_status put(const text_pairs *self, int text, char *value)
{
    char *const texts[] = { value, NULL };
    return cse_sentence_tokens_put(&self->tokens, texts, self->outputs,
                                   self->place * self->lines.count + text);
}

static cse_status take_row(const text_pairs *self, char *line, int file)
{
    char *fields[CSE_MOST_LINE_TEXTS];
    CSE_TRY(cse_text_lines_fields(&self->lines, line, file, fields));
    for (int t = 0; t < self->lines.count; t++)
        CSE_TRY(put(self, t, fields[t]));
    return CSE_OK;
}

static cse_status take_members(const text_pairs *self, const json_t *json)
{
    for (int t = 0; t < self->lines.count; t++) {
        const char *text = json_string_value(json_object_get(json, self->lines.names[t]));
        if (text == NULL)
            return cse_fail(CSE_DATA, "it has no text in member \"%s\"", self->lines.names[t]);
        char *copy = cse_strdup(text);
        cse_status status = put(self, t, copy);
        free(copy);
        CSE_TRY(status);
    }
    return CSE_OK;
}

static cse_status take_json(const text_pairs *self, const char *line)
{
    json_t *json = NULL;
    CSE_TRY(cse_text_lines_members(&self->lines, line, &json));
    cse_status status = take_members(self, json);
    json_decref(json);
    return status;
}

static cse_status read_sample(void *argument, int64_t index)
{
    int file;
    char *line, where[PATH_MAX];
    text_pairs *self = argument;
    cse_status status = CSE_OK;
    CSE_TRY(cse_line_files_read(&self->lines.files, index, &line, &file));
    if (self->lines.form == CSE_TEXT_PLAIN)
        status = put(self, 0, line);
    else
        status = self->lines.form == CSE_TEXT_TABLES ? take_row(self, line, file)
                                                     : take_json(self, line);
    if (status == CSE_OK)
        return CSE_OK;
    cse_line_files_locate(&self->lines.files, index, where, sizeof where);
    return cse_fail_within(status, "%s: ", where);
}

static cse_status text_pairs_read(cse_input *input, const int64_t *indices, int64_t count,
                                  void *const outputs[])
{
    text_pairs *self = input->self;
    self->outputs = outputs;
    for (self->place = 0; self->place < count; self->place++)
        CSE_TRY(cse_read_good_record(&self->bad, indices[self->place], input->sample_count,
                                     read_sample, self));
    return CSE_OK;
}

static void text_pairs_locate(const cse_input *input, const cse_element_place *place, char *text,
                              size_t size)
{
    const text_pairs *self = input->self;
    cse_line_files_locate(&self->lines.files, place->sample, text, size);
}

/* ---- opening ---- */

static cse_status add_files(text_pairs *self, const cse_settings *settings)
{
    for (int i = 0; i < cse_settings_count(settings, "path"); i++) {
        const char *path = cse_settings_text_at(settings, "path", i);
        CSE_TRY(cse_text_lines_take_form(&self->lines, path));
        CSE_TRY(cse_line_files_add(&self->lines.files, path));
    }
    if (self->lines.form == CSE_TEXT_PLAIN && self->lines.count > 1)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: a line of a .txt is one text, not %d; accepted: texts: "
                        "[text], or files of tables or JSON lines",
                        cse_settings_origin(settings, "texts"), self->lines.count);
    return self->lines.form == CSE_TEXT_TABLES ? cse_text_lines_find_columns(&self->lines) : CSE_OK;
}

static cse_status read_settings(text_pairs *self, const cse_settings *settings)
{
    const int count = cse_settings_count(settings, "texts");
    if (count < 1 || count > CSE_MOST_LINE_TEXTS)
        return cse_fail(CSE_CONFIG, "data loader: %s: a sample has 1 to %d texts, not %d",
                        cse_settings_origin(settings, "texts"), CSE_MOST_LINE_TEXTS, count);
    self->lines.count = count;
    for (int t = 0; t < count; t++)
        self->lines.names[t] =
            cse_arena_string(self->arena, cse_settings_text_at(settings, "texts", t));
    self->tokens.time = cse_settings_integer(settings, "max_sequence_length");
    cse_bad_records_read(settings, &self->bad);
    return cse_text_lines_read_delimiter(&self->lines, settings);
}

static void describe(cse_input *input, int texts, int64_t time)
{
    cse_sentence_streams(input, time);
    input->stream_count = STREAMS;
    for (int s = 0; s < STREAMS && texts > 1; s++)
        input->streams[s].shape = (cse_shape){ .rank = 2, .dims = { texts, time } };
}

static void text_pairs_close(cse_input *input)
{
    text_pairs *self = input->self;
    cse_text_lines_clear(&self->lines);
    cse_sentence_tokens_clear(&self->tokens);
    cse_arena_destroy(&self->arena);
    free(self);
    input->self = NULL;
}

static cse_status open_all(text_pairs *self, const cse_settings *settings)
{
    CSE_TRY(read_settings(self, settings));
    CSE_TRY(add_files(self, settings));
    return cse_bert_words_open(&self->tokens, settings);
}

/* The first sample, so that settings which do not fit the data are told before a run begins. */
static cse_status try_first(text_pairs *self)
{
    int32_t *values[STREAMS];
    for (int s = 0; s < STREAMS; s++)
        values[s] = cse_calloc((size_t)(self->tokens.time * self->lines.count), sizeof *values[s]);
    self->outputs = (void *const *)values;
    self->place = 0;
    cse_status status = read_sample(self, 0);
    for (int s = 0; s < STREAMS; s++)
        free(values[s]);
    return status;
}

static cse_status text_pairs_open(cse_input *input, const cse_settings *settings)
{
    text_pairs *self = input->self = cse_calloc(1, sizeof *self);
    self->arena = cse_arena_new();
    cse_status status = open_all(self, settings);
    if (status == CSE_OK && !self->bad.skips)
        status = try_first(self);
    if (status != CSE_OK) {
        text_pairs_close(input);
        return status;
    }
    describe(input, self->lines.count, self->tokens.time);
    input->sample_count = self->lines.files.samples;
    snprintf(input->source, sizeof input->source, "%s",
             cse_file_pool_path_view(self->lines.files.pool, 0));
    return CSE_OK;
}

static cse_status text_pairs_describe(cse_input *input, const cse_settings *settings,
                                      const cse_unseen_data *known)
{
    (void)known;
    describe(input, cse_settings_count(settings, "texts"),
             cse_settings_integer(settings, "max_sequence_length"));
    return CSE_OK;
}

const cse_input_descriptor cse_input_text_pairs = {
    .name = "text_pairs",
    .summary = "texts that belong together, of tables or JSON lines, for vectors of texts",
    .settings = settings_table,
    .open = text_pairs_open,
    .read = text_pairs_read,
    .locate = text_pairs_locate,
    .close = text_pairs_close,
    .describe = text_pairs_describe,
};
