/* Pieces first, then the sample. */
#include "dataloader/tokens/sentence_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

void cse_sentence_streams(cse_input *input, int64_t time)
{
    static const char *const names[] = { "input_ids", "attention_mask", "token_type_ids",
                                         "labels" };
    for (int s = CSE_SENTENCE_IDS; s <= CSE_SENTENCE_LABELS; s++)
        input->streams[input->stream_count++] = (cse_stream){
            .name = names[s],
            .shape = s == CSE_SENTENCE_LABELS ? (cse_shape){ .rank = 0 }
                                              : (cse_shape){ .rank = 1, .dims = { time } },
            .dtype = CSE_INT32,
        };
}

/* Its special tokens have room in a sample, and are tokens of the tokenizer. */
static cse_status check_template(const cse_sentence_tokens *self, const char *path, bool is_pair)
{
    const cse_template *template = cse_tokenizer_template_view(self->tokenizer, is_pair);
    const int specials = cse_template_specials(template);
    const int64_t tokens = cse_tokenizer_vocab_size(self->tokenizer);
    if (specials > self->time)
        return cse_fail(CSE_DATA,
                        "%s: it puts %d special tokens around %s, and max_sequence_length is %lld; "
                        "accepted: %d or more",
                        path, specials, is_pair ? "a pair" : "a text", (long long)self->time,
                        specials);
    for (int i = 0; i < template->count; i++)
        if (template->parts[i].id >= tokens)
            return cse_fail(CSE_DATA,
                            "%s: post_processor names the token %d; the tokenizer has the tokens 0 "
                            "to %lld",
                            path, (int)template->parts[i].id, (long long)tokens - 1);
    return CSE_OK;
}

static cse_status begin_tokenizer(cse_sentence_tokens *self, const char *path)
{
    CSE_TRY(check_template(self, path, false));
    CSE_TRY(check_template(self, path, true));
    self->encoder = cse_encoder_new(self->tokenizer);
    self->ids = cse_calloc(2, sizeof *self->ids);
    return CSE_OK;
}

cse_status cse_sentence_tokens_begin(cse_sentence_tokens *self, const char *path)
{
    if (self->tokenizer != NULL)
        return begin_tokenizer(self, path);
    const bool lowers = self->lowers_words;
    self->pieces = (cse_word_pieces){ .words = &self->words,
                                      .lowers = self->lowers,
                                      .keeps_accents = self->keeps_accents };
    for (int s = 0; s < 2; s++)
        self->tokens[s] = cse_calloc((size_t)self->time, sizeof *self->tokens[s]);
    CSE_TRY(cse_word_file_require(&self->words, path, lowers ? "[unk]" : "[UNK]",
                                  &self->pieces.unknown));
    CSE_TRY(cse_word_file_require(&self->words, path, lowers ? "[cls]" : "[CLS]", &self->first));
    return cse_word_file_require(&self->words, path, lowers ? "[sep]" : "[SEP]", &self->separator);
}

void cse_sentence_tokens_clear(cse_sentence_tokens *self)
{
    cse_word_file_clear(&self->words);
    free(self->tokens[0]);
    free(self->tokens[1]);
    cse_encoder_close(&self->encoder);
    cse_tokenizer_close(&self->tokenizer);
    for (int s = 0; self->ids != NULL && s < 2; s++)
        free(self->ids[s].ids);
    free(self->ids);
}

/* Where a sample is written. */
typedef struct sample {
    int32_t *ids, *mask, *segments; /* [time] */
    int64_t count;
} sample;

static void put_tokens(sample *to, const int32_t *ids, int64_t count, int32_t segment)
{
    for (int64_t t = 0; t < count; t++, to->count++) {
        to->ids[to->count] = ids[t];
        to->segments[to->count] = segment;
    }
}

/* The end of the longer one is left out first. */
static void cut(int64_t counts[2], int64_t room)
{
    while (counts[0] + counts[1] > room)
        counts[counts[0] > counts[1] ? 0 : 1]--;
}

/* [CLS] first [SEP] or [CLS] first [SEP] second [SEP]. */
static void put_words(const cse_sentence_tokens *self, char *const texts[2], sample *to)
{
    int64_t counts[2] = { 0, 0 };
    const bool pair = texts[1] != NULL;
    for (int s = 0; s < (pair ? 2 : 1); s++)
        counts[s] =
            cse_word_pieces_split(&self->pieces, texts[s], self->tokens[s], (int)self->time);
    cut(counts, self->time - (pair ? 3 : 2));
    put_tokens(to, &self->first, 1, 0);
    for (int s = 0; s < (pair ? 2 : 1); s++) {
        put_tokens(to, self->tokens[s], counts[s], s);
        put_tokens(to, &self->separator, 1, s);
    }
}

static cse_status put_by_template(const cse_sentence_tokens *self, char *const texts[2], sample *to)
{
    int64_t counts[2] = { 0, 0 };
    const bool pair = texts[1] != NULL;
    const cse_template *template;
    CSE_TRY(cse_tokenizer_template(self->tokenizer, pair, &template));
    for (int s = 0; s < (pair ? 2 : 1); s++) {
        self->ids[s].count = 0;
        CSE_TRY(cse_encode(self->encoder, texts[s], strlen(texts[s]), &self->ids[s]));
        counts[s] = (int64_t)self->ids[s].count;
    }
    cut(counts, self->time - cse_template_specials(template));
    for (int i = 0; i < template->count; i++) {
        const cse_template_part *part = &template->parts[i];
        const int s = part->id == CSE_SECOND_TEXT;
        if (part->id >= 0)
            put_tokens(to, &part->id, 1, part->type);
        else
            put_tokens(to, self->ids[s].ids, counts[s], part->type);
    }
    return CSE_OK;
}

cse_status cse_sentence_tokens_put(const cse_sentence_tokens *self, char *const texts[2],
                                   void *const outputs[], int64_t place)
{
    const int64_t at = place * self->time;
    sample to = { .ids = (int32_t *)outputs[CSE_SENTENCE_IDS] + at,
                  .mask = (int32_t *)outputs[CSE_SENTENCE_MASK] + at,
                  .segments = (int32_t *)outputs[CSE_SENTENCE_SEGMENTS] + at };
    if (self->tokenizer != NULL)
        CSE_TRY(put_by_template(self, texts, &to));
    else
        put_words(self, texts, &to);
    for (int64_t t = 0; t < self->time; t++)
        to.mask[t] = t < to.count ? 1 : self->mask_padding;
    while (to.count < self->time)
        put_tokens(&to, &self->padding, 1, 0);
    return CSE_OK;
}
