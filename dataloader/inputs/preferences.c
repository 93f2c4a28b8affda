/* Preferences among texts: a prompt with a chosen and a rejected completion, or with one completion
 * that is desirable or not. From JSON, Parquet or tables.
 *
 * Streams: input_ids, labels and attention_mask, int32 [2, time]. Of a pair the chosen text stands
 * first; a label is the token that follows, in the completion alone, and -100 elsewhere. Unpaired
 * samples have their own completion first, then one of another sample behind their prompt, by which
 * KTO estimates how far the model is from its reference, and the stream desirable, int32 [].
 *
 * All samples are looked at before the first step: those of no use are counted by what is wrong,
 * and end the run or are left out. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/bad_records.h"
#include "dataloader/conversations/conversation_files.h"
#include "dataloader/files/file_list.h"
#include "dataloader/identity/data_watch.h"
#include "dataloader/inputs/preference_texts.h"
#include "dataloader/inputs/text_lines.h"
#include "dataloader/inputs/token_streams.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"

enum { MEMBERS = CSE_PREFERENCE_MEMBERS };
enum { DESIRABLE_STREAM = CSE_TOKEN_STREAMS, ROWS = 2 };

typedef struct preferences {
    bool has_tables;
    cse_text_lines lines; /* of tables: prompt; chosen and rejected, or completion and label */
    cse_conversation_files files; /* of all other kinds */
    int64_t samples;
    cse_preference_texts texts;
    cse_preference_rows rows;
    cse_completion completions[ROWS];
    bool paired;
    int64_t rotation; /* samples among which completions move by one; 0: all */
    cse_bad_records bad;
    int64_t desirable; /* samples, of those that were read */
    /* of the sample that is being read */
    void *const *outputs;
    int64_t place;
} preferences;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATHS,
      .doc = "files: .jsonl, .json with a list, .parquet; or .csv and .tsv with a line that names "
             "the columns" },
    { .name = "kind",
      .type = CSE_SETTING_CHOICE,
      .default_value = "paired",
      .choices = "paired|unpaired",
      .doc = "paired: prompt, chosen, rejected; unpaired: prompt, completion, label, for kto" },
    { .name = "tokenizer",
      .type = CSE_SETTING_PATH,
      .doc = "a tokenizer.json, or a folder with the files of a tokenizer, such as the model's" },
    { .name = "chat_template",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc = "of samples that are lists of messages: a file with the template; null: that of the "
             "tokenizer's folder" },
    { .name = "max_sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1024",
      .min = 2,
      .max = 1 << 24,
      .doc = "tokens of prompt and completion: longer texts are cut, shorter ones filled up" },
    { .name = "truncation_mode",
      .type = CSE_SETTING_CHOICE,
      .default_value = "keep_start",
      .choices = "keep_start|keep_end",
      .doc = "which part of a longer text stays" },
    { .name = "end_of_text",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "token that is added to each completion of text that does not end in it; null: "
             "eos_token of the files beside the tokenizer, else the first of <|endoftext|>, "
             "<|end_of_text|>, </s> and <eos> that the tokenizer has; none: nothing is added" },
    { .name = "kl_rotation",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 2,
      .max = 1 << 24,
      .doc = "unpaired: a sample gets the completion before its own among so many that follow each "
             "other in the data, as TRL takes per_device_train_batch_size; null: among all" },
    CSE_TEXT_DELIMITER_SETTING,
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

/* ---- a line ---- */

static cse_status take_row(preferences *self, char *line, int file)
{
    char *fields[CSE_MOST_LINE_TEXTS];
    CSE_TRY(cse_text_lines_fields(&self->lines, line, file, fields));
    return cse_preference_texts_take_fields(&self->texts, fields);
}

static cse_status take_line(preferences *self, int64_t index)
{
    int file;
    char *line;
    CSE_TRY(cse_line_files_read(&self->lines.files, index, &line, &file));
    return take_row(self, line, file);
}

static cse_status take_object(preferences *self, int64_t index)
{
    json_t *object = NULL;
    CSE_TRY(cse_conversation_files_read(&self->files, index, &object));
    cse_status status = cse_preference_texts_take(&self->texts, object);
    json_decref(object);
    return status;
}

