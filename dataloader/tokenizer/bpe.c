/* Byte pair encoding: the characters of a word become tokens, which are merged. The characters of
 * byte-level vocabularies are bytes; in others, one without a token becomes those of its bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "dataloader/tokenizer/text/byte_characters.h"
#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/text/json_members.h"
#include "dataloader/tokenizer/token_ids.h"
#include "dataloader/tokenizer/tokenizer_rules.h"
#include "dataloader/tokenizer/word_models.h"
#include "engine/base/arena.h"

/* ---- reading ---- */

static cse_status take_merges(cse_tokenizer *t, const json_t *vocab, const json_t *merges)
{
    size_t rank;
    const json_t *merge;
    if (!json_is_array(merges))
        return cse_fail(CSE_DATA, "model.merges is no list");
    cse_merges_make(&t->merges, json_array_size(merges));
    json_array_foreach(merges, rank, merge)
    {
        const char *pair[2] = { json_string_value(json_array_get(merge, 0)),
                                json_string_value(json_array_get(merge, 1)) };
        if (json_is_string(merge))
            CSE_TRY(cse_tokenizer_take_merge_text(t, vocab, rank, json_string_value(merge)));
        else if (json_array_size(merge) == 2 && pair[0] != NULL && pair[1] != NULL)
            CSE_TRY(cse_tokenizer_take_merge(t, vocab, rank, pair));
        else
            return cse_fail(CSE_DATA, "merge %zu is neither a text nor a pair of texts", rank);
    }
    return CSE_OK;
}

static void read_fallback(cse_tokenizer *t, const json_t *vocab)
{
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        const json_t *id = json_object_get(vocab, name);
        t->fallback_of_byte[byte] = id != NULL ? (int32_t)json_integer_value(id) : -1;
    }
}

/* NULL for a missing or empty text. */
static const char *affix(cse_tokenizer *t, const json_t *model, const char *name)
{
    const char *text = cse_json_text(model, name);
    return *text != '\0' ? cse_arena_string(t->vocabulary.arena, text) : NULL;
}

static cse_status bpe_read(cse_tokenizer *t, const json_t *model)
{
    const json_t *vocab = json_object_get(model, "vocab");
    const json_t *dropout = json_object_get(model, "dropout");
    CSE_TRY(cse_json_expect(model, "model BPE",
                            "dropout:n? unk_token:s? continuing_subword_prefix:s? "
                            "end_of_word_suffix:s? fuse_unk:b byte_fallback:b ignore_merges:b "
                            "vocab:o! merges:l!"));
    if (json_is_number(dropout) && json_number_value(dropout) != 0)
        return cse_fail(CSE_DATA,
                        "model.dropout is %g: a text would have other tokens each time; "
                        "accepted is null",
                        json_number_value(dropout));
    t->whole_words = cse_json_is_on(model, "ignore_merges", false);
    t->fuses_unknown = cse_json_is_on(model, "fuse_unk", false);
    t->falls_back = cse_json_is_on(model, "byte_fallback", false);
    t->prefix = affix(t, model, "continuing_subword_prefix");
    t->suffix = affix(t, model, "end_of_word_suffix");
    if (t->falls_back && (t->prefix != NULL || t->suffix != NULL))
        return cse_fail(CSE_DATA, "model.byte_fallback is on, with continuing_subword_prefix or "
                                  "end_of_word_suffix: accepted is one of both");
    read_fallback(t, vocab);
    return take_merges(t, vocab, json_object_get(model, "merges"));
}

/* ---- encoding ---- */

/* The tokens of a word's characters so far. */
typedef struct symbols {
    const cse_tokenizer *tokenizer;
    int32_t *tokens;   /* [size of the word + 1] */
    uint32_t *lengths; /* likewise, of what each token was made from; NULL: not wanted */
    size_t count;
    size_t unknown; /* bytes that became no token yet: more of them may follow */
} symbols;

static void put_token(symbols *s, int32_t id, size_t length)
{
    if (s->lengths != NULL)
        s->lengths[s->count] = (uint32_t)length;
    s->tokens[s->count++] = id;
}

static void end_unknown(symbols *s)
{
    if (s->unknown > 0)
        put_token(s, s->tokenizer->unknown, s->unknown);
    s->unknown = 0;
}

static bool put_bytes(symbols *s, const char *bytes, size_t size)
{
    const int32_t *fallback = s->tokenizer->fallback_of_byte;
    for (size_t i = 0; i < size; i++)
        if (fallback[(unsigned char)bytes[i]] < 0)
            return false;
    for (size_t i = 0; i < size; i++)
        put_token(s, fallback[(unsigned char)bytes[i]], 1);
    return true;
}

