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
#include "dataloader/files/file_list.h"
#include "dataloader/files/line_files.h"
#include "dataloader/formats/json_line.h"
#include "dataloader/input.h"
#include "dataloader/tokens/bert_words.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"

enum { MOST_TEXTS = 8, MOST_COLUMNS = 256, STREAMS = 3 };
enum form { TABLES, JSON_LINES, LINES };

typedef struct text_pairs {
    cse_arena *arena;
    enum form form;
    cse_line_files files;
    int *columns; /* [files, texts]: where they stand */
    const char *names[MOST_TEXTS + 1];
    int texts;
    char delimiter; /* 0: by the file's name */
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
    { .name = "vocabulary",
      .type = CSE_SETTING_PATH,
      .doc = "vocab.txt, a word a line, a tokenizer.json of BERT, or a folder with one of them" },
    { .name = "lower",
      .type = CSE_SETTING_BOOL,
      .default_value = "null",
      .doc = "texts are taken in lower case, and without accents; null: as the folder of the "
             "vocabulary says, else true" },
    { .name = "max_sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "128",
      .min = 4,
      .max = CSE_SENTENCE_TIME,
      .doc = "tokens of a text: longer texts are cut, shorter ones filled up" },
    { .name = "delimiter",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "the one character between the fields of a table; null: a tab in .tsv, else a comma" },
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

/* ---- a sample ---- */

static void put(const text_pairs *self, int text, char *value)
{
    char *const texts[] = { value, NULL };
    cse_sentence_tokens_put(&self->tokens, texts, self->outputs, self->place * self->texts + text);
}

static char delimiter_of(const text_pairs *self, const char *path)
{
    return self->delimiter != 0 ? self->delimiter : cse_name_ends(path, ".tsv") ? '\t' : ',';
}

static cse_status take_row(const text_pairs *self, char *line, int file)
{
    char *fields[MOST_COLUMNS] = { NULL };
    const int *columns = self->columns + self->texts * file;
    const char delimiter = delimiter_of(self, cse_file_pool_path_view(self->files.pool, file));
    if (delimiter != '\t' && cse_field_is_open(line, delimiter))
        return cse_fail(CSE_DATA, "a quote does not end in the line: texts with line breaks are "
                                  "not read from tables; JSON lines have them as \\n");
    for (int i = 0; i < MOST_COLUMNS &&
                    (fields[i] = cse_take_field(&line, delimiter, delimiter != '\t')) != NULL;)
        i++;
    for (int t = 0; t < self->texts; t++) {
        if (fields[columns[t]] == NULL)
            return cse_fail(CSE_DATA, "it has no field %s", self->names[t]);
        put(self, t, fields[columns[t]]);
    }
    return CSE_OK;
}

static cse_status take_members(const text_pairs *self, const json_t *json)
{
    for (int t = 0; t < self->texts; t++) {
        const char *text = json_string_value(json_object_get(json, self->names[t]));
        if (text == NULL)
            return cse_fail(CSE_DATA, "it has no text in member \"%s\"", self->names[t]);
        char *copy = cse_strdup(text);
        put(self, t, copy);
        free(copy);
    }
    return CSE_OK;
}

static cse_status take_json(const text_pairs *self, const char *line)
{
    json_t *json = NULL;
    CSE_TRY(cse_json_line_read(line, strlen(line), self->names, &json));
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
    CSE_TRY(cse_line_files_read(&self->files, index, &line, &file));
    if (self->form == LINES)
        put(self, 0, line);
    else
        status = self->form == TABLES ? take_row(self, line, file) : take_json(self, line);
    if (status == CSE_OK)
        return CSE_OK;
    cse_line_files_locate(&self->files, index, where, sizeof where);
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
    cse_line_files_locate(&self->files, place->sample, text, size);
}

/* ---- opening ---- */

static cse_status find_columns(text_pairs *self, int file)
{
    char *line;
    int *found = self->columns + self->texts * file;
    const char *path = cse_file_pool_path_view(self->files.pool, file), *names = "";
    const char delimiter = delimiter_of(self, path);
    CSE_TRY(cse_line_files_header(&self->files, file, &line));
    if (strncmp(line, "\xef\xbb\xbf", 3) == 0) /* the mark of UTF-8 that some programs write */
        line += 3;
    for (int t = 0; t < self->texts; t++)
        found[t] = -1;
    for (int i = 0; i < MOST_COLUMNS; i++) {
        const char *name = cse_take_field(&line, delimiter, true);
        for (int t = 0; name != NULL && t < self->texts; t++)
            if (strcmp(name, self->names[t]) == 0)
                found[t] = i;
        if (name != NULL && i < 20)
            names = cse_arena_printf(self->arena, "%s%s%.60s", names, i > 0 ? ", " : "", name);
    }
    for (int t = 0; t < self->texts; t++)
        if (found[t] < 0)
            return cse_fail(CSE_DATA, "%s: there is no column %s; its columns are: %s", path,
                            self->names[t], names);
    return CSE_OK;
}

static cse_status form_of(const char *path, enum form *form)
{
    *form = cse_name_ends(path, ".csv|.tsv") ? TABLES
            : cse_name_ends(path, ".txt")    ? LINES
                                             : JSON_LINES;
    return *form != JSON_LINES || cse_name_ends(path, ".jsonl|.ndjson")
               ? CSE_OK
               : cse_fail(CSE_DATA,
                          "%s: the end of the name tells no kind of file; accepted: .csv, .tsv, "
                          ".jsonl, .txt",
                          path);
}

static cse_status add_files(text_pairs *self, const cse_settings *settings)
{
    for (int i = 0; i < cse_settings_count(settings, "path"); i++) {
        enum form form;
        const char *path = cse_settings_text_at(settings, "path", i);
        CSE_TRY(form_of(path, &form));
        if (i > 0 && form != self->form)
            return cse_fail(CSE_DATA, "%s: it is of another kind than the first file", path);
        self->form = form;
        self->files.headers = form == TABLES;
        CSE_TRY(cse_line_files_add(&self->files, path));
    }
    if (self->form == LINES && self->texts > 1)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: a line of a .txt is one text, not %d; accepted: texts: "
                        "[text], or files of tables or JSON lines",
                        cse_settings_origin(settings, "texts"), self->texts);
    self->columns = cse_arena_alloc(self->arena, (size_t)(self->files.count * self->texts + 1) *
                                                     sizeof *self->columns);
    for (int file = 0; self->form == TABLES && file < self->files.count; file++)
        CSE_TRY(find_columns(self, file));
    return CSE_OK;
}