static void locate(const preferences *self, int64_t index, char *text, size_t size)
{
    if (self->has_tables)
        cse_line_files_locate(&self->lines.files, index, text, size);
    else
        cse_conversation_files_locate(&self->files, index, text, size);
}

/* Reads a line and turns its completions into tokens. */
static cse_status take_sample(preferences *self, int64_t index, cse_completion completions[])
{
    self->texts.fault = CSE_PREFERENCE_LINE;
    cse_status status = (self->has_tables ? take_line : take_object)(self, index);
    self->rows.fault = self->texts.fault;
    CSE_TRY(status);
    CSE_TRY(cse_preference_prompt(&self->rows, self->texts.prompt, self->texts.is_chat));
    for (int c = 0; c < (self->paired ? ROWS : 1); c++)
        CSE_TRY(cse_preference_completion(&self->rows, self->texts.whole[c], self->texts.is_chat,
                                          &completions[c]));
    return CSE_OK;
}

/* ---- a sample ---- */

static cse_status put(preferences *self, const cse_completion *prompt,
                      const cse_completion *completion, int row)
{
    int32_t *outputs[CSE_TOKEN_STREAMS];
    for (int s = 0; s < CSE_TOKEN_STREAMS; s++)
        outputs[s] = (int32_t *)self->outputs[s] + (self->place * ROWS + row) * self->rows.time;
    return cse_preference_put(&self->rows, prompt, completion, outputs);
}

/* The tokens that both texts of a pair have from the prompt are its prompt. */
static void share_prompt(cse_completion completions[ROWS])
{
    const size_t one = completions[0].prompt, other = completions[1].prompt;
    completions[0].prompt = completions[1].prompt = one < other ? one : other;
}

/* The completion of the sample before, among those that rotate, in a circle; where that sample is
 * of no use, of the one before that. */
static cse_status take_other(preferences *self, int64_t index)
{
    const int64_t samples = self->samples;
    const int64_t size = self->rotation > 0 ? self->rotation : samples;
    const int64_t begin = index / size * size;
    const int64_t count = begin + size <= samples ? size : samples - begin;
    cse_status status = CSE_DATA;
    for (int64_t back = 1; back <= count && status == CSE_DATA; back++)
        status = take_sample(self, begin + (index - begin + count - back) % count,
                             &self->completions[1]);
    return status;
}

static cse_status read_unpaired(preferences *self, int64_t index)
{
    CSE_TRY(take_sample(self, index, self->completions));
    const bool desirable = self->texts.desirable;
    CSE_TRY(put(self, &self->completions[0], &self->completions[0], 0));
    ((int32_t *)self->outputs[DESIRABLE_STREAM])[self->place] = desirable;
    CSE_TRY(take_other(self, index));
    CSE_TRY(put(self, &self->completions[0], &self->completions[1], 1));
    self->desirable += desirable;
    return CSE_OK;
}

static cse_status read_paired(preferences *self, int64_t index)
{
    CSE_TRY(take_sample(self, index, self->completions));
    share_prompt(self->completions);
    for (int c = 0; c < ROWS; c++)
        CSE_TRY(put(self, &self->completions[c], &self->completions[c], c));
    return CSE_OK;
}

static cse_status read_sample(void *argument, int64_t index)
{
    char where[PATH_MAX];
    preferences *self = argument;
    cse_status status = (self->paired ? read_paired : read_unpaired)(self, index);
    if (status == CSE_OK)
        return CSE_OK;
    locate(self, index, where, sizeof where);
    return cse_fail_within(status, "%s: ", where);
}

static cse_status preferences_read(cse_input *input, const int64_t *indices, int64_t count,
                                   void *const outputs[])
{
    preferences *self = input->self;
    self->outputs = outputs;
    for (self->place = 0; self->place < count; self->place++)
        CSE_TRY(cse_read_good_record(&self->bad, indices[self->place], input->sample_count,
                                     read_sample, self));
    return CSE_OK;
}

static void preferences_locate(const cse_input *input, const cse_element_place *place, char *text,
                               size_t size)
{
    locate(input->self, place->sample, text, size);
}

/* ---- a look at all samples ---- */

