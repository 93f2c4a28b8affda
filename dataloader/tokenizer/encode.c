/* Encoding: added tokens are found, the text between them is cut into words, and the bytes of each
 * word are merged. */
#include "dataloader/tokenizer/tokenizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/token_ids.h"
#include "dataloader/tokenizer/tokenizer_parts.h"
#include "dataloader/tokenizer/word_hash.h"
#include "dataloader/tokenizer/word_models.h"

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
    cse_normalized normalized;
};

void cse_tokenizer_close(cse_tokenizer **tokenizer)
{
    cse_tokenizer *t = *tokenizer;
    if (t == NULL)
        return;
    cse_vocabulary_clear(&t->vocabulary);
    cse_merges_clear(&t->merges);
    cse_piece_trie_clear(&t->trie);
    cse_piece_trie_clear(&t->user_trie);
    cse_post_processor_clear(&t->post_processor);
    free(t->scores);
    cse_added_tokens_clear(&t->before);
    cse_added_tokens_clear(&t->between);
    cse_normalizers_clear(&t->normalizers);
    cse_pre_tokenizers_clear(&t->pre_tokenizers);
    cse_decoders_clear(&t->decoders);
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
            if (strcmp(lists[l]->tokens[i].name, content) == 0)
                return lists[l]->tokens[i].id;
    const int32_t id = cse_vocabulary_find(&tokenizer->vocabulary, content, size);
    return id >= 0 ? id : cse_vocabulary_find_any(&tokenizer->vocabulary, content, size);
}

const char *cse_tokenizer_token_view(const cse_tokenizer *tokenizer, int64_t id, size_t *size)
{
    if (id < 0 || id >= tokenizer->vocabulary.size ||
        tokenizer->vocabulary.tokens[id].bytes == NULL)
        return NULL;
    *size = tokenizer->vocabulary.tokens[id].shown_size;
    return tokenizer->vocabulary.tokens[id].shown;
}

bool cse_tokenizer_cuts_at_lines(const cse_tokenizer *tokenizer)
{
    return tokenizer->pre_tokenizers.cuts_at_lines;
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
    cse_normalized_clear(&(*encoder)->normalized);
    free(*encoder);
    *encoder = NULL;
}

/* ---- a word ---- */

static void add_ids(cse_token_ids *to, const int32_t *ids, size_t count)
{
    if (count == 0)
        return;
    cse_token_ids_reserve(to, count);
    memcpy(to->ids + to->count, ids, count * sizeof *ids);
    to->count += count;
}

static cse_token_place place_of(const cse_text_view *view, size_t begin, size_t end)
{
    if (begin >= view->size || end > view->size)
        return (cse_token_place){ 0 };
    return (cse_token_place){ .begin = view->origins[begin].begin,
                              .end = view->origins[end > begin ? end - 1 : begin].end };
}

/* Places of the word's tokens become those of the text. */
static cse_status add_placed_word(cse_encoder *encoder, const cse_text_view *word)
{
    cse_token_ids *ids = encoder->ids;
    const size_t before = ids->count;
    CSE_TRY(encoder->tokenizer->model->encode(encoder->tokenizer, word->text, word->size, ids));
    const cse_tokenizer *t = encoder->tokenizer;
    for (size_t i = before; i < ids->count; i++) {
        const size_t begin = ids->places[i].begin, end = ids->places[i].end;
        cse_token_place *place = &ids->places[i];
        *place = place_of(word, begin, end);
        place->counts_spaces = t->model == &cse_unigram_model && ids->ids[i] == t->unknown;
        if (place->counts_spaces)
            cse_post_processor_count(word->text + begin, end - begin, false, place->spaces);
    }
    return CSE_OK;
}

static cse_status add_word(void *self, const cse_text_view *word)
{
    cse_encoder *encoder = self;
    const cse_tokenizer *t = encoder->tokenizer;
    const char *bytes = word->text;
    const size_t size = word->size;
    if (encoder->sink != NULL)
        return encoder->sink->word(encoder->sink->self, bytes, size);
    if (size > CSE_WORD_MOST_BYTES)
        return cse_fail(CSE_DATA,
                        "a word of the text has %zu bytes, accepted are at most %d: is it text?",
                        size, CSE_WORD_MOST_BYTES);
    if (encoder->ids->with_places)
        return add_placed_word(encoder, word);
    if (size > CACHED_BYTES)
        return t->model->encode(t, bytes, size, encoder->ids);
    cached_word *cached = &encoder->cache[cse_word_hash(bytes, size) & (CACHE_SLOTS - 1)];
    if (cached->size == size && memcmp(cached->bytes, bytes, size) == 0) {
        add_ids(encoder->ids, cached->ids, cached->count);
        return CSE_OK;
    }
    const size_t before = encoder->ids->count;
    CSE_TRY(t->model->encode(t, bytes, size, encoder->ids));
    const size_t count = encoder->ids->count - before;
    if (count <= CACHED_TOKENS) {
        cached->size = (unsigned char)size;
        cached->count = (unsigned char)count;
        memcpy(cached->bytes, bytes, size);
        if (count > 0)
            memcpy(cached->ids, encoder->ids->ids + before, count * sizeof *cached->ids);
    }
    return CSE_OK;
}

