/* GGUF's facts to a tokenizer.json. Three kinds of tokenizers are known: "gpt2", byte pair encoding
 * over bytes that are written as characters; "llama", of SentencePiece, as byte pair encoding over
 * characters in which what no token has becomes tokens of bytes; and "bert", WordPiece. */
#include "engine/formats/weights/tokenizer/tokenizer_files.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/formats/weights/tokenizer/fact_names.h"
#include "engine/formats/weights/tokenizer/merges_of_scores.h"
#include "engine/formats/weights/tokenizer/pre_tokenizers.h"

typedef struct making {
    const char *path;
    const json_t *facts;
    const json_t *tokens, *types;
    json_t *names;               /* of tokens in tokenizer.json, in the order of their numbers */
    json_t *numbers;             /* of those names */
    json_t *root;                /* tokenizer.json */
    bool begins_text, ends_text; /* unless a fact says else */
} making;

void cse_tokenizer_files_clear(cse_tokenizer_files *files)
{
    free(files->json);
    free(files->config);
    *files = (cse_tokenizer_files){ .json = NULL };
}

static json_t *fact(const making *m, const char *name)
{
    return json_object_get(m->facts, name);
}

static bool is_on(const making *m, const char *name, bool otherwise)
{
    const json_t *value = fact(m, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static json_int_t type_of(const making *m, size_t token)
{
    const json_t *type = json_array_get(m->types, token);
    return json_is_integer(type) ? json_integer_value(type) : CSE_TOKEN_NORMAL;
}

/* The name of the token that a fact has the number of; NULL: there is none. */
static const char *token_of(const making *m, const char *name)
{
    const json_t *number = fact(m, name);
    return json_is_integer(number) && json_integer_value(number) >= 0
               ? json_string_value(json_array_get(m->names, (size_t)json_integer_value(number)))
               : NULL;
}

/* ---- tokens ---- */

/* Of BERT: a word begins with a mark in GGUF, and is continued with one in tokenizer.json. */
static json_t *name_of_bert(const making *m, size_t number, const char *token)
{
    const size_t mark = sizeof CSE_TOKEN_BLANK - 1;
    const json_int_t type = type_of(m, number);
    if (type == CSE_TOKEN_CONTROL || type == CSE_TOKEN_UNKNOWN || type == CSE_TOKEN_USER_DEFINED)
        return json_string(token);
    if (strncmp(token, CSE_TOKEN_BLANK, mark) == 0)
        return json_string(token + mark);
    return m->types == NULL && *token == '[' ? json_string(token) : json_sprintf("##%s", token);
}

static cse_status take_tokens(making *m, bool is_bert)
{
    for (size_t i = 0; i < json_array_size(m->tokens); i++) {
        const json_t *token = json_array_get(m->tokens, i);
        const char *text = json_string_value(token);
        if (text == NULL || strlen(text) != json_string_length(token))
            return cse_fail(CSE_DATA, "%s: tokenizer.ggml.tokens: token %zu is no UTF-8 text",
                            m->path, i);
        json_t *name = is_bert ? name_of_bert(m, i, text) : json_string(text);
        json_array_append_new(m->names, name);
        const json_t *known = json_object_get(m->numbers, json_string_value(name));
        if (known != NULL)
            return cse_fail(CSE_DATA,
                            "%s: tokenizer.ggml.tokens: tokens %" JSON_INTEGER_FORMAT
                            " and %zu are both \"%.60s\"",
                            m->path, json_integer_value(known), i, text);
        json_object_set_new(m->numbers, json_string_value(name), json_integer((json_int_t)i));
    }
    return CSE_OK;
}

/* Tokens that are found in a text before it is cut into words. */
static json_t *added_tokens(const making *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(m->names); i++) {
        const json_int_t type = type_of(m, i);
        const char *name = json_string_value(json_array_get(m->names, i));
        if ((type != CSE_TOKEN_CONTROL && type != CSE_TOKEN_USER_DEFINED &&
             type != CSE_TOKEN_UNKNOWN) ||
            *name == '\0')
            continue;
        json_array_append_new(list, json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (int)i,
                                              "content", name, "single_word", 0, "lstrip", 0,
                                              "rstrip", 0, "normalized", 0, "special",
                                              type != CSE_TOKEN_USER_DEFINED));
    }
    return list;
}

/* ---- kinds ---- */

