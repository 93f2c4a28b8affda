/* Samples of an encoder and a decoder from texts, as the ModelZoo's T5DynamicDataProcessor has
 * them: *.txt files with a document a line, whose words stand apart by blanks. Documents are cut
 * into sequences; spans of each are chosen by a function of shuffle_seed, the epoch and the
 * sample's number, hidden behind sentinels in the encoder's text, and are the decoder's (Raffel
 * et al. 2020): 15 of 100 words, 3 of them a span. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/modules.h"
#include "dataloader/files/line_files.h"
#include "dataloader/files/part_of.h"
#include "dataloader/input.h"
#include "dataloader/positions/choice.h"
#include "dataloader/tokens/word_file.h"
#include "engine/base/config/settings.h"

enum { MOST_TIME = 1 << 16 };
enum stream { INPUT_IDS, ATTENTION, DECODER_IDS, DECODER_ATTENTION, LABELS, STREAMS };
static const char *const stream_names[STREAMS] = { "input_ids", "attention_mask",
                                                   "decoder_input_ids", "decoder_attention_mask",
                                                   "labels" };

typedef struct t5_dynamic {
    cse_line_files files;
    int64_t *first; /* [lines + 1]: the first sample of each line */
    cse_word_file words;
    int unknown, start, end, padding, label_padding;
    int64_t source, target, raw; /* lengths; raw: words of a sequence before some are hidden */
    int64_t vocabulary;          /* with sentinels */
    int64_t extra;
    uint64_t seed;
    int32_t *tokens;  /* [raw] */
    bool *hidden;     /* [raw + 2] */
    int64_t *lengths; /* [raw + 2]: of spans, those that stay and those that are hidden in turn */
} t5_dynamic;

static const cse_setting settings_table[] = {
    { .name = "src_data_dir", .type = CSE_SETTING_PATHS, .doc = "folders of *.txt files" },
    { .name = "src_vocab_file", .type = CSE_SETTING_PATH, .doc = "the vocabulary, a word a line" },
    { .name = "extra_ids",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .max = 1 << 20,
      .doc = "numbers behind the vocabulary, the last of which are sentinels" },
    { .name = "src_max_sequence_length",
      .type = CSE_SETTING_INTEGER,
      .min = 4,
      .max = MOST_TIME,
      .doc = "tokens of the encoder" },
    { .name = "tgt_max_sequence_length",
      .type = CSE_SETTING_INTEGER,
      .min = 4,
      .max = MOST_TIME,
      .doc = "tokens of the decoder" },
    { .name = "oov_token",
      .type = CSE_SETTING_TEXT,
      .default_value = "<unk>",
      .doc = "the word that stands for those that are not in the vocabulary" },
    { .name = "sos_token",
      .type = CSE_SETTING_TEXT,
      .default_value = "<s>",
      .doc = "the decoder's first word; oov_token's number where it is not in the vocabulary" },
    { .name = "eos_token",
      .type = CSE_SETTING_TEXT,
      .default_value = "</s>",
      .doc = "the last label" },
    { .name = "pad_token",
      .type = CSE_SETTING_TEXT,
      .default_value = "<pad>",
      .doc = "behind the last word" },
    { .name = "input_pad_id",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .max = INT32_MAX,
      .doc = "null: pad_token's" },
    { .name = "labels_pad_id",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = INT32_MIN,
      .max = INT32_MAX,
      .doc = "null: pad_token's; decoder_attention_mask is 0 there" },
    CSE_UNSUPPORTED_SETTING("do_lower", "false", "lower case"),
    CSE_UNSUPPORTED_SETTING("buckets", "null", "batches of samples of like length"),
    CSE_UNSUPPORTED_SETTING("dynamic_loss_weight", "false", "a weight of the loss in each batch"),
    CSE_UNSUPPORTED_SETTING("pack_sequences", "false", "several documents in a sample"),
    { .name = "num_documents_to_concatenate",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "no effect without pack_sequences" },
    { .name = "vocab_size",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "no effect: the vocabulary says it" },
    { 0 },
};

