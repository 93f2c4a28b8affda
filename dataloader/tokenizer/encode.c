/* Encoding: added tokens are found, the text between them is cut into words, and the bytes of each
 * word are merged. */
#include "dataloader/tokenizer/tokenizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/tokenizer_parts.h"
#include "dataloader/tokenizer/word_hash.h"

/* Words of a text come again and again: the numbers of the last word of each slot are kept. */
enum { CACHE_SLOTS = 1 << 15, CACHED_BYTES = 24, CACHED_TOKENS = 7 };

typedef struct cached_word {
    unsigned char size; /* 0: free */
    unsigned char count;
    char bytes[CACHED_BYTES];
    int32_t ids[CACHED_TOKENS];
} cached_word;

struct cse_encoder {
    const cse_tokenizer *tokenizer;
    cse_split_matcher *matcher;
    cached_word *cache; /* [CACHE_SLOTS] */
    cse_token_ids *ids; /* of the call */
    const cse_word_sink *sink;
    int32_t *word; /* [word_capacity] */
    size_t word_capacity;
};

void cse_tokenizer_close(cse_tokenizer **tokenizer)
{
    cse_tokenizer *t = *tokenizer;
    if (t == NULL)
        return;
    cse_vocabulary_clear(&t->vocabulary);
    cse_merges_clear(&t->merges);
    cse_added_tokens_clear(&t->before);
    cse_added_tokens_clear(&t->between);
    for (int i = 0; i < t->stage_count; i++)
        cse_split_pattern_destroy(&t->stages[i].split);
    free(t);
    *tokenizer = NULL;
}

int64_t cse_tokenizer_vocab_size(const cse_tokenizer *tokenizer)
{
    return tokenizer->vocabulary.size;
}

int32_t cse_tokenizer_find(const cse_tokenizer *tokenizer, const char *content)
{
    const size_t size = strlen(content);
    const cse_added_tokens *lists[] = { &tokenizer->before, &tokenizer->between };
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < lists[l]->count; i++)
            if (strcmp(lists[l]->tokens[i].content, content) == 0)
                return lists[l]->tokens[i].id;
    return cse_vocabulary_find(&tokenizer->vocabulary, content, size);
}

const char *cse_tokenizer_token_view(const cse_tokenizer *tokenizer, int64_t id, size_t *size)
{
    if (id < 0 || id >= tokenizer->vocabulary.size ||
        tokenizer->vocabulary.tokens[id].bytes == NULL)
        return NULL;
    *size = tokenizer->vocabulary.tokens[id].size;
    return tokenizer->vocabulary.tokens[id].bytes;
}

bool cse_tokenizer_cuts_at_lines(const cse_tokenizer *tokenizer)
{
    return tokenizer->cuts_at_lines;
}

cse_encoder *cse_encoder_new(const cse_tokenizer *tokenizer)
{
    cse_encoder *encoder = cse_calloc(1, sizeof *encoder);
    encoder->tokenizer = tokenizer;
    encoder->matcher = cse_split_matcher_new();
    encoder->cache = cse_calloc(CACHE_SLOTS, sizeof *encoder->cache);
    return encoder;
}

void cse_encoder_close(cse_encoder **encoder)
{
    if (*encoder == NULL)
        return;
    cse_split_matcher_destroy(&(*encoder)->matcher);
    free((*encoder)->cache);
    free((*encoder)->word);
    free(*encoder);
    *encoder = NULL;
}

/* ---- a word ---- */

static void add_ids(cse_token_ids *to, const int32_t *ids, size_t count)
{
    if (count == 0)
        return;
    if (to->count + count > to->capacity) {
        to->capacity = (to->count + count) * 2;
        to->ids = cse_realloc(to->ids, to->capacity * sizeof *to->ids);
    }
    memcpy(to->ids + to->count, ids, count * sizeof *ids);
    to->count += count;
}

/* Tokens of the bytes, before any merge. */
static size_t tokens_of_bytes(const cse_tokenizer *t, const char *bytes, size_t size,
                              int32_t *tokens)
{
    size_t count = 0;
    bool was_unknown = false;
    for (size_t i = 0; i < size; i++) {
        const int32_t token = t->token_of_byte[(unsigned char)bytes[i]];
        if (token >= 0)
            tokens[count++] = token;
        else if (t->unknown >= 0 && !(t->fuses_unknown && was_unknown))
            tokens[count++] = t->unknown;
        was_unknown = token < 0;
    }
    return count;
}

static size_t encode_word(cse_encoder *encoder, const char *bytes, size_t size)
{
    const cse_tokenizer *t = encoder->tokenizer;
    if (size > encoder->word_capacity) {
        encoder->word_capacity = size * 2;
        encoder->word = cse_realloc(encoder->word, encoder->word_capacity * sizeof *encoder->word);
    }
    if (t->whole_words &&
        (encoder->word[0] = cse_vocabulary_find(&t->vocabulary, bytes, size)) >= 0)
        return 1;
    return cse_merges_apply(&t->merges, encoder->word,
                            tokens_of_bytes(t, bytes, size, encoder->word));
}