static const char *const fault_names[CSE_PREFERENCE_FAULTS] = {
    [CSE_PREFERENCE_LINE] = "lines that cannot be read",
    [CSE_PREFERENCE_MEMBER] = "without a text that is asked for",
    [CSE_PREFERENCE_LABEL] = "without a label true or false",
    [CSE_PREFERENCE_EMPTY] = "with an empty completion",
    [CSE_PREFERENCE_EQUAL] = "whose chosen and rejected texts are the same",
    [CSE_PREFERENCE_TEMPLATE] = "that the chat template refuses",
    [CSE_PREFERENCE_LONG] = "whose prompt leaves no room for a completion",
};

static int64_t sum_of(const int64_t faults[])
{
    int64_t all = 0;
    for (int f = 0; f < CSE_PREFERENCE_FAULTS; f++)
        all += faults[f];
    return all;
}

/* `first`: the message of the first one. */
static cse_status tell_faults(const preferences *self, int64_t samples, const int64_t faults[],
                              const char *first)
{
    cse_text text = { 0 };
    const int64_t all = sum_of(faults);
    for (int f = 0; f < CSE_PREFERENCE_FAULTS; f++)
        if (faults[f] > 0)
            cse_text_add(&text, "%s%" PRId64 " %s", text.size > 0 ? ", " : "", faults[f],
                         fault_names[f]);
    cse_status status = CSE_OK;
    if (all > 0 && self->bad.skips && all < samples)
        cse_data_tell("%" PRId64 " of %" PRId64 " samples are of no use and are left out, others "
                      "stand in their place: %s; the first: %s",
                      all, samples, text.data, first);
    else if (all > 0)
        status = cse_fail(CSE_DATA,
                          "%" PRId64 " of %" PRId64 " samples are of no use: %s; the first: %s%s",
                          all, samples, text.data, first,
                          all < samples ? "; on_bad_record: skip leaves them out" : "");
    cse_text_clear(&text);
    return status;
}

static cse_status count_faults(preferences *self, int64_t samples, int64_t faults[], char **first)
{
    cse_status status = CSE_OK;
    self->place = 0;
    for (int64_t i = 0; i < samples && status == CSE_OK; i++) {
        status = read_sample(self, i);
        if (status != CSE_DATA)
            continue;
        faults[self->rows.fault]++;
        if (*first == NULL)
            *first = cse_strdup(cse_error_message());
        status = CSE_OK;
    }
    return status;
}

/* `good`: samples of use. What is learned from labels of one kind is to make everything more
 * probable, or less. */
static void tell_labels(const preferences *self, int64_t good)
{
    if (!self->paired && good > 1 && (self->desirable == 0 || self->desirable == good))
        cse_data_tell("all %" PRId64 " completions are %s: kto learns from both kinds", good,
                      self->desirable == 0 ? "undesirable" : "desirable");
}

/* Looks at so many samples, from the first on. */
static cse_status look_at(preferences *self, int64_t samples)
{
    int32_t desirable, *values[CSE_TOKEN_STREAMS];
    int64_t faults[CSE_PREFERENCE_FAULTS] = { 0 };
    char *first = NULL;
    void *outputs[CSE_TOKEN_STREAMS + 1];
    for (int s = 0; s < CSE_TOKEN_STREAMS; s++)
        outputs[s] = values[s] = cse_calloc((size_t)(self->rows.time * ROWS), sizeof *values[s]);
    outputs[DESIRABLE_STREAM] = &desirable;
    self->outputs = outputs;
    cse_status status = count_faults(self, samples, faults, &first);
    if (status == CSE_OK)
        status = tell_faults(self, samples, faults, first);
    if (status == CSE_OK)
        tell_labels(self, samples - sum_of(faults));
    self->outputs = NULL;
    for (int s = 0; s < CSE_TOKEN_STREAMS; s++)
        free(values[s]);
    free(first);
    return status;
}

/* ---- opening ---- */

static cse_status add_table(preferences *self, const char *path)
{
    CSE_TRY(cse_text_lines_take_form(&self->lines, path));
    return cse_line_files_add(&self->lines.files, path);
}

