/* Lines are read and cut into pieces when they are asked for. */
#include "dataloader/inputs/glue_sentences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/bad_records.h"
#include "dataloader/files/line_files.h"

enum { MOST_COLUMNS = 64, COLUMNS = 3 };

typedef struct glue {
    const cse_glue_task *task;
    cse_line_files files;
    int *columns; /* [files, COLUMNS]: the sentences and the label */
    cse_sentence_tokens tokens;
    cse_bad_records bad;
    /* of the sample that is being read */
    void *const *outputs;
    int64_t place;
} glue;

const cse_setting cse_glue_settings[] = {
    { .name = "data_dir",
      .type = CSE_SETTING_PATH,
      .doc = "folder of the task's tables, train.tsv and dev.tsv or the like" },
    { .name = "is_training",
      .type = CSE_SETTING_BOOL,
      .doc = "true: the table of training; false: that, or those, of validation" },
    { .name = "vocab_file", .type = CSE_SETTING_PATH, .doc = "the vocabulary, a word a line" },
    { .name = "max_sequence_length",
      .type = CSE_SETTING_INTEGER,
      .min = 4,
      .max = CSE_SENTENCE_TIME,
      .doc = "tokens of a sample" },
    { .name = "do_lower",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "texts and vocabulary are taken in lower case" },
    { .name = "input_pad_id",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .max = INT32_MAX,
      .doc = "token behind the last one" },
    { .name = "attn_mask_pad_id",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .max = 1,
      .doc = "attention_mask behind the last token" },
    { .name = "labels_pad_id",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "no effect: a sample has one label" },
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

cse_status cse_glue_describe(cse_input *input, const cse_settings *settings,
                             const cse_unseen_data *known)
{
    (void)known;
    cse_sentence_streams(input, cse_settings_integer(settings, "max_sequence_length"));
    return CSE_OK;
}

/* ---- a sample ---- */

static cse_status put_label(const glue *self, const char *text)
{
    char *end;
    int32_t *to = (int32_t *)self->outputs[CSE_SENTENCE_LABELS] + self->place;
    if (self->task->classes == NULL) {
        const long value = strtol(text, &end, 10);
        *to = (int32_t)value;
        if (end != text && *end == '\0' && value >= 0 && value <= INT32_MAX)
            return CSE_OK;
    }
    for (int i = 0; self->task->classes != NULL && self->task->classes[i] != NULL; i++)
        if (strcmp(self->task->classes[i], text) == 0) {
            *to = i;
            return CSE_OK;
        }
    return cse_fail(CSE_DATA, "%s is \"%.40s\", which is no class", self->task->label, text);
}

static cse_status take_line(glue *self, char *line, const int columns[COLUMNS])
{
    char *fields[MOST_COLUMNS] = { NULL };
    for (int i = 0; i < MOST_COLUMNS && (fields[i] = cse_take_field(&line, '\t', false)) != NULL;)
        i++;
    for (int c = 0; c < COLUMNS; c++)
        if (columns[c] >= 0 && fields[columns[c]] == NULL)
            return cse_fail(CSE_DATA, "it has too few fields");
    CSE_TRY(put_label(self, fields[columns[2]]));
    char *const texts[] = { fields[columns[0]], columns[1] >= 0 ? fields[columns[1]] : NULL };
    return cse_sentence_tokens_put(&self->tokens, texts, self->outputs, self->place);
}

static cse_status read_sample(void *argument, int64_t index)
{
    int file;
    char *line, where[512];
    glue *self = argument;
    CSE_TRY(cse_line_files_read(&self->files, index, &line, &file));
    cse_status status = take_line(self, line, self->columns + COLUMNS * file);
    if (status == CSE_OK)
        return CSE_OK;
    cse_line_files_locate(&self->files, index, where, sizeof where);
    return cse_fail_within(status, "%s: ", where);
}

cse_status cse_glue_read(cse_input *input, const int64_t *indices, int64_t count,
                         void *const outputs[])
{
    glue *self = input->self;
    self->outputs = outputs;
    for (self->place = 0; self->place < count; self->place++)
        CSE_TRY(cse_read_good_record(&self->bad, indices[self->place], self->files.samples,
                                     read_sample, self));
    return CSE_OK;
}

void cse_glue_locate(const cse_input *input, const cse_element_place *place, char *text,
                     size_t size)
{
    const glue *self = input->self;
    cse_line_files_locate(&self->files, place->sample, text, size);
}

/* ---- opening ---- */

static cse_status find_columns(glue *self, int file)
{
    char *line;
    const cse_glue_task *task = self->task;
    const char *const names[COLUMNS] = { task->sentences[0], task->sentences[1], task->label };
    int *found = self->columns + COLUMNS * file;
    CSE_TRY(cse_line_files_header(&self->files, file, &line));
    for (int c = 0; c < COLUMNS; c++)
        found[c] = -1;
    for (int i = 0; i < MOST_COLUMNS; i++) {
        const char *name = cse_take_field(&line, '\t', false);
        for (int c = 0; name != NULL && c < COLUMNS; c++)
            if (names[c] != NULL && strcmp(name, names[c]) == 0)
                found[c] = i;
    }
    for (int c = 0; c < COLUMNS; c++)
        if (names[c] != NULL && found[c] < 0)
            return cse_fail(CSE_DATA, "%s: there is no column %s",
                            cse_file_pool_path_view(self->files.pool, file), names[c]);
    return CSE_OK;
}

static cse_status add_table(glue *self, const char *folder, const char *name)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return cse_fail(CSE_CONFIG, "data loader: data_dir is too long");
    return cse_line_files_add(&self->files, path);
}

