/* Samples of conversations: messages that the model's own chat template makes a text of, with the
 * loss on what the assistant says.
 *
 * A sample is a conversation, or with `packing` a row of several. Conversations of a row do not see
 * each other: attention_span says where a token's own ends, position_ids begin at 0 in each, and
 * no loss reaches from one into the next. So each has the losses that it has alone. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/conversations/conversation_set.h"
#include "dataloader/conversations/packing.h"
#include "dataloader/inputs/token_streams.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"

enum { SPAN_STREAM = CSE_TOKEN_STREAMS, POSITIONS_STREAM, STREAMS };

typedef struct conversations {
    cse_conversation_set set;
    cse_packing packing;
    int64_t time;
    bool is_packed;
    int32_t filler; /* the token in places that are filled up */
} conversations;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATHS,
      .doc = "files: .jsonl, .ndjson, a list in a .json, Parquet; not compressed" },
    { .name = "format",
      .type = CSE_SETTING_CHOICE,
      .default_value = "auto",
      .choices = CSE_CONVERSATION_FORMATS,
      .doc = "messages; sharegpt: conversations of from and value; alpaca: instruction, input and "
             "output; prompt_completion: two texts, or two lists of messages; auto: what each row "
             "has" },
    CSE_CONVERSATION_SETTINGS,
    { .name = "sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1024",
      .min = 2,
      .max = 1 << 24,
      .doc = "tokens of one sample" },
    { .name = "loss_on",
      .type = CSE_SETTING_CHOICE,
      .default_value = "answers",
      .choices = CSE_LOSS_ON_WORDS,
      .doc = "what the loss counts: all that the assistant says, its last message alone, or all "
             "tokens" },
    { .name = "without_answer",
      .type = CSE_SETTING_CHOICE,
      .default_value = "refuse",
      .choices = "refuse|leave_out",
      .doc = "conversations of which the loss would count nothing: refused before a run starts, or "
             "left out, and how many is told" },
    { .name = "too_long",
      .type = CSE_SETTING_CHOICE,
      .default_value = "cut",
      .choices = "cut|leave_out|refuse",
      .doc = "conversations of more than sequence_length tokens: their end is cut off, they are "
             "left out, or refused; how many is told" },
    { .name = "packing",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "several conversations in a sample, each with the losses that it has alone" },
    { 0 },
};

static cse_loss_on loss_on_of(const char *word)
{
    return strcmp(word, "all") == 0           ? CSE_LOSS_ON_ALL
           : strcmp(word, "last_answer") == 0 ? CSE_LOSS_ON_LAST_ANSWER
                                              : CSE_LOSS_ON_ANSWERS;
}

static cse_too_long too_long_of(const char *word)
{
    return strcmp(word, "cut") == 0         ? CSE_TOO_LONG_CUT
           : strcmp(word, "leave_out") == 0 ? CSE_TOO_LONG_LEFT_OUT
                                            : CSE_TOO_LONG_REFUSED;
}

/* ---- opening ---- */

static cse_status add_files(conversations *self, const cse_settings *settings)
{
    const int count = cse_settings_count(settings, "path");
    if (count == 0)
        return cse_fail(CSE_CONFIG, "data loader: %s: path is empty: give at least one file",
                        cse_settings_origin(settings, "path"));
    for (int i = 0; i < count; i++)
        CSE_TRY(cse_conversation_files_add(&self->set.files,
                                           cse_settings_text_at(settings, "path", i)));
    return CSE_OK;
}

/* Nothing counts there, so any token will do; that of the padding where there is one. */
static int32_t filler_of(const cse_conversation_writer *writer)
{
    const char *pad = json_string_value(json_object_get(writer->variables, "pad_token"));
    const int32_t id = pad != NULL ? cse_tokenizer_find(writer->tokenizer, pad) : -1;
    return id < 0 ? 0 : id;
}

static cse_status open_set(conversations *self, const cse_settings *settings)
{
    cse_conversation_choices choices;
    cse_conversation_tools *tools;
    const cse_conversation_rules rules = {
        .format = cse_conversation_format_of(cse_settings_text(settings, "format")),
        .most_tokens = self->time,
        .too_long = too_long_of(cse_settings_text(settings, "too_long")),
        .leaves_out = strcmp(cse_settings_text(settings, "without_answer"), "leave_out") == 0,
    };
    CSE_TRY(add_files(self, settings));
    cse_conversation_choices_read(settings, &choices);
    choices.loss_on = loss_on_of(cse_settings_text(settings, "loss_on"));
    CSE_TRY(cse_conversation_tools_open(&choices, &tools));
    self->filler = filler_of(cse_conversation_writer_view(tools));
    const cse_status status =
        cse_conversation_set_fill(&self->set, cse_conversation_writer_view(tools), &rules);
    cse_conversation_tools_close(&tools);
    return status;
}