/* ---- a text ---- */

static cse_status pre_tokenize(cse_encoder *encoder, cse_piece piece)
{
    const cse_piece_sink words = { add_word, encoder };
    return cse_pre_tokenize(&encoder->tokenizer->pre_tokenizers, encoder->matcher, piece, &words);
}

static void add_token(cse_encoder *encoder, const cse_text_view *view, int32_t id,
                      const size_t range[2])
{
    cse_token_ids *ids = encoder->ids;
    if (encoder->sink != NULL)
        return;
    cse_token_ids_put(ids, id, 0, 0);
    if (!ids->with_places)
        return;
    cse_token_place *place = &ids->places[ids->count - 1];
    *place = place_of(view, range[0], range[1]);
    place->is_added = place->counts_spaces = true;
    cse_post_processor_count(view->text + range[0], range[1] - range[0], false, place->spaces);
}

/* Tokens of a list, and `rest` for what stands between them. */
static cse_status encode_around(cse_encoder *encoder, const cse_added_tokens *added,
                                cse_piece piece,
                                cse_status (*rest)(cse_encoder *encoder, cse_piece piece))
{
    const cse_text_view *view = &piece.view;
    cse_added_search search = { .text = view->text, .size = view->size };
    for (;;) {
        size_t range[2];
        const cse_added_token *token = cse_added_tokens_next(added, &search, range);
        const size_t begin = search.covered, end = token != NULL ? range[0] : view->size;
        if (begin < end)
            CSE_TRY(rest(encoder, cse_piece_part(&piece, begin, end)));
        if (token == NULL)
            return CSE_OK;
        add_token(encoder, view, token->id, range);
        search.covered = range[1];
    }
}