static cse_status read_settings(text_pairs *self, const cse_settings *settings)
{
    const char *delimiter =
        cse_settings_has(settings, "delimiter") ? cse_settings_text(settings, "delimiter") : NULL;
    self->texts = cse_settings_count(settings, "texts");
    if (self->texts < 1 || self->texts > MOST_TEXTS)
        return cse_fail(CSE_CONFIG, "data loader: %s: a sample has 1 to %d texts, not %d",
                        cse_settings_origin(settings, "texts"), MOST_TEXTS, self->texts);
    for (int t = 0; t < self->texts; t++)
        self->names[t] = cse_arena_string(self->arena, cse_settings_text_at(settings, "texts", t));
    self->tokens.time = cse_settings_integer(settings, "max_sequence_length");
    cse_bad_records_read(settings, &self->bad);
    if (delimiter != NULL && (strlen(delimiter) != 1 || delimiter[0] == '"'))
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: delimiter is \"%s\": accepted is one character, and no "
                        "quote",
                        cse_settings_origin(settings, "delimiter"), delimiter);
    self->delimiter = delimiter != NULL ? delimiter[0] : (char)0;
    return CSE_OK;
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
    cse_line_files_clear(&self->files);
    cse_sentence_tokens_clear(&self->tokens);
    cse_arena_destroy(&self->arena);
    free(self);
    input->self = NULL;
}

static cse_status open_all(text_pairs *self, const cse_settings *settings)
{
    const char *vocabulary = cse_settings_text(settings, "vocabulary");
    CSE_TRY(read_settings(self, settings));
    CSE_TRY(add_files(self, settings));
    CSE_TRY(cse_bert_words_read(
        &self->tokens, vocabulary,
        cse_settings_has(settings, "lower") ? cse_settings_bool(settings, "lower") : -1));
    self->tokens.keeps_accents = !self->tokens.lowers; /* as a vocabulary with capitals has them */
    return cse_sentence_tokens_begin(&self->tokens, vocabulary);
}

/* The first sample, so that settings which do not fit the data are told before a run begins. */
static cse_status try_first(text_pairs *self)
{
    int32_t *values[STREAMS];
    for (int s = 0; s < STREAMS; s++)
        values[s] = cse_calloc((size_t)(self->tokens.time * self->texts), sizeof *values[s]);
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
    describe(input, self->texts, self->tokens.time);
    input->sample_count = self->files.samples;
    snprintf(input->source, sizeof input->source, "%s",
             cse_file_pool_path_view(self->files.pool, 0));
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