/* `id`: of the character, -1 for none. */
static void put_symbol(symbols *s, int32_t id, const char *bytes, size_t size)
{
    const cse_tokenizer *t = s->tokenizer;
    if (id >= 0) {
        end_unknown(s);
        put_token(s, id, size);
        return;
    }
    if (t->falls_back && put_bytes(s, bytes, size))
        return;
    if (t->unknown < 0)
        return;
    if (!t->fuses_unknown)
        end_unknown(s);
    s->unknown += size;
}

/* The token of a character at a word's begin or end or within it. */
static int32_t find_symbol(const cse_tokenizer *t, const char *bytes, size_t size,
                           const bool is_first_and_last[2])
{
    if (t->prefix == NULL && t->suffix == NULL)
        return t->pre_tokenizers.is_byte_level ? t->token_of_byte[(unsigned char)*bytes]
                                               : cse_vocabulary_find(&t->vocabulary, bytes, size);
    cse_text text = { 0 };
    if (t->prefix != NULL && !is_first_and_last[0])
        cse_text_add(&text, "%s", t->prefix);
    cse_text_add_bytes(&text, bytes, size);
    if (t->suffix != NULL && is_first_and_last[1])
        cse_text_add(&text, "%s", t->suffix);
    const int32_t id = cse_vocabulary_find(&t->vocabulary, text.data, text.size);
    cse_text_clear(&text);
    return id;
}

/* Of the character that stands for the byte, in UTF-8. */
static size_t width_of(char byte)
{
    return cse_byte_character((unsigned char)byte) < 0x80 ? 1 : 2;
}

/* A place among the characters that stand for the bytes of a word, and the byte that has it. */
typedef struct byte_place {
    const char *bytes;
    size_t size, byte, place;
} byte_place;

/* Onward while the byte ends before the place, or, `is_end`, begins before it. */
static size_t go_to(byte_place *b, size_t place, bool is_end)
{
    while (b->byte < b->size) {
        const size_t width = width_of(b->bytes[b->byte]);
        if (b->place + (is_end ? 0 : width - 1) >= place)
            break;
        b->place += width;
        b->byte++;
    }
    return b->byte;
}

/* Each token stands where the one before it ends, also behind characters that are no tokens, as in
 * the original. */
static void put_places(const symbols *s, byte_place word, cse_token_ids *ids, size_t count)
{
    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        cse_token_place *place = &ids->places[ids->count + i];
        const size_t end = begin + s->lengths[i];
        *place = (cse_token_place){ .begin = begin, .end = end };
        if (s->tokenizer->pre_tokenizers.is_byte_level) {
            place->begin = go_to(&word, begin, false);
            byte_place behind = word;
            place->end = go_to(&behind, end, true);
        }
        begin = end;
    }
}

static cse_status bpe_encode(const cse_tokenizer *t, const char *bytes, size_t size,
                             cse_token_ids *ids)
{
    const int32_t whole = t->whole_words ? cse_vocabulary_find(&t->vocabulary, bytes, size) : -1;
    if (whole >= 0) {
        cse_token_ids_put(ids, whole, 0, size);
        return CSE_OK;
    }
    cse_token_ids_reserve(ids, size + 1);
    symbols s = { .tokenizer = t, .tokens = ids->ids + ids->count };
    if (ids->with_places)
        s.lengths = cse_malloc((size + 1) * sizeof *s.lengths);
    for (size_t i = 0, length = 1; i < size; i += length) {
        int32_t id;
        length = t->user_trie.count > 1
                     ? cse_piece_trie_longest(&t->user_trie, bytes + i, size - i, &id)
                     : 0;
        if (length > 0) {
            put_symbol(&s, id, bytes + i, length);
            continue;
        }
        length = 1;
        if (!t->pre_tokenizers.is_byte_level)
            cse_character_at(bytes + i, &length);
        const bool ends[2] = { i == 0, i + length == size };
        put_symbol(&s, find_symbol(t, bytes + i, length, ends), bytes + i,
                   s.lengths != NULL && t->pre_tokenizers.is_byte_level ? width_of(bytes[i])
                                                                        : length);
    }
    end_unknown(&s);
    const size_t count = cse_merges_apply(&t->merges, s.tokens, s.lengths, s.count);
    if (s.lengths != NULL)
        put_places(&s, (byte_place){ .bytes = bytes, .size = size }, ids, count);
    ids->count += count;
    free(s.lengths);
    return CSE_OK;
}

const cse_word_model cse_bpe_model = { "BPE", bpe_read, bpe_encode };