/* What stands between the tokens of the first list is normalized. */
static cse_status encode_between(cse_encoder *encoder, cse_piece piece)
{
    const cse_tokenizer *t = encoder->tokenizer;
    CSE_TRY(cse_normalize(&t->normalizers, encoder->matcher, &encoder->normalized, &piece.view));
    if (piece.view.size == 0)
        return CSE_OK;
    piece = cse_piece_part(&piece, 0, piece.view.size);
    return encode_around(encoder, &t->between, piece, pre_tokenize);
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

/* Places in bytes become places in characters. They are ascending but for few: the count goes on
 * from the last one. */
static void count_characters(const char *text, cse_token_place *places, size_t count)
{
    size_t bytes = 0, characters = 0;
    for (size_t i = 0; i < count; i++) {
        size_t *ends[2] = { &places[i].begin, &places[i].end };
        for (int e = 0; e < 2; e++) {
            if (*ends[e] < bytes)
                characters -= cse_count_characters(text + *ends[e], bytes - *ends[e]);
            else
                characters += cse_count_characters(text + bytes, *ends[e] - bytes);
            bytes = *ends[e];
            *ends[e] = characters;
        }
    }
}

/* With the origins of its bytes. */
static cse_status encode_aligned(cse_encoder *encoder, const char *text, size_t size)
{
    cse_token_ids *ids = encoder->ids;
    const bool with_places = ids != NULL && ids->with_places;
    const size_t before = with_places ? ids->count : 0;
    cse_aligned_text given = { 0 };
    cse_aligned_text_begin(&given, text, size);
    const cse_piece piece = { { text, size, given.origins }, true };
    cse_status status = encode_around(encoder, &encoder->tokenizer->before, piece, encode_between);
    cse_aligned_text_clear(&given);
    if (status != CSE_OK || !with_places || ids->count == before)
        return status;
    count_characters(text, ids->places + before, ids->count - before);
    cse_post_processor_trim(&encoder->tokenizer->post_processor, &encoder->tokenizer->vocabulary,
                            ids, before);
    return CSE_OK;
}

cse_status cse_encode(cse_encoder *encoder, const char *text, size_t size, cse_token_ids *ids)
{
    const cse_tokenizer *t = encoder->tokenizer;
    const bool needs_origins = (ids != NULL && ids->with_places) ||
                               (t->pre_tokenizers.asks_for_first &&
                                (t->normalizers.count > 0 || t->pre_tokenizers.count > 1));
    cse_text mended = { 0 };
    encoder->ids = ids;
    text = as_utf8(text, &size, &mended);
    cse_status status =
        needs_origins ? encode_aligned(encoder, text, size)
                      : encode_around(encoder, &t->before,
                                      (cse_piece){ { text, size, NULL }, true }, encode_between);
    encoder->ids = NULL;
    cse_text_clear(&mended);
    return status;
}

/* Adds the tokens of a text, all with this type. */
static cse_status put_text(cse_encoder *encoder, const cse_given_text *text, int32_t type,
                           cse_token_ids *to)
{
    const size_t before = to->count;
    CSE_TRY(cse_encode(encoder, text->bytes, text->size, to));
    for (size_t i = before; to->with_places && i < to->count; i++)
        to->places[i].type = type;
    return CSE_OK;
}

static cse_status put_special(const cse_encoder *encoder, const cse_template_part *part,
                              cse_token_ids *to)
{
    size_t size;
    if (cse_tokenizer_token_view(encoder->tokenizer, part->id, &size) == NULL)
        return cse_fail(CSE_DATA,
                        "post_processor names the token %d, which the tokenizer does not have",
                        (int)part->id);
    cse_token_ids_put(to, part->id, 0, 0);
    if (to->with_places)
        to->places[to->count - 1].type = part->type;
    return CSE_OK;
}

const cse_template *cse_tokenizer_template_view(const cse_tokenizer *tokenizer, bool is_pair)
{
    const cse_post_processor *p = &tokenizer->post_processor;
    return is_pair ? &p->pair : &p->one;
}

cse_status cse_tokenizer_template(const cse_tokenizer *tokenizer, bool is_pair,
                                  const cse_template **template)
{
    *template = cse_tokenizer_template_view(tokenizer, is_pair);
    return cse_template_is_whole(*template, is_pair)
               ? CSE_OK
               : cse_fail(CSE_DATA, "post_processor: the template of the tokenizer for pairs of "
                                    "texts does not have each of both texts exactly once, so that "
                                    "it is of use for single texts alone");
}

cse_status cse_encode_whole(cse_encoder *encoder, const cse_given_text texts[2], cse_token_ids *ids)
{
    const cse_template *template;
    CSE_TRY(cse_tokenizer_template(encoder->tokenizer, texts[1].bytes != NULL, &template));
    for (int i = 0; i < template->count; i++) {
        const cse_template_part *part = &template->parts[i];
        if (part->id >= 0)
            CSE_TRY(put_special(encoder, part, ids));
        else
            CSE_TRY(put_text(encoder, &texts[part->id == CSE_SECOND_TEXT], part->type, ids));
    }
    return CSE_OK;
}

cse_status cse_encoder_words(cse_encoder *encoder, const char *text, size_t size,
                             const cse_word_sink *sink)
{
    encoder->sink = sink;
    cse_status status = cse_encode(encoder, text, size, NULL);
    encoder->sink = NULL;
    return status;
}

static cse_status decode(const cse_tokenizer *tokenizer, const int32_t *ids, size_t count,
                         bool within, cse_text *text)
{
    cse_token_texts texts = { 0 };
    cse_status status = CSE_OK;
    for (size_t i = 0; i < count && status == CSE_OK; i++) {
        size_t size = 0;
        const char *bytes = cse_tokenizer_token_view(tokenizer, ids[i], &size);
        if (bytes == NULL) {
            status = cse_fail(CSE_DATA,
                              "token %d at place %zu: the tokenizer has numbers below %" PRId64
                              ", and no token of this one",
                              ids[i], i, tokenizer->vocabulary.size);
        } else {
            cse_text_add_bytes(&texts.text, bytes, size);
            cse_token_texts_end(&texts);
        }
    }
    if (status == CSE_OK)
        status = cse_decoders_apply(&tokenizer->decoders, &texts, within, text);
    cse_token_texts_clear(&texts);
    return status;
}

cse_status cse_decode(const cse_tokenizer *tokenizer, const int32_t *ids, size_t count,
                      cse_text *text)
{
    return decode(tokenizer, ids, count, false, text);
}

cse_status cse_decode_within(const cse_tokenizer *tokenizer, int32_t id, cse_text *text)
{
    return decode(tokenizer, &id, 1, true, text);
}
