/* Unigram (T. Kudo, "Subword regularization", 2018): of all ways to cut a word into pieces the one
 * whose sum of logarithms of probabilities is the highest, found from left to right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/text/json_members.h"
#include "dataloader/tokenizer/token_ids.h"
#include "dataloader/tokenizer/word_models.h"
#include "engine/base/arena.h"

enum { SHORT_WORD = 128 };

#define UNKNOWN_PENALTY 10.0

/* The best way to the end of a piece. */
typedef struct step {
    double score;
    size_t begin; /* of the piece; NOWHERE: no way leads here */
    int32_t id;   /* -1: a character that is in no piece */
} step;

#define NOWHERE SIZE_MAX

/* ---- reading ---- */

static cse_status take_piece(cse_tokenizer *t, const json_t *entry, size_t id)
{
    const char *piece = json_string_value(json_array_get(entry, 0));
    const json_t *score = json_array_get(entry, 1);
    if (json_array_size(entry) != 2 || piece == NULL || !json_is_number(score))
        return cse_fail(CSE_DATA, "model.vocab: entry %zu is no [text, number]", id);
    if (*piece == '\0')
        return cse_fail(CSE_DATA, "model.vocab: entry %zu has no text", id);
    CSE_TRY(cse_vocabulary_put(&t->vocabulary, (int64_t)id, piece, CSE_TOKEN_OF_CHARACTERS));
    if (t->decoders.takes_bytes)
        cse_vocabulary_show(&t->vocabulary, (int64_t)id, piece, true);
    t->scores[id] = json_number_value(score);
    return CSE_OK;
}

static cse_status read_pieces(cse_tokenizer *t, const json_t *vocab)
{
    size_t id;
    const json_t *entry;
    const size_t count = json_array_size(vocab);
    if (count == 0 || count > CSE_VOCABULARY_MOST)
        return cse_fail(CSE_DATA, "model.vocab has %zu entries, accepted are 1 to %d", count,
                        CSE_VOCABULARY_MOST);
    t->scores = cse_malloc(count * sizeof *t->scores);
    json_array_foreach(vocab, id, entry)
    {
        CSE_TRY(take_piece(t, entry, id));
    }
    return CSE_OK;
}

/* Each piece is found by its text as itself. */
static cse_status check_doubles(const cse_tokenizer *t)
{
    for (int64_t id = 0; id < t->vocabulary.size; id++) {
        const cse_vocabulary_token *token = &t->vocabulary.tokens[id];
        const int32_t found = cse_vocabulary_find(&t->vocabulary, token->bytes, token->size);
        if (found != id)
            return cse_fail(CSE_DATA, "model.vocab has \"%.60s\" twice, as entries %d and %lld",
                            token->bytes, (int)found, (long long)id);
    }
    return CSE_OK;
}

static void find_fallback(cse_tokenizer *t)
{
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        const int size = snprintf(name, sizeof name, "<0x%02X>", byte);
        t->fallback_of_byte[byte] = cse_vocabulary_find(&t->vocabulary, name, (size_t)size);
    }
}

static cse_status finish(cse_tokenizer *t)
{
    cse_vocabulary_index(&t->vocabulary);
    CSE_TRY(check_doubles(t));
    t->unknown_score = t->scores[0];
    for (int64_t id = 1; id < t->vocabulary.size; id++)
        if (t->scores[id] < t->unknown_score)
            t->unknown_score = t->scores[id];
    t->unknown_score -= UNKNOWN_PENALTY;
    find_fallback(t);
    cse_piece_trie_make(&t->trie, &t->vocabulary, NULL, NULL);
    return CSE_OK;
}

static cse_status unigram_read(cse_tokenizer *t, const json_t *model)
{
    const json_t *unknown = json_object_get(model, "unk_id");
    CSE_TRY(cse_json_expect(model, "model Unigram", "unk_id:i? vocab:l! byte_fallback:b"));
    CSE_TRY(read_pieces(t, json_object_get(model, "vocab")));
    if (json_is_integer(unknown) && json_integer_value(unknown) >= t->vocabulary.size)
        return cse_fail(CSE_DATA, "model.unk_id is %lld: accepted are 0 to %lld",
                        (long long)json_integer_value(unknown), (long long)t->vocabulary.size - 1);
    t->unknown = json_is_integer(unknown) ? (int32_t)json_integer_value(unknown) : -1;
    t->falls_back = cse_json_is_on(model, "byte_fallback", false);
    return finish(t);
}