static cse_status add_word(cse_encoder *encoder, const char *bytes, size_t size)
{
    if (encoder->sink != NULL)
        return encoder->sink->word(encoder->sink->self, bytes, size);
    if (size > CSE_WORD_MOST_BYTES)
        return cse_fail(CSE_DATA,
                        "a word of the text has %zu bytes, accepted are at most %d: is it text?",
                        size, CSE_WORD_MOST_BYTES);
    cached_word *cached = NULL;
    if (size <= CACHED_BYTES) {
        cached = &encoder->cache[cse_word_hash(bytes, size) & (CACHE_SLOTS - 1)];
        if (cached->size == size && memcmp(cached->bytes, bytes, size) == 0) {
            add_ids(encoder->ids, cached->ids, cached->count);
            return CSE_OK;
        }
    }
    const size_t count = encode_word(encoder, bytes, size);
    add_ids(encoder->ids, encoder->word, count);
    if (cached != NULL && count <= CACHED_TOKENS) {
        cached->size = (unsigned char)size;
        cached->count = (unsigned char)count;
        memcpy(cached->bytes, bytes, size);
        memcpy(cached->ids, encoder->word, count * sizeof *encoder->word);
    }
    return CSE_OK;
}

/* ---- a text ---- */

static cse_status split(cse_encoder *encoder, int stage, const char *text, size_t size);

static cse_status split_by(cse_encoder *encoder, int stage, const char *text, size_t size)
{
    const cse_split_stage *s = &encoder->tokenizer->stages[stage];
    const bool keeps_rest = !s->drops_rest;
    size_t done = 0;
    while (done < size) {
        size_t range[2] = { done, size };
        const int found = cse_split_next(s->split, encoder->matcher, text, size, range);
        if (found < 0)
            return cse_fail(CSE_DATA,
                            "the split pattern of the tokenizer takes too many steps on this text");
        if (found == 0)
            break;
        if (keeps_rest && range[0] > done)
            CSE_TRY(split(encoder, stage + 1, text + done, range[0] - done));
        CSE_TRY(split(encoder, stage + 1, text + range[0], range[1] - range[0]));
        done = range[1];
    }
    return keeps_rest && done < size ? split(encoder, stage + 1, text + done, size - done) : CSE_OK;
}

/* As deep as there are stages. */
static cse_status split(cse_encoder *encoder, int stage, const char *text, size_t size)
{
    const cse_tokenizer *t = encoder->tokenizer;
    if (stage == t->stage_count)
        return add_word(encoder, text, size);
    const cse_split_stage *s = &t->stages[stage];
    char *spaced = NULL;
    if (s->adds_space && text[0] != ' ') {
        spaced = cse_malloc(size + 1);
        spaced[0] = ' ';
        memcpy(spaced + 1, text, size);
        text = spaced;
        size++;
    }
    cse_status status = s->split != NULL ? split_by(encoder, stage, text, size)
                                         : split(encoder, stage + 1, text, size);
    free(spaced);
    return status;
}

/* Added tokens of list `list`, and what stands between them. */
static cse_status encode_around(cse_encoder *encoder, int list, const char *text, size_t size)
{
    const cse_tokenizer *t = encoder->tokenizer;
    if (list == 2)
        return split(encoder, 0, text, size);
    const cse_added_tokens *added = list == 0 ? &t->before : &t->between;
    for (size_t done = 0; done < size;) {
        size_t range[2] = { done, size };
        const cse_added_token *token = cse_added_tokens_next(added, text, size, range);
        const size_t end = token == NULL ? size : range[0];
        if (end > done)
            CSE_TRY(encode_around(encoder, list + 1, text + done, end - done));
        if (token == NULL)
            break;
        if (encoder->sink == NULL)
            add_ids(encoder->ids, &token->id, 1);
        done = range[1];
    }
    return CSE_OK;
}

/* Valid UTF-8: the text itself, or a copy in `mended`. */
static const char *as_utf8(const char *text, size_t *size, cse_text *mended)
{
    size_t good = 0;
    for (size_t i = 0, length; i < *size; i += length) {
        while (i < *size && (text[i] & 0x80) == 0)
            i++;
        if (i == *size)
            break;
        length = cse_utf8_length(text + i, *size - i);
        if (length > 0)
            continue;
        cse_text_add_bytes(mended, text + good, i - good);
        cse_text_add_bytes(mended, "\357\277\275", 3);
        length = 1;
        good = i + 1;
    }
    if (mended->data == NULL)
        return text;
    cse_text_add_bytes(mended, text + good, *size - good);
    *size = mended->size;
    return mended->data;
}

cse_status cse_encode(cse_encoder *encoder, const char *text, size_t size, cse_token_ids *ids)
{
    cse_text mended = { 0 };
    encoder->ids = ids;
    text = as_utf8(text, &size, &mended);
    cse_status status = encode_around(encoder, 0, text, size);
    encoder->ids = NULL;
    cse_text_clear(&mended);
    return status;
}

cse_status cse_encoder_words(cse_encoder *encoder, const char *text, size_t size,
                             const cse_word_sink *sink)
{
    encoder->sink = sink;
    cse_status status = cse_encode(encoder, text, size, NULL);
    encoder->sink = NULL;
    return status;
}

cse_status cse_decode(const cse_tokenizer *tokenizer, const int32_t *ids, size_t count,
                      cse_text *text)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = 0;
        const char *bytes = cse_tokenizer_token_view(tokenizer, ids[i], &size);
        if (bytes == NULL)
            return cse_fail(CSE_DATA,
                            "token %d at place %zu: the tokenizer has numbers below %" PRId64
                            ", and no token of this one",
                            ids[i], i, tokenizer->vocabulary.size);
        cse_text_add_bytes(text, bytes, size);
    }
    return CSE_OK;
}
