/* Every member that changes what a text becomes is either followed or refused; truncation, padding
 * and the templates of special tokens belong to batches, and are not looked at. */
#include "dataloader/tokenizer/tokenizer_json.h"

#include <inttypes.h>
#include <string.h>

#include "dataloader/tokenizer/tokenizer_rules.h"

static const char *type_of(const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    return type != NULL ? type : "";
}

static bool is_on(const json_t *object, const char *name, bool otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* Null, missing or "". */
static bool is_empty(const json_t *value)
{
    return value == NULL || json_is_null(value) ||
           (json_is_string(value) && *json_string_value(value) == '\0');
}

/* ---- the model ---- */

static cse_status check_model(const json_t *model)
{
    const json_t *dropout = json_object_get(model, "dropout");
    if (!json_is_object(model) || (*type_of(model) != '\0' && strcmp(type_of(model), "BPE") != 0))
        return cse_fail(CSE_DATA, "model.type is \"%.60s\": accepted is BPE", type_of(model));
    if (is_on(model, "byte_fallback", false))
        return cse_fail(CSE_DATA,
                        "model.byte_fallback is on: accepted are byte-level vocabularies");
    if (!is_empty(json_object_get(model, "continuing_subword_prefix")) ||
        !is_empty(json_object_get(model, "end_of_word_suffix")))
        return cse_fail(CSE_DATA, "model.continuing_subword_prefix or end_of_word_suffix is set: "
                                  "accepted are byte-level vocabularies without them");
    if (json_is_number(dropout) && json_number_value(dropout) != 0)
        return cse_fail(CSE_DATA, "model.dropout is set: accepted is null");
    return CSE_OK;
}

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

static cse_status take_model(cse_tokenizer *t, const json_t *model)
{
    const json_t *vocab = json_object_get(model, "vocab");
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    CSE_TRY(check_model(model));
    CSE_TRY(cse_tokenizer_take_vocabulary(t, vocab));
    CSE_TRY(take_merges(t, vocab, json_object_get(model, "merges")));
    t->whole_words = is_on(model, "ignore_merges", false);
    t->fuses_unknown = is_on(model, "fuse_unk", false);
    t->unknown = -1;
    if (unknown == NULL)
        return CSE_OK;
    const json_t *id = json_object_get(vocab, unknown);
    if (id == NULL)
        return cse_fail(CSE_DATA, "model.unk_token \"%.60s\" is not in the vocabulary", unknown);
    t->unknown = (int32_t)json_integer_value(id);
    return CSE_OK;
}

/* ---- added tokens ---- */

static cse_status take_added_token(cse_tokenizer *t, const json_t *vocab, const json_t *entry)
{
    const char *content = json_string_value(json_object_get(entry, "content"));
    const json_t *id = json_object_get(entry, "id"), *known;
    if (content == NULL || *content == '\0' || !json_is_integer(id))
        return cse_fail(CSE_DATA, "an entry of added_tokens has no content or no id");
    if (is_on(entry, "single_word", false))
        return cse_fail(CSE_DATA, "added token \"%.60s\" has single_word: accepted is false",
                        content);
    known = json_object_get(vocab, content);
    if (known != NULL && json_integer_value(known) != json_integer_value(id))
        return cse_fail(CSE_DATA,
                        "added token \"%.60s\" has the id %" JSON_INTEGER_FORMAT
                        ", and %" JSON_INTEGER_FORMAT " in the vocabulary",
                        content, json_integer_value(id), json_integer_value(known));
    if (known == NULL)
        CSE_TRY(cse_vocabulary_put(&t->vocabulary, json_integer_value(id), content, true));
    cse_vocabulary_token *token = &t->vocabulary.tokens[json_integer_value(id)];
    const cse_added_token added = { .content = cse_arena_string(t->vocabulary.arena, content),
                                    .size = (uint32_t)strlen(content),
                                    .id = (int32_t)json_integer_value(id),
                                    .takes_left = is_on(entry, "lstrip", false),
                                    .takes_right = is_on(entry, "rstrip", false) };
    /* It stands for its own text when it is written, whatever bytes its characters stand for. */
    token->bytes = added.content;
    token->size = added.size;
    cse_added_tokens_put(is_on(entry, "normalized", true) ? &t->between : &t->before, &added);
    return CSE_OK;
}

static cse_status take_added_tokens(cse_tokenizer *t, const json_t *vocab, const json_t *list)
{
    size_t i;
    const json_t *entry;
    if (json_array_size(list) > CSE_ADDED_TOKENS_MOST)
        return cse_fail(CSE_DATA, "there are %zu added_tokens, accepted are at most %d",
                        json_array_size(list), CSE_ADDED_TOKENS_MOST);
    json_array_foreach(list, i, entry)
    {
        CSE_TRY(take_added_token(t, vocab, entry));
    }
    return CSE_OK;
}

/* ---- the pre-tokenizer ---- */

static cse_status add_stage(cse_tokenizer *t, const cse_split_stage *stage)
{
    if (t->stage_count == CSE_SPLIT_STAGES) {
        cse_split_pattern *split = stage->split;
        cse_split_pattern_destroy(&split);
        return cse_fail(CSE_DATA, "the pre-tokenizer has more than %d stages", CSE_SPLIT_STAGES);
    }
    t->stages[t->stage_count++] = *stage;
    return CSE_OK;
}

static cse_status take_split(cse_tokenizer *t, const json_t *entry)
{
    const char *behavior = json_string_value(json_object_get(entry, "behavior"));
    const json_t *pattern = json_object_get(entry, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char *literal = json_string_value(json_object_get(pattern, "String"));
    const bool inverted = is_on(entry, "invert", false);
    cse_split_stage stage = { 0 };
    if (behavior == NULL || (regex == NULL && literal == NULL))
        return cse_fail(CSE_DATA, "a Split has no behavior, or a pattern that is neither Regex nor "
                                  "String");
    stage.drops_rest = strcmp(behavior, "Removed") == 0 && inverted;
    if (strcmp(behavior, "Isolated") != 0 && !stage.drops_rest)
        return cse_fail(CSE_DATA,
                        "a Split has behavior %.60s%s: accepted are Isolated, and Removed with "
                        "invert",
                        behavior, inverted ? " with invert" : "");
    CSE_TRY(cse_split_pattern_new(regex != NULL ? regex : literal, regex == NULL, &stage.split));
    return add_stage(t, &stage);
}

static cse_status take_byte_level(cse_tokenizer *t, const json_t *entry)
{
    cse_split_stage stage = { .adds_space = is_on(entry, "add_prefix_space", true) };
    if (is_on(entry, "use_regex", true))
        CSE_TRY(cse_split_pattern_new(cse_gpt2_split, false, &stage.split));
    t->cuts_at_lines = stage.split != NULL && t->stage_count == 0 && !stage.adds_space;
    return stage.split == NULL && !stage.adds_space ? CSE_OK : add_stage(t, &stage);
}

/* Digits counts by Unicode 17, which has two more ranges of them than the patterns' \p{N}. */
#define DIGIT "[\\p{N}\\x{11de0}-\\x{11de9}\\x{16ff4}-\\x{16ff6}]"
static const char digit[] = DIGIT, digits[] = DIGIT "+";

static cse_status take_pre_tokenizer(cse_tokenizer *t, const json_t *entry, bool is_last)
{
    const char *type = type_of(entry);
    cse_split_stage stage = { 0 };
    if ((strcmp(type, "ByteLevel") == 0) != is_last)
        return cse_fail(CSE_DATA, "the pre-tokenizer %s %.60s: accepted is ByteLevel as the last",
                        is_last ? "ends with" : "has before its end",
                        *type != '\0' ? type : "none");
    if (is_last)
        return take_byte_level(t, entry);
    if (strcmp(type, "Split") == 0)
        return take_split(t, entry);
    if (strcmp(type, "Digits") != 0)
        return cse_fail(CSE_DATA,
                        "the pre-tokenizer has %.60s: accepted are Split, Digits and ByteLevel",
                        *type != '\0' ? type : "an entry without a type");
    CSE_TRY(cse_split_pattern_new(is_on(entry, "individual_digits", false) ? digit : digits, false,
                                  &stage.split));
    return add_stage(t, &stage);
}

static cse_status take_pre_tokenizers(cse_tokenizer *t, const json_t *entry)
{
    const json_t *list = json_object_get(entry, "pretokenizers");
    if (strcmp(type_of(entry), "Sequence") != 0)
        return take_pre_tokenizer(t, entry, true);
    const size_t count = json_array_size(list);
    if (count == 0)
        return cse_fail(CSE_DATA, "the pre-tokenizer is an empty Sequence");
    for (size_t i = 0; i < count; i++)
        CSE_TRY(take_pre_tokenizer(t, json_array_get(list, i), i + 1 == count));
    return CSE_OK;
}

static cse_status take(cse_tokenizer *t, const json_t *root)
{
    const json_t *model = json_object_get(root, "model");
    const json_t *normalizer = json_object_get(root, "normalizer");
    const json_t *decoder = json_object_get(root, "decoder");
    if (!json_is_object(model))
        return cse_fail(CSE_DATA, "it has no model: is it a tokenizer.json?");
    if (json_is_object(normalizer))
        return cse_fail(CSE_DATA, "normalizer is %.60s: accepted is null", type_of(normalizer));
    if (json_is_object(decoder) && strcmp(type_of(decoder), "ByteLevel") != 0)
        return cse_fail(CSE_DATA, "decoder is %.60s: accepted is ByteLevel", type_of(decoder));
    CSE_TRY(take_model(t, model));
    CSE_TRY(take_added_tokens(t, json_object_get(model, "vocab"),
                              json_object_get(root, "added_tokens")));
    return take_pre_tokenizers(t, json_object_get(root, "pre_tokenizer"));
}

cse_status cse_tokenizer_json_read(const char *text, size_t size, cse_tokenizer *tokenizer)
{
    json_t *root = NULL;
    CSE_TRY(cse_tokenizer_parse(text, size, "tokenizer.json", &root));
    cse_status status = take(tokenizer, root);
    json_decref(root);
    if (status == CSE_OK)
        cse_tokenizer_finish(tokenizer);
    return status;
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
    CSE_TRY(cse_tokenizer_take_vocabulary(t, vocab));
    CSE_TRY(take_merge_lines(t, vocab, merges, size));
    t->unknown = -1;
    if (end != NULL)
        cse_added_tokens_put(&t->before,
                             &(cse_added_token){ .content = end_of_text,
                                                 .size = sizeof end_of_text - 1,
                                                 .id = (int32_t)json_integer_value(end) });
    t->cuts_at_lines = true;
    cse_split_stage stage = { 0 };
    CSE_TRY(cse_split_pattern_new(cse_gpt2_split, false, &stage.split));
    return add_stage(t, &stage);
}

cse_status cse_tokenizer_pair_read(const char *vocab, size_t vocab_size, const char *merges,
                                   size_t merges_size, cse_tokenizer *tokenizer)
{
    json_t *root = NULL;
    CSE_TRY(cse_tokenizer_parse(vocab, vocab_size, "vocab.json", &root));
    cse_status status = take_pair(tokenizer, root, merges, merges_size);
    json_decref(root);
    if (status == CSE_OK)
        cse_tokenizer_finish(tokenizer);
    return status;
}
