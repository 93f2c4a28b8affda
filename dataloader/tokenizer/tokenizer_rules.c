/* Texts of a file become numbers here, once; what encodes knows numbers and bytes alone. */
#include "dataloader/tokenizer/tokenizer_rules.h"

#include <string.h>

#include "dataloader/tokenizer/text/sentence_text.h"
#include "engine/base/nesting.h"

enum { MOST_LEVELS = 16 };

cse_status cse_tokenizer_parse(const char *text, size_t size, const char *what, json_t **json)
{
    json_error_t error;
    cse_nesting where;
    *json = NULL;
    if (!cse_nesting_json(text, size, MOST_LEVELS, &where))
        return cse_fail(CSE_DATA, "%s: line %d, column %d: more than %d brackets are open", what,
                        where.line, where.column, MOST_LEVELS);
    *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (*json == NULL)
        return cse_fail(CSE_DATA, "%s: line %d, column %d: no JSON: %s", what, error.line,
                        error.column, error.text);
    if (json_is_object(*json))
        return CSE_OK;
    json_decref(*json);
    *json = NULL;
    return cse_fail(CSE_DATA, "%s: it is no JSON object", what);
}

cse_status cse_tokenizer_take_vocabulary(cse_tokenizer *tokenizer, const json_t *vocab)
{
    const char *token;
    json_t *id;
    const cse_token_kind kind =
        tokenizer->pre_tokenizers.is_byte_level ? CSE_TOKEN_OF_BYTES : CSE_TOKEN_OF_CHARACTERS;
    if (!json_is_object(vocab) || json_object_size(vocab) == 0)
        return cse_fail(CSE_DATA, "the vocabulary is no object of tokens and their numbers");
    json_object_foreach((json_t *)(uintptr_t)vocab, token, id)
    {
        if (!json_is_integer(id))
            return cse_fail(CSE_DATA, "the vocabulary has \"%.60s\" without a number", token);
        CSE_TRY(cse_vocabulary_put(&tokenizer->vocabulary, json_integer_value(id), token, kind));
        if (tokenizer->decoders.takes_bytes != tokenizer->pre_tokenizers.is_byte_level)
            cse_vocabulary_show(&tokenizer->vocabulary, json_integer_value(id), token,
                                tokenizer->decoders.takes_bytes);
    }
    return CSE_OK;
}

static cse_status find(const json_t *vocab, const char *token, size_t rank, int32_t *id)
{
    const json_t *found = json_object_get(vocab, token);
    if (found == NULL)
        return cse_fail(CSE_DATA, "merge %zu: \"%.60s\" is not in the vocabulary", rank, token);
    *id = (int32_t)json_integer_value(found);
    return CSE_OK;
}

cse_status cse_tokenizer_take_merge(cse_tokenizer *tokenizer, const json_t *vocab, size_t rank,
                                    const char *const pair[2])
{
    int32_t left = 0, right = 0, merged = 0;
    CSE_TRY(find(vocab, pair[0], rank, &left));
    CSE_TRY(find(vocab, pair[1], rank, &right));
    cse_text both = { 0 };
    const size_t skipped = tokenizer->prefix != NULL ? strlen(tokenizer->prefix) : 0;
    if (strlen(pair[1]) < skipped)
        return cse_fail(CSE_DATA, "merge %zu: \"%.60s\" is shorter than continuing_subword_prefix",
                        rank, pair[1]);
    cse_text_add(&both, "%s%s", pair[0], pair[1] + skipped);
    cse_status status = find(vocab, both.data, rank, &merged);
    cse_text_clear(&both);
    if (status == CSE_OK)
        cse_merges_put(&tokenizer->merges, left, right, (uint64_t)rank << 32 | (uint32_t)merged);
    return status;
}

cse_status cse_tokenizer_take_merge_text(cse_tokenizer *tokenizer, const json_t *vocab, size_t rank,
                                         const char *text)
{
    const char *space = strchr(text, ' ');
    if (space == NULL || strchr(space + 1, ' ') != NULL || space == text || space[1] == '\0')
        return cse_fail(CSE_DATA, "merge %zu: \"%.60s\" is not two tokens with one space between",
                        rank, text);
    cse_text left = { 0 };
    cse_text_add_bytes(&left, text, (size_t)(space - text));
    cse_status status =
        cse_tokenizer_take_merge(tokenizer, vocab, rank, (const char *[]){ left.data, space + 1 });
    cse_text_clear(&left);
    return status;
}

/* Whether no token goes on behind another character with what stands for a space: then no merge
 * joins two words, and each can be looked up by itself. */
static bool begins_words_alone(const cse_vocabulary *vocabulary)
{
    static const char space[] = CSE_SENTENCE_SPACE;
    const size_t length = sizeof space - 1;
    for (int64_t id = 0; id < vocabulary->size; id++) {
        const cse_vocabulary_token *token = &vocabulary->tokens[id];
        size_t begin = 0;
        while (begin + length <= token->size && memcmp(token->bytes + begin, space, length) == 0)
            begin += length;
        if (token->is_word && begin < token->size &&
            memmem(token->bytes + begin, token->size - begin, space, length) != NULL)
            return false;
    }
    return cse_vocabulary_find(vocabulary, space, length) >= 0;
}

static void cut_words(cse_tokenizer *t)
{
    if (t->merges.slots > 0 && !t->pre_tokenizers.is_byte_level && !t->whole_words &&
        t->prefix == NULL && t->suffix == NULL && begins_words_alone(&t->vocabulary))
        cse_pre_tokenizers_cut_before(&t->pre_tokenizers, CSE_SENTENCE_SPACE);
}

cse_status cse_tokenizer_finish(cse_tokenizer *tokenizer)
{
    cse_vocabulary_index(&tokenizer->vocabulary);
    for (int byte = 0; byte < 256; byte++) {
        const char one = (char)byte;
        tokenizer->token_of_byte[byte] = cse_vocabulary_find(&tokenizer->vocabulary, &one, 1);
    }
    cut_words(tokenizer);
    if (tokenizer->post_processor.one.count == 0)
        CSE_TRY(cse_post_processor_read(&tokenizer->post_processor, NULL));
    CSE_TRY(cse_added_tokens_sort(&tokenizer->before));
    return cse_added_tokens_sort(&tokenizer->between);
}
