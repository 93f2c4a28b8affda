/* Pieces first, then the sample. */
#include "dataloader/tokens/sentence_tokens.h"

#include <stdlib.h>
#include <string.h>

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

cse_status cse_sentence_tokens_begin(cse_sentence_tokens *self, const char *path)
{
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
}

/* [CLS] first [SEP] or [CLS] first [SEP] second [SEP]. */
void cse_sentence_tokens_put(const cse_sentence_tokens *self, char *const texts[2],
                             void *const outputs[], int64_t place)
{
    int32_t *ids = (int32_t *)outputs[CSE_SENTENCE_IDS] + place * self->time;
    int32_t *mask = (int32_t *)outputs[CSE_SENTENCE_MASK] + place * self->time;
    int32_t *segments = (int32_t *)outputs[CSE_SENTENCE_SEGMENTS] + place * self->time;
    const bool pair = texts[1] != NULL;
    const int room = (int)self->time - (pair ? 3 : 2);
    int counts[2] = { 0, 0 };
    int64_t to = 0;
    for (int s = 0; s < (pair ? 2 : 1); s++)
        counts[s] =
            cse_word_pieces_split(&self->pieces, texts[s], self->tokens[s], (int)self->time);
    while (counts[0] + counts[1] > room)
        counts[counts[0] > counts[1] ? 0 : 1]--;
    ids[to++] = self->first;
    memcpy(ids + to, self->tokens[0], (size_t)counts[0] * sizeof *ids);
    to += counts[0];
    ids[to++] = self->separator;
    memset(segments, 0, (size_t)self->time * sizeof *segments);
    if (pair) {
        memcpy(ids + to, self->tokens[1], (size_t)counts[1] * sizeof *ids);
        for (int64_t t = to; t <= to + counts[1]; t++)
            segments[t] = 1;
        to += counts[1];
        ids[to++] = self->separator;
    }
    for (int64_t t = 0; t < self->time; t++)
        mask[t] = t < to ? 1 : self->mask_padding;
    for (; to < self->time; to++)
        ids[to] = self->padding;
}