/* ---- lengths ---- */

/* Of a sequence of `raw` words: how many are hidden, in how many spans. */
static void count_hidden(int64_t raw, int64_t *hidden, int64_t *spans)
{
    *hidden = (int64_t)rint((double)raw * 0.15);
    *spans = (int64_t)rint((double)*hidden / 3.0);
}

/* The longest sequence that fits into the encoder's text behind its sentinels. */
static cse_status find_raw_length(t5_dynamic *self, const cse_settings *settings)
{
    int64_t hidden, spans;
    self->source = cse_settings_integer(settings, "src_max_sequence_length");
    self->target = cse_settings_integer(settings, "tgt_max_sequence_length");
    self->extra = cse_settings_integer(settings, "extra_ids");
    for (self->raw = self->source;; self->raw++) {
        count_hidden(self->raw, &hidden, &spans);
        if (self->raw - hidden + spans + 1 >= self->source)
            break;
    }
    if (hidden + spans + 1 > self->target)
        return cse_fail_at(
            CSE_ERROR_AT("data loader: ", cse_settings_place(settings, "tgt_max_sequence_length")),
            "tgt_max_sequence_length is %" PRId64 ": what is hidden in texts of %" PRId64
            " tokens takes up to %" PRId64,
            self->target, self->source, hidden + spans + 1);
    return cse_refuse_unsupported(settings_table, settings);
}

static void add_streams(cse_input *input, const t5_dynamic *self)
{
    const int64_t lengths[STREAMS] = { self->source, self->source, self->target, self->target,
                                       self->target };
    input->stream_count = STREAMS;
    for (int s = 0; s < STREAMS; s++)
        input->streams[s] = (cse_stream){ .name = stream_names[s],
                                          .shape = cse_shape_of(lengths[s]),
                                          .dtype = CSE_INT32 };
}

static cse_status t5_dynamic_describe(cse_input *input, const cse_settings *settings,
                                      const cse_unseen_data *known)
{
    t5_dynamic self = { .raw = 0 };
    (void)known;
    CSE_TRY(find_raw_length(&self, settings));
    add_streams(input, &self);
    return CSE_OK;
}

/* ---- spans ---- */

/* Separates the numbers that part words which stay from those of hidden ones. */
enum { STAYING_PARTS = 0x74350000, HIDDEN_PARTS };

/* Parts items into `count` spans, all ways alike likely: their lengths are every other entry of
 * `lengths`. */
static void part(cse_choice choice, int64_t items, int64_t count, int64_t *lengths)
{
    int64_t span = 0;
    choice.left = items - 1;
    choice.wanted = count - 1;
    lengths[0] = 1;
    for (int64_t i = 0; i < items - 1; i++) {
        if (cse_choice_next(&choice))
            lengths[2 * ++span] = 0;
        lengths[2 * span]++;
    }
}

static void hide_spans(t5_dynamic *self, int64_t epoch, int64_t sample, int64_t count)
{
    int64_t hidden, spans;
    const int64_t length = count > 2 ? count : 2;
    cse_choice choice = { .seed = self->seed ^ STAYING_PARTS,
                          .counter = { 0, (uint32_t)sample, (uint32_t)((uint64_t)sample >> 32),
                                       (uint32_t)epoch } };
    count_hidden(length, &hidden, &spans);
    hidden = hidden < 1 ? 1 : hidden > length - 1 ? length - 1 : hidden;
    spans = spans < 1 ? 1 : spans;
    part(choice, length - hidden, spans, self->lengths);
    choice.seed = self->seed ^ HIDDEN_PARTS;
    part(choice, hidden, spans, self->lengths + 1);
    int64_t to = 0;
    for (int64_t i = 0; i < 2 * spans; i++)
        for (int64_t k = 0; k < self->lengths[i] && to < length; k++)
            self->hidden[to++] = i % 2 != 0;
}