static void set_model(making *m, const char *unknown, json_t *merges, bool falls_back, bool whole)
{
    json_object_set_new(m->root, "model",
                        json_pack("{s:s, s:n, s:s?, s:n, s:n, s:b, s:b, s:b, s:O, s:o}", "type",
                                  "BPE", "dropout", "unk_token", unknown,
                                  "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                                  falls_back, "byte_fallback", falls_back, "ignore_merges", whole,
                                  "vocab", m->numbers, "merges", merges));
}

static json_t *step(const char *text)
{
    return json_loads(text, 0, NULL);
}

static cse_status make_gpt2(making *m)
{
    cse_pre_tokenizer way;
    cse_text names = { 0 };
    json_t *merges = fact(m, CSE_TOKENIZER_FACT("merges")), *pairs = json_array(), *merge;
    const char *pre = json_string_value(fact(m, CSE_TOKENIZER_FACT("pre")));
    size_t i;
    if (!cse_pre_tokenizer_named(pre != NULL ? pre : "default", &way)) {
        cse_pre_tokenizer_names(&names);
        cse_status status = cse_fail(CSE_DATA,
                                     "%s: tokenizer.ggml.pre is \"%.60s\", a way to cut texts into "
                                     "words that is not known; accepted: %s",
                                     m->path, pre, names.data);
        cse_text_clear(&names);
        json_decref(pairs);
        return status;
    }
    json_array_foreach(merges, i, merge)
    {
        const char *text = json_string_value(merge);
        const char *space = text != NULL && *text != '\0' ? strchr(text + 1, ' ') : NULL;
        if (space == NULL) {
            json_decref(pairs);
            json_decref(way.normalizer);
            json_decref(way.pre_tokenizer);
            return cse_fail(CSE_DATA, "%s: tokenizer.ggml.merges: entry %zu is not two tokens",
                            m->path, i);
        }
        json_array_append_new(pairs, json_pack("[s#, s]", text, (int)(space - text), space + 1));
    }
    json_object_set_new(m->root, "normalizer", way.normalizer);
    json_object_set_new(m->root, "pre_tokenizer", way.pre_tokenizer);
    json_object_set_new(m->root, "decoder",
                        step("{\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
                             "\"trim_offsets\": true, \"use_regex\": true}"));
    set_model(m, NULL, pairs, false, way.whole_words);
    m->begins_text = way.begins_text;
    return CSE_OK;
}