/* ---- encoding ---- */

static void reach_end(const cse_tokenizer *t, step *to, const step *reached)
{
    if (to->begin != NOWHERE && !(reached->score > to->score))
        return;
    *to = *reached;
    if (t->adds_floats)
        to->score = (float)to->score;
}

/* All pieces that begin at `at`. */
static void reach_from(const cse_tokenizer *t, const char *bytes, size_t size, size_t at,
                       step *steps)
{
    const double here = steps[at].score;
    uint32_t node = 0;
    size_t length;
    bool is_known = false;
    cse_character_at(bytes + at, &length);
    for (size_t i = at; i < size; i++) {
        node = cse_piece_trie_next(&t->trie, node, (unsigned char)bytes[i]);
        if (node == 0)
            break;
        const int32_t id = t->trie.nodes[node].id;
        if (id < 0)
            continue;
        reach_end(t, &steps[i + 1], &(step){ here + t->scores[id], at, id });
        is_known |= i + 1 - at == length;
    }
    if (is_known)
        return;
    step unknown = { here + t->unknown_score, at, t->unknown };
    if (t->adds_floats)
        unknown.score = (float)unknown.score;
    reach_end(t, &steps[at + length], &unknown);
}

static bool put_bytes(const cse_tokenizer *t, const char *bytes, const size_t range[2],
                      cse_token_ids *ids)
{
    for (size_t i = range[0]; i < range[1]; i++)
        if (t->fallback_of_byte[(unsigned char)bytes[i]] < 0)
            return false;
    for (size_t i = range[0]; i < range[1]; i++)
        cse_token_ids_put(ids, t->fallback_of_byte[(unsigned char)bytes[i]],
                          t->adds_floats ? i : range[0], t->adds_floats ? i + 1 : range[1]);
    return true;
}

/* Neighbours that are unknown are one. */
static cse_status put_unknown(const cse_tokenizer *t, const char *bytes, const size_t range[2],
                              cse_token_ids *ids)
{
    const int32_t id =
        t->adds_floats ? -1
                       : cse_vocabulary_find(&t->vocabulary, bytes + range[0], range[1] - range[0]);
    if (id < 0 && t->falls_back && put_bytes(t, bytes, range, ids))
        return CSE_OK;
    if (id < 0 && t->unknown < 0)
        return cse_fail(CSE_DATA, "the text has a character that is in no token, and the "
                                  "tokenizer has no unk_id");
    cse_token_ids_put(ids, id >= 0 ? id : t->unknown, range[0], range[1]);
    return CSE_OK;
}

/* From the end back, the begins of pieces are turned into ends of the ones before. */
static cse_status put_pieces(const cse_tokenizer *t, const char *bytes, size_t size, step *steps,
                             cse_token_ids *ids)
{
    size_t end = size, next = NOWHERE;
    while (end != NOWHERE) {
        const size_t begin = end == 0 ? NOWHERE : steps[end].begin;
        steps[end].begin = next; /* where the piece that begins here ends */
        next = end;
        end = begin;
    }
    for (size_t at = 0; at < size;) {
        size_t stop = steps[at].begin;
        const int32_t id = steps[stop].id;
        const size_t begin = at;
        at = stop;
        if (id >= 0 && id != t->unknown) {
            cse_token_ids_put(ids, id, begin, stop);
            continue;
        }
        while (at < size &&
               (steps[steps[at].begin].id < 0 || steps[steps[at].begin].id == t->unknown))
            at = stop = steps[at].begin;
        CSE_TRY(put_unknown(t, bytes, (const size_t[]){ begin, stop }, ids));
    }
    return CSE_OK;
}

static cse_status unigram_encode(const cse_tokenizer *t, const char *bytes, size_t size,
                                 cse_token_ids *ids)
{
    step few[SHORT_WORD + 1];
    step *steps = size <= SHORT_WORD ? few : cse_malloc((size + 1) * sizeof *steps);
    for (size_t i = 0; i <= size; i++)
        steps[i].begin = NOWHERE;
    steps[0] = (step){ 0.0, 0, -1 };
    for (size_t i = 0, length; i < size; i += length) {
        reach_from(t, bytes, size, i, steps);
        cse_character_at(bytes + i, &length);
    }
    cse_status status = put_pieces(t, bytes, size, steps, ids);
    if (steps != few)
        free(steps);
    return status;
}

const cse_word_model cse_unigram_model = { "Unigram", unigram_read, unigram_encode };
