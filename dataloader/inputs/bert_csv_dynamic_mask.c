/* Samples of masked language models from tables of words, as the ModelZoo's
 * BertCSVDynamicMaskDataProcessor has them: columns tokens, a list of strings, and, for the next
 * sentence, segment_ids and is_random_next. Which words are hidden is chosen when a sample is read,
 * by a function of shuffle_seed, the epoch and the sample's number.
 *
 * Of the words that are chosen 8 of 10 become the mask, 1 a word of the vocabulary, 1 stays (Devlin
 * et al. 2019). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/modules.h"
#include "dataloader/bad_records.h"
#include "dataloader/files/line_files.h"
#include "dataloader/input.h"
#include "dataloader/positions/choice.h"
#include "dataloader/tables/python_list.h"
#include "dataloader/tokens/word_file.h"
#include "engine/base/random.h"

enum { MOST_TIME = 1 << 16, MOST_EXCLUDED = 64, MOST_COLUMNS = 64 };

enum column { TOKENS, SEGMENTS, IS_RANDOM, COLUMNS };
static const char *const column_names[COLUMNS] = { "tokens", "segment_ids", "is_random_next" };

/* In the order of the streams; the last two are left out without sentences. */
enum stream { INPUT_IDS, ATTENTION, LABELS, MASK, POSITIONS, SEGMENT_IDS, NEXT, STREAMS };

typedef struct layout {
    int64_t time, predictions;
    bool gathers, has_sentences;
} layout;

typedef struct dynamic_mask {
    layout layout;
    cse_line_files files;
    int column[COLUMNS]; /* by the first file; the others must have the same */
    cse_word_file words;
    bool lowers;
    int unknown, mask;
    int32_t padding, label_padding, attention_padding, segment_padding;
    const char *excluded[MOST_EXCLUDED];
    int excluded_count;
    double share;
    uint64_t seed;
    char **tokens; /* [MOST_TIME] */
    bool *hidden;  /* [time] */
    cse_bad_records bad;
    /* of the sample that is being read */
    void *const *outputs;
    int64_t place, epoch;
} dynamic_mask;