static cse_status add_tables(glue *self, const cse_settings *settings)
{
    const char *folder = cse_settings_text(settings, "data_dir");
    self->files.headers = 1;
    if (cse_settings_bool(settings, "is_training")) {
        CSE_TRY(add_table(self, folder, self->task->training));
    } else {
        for (int i = 0; i < 2 && self->task->validation[i] != NULL; i++)
            CSE_TRY(add_table(self, folder, self->task->validation[i]));
    }
    self->columns = cse_calloc((size_t)self->files.count * COLUMNS, sizeof *self->columns);
    for (int file = 0; file < self->files.count; file++)
        CSE_TRY(find_columns(self, file));
    return CSE_OK;
}

static cse_status read_words(glue *self, const cse_settings *settings)
{
    const char *path = cse_settings_text(settings, "vocab_file");
    self->tokens.lowers = self->tokens.lowers_words = cse_settings_bool(settings, "do_lower");
    self->tokens.time = cse_settings_integer(settings, "max_sequence_length");
    self->tokens.padding = (int32_t)cse_settings_integer(settings, "input_pad_id");
    self->tokens.mask_padding = (int32_t)cse_settings_integer(settings, "attn_mask_pad_id");
    CSE_TRY(cse_word_file_read(&self->tokens.words, path, self->tokens.lowers));
    return cse_sentence_tokens_begin(&self->tokens, path);
}

void cse_glue_close(cse_input *input)
{
    glue *self = input->self;
    cse_line_files_clear(&self->files);
    cse_sentence_tokens_clear(&self->tokens);
    free(self->columns);
    free(self);
    input->self = NULL;
}

cse_status cse_glue_open(cse_input *input, const cse_settings *settings, const cse_glue_task *task)
{
    glue *self = input->self = cse_calloc(1, sizeof *self);
    self->task = task;
    cse_bad_records_read(settings, &self->bad);
    cse_status status = add_tables(self, settings);
    if (status == CSE_OK)
        status = read_words(self, settings);
    if (status != CSE_OK) {
        cse_glue_close(input);
        return status;
    }
    cse_sentence_streams(input, self->tokens.time);
    input->sample_count = self->files.samples;
    snprintf(input->source, sizeof input->source, "%s",
             cse_file_pool_path_view(self->files.pool, 0));
    return CSE_OK;
}