/* Writes the words that are (not) hidden, with one sentinel for each span of the others, of which
 * the numbers fall; at most `most`, and returns how many. */
static int64_t put_words(const t5_dynamic *self, int64_t count, bool hidden, int64_t most,
                         int32_t *to)
{
    int64_t length = 0;
    int32_t sentinel = (int32_t)self->vocabulary;
    for (int64_t i = 0; i < count && length < most; i++) {
        const bool stays = self->hidden[i] == hidden;
        if (stays)
            to[length++] = self->tokens[i];
        else if (i == 0 || self->hidden[i - 1] == hidden)
            to[length++] = --sentinel;
    }
    return length;
}

static void fill(int32_t *to, int64_t from, int64_t count, int32_t value)
{
    for (int64_t i = from; i < count; i++)
        to[i] = value;
}

static void put_sample(t5_dynamic *self, int64_t count, int64_t place, void *const outputs[])
{
    int32_t *source = (int32_t *)outputs[INPUT_IDS] + place * self->source;
    int32_t *seen = (int32_t *)outputs[ATTENTION] + place * self->source;
    int32_t *target = (int32_t *)outputs[DECODER_IDS] + place * self->target;
    int32_t *counted = (int32_t *)outputs[DECODER_ATTENTION] + place * self->target;
    int32_t *labels = (int32_t *)outputs[LABELS] + place * self->target;
    const int64_t length = put_words(self, count, false, self->source, source);
    fill(source, length, self->source, self->padding);
    fill(seen, 0, length, 1);
    fill(seen, length, self->source, 0);
    const int64_t answer = put_words(self, count, true, self->target - 1, labels);
    target[0] = self->start;
    memcpy(target + 1, labels, (size_t)answer * sizeof *target);
    labels[answer] = self->end;
    fill(target, answer + 1, self->target, self->padding);
    fill(labels, answer + 1, self->target, self->label_padding);
    fill(counted, 0, answer + 1, 1);
    fill(counted, answer + 1, self->target, 0);
}

/* ---- reading ---- */

static int64_t line_of(const t5_dynamic *self, int64_t sample)
{
    return cse_part_of(self->first, sizeof *self->first, self->files.samples, sample);
}

/* The word at `*at`, which moves behind it; NULL behind the last one. */
static char *take_word(char **at)
{
    char *word = *at + strspn(*at, " \t\r");
    const size_t length = strcspn(word, " \t\r");
    if (length == 0)
        return NULL;
    *at = word + length + (word[length] != '\0');
    word[length] = '\0';
    return word;
}

static cse_status read_one(t5_dynamic *self, int64_t epoch, int64_t sample, int64_t place,
                           void *const outputs[])
{
    int file;
    char *at, *word;
    const int64_t line = line_of(self, sample), skipped = (sample - self->first[line]) * self->raw;
    int64_t count = 0;
    CSE_TRY(cse_line_files_read(&self->files, line, &at, &file));
    for (int64_t i = 0; count < self->raw && (word = take_word(&at)) != NULL; i++) {
        if (i < skipped)
            continue;
        const int number = cse_word_file_find(&self->words, word);
        self->tokens[count++] = number >= 0 ? number : self->unknown;
    }
    hide_spans(self, epoch, sample, count);
    put_sample(self, count, place, outputs);
    return CSE_OK;
}

static cse_status t5_dynamic_read(cse_input *input, const int64_t *indices, int64_t count,
                                  void *const outputs[])
{
    for (int64_t i = 0; i < count; i++)
        CSE_TRY(read_one(input->self, input->epochs != NULL ? input->epochs[i] : 0, indices[i], i,
                         outputs));
    return CSE_OK;
}

static void t5_dynamic_locate(const cse_input *input, const cse_element_place *place, char *text,
                              size_t size)
{
    const t5_dynamic *self = input->self;
    cse_line_files_locate(&self->files, line_of(self, place->sample), text, size);
}

