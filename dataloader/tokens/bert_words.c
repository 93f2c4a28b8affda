/* Where the words are, and whether they are in lower case. */
#include "dataloader/tokens/bert_words.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dataloader/files/file_list.h"
#include "dataloader/formats/json_file.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"

enum { MOST_BYTES = 1 << 27 };

/* The words by their numbers, which are all from 0 on. */
static cse_status take_words(cse_sentence_tokens *tokens, const char *path,
                             const json_t *vocabulary)
{
    const char *word;
    const json_t *number;
    const int count = (int)json_object_size(vocabulary);
    const char **words = cse_calloc((size_t)count + 1, sizeof *words);
    cse_status status = CSE_OK;
    json_object_foreach((json_t *)(uintptr_t)vocabulary, word, number)
    {
        const json_int_t n = json_integer_value(number);
        if (!json_is_integer(number) || n < 0 || n >= count || words[n] != NULL) {
            status = cse_fail(CSE_DATA, "%s: the numbers of its words are not 0 to %d, each once",
                              path, count - 1);
            break;
        }
        words[n] = word;
    }
    if (status == CSE_OK)
        status = cse_word_file_take(&tokens->words, path, words, count);
    free(words);
    return status;
}

static cse_status take_tokenizer(cse_sentence_tokens *tokens, const char *path,
                                 const json_t *object, int lowers)
{
    const json_t *model = json_object_get(object, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    const json_t *vocabulary = json_object_get(model, "vocab");
    const json_t *lowercase = json_object_get(json_object_get(object, "normalizer"), "lowercase");
    cse_status status = CSE_OK;
    tokens->lowers = lowers >= 0 ? lowers == 1 : !json_is_false(lowercase);
    if (type == NULL || strcmp(type, "WordPiece") != 0 || !json_is_object(vocabulary) ||
        json_object_size(vocabulary) == 0 || json_object_size(vocabulary) > INT_MAX / 2)
        status = cse_fail(CSE_DATA,
                          "%s: its model is no WordPiece with a vocabulary, as BERT has it: lower "
                          "is not accepted with it",
                          path);
    else
        status = take_words(tokens, path, vocabulary);
    return status;
}

/* Where its own template and model are to be followed. */
static bool is_whole_tokenizer(const json_t *object)
{
    const json_t *post = json_object_get(object, "post_processor");
    const char *type = json_string_value(json_object_get(json_object_get(object, "model"), "type"));
    return json_is_object(post) || type == NULL || strcmp(type, "WordPiece") != 0;
}

/* The text of pad_token in the folder's tokenizer_config.json. */
static char *pad_token_of(const char *path)
{
    char facts[PATH_MAX];
    const char *slash = strrchr(path, '/');
    json_t *object = NULL;
    if (snprintf(facts, sizeof facts, "%.*stokenizer_config.json",
                 slash != NULL ? (int)(slash + 1 - path) : 0, path) >= (int)sizeof facts ||
        cse_json_file_read(facts, MOST_BYTES, &object) != CSE_OK)
        return NULL;
    const json_t *pad = json_object_get(object, "pad_token");
    const char *content =
        json_string_value(json_is_object(pad) ? json_object_get(pad, "content") : pad);
    char *text = content != NULL ? cse_strdup(content) : NULL;
    json_decref(object);
    return text;
}

/* What fills a sample up: masked, it is seen by no other token, but positions may be counted by
 * it. */
static int32_t padding_of(const cse_tokenizer *tokenizer, const json_t *object, const char *path)
{
    const json_t *number = json_object_get(json_object_get(object, "padding"), "pad_id");
    static const char *const names[] = { "[PAD]", "<pad>" };
    char *name = pad_token_of(path);
    int32_t id = name != NULL ? cse_tokenizer_find(tokenizer, name) : -1;
    free(name);
    if (id < 0 && json_is_integer(number) && json_integer_value(number) >= 0 &&
        json_integer_value(number) < cse_tokenizer_vocab_size(tokenizer))
        id = (int32_t)json_integer_value(number);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && id < 0; i++)
        id = cse_tokenizer_find(tokenizer, names[i]);
    return id >= 0 ? id : 0;
}

static cse_status read_tokenizer(cse_sentence_tokens *tokens, const char *path, int lowers)
{
    json_t *object = NULL;
    cse_status status;
    CSE_TRY(cse_json_file_read(path, MOST_BYTES, &object));
    const bool is_whole = lowers < 0 && is_whole_tokenizer(object);
    if (is_whole)
        status = cse_tokenizer_load(path, &tokens->tokenizer);
    else
        status = take_tokenizer(tokens, path, object, lowers);
    if (is_whole && status == CSE_OK)
        tokens->padding = padding_of(tokens->tokenizer, object, path);
    json_decref(object);
    return status;
}

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static cse_status read_folder(cse_sentence_tokens *tokens, const char *folder, int lowers)
{
    char list[PATH_MAX], tokenizer[PATH_MAX], facts[PATH_MAX];
    json_t *object = NULL;
    if (snprintf(list, sizeof list, "%s/vocab.txt", folder) >= (int)sizeof list ||
        snprintf(tokenizer, sizeof tokenizer, "%s/tokenizer.json", folder) >=
            (int)sizeof tokenizer ||
        snprintf(facts, sizeof facts, "%s/tokenizer_config.json", folder) >= (int)sizeof facts)
        return cse_fail(CSE_NO_INPUT, "%s: the name is too long", folder);
    if (is_there(tokenizer) && (lowers < 0 || !is_there(list)))
        return read_tokenizer(tokens, tokenizer, lowers);
    if (!is_there(list))
        return cse_fail(CSE_NO_INPUT, "%s: it has neither vocab.txt nor tokenizer.json", folder);
    if (lowers < 0 && is_there(facts))
        CSE_TRY(cse_json_file_read(facts, MOST_BYTES, &object));
    tokens->lowers =
        lowers >= 0 ? lowers == 1 : !json_is_false(json_object_get(object, "do_lower_case"));
    json_decref(object);
    return cse_word_file_read(&tokens->words, list, false);
}

cse_status cse_bert_words_read(cse_sentence_tokens *tokens, const char *path, int lowers)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return read_folder(tokens, path, lowers);
    if (cse_name_ends(path, ".json"))
        return read_tokenizer(tokens, path, lowers);
    tokens->lowers = lowers != 0;
    return cse_word_file_read(&tokens->words, path, false);
}

cse_status cse_bert_words_open(cse_sentence_tokens *tokens, const cse_settings *settings)
{
    const char *path = cse_settings_text(settings, "vocabulary");
    CSE_TRY(cse_bert_words_read(
        tokens, path,
        cse_settings_has(settings, "lower") ? cse_settings_bool(settings, "lower") : -1));
    tokens->keeps_accents = !tokens->lowers; /* as a vocabulary with capitals has them */
    return cse_sentence_tokens_begin(tokens, path);
}
