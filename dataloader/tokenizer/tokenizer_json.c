/* Every member that changes what a text becomes is either followed or refused; truncation and
 * padding belong to batches, and are not looked at. */
#include "dataloader/tokenizer/tokenizer_json.h"

#include <inttypes.h>
#include <string.h>

#include "dataloader/tokenizer/text/json_members.h"
#include "dataloader/tokenizer/tokenizer_rules.h"
#include "dataloader/tokenizer/word_models.h"

/* ---- added tokens ---- */

/* As it is found in a text, and as it is decoded. */
static cse_status normalize_token(cse_tokenizer *t, cse_added_token *added)
{
    cse_normalized work = { 0 };
    cse_split_matcher *matcher = cse_split_matcher_new();
    cse_text_view view = { .text = added->content, .size = added->size };
    cse_status status = cse_normalize(&t->normalizers, matcher, &work, &view);
    if (status == CSE_OK) {
        added->content = cse_arena_printf(t->vocabulary.arena, "%.*s", (int)view.size, view.text);
        added->size = (uint32_t)view.size;
    }
    cse_split_matcher_destroy(&matcher);
    cse_normalized_clear(&work);
    return status;
}

/* The number that the model has for the text; -1: none. A list is indexed already. */
static int64_t number_in_model(const cse_tokenizer *t, const json_t *vocab, const char *content)
{
    const json_t *known = json_object_get(vocab, content);
    if (json_is_array(vocab))
        return cse_vocabulary_find(&t->vocabulary, content, strlen(content));
    return known != NULL ? json_integer_value(known) : -1;
}

/* `*next`: the number of the next token that the model does not have. */
static cse_status take_added_token(cse_tokenizer *t, const json_t *vocab, const json_t *entry,
                                   int64_t *next)
{
    CSE_TRY(cse_json_expect(entry, "an entry of added_tokens",
                            "id:i! content:s! single_word:b lstrip:b rstrip:b normalized:b "
                            "special:b"));
    const char *content = cse_json_text(entry, "content");
    if (*content == '\0')
        return cse_fail(CSE_DATA, "an entry of added_tokens has no content");
    const int64_t number = json_integer_value(json_object_get(entry, "id"));
    const int64_t known = number_in_model(t, vocab, content);
    const int64_t expected = known >= 0 ? known : (*next)++;
    if (number != expected)
        return cse_fail(CSE_DATA,
                        "added token \"%.60s\" has the id %" PRId64 ": accepted is %" PRId64 ", %s",
                        content, number, expected,
                        known >= 0 ? "which it has in the vocabulary"
                                   : "the next after the "
                                     "vocabulary");
    if (known < 0)
        CSE_TRY(cse_vocabulary_put(&t->vocabulary, number, content, CSE_TOKEN_ADDED));
    cse_added_token added = { .name = cse_arena_string(t->vocabulary.arena, content),
                              .size = (uint32_t)strlen(content),
                              .id = (int32_t)number,
                              .takes_left = cse_json_is_on(entry, "lstrip", false),
                              .takes_right = cse_json_is_on(entry, "rstrip", false),
                              .is_word = cse_json_is_on(entry, "single_word", false) };
    const bool is_normalized =
        cse_json_is_on(entry, "normalized", !cse_json_is_on(entry, "special", false));
    added.content = added.name;
    if (is_normalized)
        CSE_TRY(normalize_token(t, &added));
    cse_vocabulary_show(&t->vocabulary, number, added.content, t->decoders.takes_bytes);
    cse_added_tokens_put(is_normalized ? &t->between : &t->before, &added);
    return CSE_OK;
}

static cse_status take_added_tokens(cse_tokenizer *t, const json_t *vocab, const json_t *list)
{
    size_t i;
    const json_t *entry;
    int64_t next =
        (int64_t)(json_is_array(vocab) ? json_array_size(vocab) : json_object_size(vocab));
    if (json_array_size(list) > CSE_ADDED_TOKENS_MOST)
        return cse_fail(CSE_DATA, "there are %zu added_tokens, accepted are at most %d",
                        json_array_size(list), CSE_ADDED_TOKENS_MOST);
    json_array_foreach(list, i, entry)
    {
        CSE_TRY(take_added_token(t, vocab, entry, &next));
    }
    return CSE_OK;
}