/* ---- opening ---- */

static cse_status count_samples(t5_dynamic *self)
{
    int file;
    char *at;
    self->first = cse_calloc((size_t)self->files.samples + 1, sizeof *self->first);
    for (int64_t line = 0; line < self->files.samples; line++) {
        int64_t words = 0;
        CSE_TRY(cse_line_files_read(&self->files, line, &at, &file));
        while (take_word(&at) != NULL)
            words++;
        self->first[line + 1] = self->first[line] + (words + self->raw - 1) / self->raw;
    }
    return self->first[self->files.samples] > 0
               ? CSE_OK
               : cse_fail(CSE_DATA, "%s: no word is in it",
                          cse_file_pool_path_view(self->files.pool, 0));
}

static int word_or_unknown(const t5_dynamic *self, const cse_settings *settings, const char *name)
{
    const int number = cse_word_file_find(&self->words, cse_settings_text(settings, name));
    return number >= 0 ? number : self->unknown;
}

static cse_status read_words(t5_dynamic *self, const cse_settings *settings)
{
    const char *path = cse_settings_text(settings, "src_vocab_file");
    CSE_TRY(cse_word_file_read(&self->words, path, false));
    CSE_TRY(cse_word_file_require(&self->words, path, cse_settings_text(settings, "oov_token"),
                                  &self->unknown));
    self->start = word_or_unknown(self, settings, "sos_token");
    self->end = word_or_unknown(self, settings, "eos_token");
    self->padding = self->label_padding = word_or_unknown(self, settings, "pad_token");
    if (cse_settings_has(settings, "input_pad_id"))
        self->padding = (int)cse_settings_integer(settings, "input_pad_id");
    if (cse_settings_has(settings, "labels_pad_id"))
        self->label_padding = (int)cse_settings_integer(settings, "labels_pad_id");
    self->vocabulary = self->words.count + self->extra;
    return CSE_OK;
}

static void t5_dynamic_close(cse_input *input)
{
    t5_dynamic *self = input->self;
    cse_line_files_clear(&self->files);
    cse_word_file_clear(&self->words);
    free(self->first);
    free(self->tokens);
    free(self->hidden);
    free(self->lengths);
    free(self);
    input->self = NULL;
}

static cse_status open_all(t5_dynamic *self, const cse_settings *settings)
{
    CSE_TRY(find_raw_length(self, settings));
    CSE_TRY(cse_line_files_open(&self->files, settings, "src_data_dir", ".txt"));
    CSE_TRY(read_words(self, settings));
    return count_samples(self);
}

static cse_status t5_dynamic_open(cse_input *input, const cse_settings *settings)
{
    t5_dynamic *self = input->self = cse_calloc(1, sizeof *self);
    if (cse_settings_has(settings, "shuffle_seed"))
        self->seed = (uint64_t)cse_settings_integer(settings, "shuffle_seed");
    cse_status status = open_all(self, settings);
    if (status != CSE_OK) {
        t5_dynamic_close(input);
        return status;
    }
    const size_t room = (size_t)self->raw + 2;
    self->tokens = cse_calloc(room, sizeof *self->tokens);
    self->hidden = cse_calloc(room, sizeof *self->hidden);
    self->lengths = cse_calloc(2 * room, sizeof *self->lengths);
    add_streams(input, self);
    input->sample_count = self->first[self->files.samples];
    snprintf(input->source, sizeof input->source, "%s",
             cse_file_pool_path_view(self->files.pool, 0));
    return CSE_OK;
}

const cse_input_descriptor cse_input_t5_dynamic = {
    .name = "T5DynamicDataProcessor",
    .summary = "texts of which spans are hidden by chance, as the ModelZoo has them",
    .settings = settings_table,
    .open = t5_dynamic_open,
    .read = t5_dynamic_read,
    .locate = t5_dynamic_locate,
    .close = t5_dynamic_close,
    .describe = t5_dynamic_describe,
};