static cse_status add_files(preferences *self, const cse_settings *settings)
{
    for (int i = 0; i < cse_settings_count(settings, "path"); i++) {
        const char *path = cse_settings_text_at(settings, "path", i);
        const bool is_table = cse_name_ends(path, ".csv|.tsv");
        if (i > 0 && is_table != self->has_tables)
            return cse_fail(CSE_DATA, "%s: it is of another kind than the first file", path);
        self->has_tables = is_table;
        CSE_TRY(is_table ? add_table(self, path) : cse_conversation_files_add(&self->files, path));
    }
    self->samples = self->has_tables ? self->lines.files.samples : self->files.rows;
    return self->has_tables ? cse_text_lines_find_columns(&self->lines) : CSE_OK;
}

static bool is_paired(const cse_settings *settings)
{
    return strcmp(cse_settings_text(settings, "kind"), "paired") == 0;
}

static cse_status read_settings(preferences *self, const cse_settings *settings)
{
    static const char *const names[][MEMBERS] = { { "prompt", "completion", "label" },
                                                  { "prompt", "chosen", "rejected" } };
    self->paired = self->texts.paired = is_paired(settings);
    self->texts.names = self->lines.names;
    self->texts.tokenizer = cse_strdup(cse_settings_text(settings, "tokenizer"));
    if (cse_settings_has(settings, "chat_template"))
        self->texts.template_file = cse_strdup(cse_settings_text(settings, "chat_template"));
    self->lines.count = MEMBERS;
    for (int m = 0; m < MEMBERS; m++)
        self->lines.names[m] = names[self->paired][m];
    if (cse_settings_has(settings, "kl_rotation") && self->paired)
        return cse_fail(CSE_CONFIG, "data loader: %s: kl_rotation belongs to kind: unpaired",
                        cse_settings_origin(settings, "kl_rotation"));
    if (cse_settings_has(settings, "kl_rotation"))
        self->rotation = cse_settings_integer(settings, "kl_rotation");
    cse_bad_records_read(settings, &self->bad);
    return cse_text_lines_read_delimiter(&self->lines, settings);
}

static void describe(cse_input *input, bool paired, int64_t time)
{
    cse_describe_tokens(input, time, true);
    for (int s = 0; s < CSE_TOKEN_STREAMS; s++)
        input->streams[s].shape = (cse_shape){ .rank = 2, .dims = { ROWS, time } };
    if (paired)
        return;
    input->stream_count = CSE_TOKEN_STREAMS + 1;
    input->streams[DESIRABLE_STREAM] =
        (cse_stream){ .name = "desirable", .shape = { .rank = 0 }, .dtype = CSE_INT32 };
}

static void preferences_close(cse_input *input)
{
    preferences *self = input->self;
    cse_preference_texts_clear(&self->texts);
    for (int c = 0; c < ROWS; c++)
        free(self->completions[c].whole.ids);
    cse_preference_rows_clear(&self->rows);
    cse_text_lines_clear(&self->lines);
    cse_conversation_files_clear(&self->files);
    free(self);
    input->self = NULL;
}

static cse_status open_all(preferences *self, const cse_settings *settings)
{
    CSE_TRY(read_settings(self, settings));
    CSE_TRY(add_files(self, settings));
    CSE_TRY(cse_preference_rows_open(&self->rows, settings));
    self->texts.end = self->rows.end;
    return look_at(self, cse_data_is_first_look() ? self->samples : !self->bad.skips);
}

static cse_status preferences_open(cse_input *input, const cse_settings *settings)
{
    preferences *self = input->self = cse_calloc(1, sizeof *self);
    cse_status status = open_all(self, settings);
    if (status != CSE_OK) {
        preferences_close(input);
        return status;
    }
    describe(input, self->paired, self->rows.time);
    input->sample_count = self->samples;
    snprintf(
        input->source, sizeof input->source, "%s",
        cse_file_pool_path_view(self->has_tables ? self->lines.files.pool : self->files.pool, 0));
    return CSE_OK;
}

static cse_status preferences_describe(cse_input *input, const cse_settings *settings,
                                       const cse_unseen_data *known)
{
    (void)known;
    describe(input, is_paired(settings), cse_settings_integer(settings, "max_sequence_length"));
    return CSE_OK;
}

const cse_input_descriptor cse_input_preferences = {
    .name = "preferences",
    .summary = "prompts with chosen and rejected completions, or with one that is desirable or not",
    .settings = settings_table,
    .open = preferences_open,
    .read = preferences_read,
    .locate = preferences_locate,
    .close = preferences_close,
    .describe = preferences_describe,
};
