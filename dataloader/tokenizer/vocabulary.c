/* An array by number and a hash table of the words. */
#include "dataloader/tokenizer/vocabulary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/text/byte_characters.h"
#include "dataloader/tokenizer/word_hash.h"

void cse_vocabulary_clear(cse_vocabulary *vocabulary)
{
    if (vocabulary->arena != NULL)
        cse_arena_destroy(&vocabulary->arena);
    free(vocabulary->tokens);
    free(vocabulary->index);
    *vocabulary = (cse_vocabulary){ 0 };
}

static void make_room(cse_vocabulary *vocabulary, int64_t id)
{
    while (id >= vocabulary->capacity) {
        const int64_t grown = vocabulary->capacity == 0 ? 1024 : vocabulary->capacity * 2;
        vocabulary->tokens =
            cse_realloc(vocabulary->tokens, (size_t)grown * sizeof *vocabulary->tokens);
        memset(vocabulary->tokens + vocabulary->capacity, 0,
               (size_t)(grown - vocabulary->capacity) * sizeof *vocabulary->tokens);
        vocabulary->capacity = grown;
    }
    if (id >= vocabulary->size)
        vocabulary->size = id + 1;
}

/* The bytes that the characters stand for; false where one does not. */
static bool read_bytes(const cse_vocabulary *vocabulary, const char *text, const char **bytes,
                       uint32_t *size)
{
    char *read = cse_arena_alloc(vocabulary->arena, strlen(text) + 1);
    const long count = cse_byte_characters_read(text, strlen(text), read);
    if (count < 0)
        return false;
    *bytes = read;
    *size = (uint32_t)count;
    return true;
}

cse_status cse_vocabulary_put(cse_vocabulary *vocabulary, int64_t id, const char *text,
                              cse_token_kind kind)
{
    const size_t size = strlen(text);
    if (id < 0 || id >= CSE_VOCABULARY_MOST)
        return cse_fail(CSE_DATA,
                        "token \"%.60s\" has the number %" PRId64 ", accepted are 0 to %d", text,
                        id, CSE_VOCABULARY_MOST - 1);
    if (size > CSE_TOKEN_MOST_BYTES)
        return cse_fail(CSE_DATA, "token %" PRId64 " has %zu bytes, accepted are at most %d", id,
                        size, CSE_TOKEN_MOST_BYTES);
    if (vocabulary->arena == NULL)
        vocabulary->arena = cse_arena_new();
    make_room(vocabulary, id);
    const char *bytes = text;
    uint32_t used = (uint32_t)size;
    bool is_word = kind == CSE_TOKEN_OF_CHARACTERS;
    if (kind == CSE_TOKEN_OF_BYTES)
        is_word = read_bytes(vocabulary, text, &bytes, &used);
    if (bytes == text)
        bytes = cse_arena_string(vocabulary->arena, text);
    cse_vocabulary_token *token = &vocabulary->tokens[id];
    if (token->bytes != NULL && (token->size != used || memcmp(token->bytes, bytes, used) != 0))
        return cse_fail(CSE_DATA, "the number %" PRId64 " stands for \"%.60s\" and \"%.60s\"", id,
                        token->bytes, text);
    is_word |= token->is_word;
    *token = (cse_vocabulary_token){ .bytes = bytes,
                                     .size = used,
                                     .is_word = is_word,
                                     .is_bytes = kind == CSE_TOKEN_OF_BYTES && is_word,
                                     .shown = bytes,
                                     .shown_size = used };
    return CSE_OK;
}

void cse_vocabulary_show(cse_vocabulary *vocabulary, int64_t id, const char *text,
                         bool stands_for_bytes)
{
    cse_vocabulary_token *token = &vocabulary->tokens[id];
    token->shown_size = (uint32_t)strlen(text);
    if (!stands_for_bytes || !read_bytes(vocabulary, text, &token->shown, &token->shown_size))
        token->shown = cse_arena_string(vocabulary->arena, text);
}

void cse_vocabulary_index(cse_vocabulary *vocabulary)
{
    size_t slots = 16;
    while (slots < (size_t)vocabulary->size * 2 + 2)
        slots *= 2;
    free(vocabulary->index);
    vocabulary->slots = slots;
    vocabulary->index = cse_malloc(slots * sizeof *vocabulary->index);
    memset(vocabulary->index, 0xff, slots * sizeof *vocabulary->index);
    for (int64_t id = 0; id < vocabulary->size; id++) {
        const cse_vocabulary_token *token = &vocabulary->tokens[id];
        if (!token->is_word)
            continue;
        size_t slot = (size_t)cse_word_hash(token->bytes, token->size) & (slots - 1);
        while (vocabulary->index[slot] >= 0)
            slot = (slot + 1) & (slots - 1);
        vocabulary->index[slot] = (int32_t)id;
    }
}

int32_t cse_vocabulary_find(const cse_vocabulary *vocabulary, const char *bytes, size_t size)
{
    size_t slot = (size_t)cse_word_hash(bytes, size) & (vocabulary->slots - 1);
    for (int32_t id; (id = vocabulary->index[slot]) >= 0;
         slot = (slot + 1) & (vocabulary->slots - 1)) {
        const cse_vocabulary_token *token = &vocabulary->tokens[id];
        if (token->size == size && memcmp(token->bytes, bytes, size) == 0)
            return id;
    }
    return -1;
}

int32_t cse_vocabulary_find_any(const cse_vocabulary *vocabulary, const char *bytes, size_t size)
{
    for (int64_t id = 0; id < vocabulary->size; id++) {
        const cse_vocabulary_token *token = &vocabulary->tokens[id];
        if (token->bytes != NULL && token->size == size && memcmp(token->bytes, bytes, size) == 0)
            return (int32_t)id;
    }
    return -1;
}