/* A text begins with a blank, and blanks become marks. */
static cse_status make_llama(making *m)
{
    const bool prefix = is_on(m, CSE_TOKENIZER_FACT("add_space_prefix"), true);
    const json_t *scores = fact(m, CSE_TOKENIZER_FACT("scores"));
    const char *unknown = token_of(m, CSE_TOKENIZER_FACT("unknown_token_id"));
    json_t *normalizers = json_array(), *decoders = json_array();
    if (json_array_size(scores) != json_array_size(m->tokens)) {
        json_decref(normalizers);
        json_decref(decoders);
        return cse_fail(CSE_DATA,
                        "%s: tokenizer.ggml.scores has %zu entries, but there are %zu tokens",
                        m->path, json_array_size(scores), json_array_size(m->tokens));
    }
    if (unknown == NULL && json_object_get(m->numbers, "<unk>") != NULL)
        unknown = "<unk>";
    if (prefix)
        json_array_append_new(
            normalizers, step("{\"type\": \"Prepend\", \"prepend\": \"" CSE_TOKEN_BLANK "\"}"));
    json_array_append_new(normalizers,
                          step("{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, "
                               "\"content\": \"" CSE_TOKEN_BLANK "\"}"));
    json_array_append_new(
        decoders, step("{\"type\": \"Replace\", \"pattern\": {\"String\": \"" CSE_TOKEN_BLANK
                       "\"}, \"content\": \" \"}"));
    json_array_append_new(decoders, step("{\"type\": \"ByteFallback\"}"));
    json_array_append_new(decoders, step("{\"type\": \"Fuse\"}"));
    if (prefix)
        json_array_append_new(decoders, step("{\"type\": \"Strip\", \"content\": \" \", "
                                             "\"start\": 1, \"stop\": 0}"));
    json_object_set_new(m->root, "normalizer",
                        json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", normalizers));
    json_object_set_new(m->root, "decoder",
                        json_pack("{s:s, s:o}", "type", "Sequence", "decoders", decoders));
    set_model(m, unknown, cse_merges_of_scores(m->names, m->numbers, scores), true, false);
    m->begins_text = true;
    return CSE_OK;
}

static cse_status make_bert(making *m)
{
    const char *unknown = token_of(m, CSE_TOKENIZER_FACT("unknown_token_id"));
    const bool lower = is_on(m, CSE_TOKENIZER_FACT("normalizer.lowercase"), true);
    json_object_set_new(m->root, "normalizer",
                        json_pack("{s:s, s:b, s:b, s:n, s:b}", "type", "BertNormalizer",
                                  "clean_text", 1, "handle_chinese_chars", 1, "strip_accents",
                                  "lowercase", lower));
    json_object_set_new(m->root, "pre_tokenizer", step("{\"type\": \"BertPreTokenizer\"}"));
    json_object_set_new(m->root, "decoder",
                        step("{\"type\": \"WordPiece\", \"prefix\": \"##\", "
                             "\"cleanup\": true}"));
    json_object_set_new(m->root, "model",
                        json_pack("{s:s, s:s, s:s, s:i, s:O}", "type", "WordPiece", "unk_token",
                                  unknown != NULL ? unknown : "[UNK]", "continuing_subword_prefix",
                                  "##", "max_input_chars_per_word", 100, "vocab", m->numbers));
    m->begins_text = m->ends_text = true;
    return CSE_OK;
}

static const struct {
    const char *name;
    cse_status (*make)(making *m);
} kinds[] = { { "gpt2", make_gpt2 }, { "llama", make_llama }, { "bert", make_bert } };
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- files ---- */

/* Which tokens a text gets before and behind it. */
static json_t *post_processor(const making *m, const char *first, const char *last)
{
    json_t *single = json_array(), *special = json_object();
    const char *const ends[] = { first, last };
    for (int i = 0; i < 3; i++) {
        const char *token = i == 1 ? NULL : ends[i / 2];
        if (i == 1)
            json_array_append_new(single,
                                  json_pack("{s:{s:s, s:i}}", "Sequence", "id", "A", "type_id", 0));
        if (token == NULL)
            continue;
        json_array_append_new(
            single, json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", token, "type_id", 0));
        json_object_set_new(special, token,
                            json_pack("{s:s, s:[O], s:[s]}", "id", token, "ids",
                                      json_object_get(m->numbers, token), "tokens", token));
    }
    json_t *pair = json_deep_copy(single), *second = json_deep_copy(single), *entry;
    size_t i;
    json_array_foreach(second, i, entry)
    {
        json_t *sequence = json_object_get(entry, "Sequence");
        if (sequence != NULL)
            json_object_set_new(sequence, "id", json_string("B"));
        json_object_set_new(json_object_iter_value(json_object_iter(entry)), "type_id",
                            json_integer(1));
    }
    json_array_extend(pair, second);
    json_decref(second);
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair",
                     pair, "special_tokens", special);
}

/* {"chat_template": TEXT}, or a list of named ones where the file has several. */
static void set_templates(const making *m, json_t *config)
{
    static const char whole[] = "tokenizer.chat_template";
    const char *name;
    json_t *text, *plain = fact(m, whole), *named = json_array();
    json_object_foreach((json_t *)(uintptr_t)m->facts, name, text)
    {
        if (strncmp(name, whole, sizeof whole - 1) == 0 && name[sizeof whole - 1] == '.' &&
            json_is_string(text))
            json_array_append_new(
                named, json_pack("{s:s, s:O}", "name", name + sizeof whole, "template", text));
    }
    if (json_array_size(named) > 0 && json_is_string(plain))
        json_array_insert_new(named, 0,
                              json_pack("{s:s, s:O}", "name", "default", "template", plain));
    if (json_array_size(named) > 0)
        json_object_set(config, "chat_template", named);
    else if (json_is_string(plain))
        json_object_set(config, "chat_template", plain);
    json_decref(named);
}

static json_t *config_of(const making *m, bool begins, bool ends)
{
    static const char *const names[][2] = {
        { "bos_token", CSE_TOKENIZER_FACT("bos_token_id") },
        { "eos_token", CSE_TOKENIZER_FACT("eos_token_id") },
        { "unk_token", CSE_TOKENIZER_FACT("unknown_token_id") },
        { "pad_token", CSE_TOKENIZER_FACT("padding_token_id") },
        { "sep_token", CSE_TOKENIZER_FACT("seperator_token_id") }, /* as GGUF spells it */
        { "cls_token", CSE_TOKENIZER_FACT("cls_token_id") },
        { "mask_token", CSE_TOKENIZER_FACT("mask_token_id") },
    };
    json_t *config = json_pack("{s:s, s:b, s:b, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                               "add_bos_token", begins, "add_eos_token", ends,
                               "clean_up_tokenization_spaces", 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (token_of(m, names[i][1]) != NULL)
            json_object_set_new(config, names[i][0], json_string(token_of(m, names[i][1])));
    set_templates(m, config);
    return config;
}

static void finish(making *m, cse_tokenizer_files *files)
{
    const bool begins = is_on(m, CSE_TOKENIZER_FACT("add_bos_token"), m->begins_text);
    const bool ends = is_on(m, CSE_TOKENIZER_FACT("add_eos_token"), m->ends_text);
    const char *first = begins ? token_of(m, CSE_TOKENIZER_FACT("bos_token_id")) : NULL;
    const char *last = ends ? token_of(m, CSE_TOKENIZER_FACT("eos_token_id")) : NULL;
    if (begins && first == NULL) /* of BERT */
        first = token_of(m, CSE_TOKENIZER_FACT("cls_token_id"));
    if (ends && last == NULL)
        last = token_of(m, CSE_TOKENIZER_FACT("seperator_token_id"));
    json_t *config = config_of(m, begins, ends);
    json_object_set_new(m->root, "added_tokens", added_tokens(m));
    if (first != NULL || last != NULL)
        json_object_set_new(m->root, "post_processor", post_processor(m, first, last));
    files->json = json_dumps(m->root, JSON_INDENT(1));
    files->config = json_dumps(config, JSON_INDENT(2));
    json_decref(config);
}

static cse_status make(making *m, cse_tokenizer_files *files)
{
    const char *kind = json_string_value(fact(m, CSE_TOKENIZER_FACT("model")));
    cse_text known = { 0 };
    for (int i = 0; i < KINDS; i++) {
        cse_text_add(&known, "%s%s", i > 0 ? ", " : "", kinds[i].name);
        if (kind == NULL || strcmp(kinds[i].name, kind) != 0)
            continue;
        cse_text_clear(&known);
        CSE_TRY(take_tokens(m, strcmp(kind, "bert") == 0));
        CSE_TRY(kinds[i].make(m));
        finish(m, files);
        return files->json != NULL && files->config != NULL
                   ? CSE_OK
                   : cse_fail(CSE_DATA, "%s: its tokenizer cannot be written as JSON", m->path);
    }
    cse_status status = cse_fail(CSE_DATA,
                                 "%s: tokenizer.ggml.model is \"%.60s\", a kind of tokenizer that "
                                 "is not known; accepted: %s",
                                 m->path, kind != NULL ? kind : "", known.data);
    cse_text_clear(&known);
    return status;
}

bool cse_tokenizer_facts_are_whole(const json_t *facts)
{
    return json_array_size(json_object_get(facts, CSE_TOKENIZER_FACT("tokens"))) > 0;
}

cse_status cse_tokenizer_files_make(const char *path, const json_t *facts,
                                    cse_tokenizer_files *files)
{
    making m = { .path = path, .facts = facts };
    *files = (cse_tokenizer_files){ .json = NULL };
    if (!cse_tokenizer_facts_are_whole(facts))
        return CSE_OK;
    m.tokens = fact(&m, CSE_TOKENIZER_FACT("tokens"));
    m.types = fact(&m, CSE_TOKENIZER_FACT("token_type"));
    if (m.types != NULL && json_array_size(m.types) != json_array_size(m.tokens))
        return cse_fail(CSE_DATA,
                        "%s: tokenizer.ggml.token_type has %zu entries, but there are %zu tokens",
                        path, json_array_size(m.types), json_array_size(m.tokens));
    m.names = json_array();
    m.numbers = json_object();
    m.root = json_pack("{s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "version", "1.0", "truncation",
                       "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                       "decoder");
    cse_status status = make(&m, files);
    json_decref(m.root);
    json_decref(m.numbers);
    json_decref(m.names);
    if (status != CSE_OK)
        cse_tokenizer_files_clear(files);
    return status;
}