/* Fallback tokens are of the bytes of the characters that stand for bytes. */
static bool takes_bytes(const json_t *model)
{
    return cse_word_model_of(model) == &cse_bpe_model &&
           !cse_json_is_on(model, "byte_fallback", false);
}

static cse_status take(cse_tokenizer *t, const json_t *root)
{
    const json_t *model = json_object_get(root, "model");
    if (!json_is_object(model))
        return cse_fail(CSE_DATA, "it has no model: is it a tokenizer.json?");
    CSE_TRY(cse_json_expect(root, "the file",
                            "version:s truncation:o? padding:o? added_tokens:l? normalizer:o? "
                            "pre_tokenizer:o? post_processor:o? decoder:o? model:o!"));
    CSE_TRY(cse_normalizers_read(&t->normalizers, json_object_get(root, "normalizer")));
    CSE_TRY(cse_pre_tokenizers_read(&t->pre_tokenizers, json_object_get(root, "pre_tokenizer"),
                                    takes_bytes(model)));
    CSE_TRY(cse_decoders_read(&t->decoders, json_object_get(root, "decoder")));
    CSE_TRY(cse_word_model_read(t, model));
    CSE_TRY(cse_post_processor_read(&t->post_processor, json_object_get(root, "post_processor")));
    if (t->normalizers.count > 0)
        t->pre_tokenizers.cuts_at_lines = false;
    return take_added_tokens(t, json_object_get(model, "vocab"),
                             json_object_get(root, "added_tokens"));
}

cse_status cse_tokenizer_json_read(const char *text, size_t size, cse_tokenizer *tokenizer)
{
    json_t *root = NULL;
    CSE_TRY(cse_tokenizer_parse(text, size, "tokenizer.json", &root));
    cse_status status = take(tokenizer, root);
    json_decref(root);
    return status == CSE_OK ? cse_tokenizer_finish(tokenizer) : status;
}

/* ---- GPT-2's two files ---- */

static cse_status take_merge_lines(cse_tokenizer *t, const json_t *vocab, const char *text,
                                   size_t size)
{
    size_t lines = 0, rank = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    cse_merges_make(&t->merges, lines + 1);
    for (size_t begin = 0, end; begin < size; begin = end + 1) {
        const char *stop = memchr(text + begin, '\n', size - begin);
        end = stop == NULL ? size : (size_t)(stop - text);
        size_t length = end - begin;
        length -= length > 0 && text[begin + length - 1] == '\r';
        if (length == 0 || (begin == 0 && text[0] == '#'))
            continue;
        cse_text line = { 0 };
        cse_text_add_bytes(&line, text + begin, length);
        cse_status status = cse_tokenizer_take_merge_text(t, vocab, rank++, line.data);
        cse_text_clear(&line);
        CSE_TRY(status);
    }
    return CSE_OK;
}

static cse_status take_pair(cse_tokenizer *t, const json_t *vocab, const char *merges, size_t size)
{
    static const char end_of_text[] = "<|endoftext|>";
    const json_t *end = json_object_get(vocab, end_of_text);
    CSE_TRY(cse_pre_tokenizers_of_gpt2(&t->pre_tokenizers));
    t->model = &cse_bpe_model;
    t->decoders.takes_bytes = true;
    CSE_TRY(cse_tokenizer_take_vocabulary(t, vocab));
    CSE_TRY(take_merge_lines(t, vocab, merges, size));
    t->unknown = -1;
    if (end != NULL)
        cse_added_tokens_put(&t->before,
                             &(cse_added_token){ .name = end_of_text,
                                                 .content = end_of_text,
                                                 .size = sizeof end_of_text - 1,
                                                 .id = (int32_t)json_integer_value(end) });
    return CSE_OK;
}

cse_status cse_tokenizer_pair_read(const char *vocab, size_t vocab_size, const char *merges,
                                   size_t merges_size, cse_tokenizer *tokenizer)
{
    json_t *root = NULL;
    CSE_TRY(cse_tokenizer_parse(vocab, vocab_size, "vocab.json", &root));
    cse_status status = take_pair(tokenizer, root, merges, merges_size);
    json_decref(root);
    return status == CSE_OK ? cse_tokenizer_finish(tokenizer) : status;
}