static void describe_streams(cse_input *input, int64_t time, bool is_packed)
{
    static const char *const names[] = { "attention_span", "position_ids" };
    cse_describe_tokens(input, time, true);
    for (int i = 0; i < 2 && is_packed; i++)
        input->streams[input->stream_count++] =
            (cse_stream){ .name = names[i], .shape = cse_shape_of(time), .dtype = CSE_INT32 };
}

static void conversations_close(cse_input *input)
{
    conversations *self = input->self;
    cse_conversation_set_clear(&self->set);
    cse_packing_clear(&self->packing);
    free(self);
    input->self = NULL;
}

static cse_status conversations_open(cse_input *input, const cse_settings *settings)
{
    conversations *self = input->self = cse_calloc(1, sizeof *self);
    self->time = cse_settings_integer(settings, "sequence_length");
    self->is_packed = cse_settings_bool(settings, "packing");
    const cse_status status = open_set(self, settings);
    if (status != CSE_OK) {
        conversations_close(input);
        return status;
    }
    if (self->is_packed)
        cse_packing_make(&self->packing, self->set.lengths, self->set.count, self->time);
    else
        cse_packing_make_single(&self->packing, self->set.count);
    describe_streams(input, self->time, self->is_packed);
    input->sample_count = self->packing.rows;
    snprintf(input->source, sizeof input->source, "%s", cse_settings_text_at(settings, "path", 0));
    return CSE_OK;
}

/* ---- reading ---- */

/* Streams of one sample: [time] each. */
typedef struct sample_streams {
    int32_t *streams[STREAMS];
} sample_streams;

static void put_conversation(const conversations *self, int64_t item, int64_t at,
                             const sample_streams *sample)
{
    const int64_t length = self->set.lengths[item], begin = self->set.items[item].begin;
    const int32_t *ids = self->set.ids + begin;
    const bool *counts = self->set.counts + begin;
    for (int64_t t = 0; t < length; t++) {
        const bool is_predicted = t + 1 < length && counts[t + 1];
        sample->streams[CSE_INPUT_IDS_STREAM][at + t] = ids[t];
        sample->streams[CSE_LABELS_STREAM][at + t] = is_predicted ? ids[t + 1] : CSE_IGNORED_LABEL;
        sample->streams[CSE_MASK_STREAM][at + t] = is_predicted;
        if (self->is_packed) {
            sample->streams[SPAN_STREAM][at + t] = (int32_t)(length - 1 - t);
            sample->streams[POSITIONS_STREAM][at + t] = (int32_t)t;
        }
    }
}

/* Each filled place sees itself alone. */
static void fill_up(const conversations *self, int64_t at, const sample_streams *sample)
{
    for (; at < self->time; at++) {
        sample->streams[CSE_INPUT_IDS_STREAM][at] = self->filler;
        sample->streams[CSE_LABELS_STREAM][at] = CSE_IGNORED_LABEL;
        sample->streams[CSE_MASK_STREAM][at] = 0;
        if (self->is_packed)
            sample->streams[SPAN_STREAM][at] = sample->streams[POSITIONS_STREAM][at] = 0;
    }
}

static cse_status conversations_read(cse_input *input, const int64_t *indices, int64_t count,
                                     void *const outputs[])
{
    const conversations *self = input->self;
    for (int64_t i = 0; i < count; i++) {
        sample_streams sample = { .streams = { NULL } };
        int64_t at = 0;
        for (int s = 0; s < input->stream_count; s++)
            sample.streams[s] = (int32_t *)outputs[s] + i * self->time;
        for (int64_t k = self->packing.first[indices[i]]; k < self->packing.first[indices[i] + 1];
             k++) {
            put_conversation(self, self->packing.items[k], at, &sample);
            at += self->set.lengths[self->packing.items[k]];
        }
        fill_up(self, at, &sample);
    }
    return CSE_OK;
}

/* The conversation at a place of a row; the first one where the place is filled up, or is all. */
static void conversations_locate(const cse_input *input, const cse_element_place *place, char *text,
                                 size_t size)
{
    const conversations *self = input->self;
    const int64_t first = self->packing.first[place->sample];
    int64_t at = 0, found = self->packing.items[first];
    for (int64_t k = first; k < self->packing.first[place->sample + 1] && !place->whole; k++) {
        const int64_t length = self->set.lengths[self->packing.items[k]];
        if (place->element >= at && place->element < at + length)
            found = self->packing.items[k];
        at += length;
    }
    cse_conversation_files_locate(&self->set.files, self->set.items[found].row, text, size);
}

static cse_status conversations_describe(cse_input *input, const cse_settings *settings,
                                         const cse_unseen_data *known)
{
    (void)known;
    describe_streams(input, cse_settings_integer(settings, "sequence_length"),
                     cse_settings_bool(settings, "packing"));
    return CSE_OK;
}

const cse_input_descriptor cse_input_conversations = {
    .name = "conversations",
    .summary = "conversations by a model's chat template, with the loss on answers",
    .settings = settings_table,
    .open = conversations_open,
    .read = conversations_read,
    .locate = conversations_locate,
    .close = conversations_close,
    .describe = conversations_describe,
};