static const cse_setting settings_table[] = {
    { .name = "data_dir",
      .type = CSE_SETTING_PATHS,
      .doc = "folders of *.csv files, which have the same columns" },
    { .name = "vocab_file", .type = CSE_SETTING_PATH, .doc = "the vocabulary, a word a line" },
    { .name = "max_sequence_length",
      .type = CSE_SETTING_INTEGER,
      .min = 1,
      .max = MOST_TIME,
      .doc = "tokens of a sample" },
    { .name = "max_predictions_per_seq",
      .type = CSE_SETTING_INTEGER,
      .min = 1,
      .max = MOST_TIME,
      .doc = "words that are hidden in a sample, at most" },
    { .name = "masked_lm_prob",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.15",
      .max = 1,
      .doc = "the share of words that are hidden" },
    { .name = "do_lower",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "words and vocabulary are taken in lower case" },
    { .name = "disable_nsp",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "token_type_ids and next_sentence_label are left out, as they are where the files do "
             "not have them" },
    { .name = "gather_mlm_labels",
      .type = CSE_SETTING_BOOL,
      .default_value = "true",
      .doc = "labels are those of the hidden words alone, which masked_lm_positions says; false: a "
             "label for each token" },
    { .name = "oov_token",
      .type = CSE_SETTING_TEXT,
      .default_value = "\"[UNK]\"",
      .doc = "the word that stands for those that are not in the vocabulary" },
    { .name = "mask_token",
      .type = CSE_SETTING_TEXT,
      .default_value = "\"[MASK]\"",
      .doc = "the word that stands for hidden ones" },
    { .name = "document_separator_token",
      .type = CSE_SETTING_TEXT,
      .default_value = "\"[SEP]\"",
      .doc = "must be in the vocabulary" },
    { .name = "exclude_from_masking",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[\"[CLS]\", \"[SEP]\", \"[PAD]\", \"[MASK]\"]",
      .doc = "words that are never hidden" },
    { .name = "input_pad_id",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .max = INT32_MAX,
      .doc = "token behind the last one" },
    { .name = "labels_pad_id",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .min = INT32_MIN,
      .max = INT32_MAX,
      .doc = "label of words that are not hidden, with gather_mlm_labels: false" },
    { .name = "attn_mask_pad_id",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .max = 1,
      .doc = "attention_mask behind the last token" },
    { .name = "segment_pad_id",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .max = INT32_MAX,
      .doc = "token_type_ids behind the last token" },
    CSE_UNSUPPORTED_SETTING("mask_whole_word", "false", "whole words are hidden"),
    CSE_UNSUPPORTED_SETTING("dynamic_mlm_scale", "false", "a scale of the loss in each batch"),
    CSE_UNSUPPORTED_SETTING("buckets", "null", "batches of samples of like length"),
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

/* ---- streams ---- */

static void add_stream(cse_input *input, const char *name, int64_t length)
{
    input->streams[input->stream_count++] =
        (cse_stream){ .name = name,
                      .shape = length > 0 ? cse_shape_of(length) : cse_scalar_shape,
                      .dtype = CSE_INT32 };
}

static void add_streams(cse_input *input, const layout *l)
{
    const int64_t labels = l->gathers ? l->predictions : l->time;
    add_stream(input, "input_ids", l->time);
    add_stream(input, "attention_mask", l->time);
    add_stream(input, "labels", labels);
    add_stream(input, "masked_lm_mask", labels);
    if (l->gathers)
        add_stream(input, "masked_lm_positions", labels);
    if (l->has_sentences) {
        add_stream(input, "token_type_ids", l->time);
        add_stream(input, "next_sentence_label", 0);
    }
}

static cse_status read_layout(const cse_settings *settings, layout *l)
{
    *l = (layout){ .time = cse_settings_integer(settings, "max_sequence_length"),
                   .predictions = cse_settings_integer(settings, "max_predictions_per_seq"),
                   .gathers = cse_settings_bool(settings, "gather_mlm_labels"),
                   .has_sentences = !cse_settings_bool(settings, "disable_nsp") };
    return cse_refuse_unsupported(settings_table, settings);
}

static cse_status dynamic_mask_describe(cse_input *input, const cse_settings *settings,
                                        const cse_unseen_data *known)
{
    layout l;
    (void)known;
    CSE_TRY(read_layout(settings, &l));
    add_streams(input, &l);
    return CSE_OK;
}

/* Where a stream is written for the sample that is being read; NULL: it is left out. */
static int32_t *output_of(const dynamic_mask *self, enum stream stream)
{
    const layout *l = &self->layout;
    const int64_t labels = l->gathers ? l->predictions : l->time;
    const int64_t lengths[STREAMS] = { l->time, l->time, labels, labels, labels, l->time, 1 };
    if ((stream == POSITIONS && !l->gathers) || (stream > POSITIONS && !l->has_sentences))
        return NULL;
    const int number = (int)stream - (stream > POSITIONS && !l->gathers);
    return (int32_t *)self->outputs[number] + self->place * lengths[stream];
}

static void fill(int32_t *to, int64_t count, int32_t value)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = value;
}

/* ---- a sample ---- */

static bool is_excluded(const dynamic_mask *self, const char *token)
{
    for (int i = 0; i < self->excluded_count; i++)
        if (strcmp(self->excluded[i], token) == 0)
            return true;
    return false;
}

static void draw(const dynamic_mask *self, int64_t sample, uint32_t what, uint32_t words[4])
{
    const uint32_t counter[4] = { what, (uint32_t)sample, (uint32_t)((uint64_t)sample >> 32),
                                  (uint32_t)self->epoch };
    cse_philox(self->seed, counter, words);
}

/* A word of the vocabulary that may be hidden, too. */
static int32_t any_word(const dynamic_mask *self, int64_t sample, int64_t position)
{
    uint32_t words[4];
    int32_t word = 0;
    for (uint32_t attempt = 0; attempt < 64; attempt++) {
        draw(self, sample, (uint32_t)position << 7 | attempt << 1 | 1, words);
        word = (int32_t)((uint64_t)words[0] * (uint64_t)self->words.count >> 32);
        if (!is_excluded(self, self->words.words[word]))
            break;
    }
    return word;
}

/* Separates the numbers that choose which words are hidden. */
enum { HIDDEN_WORDS = 0x68696465 };

/* Chooses the words that are hidden, all that may be alike likely. */
static void choose(dynamic_mask *self, int64_t sample, int64_t count)
{
    const double share = rint((double)count * self->share);
    const int64_t wanted = share < 1 ? 1 : (int64_t)share;
    const int64_t most = wanted < self->layout.predictions ? wanted : self->layout.predictions;
    cse_choice choice = { .seed = self->seed ^ HIDDEN_WORDS,
                          .counter = { 0, (uint32_t)sample, (uint32_t)((uint64_t)sample >> 32),
                                       (uint32_t)self->epoch } };
    for (int64_t i = 0; i < count; i++)
        choice.left += !is_excluded(self, self->tokens[i]);
    choice.wanted = most < choice.left ? most : choice.left;
    for (int64_t i = 0; i < count; i++)
        self->hidden[i] = !is_excluded(self, self->tokens[i]) && cse_choice_next(&choice);
}

static void hide(const dynamic_mask *self, int64_t sample, int64_t position, int32_t *token)
{
    uint32_t words[4];
    draw(self, sample, (uint32_t)position << 1 | UINT32_C(1) << 31, words);
    const float chance = cse_uniform_from_bits(words[0]);
    if (chance < 0.8f)
        *token = self->mask;
    else if (chance < 0.9f)
        *token = any_word(self, sample, position);
}

static void put_tokens(dynamic_mask *self, int64_t sample, int64_t count)
{
    const layout *l = &self->layout;
    int32_t *ids = output_of(self, INPUT_IDS), *labels = output_of(self, LABELS);
    int32_t *mask = output_of(self, MASK), *positions = output_of(self, POSITIONS);
    int32_t *attention = output_of(self, ATTENTION);
    const int64_t label_count = l->gathers ? l->predictions : l->time;
    fill(ids, l->time, self->padding);
    fill(attention, l->time, self->attention_padding);
    fill(attention, count, 1);
    fill(labels, label_count, l->gathers ? 0 : self->label_padding);
    fill(mask, label_count, 0);
    if (positions != NULL)
        fill(positions, label_count, 0);
    for (int64_t t = 0; t < count; t++) {
        const int word = cse_word_file_find(&self->words, self->tokens[t]);
        ids[t] = word >= 0 ? word : self->unknown;
    }
    choose(self, sample, count);
    for (int64_t t = 0, next = 0; t < count; t++) {
        if (!self->hidden[t])
            continue;
        const int64_t to = l->gathers ? next++ : t;
        labels[to] = ids[t];
        mask[to] = 1;
        if (positions != NULL)
            positions[to] = (int32_t)t;
        hide(self, sample, t, &ids[t]);
    }
}

/* "[0, 0, 1]" */
static cse_status put_segments(dynamic_mask *self, char *text)
{
    int32_t *to = output_of(self, SEGMENT_IDS);
    int64_t count = 0;
    fill(to, self->layout.time, self->segment_padding);
    for (text += *text == '['; *text != ']' && *text != '\0'; count++) {
        char *end;
        const long value = strtol(text, &end, 10);
        if (end == text || value < 0 || value > INT32_MAX || count == self->layout.time)
            return cse_fail(CSE_DATA, "segment_ids is no list of at most %" PRId64 " numbers",
                            self->layout.time);
        to[count] = (int32_t)value;
        text = end + strspn(end, ", ");
    }
    return CSE_OK;
}

static cse_status put_next(const dynamic_mask *self, const char *text)
{
    const bool is_true = strcmp(text, "1") == 0 || strcmp(text, "True") == 0;
    if (!is_true && strcmp(text, "0") != 0 && strcmp(text, "False") != 0)
        return cse_fail(CSE_DATA, "is_random_next is \"%.20s\"; accepted: 0, 1", text);
    *output_of(self, NEXT) = is_true;
    return CSE_OK;
}

static cse_status take_line(dynamic_mask *self, int64_t sample, char *line)
{
    char *fields[MOST_COLUMNS] = { NULL };
    int count = 0, tokens = 0;
    for (int i = 0; i < MOST_COLUMNS && (fields[i] = cse_take_field(&line, ',', true)) != NULL;)
        i++;
    for (int c = 0; c < COLUMNS; c++)
        if (self->column[c] >= 0 && fields[self->column[c]] == NULL)
            return cse_fail(CSE_DATA, "it has no field %s", column_names[c]);
    CSE_TRY(cse_python_list_split(fields[self->column[TOKENS]], self->tokens, MOST_TIME, &count));
    tokens = count;
    if (tokens > self->layout.time && self->layout.has_sentences)
        return cse_fail(CSE_DATA,
                        "it has %d tokens, max_sequence_length is %" PRId64 ", and with the next "
                        "sentence none may be cut off",
                        count, self->layout.time);
    tokens = tokens > self->layout.time ? (int)self->layout.time : tokens;
    for (int t = 0; t < tokens && self->lowers; t++)
        cse_lower_text(self->tokens[t]);
    put_tokens(self, sample, tokens);
    if (!self->layout.has_sentences)
        return CSE_OK;
    CSE_TRY(put_segments(self, fields[self->column[SEGMENTS]]));
    return put_next(self, fields[self->column[IS_RANDOM]]);
}

static cse_status read_sample(void *argument, int64_t index)
{
    int file;
    char *line, where[512];
    dynamic_mask *self = argument;
    CSE_TRY(cse_line_files_read(&self->files, index, &line, &file));
    cse_status status = take_line(self, index, line);
    if (status == CSE_OK)
        return CSE_OK;
    cse_line_files_locate(&self->files, index, where, sizeof where);
    return cse_fail_within(status, "%s: ", where);
}

/* ---- opening ---- */

static cse_status find_columns(dynamic_mask *self, int file, int found[COLUMNS])
{
    char *line;
    for (int c = 0; c < COLUMNS; c++)
        found[c] = -1;
    CSE_TRY(cse_line_files_header(&self->files, file, &line));
    for (int i = 0; i < MOST_COLUMNS; i++) {
        const char *name = cse_take_field(&line, ',', true);
        for (int c = 0; name != NULL && c < COLUMNS; c++)
            if (strcmp(name, column_names[c]) == 0)
                found[c] = i;
    }
    return found[TOKENS] >= 0 ? CSE_OK
                              : cse_fail(CSE_DATA, "%s: there is no column tokens",
                                         cse_file_pool_path_view(self->files.pool, file));
}

static cse_status check_columns(dynamic_mask *self)
{
    int other[COLUMNS];
    CSE_TRY(find_columns(self, 0, self->column));
    for (int file = 1; file < self->files.count; file++) {
        CSE_TRY(find_columns(self, file, other));
        if (memcmp(other, self->column, sizeof other) != 0)
            return cse_fail(CSE_DATA, "%s: its columns are others than those of %s",
                            cse_file_pool_path_view(self->files.pool, file),
                            cse_file_pool_path_view(self->files.pool, 0));
    }
    if (self->column[SEGMENTS] < 0 || self->column[IS_RANDOM] < 0)
        self->layout.has_sentences = false;
    return CSE_OK;
}

/* A word of the settings, in the case of the vocabulary. */
static const char *word_of(dynamic_mask *self, const char *text)
{
    char *word = cse_arena_string(self->words.arena, text);
    if (self->lowers)
        cse_lower_text(word);
    return word;
}

static cse_status read_words(dynamic_mask *self, const cse_settings *settings)
{
    int separator;
    const char *path = cse_settings_text(settings, "vocab_file");
    self->lowers = cse_settings_bool(settings, "do_lower");
    CSE_TRY(cse_word_file_read(&self->words, path, self->lowers));
    CSE_TRY(cse_word_file_require(&self->words, path,
                                  word_of(self, cse_settings_text(settings, "oov_token")),
                                  &self->unknown));
    CSE_TRY(cse_word_file_require(
        &self->words, path, word_of(self, cse_settings_text(settings, "mask_token")), &self->mask));
    CSE_TRY(cse_word_file_require(
        &self->words, path, word_of(self, cse_settings_text(settings, "document_separator_token")),
        &separator));
    self->excluded_count = cse_settings_count(settings, "exclude_from_masking");
    if (self->excluded_count > MOST_EXCLUDED)
        return cse_fail(CSE_CONFIG, "data loader: exclude_from_masking has more than %d words",
                        MOST_EXCLUDED);
    for (int i = 0; i < self->excluded_count; i++)
        self->excluded[i] =
            word_of(self, cse_settings_text_at(settings, "exclude_from_masking", i));
    return CSE_OK;
}

static void dynamic_mask_close(cse_input *input)
{
    dynamic_mask *self = input->self;
    cse_line_files_clear(&self->files);
    cse_word_file_clear(&self->words);
    free(self->tokens);
    free(self->hidden);
    free(self);
    input->self = NULL;
}

static cse_status open_all(dynamic_mask *self, const cse_settings *settings)
{
    CSE_TRY(read_layout(settings, &self->layout));
    self->files.headers = 1;
    CSE_TRY(cse_line_files_open(&self->files, settings, "data_dir", ".csv"));
    CSE_TRY(read_words(self, settings));
    return check_columns(self);
}

static cse_status dynamic_mask_open(cse_input *input, const cse_settings *settings)
{
    dynamic_mask *self = input->self = cse_calloc(1, sizeof *self);
    cse_bad_records_read(settings, &self->bad);
    self->share = cse_settings_number(settings, "masked_lm_prob");
    self->padding = (int32_t)cse_settings_integer(settings, "input_pad_id");
    self->label_padding = (int32_t)cse_settings_integer(settings, "labels_pad_id");
    self->attention_padding = (int32_t)cse_settings_integer(settings, "attn_mask_pad_id");
    self->segment_padding = (int32_t)cse_settings_integer(settings, "segment_pad_id");
    if (cse_settings_has(settings, "shuffle_seed"))
        self->seed = (uint64_t)cse_settings_integer(settings, "shuffle_seed");
    cse_status status = open_all(self, settings);
    if (status != CSE_OK) {
        dynamic_mask_close(input);
        return status;
    }
    self->tokens = cse_calloc(MOST_TIME, sizeof *self->tokens);
    self->hidden = cse_calloc((size_t)self->layout.time, sizeof *self->hidden);
    add_streams(input, &self->layout);
    input->sample_count = self->files.samples;
    snprintf(input->source, sizeof input->source, "%s",
             cse_file_pool_path_view(self->files.pool, 0));
    return CSE_OK;
}

static cse_status dynamic_mask_read(cse_input *input, const int64_t *indices, int64_t count,
                                    void *const outputs[])
{
    dynamic_mask *self = input->self;
    self->outputs = outputs;
    for (self->place = 0; self->place < count; self->place++) {
        self->epoch = input->epochs != NULL ? input->epochs[self->place] : 0;
        CSE_TRY(cse_read_good_record(&self->bad, indices[self->place], self->files.samples,
                                     read_sample, self));
    }
    return CSE_OK;
}

static void dynamic_mask_locate(const cse_input *input, const cse_element_place *place, char *text,
                                size_t size)
{
    const dynamic_mask *self = input->self;
    cse_line_files_locate(&self->files, place->sample, text, size);
}

const cse_input_descriptor cse_input_bert_csv_dynamic_mask = {
    .name = "BertCSVDynamicMaskDataProcessor",
    .summary = "words of tables, of which some are hidden by chance, as the ModelZoo has them",
    .settings = settings_table,
    .open = dynamic_mask_open,
    .read = dynamic_mask_read,
    .locate = dynamic_mask_locate,
    .close = dynamic_mask_close,
    .describe = dynamic_mask_describe,
};
