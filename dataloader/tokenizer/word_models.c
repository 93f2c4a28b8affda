/* Which models there are; two of them are so small that they stand here. */
#include "dataloader/tokenizer/word_models.h"

#include <stdlib.h>

#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/text/json_members.h"
#include "dataloader/tokenizer/token_ids.h"
#include "dataloader/tokenizer/tokenizer_rules.h"

enum { LONGEST_WORD = 1000 };

static cse_status demand_unknown(const cse_tokenizer *t)
{
    return t->unknown >= 0 ? CSE_OK
                           : cse_fail(CSE_DATA, "model.unk_token is not in the vocabulary");
}

/* ---- WordLevel: a word is a token ---- */

static cse_status word_level_read(cse_tokenizer *t, const json_t *model)
{
    CSE_TRY(cse_json_expect(model, "model WordLevel", "vocab:o! unk_token:s!"));
    return demand_unknown(t);
}

static cse_status word_level_encode(const cse_tokenizer *t, const char *bytes, size_t size,
                                    cse_token_ids *ids)
{
    const int32_t id = cse_vocabulary_find(&t->vocabulary, bytes, size);
    cse_token_ids_put(ids, id >= 0 ? id : t->unknown, 0, size);
    return CSE_OK;
}

const cse_word_model cse_word_level_model = { "WordLevel", word_level_read, word_level_encode };

/* ---- WordPiece: the longest piece, from left to right ---- */

static cse_status word_piece_read(cse_tokenizer *t, const json_t *model)
{
    const json_t *longest = json_object_get(model, "max_input_chars_per_word");
    const json_t *prefix = json_object_get(model, "continuing_subword_prefix");
    CSE_TRY(cse_json_expect(model, "model WordPiece",
                            "vocab:o! unk_token:s! max_input_chars_per_word:i "
                            "continuing_subword_prefix:s"));
    t->longest_word = json_is_integer(longest) ? json_integer_value(longest) : 100;
    if (t->longest_word < 0 || t->longest_word > LONGEST_WORD)
        return cse_fail(CSE_DATA, "model.max_input_chars_per_word is %lld: accepted are 0 to %d",
                        (long long)t->longest_word, LONGEST_WORD);
    t->prefix = cse_arena_string(t->vocabulary.arena,
                                 json_is_string(prefix) ? json_string_value(prefix) : "##");
    CSE_TRY(demand_unknown(t));
    cse_piece_trie_make(&t->trie, &t->vocabulary, NULL, NULL);
    return CSE_OK;
}

/* The longest token at the begin of `bytes`, and its size; -1: none. `node`: behind the prefix. */
static int32_t longest_piece(const cse_tokenizer *t, uint32_t node, const char *bytes, size_t *size)
{
    const size_t most = *size;
    int32_t id = -1;
    for (size_t i = 0; i < most; i++) {
        node = cse_piece_trie_next(&t->trie, node, (unsigned char)bytes[i]);
        if (node == 0)
            break;
        if (t->trie.nodes[node].id >= 0 && (i + 1 == most || (bytes[i + 1] & 0xc0) != 0x80)) {
            id = t->trie.nodes[node].id;
            *size = i + 1;
        }
    }
    return id;
}

static cse_status word_piece_encode(const cse_tokenizer *t, const char *bytes, size_t size,
                                    cse_token_ids *ids)
{
    const size_t before = ids->count;
    uint32_t inner = 0; /* where a piece that does not begin the word is looked for */
    bool has_inner = true, is_known = cse_count_characters(bytes, size) <= (size_t)t->longest_word;
    for (const char *c = t->prefix; *c != '\0' && has_inner; c++) {
        inner = cse_piece_trie_next(&t->trie, inner, (unsigned char)*c);
        has_inner = inner != 0;
    }
    for (size_t at = 0, length; at < size && is_known; at += length) {
        length = size - at;
        const int32_t id =
            at > 0 && !has_inner ? -1 : longest_piece(t, at > 0 ? inner : 0, bytes + at, &length);
        is_known = id >= 0;
        cse_token_ids_put(ids, id, at, at + length);
    }
    if (!is_known) {
        ids->count = before;
        cse_token_ids_put(ids, t->unknown, 0, size);
    }
    return CSE_OK;
}

const cse_word_model cse_word_piece_model = { "WordPiece", word_piece_read, word_piece_encode };

/* ---- the member "model" ---- */

const cse_word_model *cse_word_model_of(const json_t *model)
{
    static const cse_word_model *const models[] = { &cse_bpe_model, &cse_unigram_model,
                                                    &cse_word_level_model, &cse_word_piece_model };
    const char *type = cse_json_text(model, "type");
    if (*type == '\0' && json_object_get(model, "merges") != NULL)
        return &cse_bpe_model; /* as files of early versions have it */
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i]->name, type) == 0)
            return models[i];
    return NULL;
}

cse_status cse_word_model_read(cse_tokenizer *t, const json_t *model)
{
    const json_t *vocab = json_object_get(model, "vocab");
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    t->model = cse_word_model_of(model);
    if (t->model == NULL)
        return cse_fail(CSE_DATA,
                        "model.type is \"%.60s\": accepted are BPE, Unigram, WordLevel and "
                        "WordPiece",
                        cse_json_text(model, "type"));
    t->unknown = -1;
    if (t->model == &cse_unigram_model) /* its vocabulary is a list */
        return t->model->read(t, model);
    CSE_TRY(cse_tokenizer_take_vocabulary(t, vocab));
    const json_t *id = unknown != NULL ? json_object_get(vocab, unknown) : NULL;
    if (unknown != NULL && id == NULL)
        return cse_fail(CSE_DATA, "model.unk_token \"%.60s\" is not in the vocabulary", unknown);
    if (id != NULL)
        t->unknown = (int32_t)json_integer_value(id);
    return t->model->read(t, model);
}
