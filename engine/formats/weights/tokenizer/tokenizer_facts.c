/* A tokenizer.json to GGUF's facts. Byte pair encoding over bytes is GGUF's kind "gpt2" where GGUF
 * has a name for the way in which texts are cut into words; over characters, with tokens of bytes,
 * it is the kind "llama": there a token's score takes the place of its merge, so the score is the
 * rank of the first merge that makes it. */
#include "engine/formats/weights/tokenizer/tokenizer_facts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/json_file.h"
#include "engine/formats/weights/tokenizer/fact_names.h"
#include "engine/formats/weights/tokenizer/pre_tokenizers.h"

enum { MOST_BYTES = 1 << 28, MOST_CONFIG_BYTES = 1 << 22, MOST_TOKENS = 1 << 21 };

typedef struct reading {
    const char *folder;
    json_t *root, *config; /* tokenizer.json, and tokenizer_config.json or NULL */
    json_t *facts;
    int64_t vocabulary;
    json_t *tokens, *types; /* lists among the facts */
    json_t *numbers;        /* of all tokens, by name */
    cse_text *notice;
} reading;

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

/* Says why there is no tokenizer; false. */
static bool leave_out(const reading *r, const char *what, const char *value)
{
    cse_text_add(r->notice,
                 "%s/tokenizer.json is left out, and the file has no tokenizer: GGUF has no %s "
                 "\"%.80s\"\n",
                 r->folder, what, value);
    return false;
}

/* ---- what GGUF can hold ---- */

/* Steps of a normalizer, a pre-tokenizer or a decoder as a list; json_decref(). */
static json_t *steps_of(const json_t *part, const char *list)
{
    json_t *inner = json_object_get(part, list);
    return json_is_array(inner)   ? json_incref(inner)
           : json_is_object(part) ? json_pack("[O]", part)
                                  : json_array();
}

/* The type of the first step that is none of these; NULL: all are. */
static const char *odd_step(const json_t *part, const char *list, const char *const accepted[])
{
    json_t *steps = steps_of(part, list), *step;
    const char *odd = NULL;
    size_t i;
    json_array_foreach(steps, i, step)
    {
        bool good = false;
        for (int k = 0; accepted[k] != NULL; k++)
            good = good || strcmp(text_of(step, "type"), accepted[k]) == 0;
        if (!good && odd == NULL)
            odd = text_of(step, "type");
    }
    json_decref(steps); /* the step lives in `part` */
    return odd;
}

static bool takes_gpt2(const reading *r, const json_t *model)
{
    static const char *const forms[] = { "NFC", NULL };
    const json_t *normalizer = json_object_get(r->root, "normalizer");
    const json_t *pre = json_object_get(r->root, "pre_tokenizer");
    const bool whole = json_is_true(json_object_get(model, "ignore_merges"));
    const char *odd = odd_step(normalizer, "normalizers", forms);
    if (odd != NULL)
        return leave_out(r, "normalizer", odd);
    const char *name = cse_pre_tokenizer_name_of(pre, whole);
    if (name == NULL) {
        char *text = json_dumps(pre, JSON_COMPACT | JSON_ENCODE_ANY);
        leave_out(r, "name for the pre_tokenizer", text != NULL ? text : "");
        free(text);
        return false;
    }
    json_object_set_new(r->facts, CSE_TOKENIZER_FACT("model"), json_string("gpt2"));
    json_object_set_new(r->facts, CSE_TOKENIZER_FACT("pre"), json_string(name));
    return true;
}

/* Whether a blank is put before a text. */
static bool puts_blank(const reading *r)
{
    json_t *normalizers = steps_of(json_object_get(r->root, "normalizer"), "normalizers");
    json_t *cutters = steps_of(json_object_get(r->root, "pre_tokenizer"), "pretokenizers"), *step;
    bool puts = false;
    size_t i;
    json_array_foreach(normalizers, i, step) puts =
        puts || strcmp(text_of(step, "type"), "Prepend") == 0;
    json_array_foreach(cutters, i, step) puts =
        puts || (strcmp(text_of(step, "type"), "Metaspace") == 0 &&
                 strcmp(text_of(step, "prepend_scheme"), "never") != 0);
    json_decref(normalizers);
    json_decref(cutters);
    return puts;
}

static bool takes_llama(const reading *r)
{
    static const char *const normalizers[] = { "Prepend", "Replace", NULL };
    static const char *const cutters[] = { "Metaspace", NULL };
    const char *odd = odd_step(json_object_get(r->root, "normalizer"), "normalizers", normalizers);
    if (odd != NULL)
        return leave_out(r, "normalizer", odd);
    odd = odd_step(json_object_get(r->root, "pre_tokenizer"), "pretokenizers", cutters);
    if (odd != NULL)
        return leave_out(r, "pre_tokenizer of the kind llama", odd);
    json_object_set_new(r->facts, CSE_TOKENIZER_FACT("model"), json_string("llama"));
    json_object_set_new(r->facts, CSE_TOKENIZER_FACT("pre"), json_string("default"));
    json_object_set_new(r->facts, CSE_TOKENIZER_FACT("add_space_prefix"),
                        json_boolean(puts_blank(r)));
    return true;
}

/* ---- tokens ---- */

/* Puts a token at its number in a list of so many. */
static cse_status put_token(reading *r, const char *name, const json_t *id, int type)
{
    const json_int_t number = json_is_integer(id) ? json_integer_value(id) : -1;
    if (number < 0 || number >= r->vocabulary)
        return cse_fail(CSE_DATA,
                        "%s/tokenizer.json: \"%.60s\" is token %" JSON_INTEGER_FORMAT
                        ", but the model has %" PRId64 " tokens",
                        r->folder, name, number, r->vocabulary);
    json_array_set_new(r->tokens, (size_t)number, json_string(name));
    json_array_set_new(r->types, (size_t)number, json_integer(type));
    json_object_set_new(r->numbers, name, json_integer(number));
    return CSE_OK;
}

static int type_of(const char *name, const char *unknown, bool has_bytes)
{
    unsigned byte = 0;
    char end = 0;
    if (has_bytes && strcmp(name, unknown) == 0)
        return CSE_TOKEN_UNKNOWN;
    return has_bytes && strlen(name) == 6 && sscanf(name, "<0x%2X%c", &byte, &end) == 2 &&
                   end == '>'
               ? CSE_TOKEN_BYTE
               : CSE_TOKEN_NORMAL;
}

static cse_status take_tokens(reading *r, const json_t *model, bool has_bytes)
{
    json_t *value, *entry;
    r->tokens = json_array();
    r->types = json_array();
    const char *name;
    size_t i;
    for (int64_t number = 0; number < r->vocabulary; number++) {
        json_array_append_new(r->tokens, json_sprintf("[PAD%" PRId64 "]", number));
        json_array_append_new(r->types, json_integer(CSE_TOKEN_UNUSED));
    }
    json_object_set_new(r->facts, CSE_TOKENIZER_FACT("tokens"), r->tokens);
    json_object_set_new(r->facts, CSE_TOKENIZER_FACT("token_type"), r->types);
    json_object_foreach(json_object_get(model, "vocab"), name, value)
    {
        CSE_TRY(put_token(r, name, value, type_of(name, text_of(model, "unk_token"), has_bytes)));
    }
    json_array_foreach(json_object_get(r->root, "added_tokens"), i, entry)
    {
        const json_t *id = json_object_get(entry, "id");
        const bool special = json_is_true(json_object_get(entry, "special"));
        name = text_of(entry, "content");
        if (special && type_of(name, text_of(model, "unk_token"), has_bytes) == CSE_TOKEN_UNKNOWN)
            continue;
        CSE_TRY(put_token(r, name, id, special ? CSE_TOKEN_CONTROL : CSE_TOKEN_USER_DEFINED));
    }
    return CSE_OK;
}

/* The two tokens of a merge, which is a text with a blank or a pair; json_decref(). */
static json_t *pair_of(const json_t *merge)
{
    const char *text = json_string_value(merge);
    const char *blank = text != NULL && *text != '\0' ? strchr(text + 1, ' ') : NULL;
    if (blank != NULL)
        return json_pack("[s#, s]", text, (int)(blank - text), blank + 1);
    return json_array_size(merge) == 2 && json_is_string(json_array_get(merge, 0)) &&
                   json_is_string(json_array_get(merge, 1))
               ? json_incref((json_t *)(uintptr_t)merge)
               : NULL;
}

/* Lists each merge as a text, and gives the tokens that merges make their ranks as scores. */
static cse_status take_merges(reading *r, const json_t *model, bool has_bytes)
{
    json_t *list = json_array(), *scores = json_array(), *merge;
    const json_t *merges = json_object_get(model, "merges");
    const double lowest = -(double)(json_array_size(merges) + 1);
    size_t i;
    for (int64_t number = 0; number < r->vocabulary; number++)
        json_array_append_new(scores, json_real(lowest));
    json_object_set_new(r->facts,
                        has_bytes ? CSE_TOKENIZER_FACT("scores") : CSE_TOKENIZER_FACT("merges"),
                        has_bytes ? scores : list);
    json_array_foreach(merges, i, merge)
    {
        json_t *pair = pair_of(merge);
        if (pair == NULL)
            return cse_fail(CSE_DATA, "%s/tokenizer.json: merge %zu is not two tokens", r->folder,
                            i);
        const char *left = json_string_value(json_array_get(pair, 0));
        const char *right = json_string_value(json_array_get(pair, 1));
        json_t *both = json_sprintf("%s%s", left, right);
        const json_t *number = json_object_get(r->numbers, json_string_value(both));
        const size_t at = (size_t)json_integer_value(number);
        if (number != NULL && json_real_value(json_array_get(scores, at)) <= lowest)
            json_array_set_new(scores, at, json_real(-(double)i));
        json_array_append_new(list, json_sprintf("%s %s", left, right));
        json_decref(both);
        json_decref(pair);
    }
    json_decref(has_bytes ? list : scores);
    return CSE_OK;
}

/* ---- what is said of special tokens ---- */

static void take_special(const reading *r)
{
    static const char *const names[][2] = {
        { "bos_token", CSE_TOKENIZER_FACT("bos_token_id") },
        { "eos_token", CSE_TOKENIZER_FACT("eos_token_id") },
        { "unk_token", CSE_TOKENIZER_FACT("unknown_token_id") },
        { "pad_token", CSE_TOKENIZER_FACT("padding_token_id") },
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const json_t *token = json_object_get(r->config, names[i][0]);
        const char *text =
            json_is_object(token) ? text_of(token, "content") : text_of(r->config, names[i][0]);
        json_t *number = json_object_get(r->numbers, text);
        if (number != NULL)
            json_object_set(r->facts, names[i][1], number);
    }
}

/* Whether the template of texts begins, or ends, with a token. */
static bool template_has(const reading *r, bool at_end)
{
    const json_t *whole = json_object_get(r->root, "post_processor");
    json_t *processors = steps_of(whole, "processors"), *one;
    bool has = false;
    size_t i;
    json_array_foreach(processors, i, one)
    {
        const json_t *single = json_object_get(one, "single");
        const size_t size = json_array_size(single);
        if (size > 0)
            has = json_object_get(json_array_get(single, at_end ? size - 1 : 0), "SpecialToken") !=
                  NULL;
    }
    json_decref(processors);
    return has;
}

static void take_ends(const reading *r)
{
    static const char *const names[] = { "add_bos_token", "add_eos_token" };
    static const char *const facts[] = { CSE_TOKENIZER_FACT("add_bos_token"),
                                         CSE_TOKENIZER_FACT("add_eos_token") };
    for (int i = 0; i < 2; i++) {
        const json_t *said = json_object_get(r->config, names[i]);
        json_object_set_new(
            r->facts, facts[i],
            json_boolean(json_is_boolean(said) ? json_is_true(said) : template_has(r, i == 1)));
    }
}

/* ---- the template of chats ---- */

static void put_template(const reading *r, const char *name, const json_t *text)
{
    char key[256];
    if (!json_is_string(text))
        return;
    snprintf(key, sizeof key, "tokenizer.chat_template%s%.200s",
             strcmp(name, "default") == 0 ? "" : ".", strcmp(name, "default") == 0 ? "" : name);
    json_object_set(r->facts, key, (json_t *)(uintptr_t)text);
}

/* The file beside the others goes before what tokenizer_config.json says. */
static cse_status take_template(const reading *r)
{
    char path[PATH_MAX];
    const json_t *said = json_object_get(r->config, "chat_template");
    json_t *entry;
    size_t i, size = 0;
    snprintf(path, sizeof path, "%s/chat_template.jinja", r->folder);
    if (access(path, F_OK) == 0) {
        char *text = NULL;
        CSE_TRY(cse_weights_read_text(path, MOST_CONFIG_BYTES, &text, &size));
        json_t *own = json_stringn(text, size);
        free(text);
        put_template(r, "default", own);
        json_decref(own);
        return CSE_OK;
    }
    put_template(r, "default", said);
    json_array_foreach(said, i, entry)
        put_template(r, text_of(entry, "name"), json_object_get(entry, "template"));
    return CSE_OK;
}

/* ---- all ---- */

static cse_status read_all(reading *r)
{
    const json_t *model = json_object_get(r->root, "model");
    const bool has_bytes = json_is_true(json_object_get(model, "byte_fallback"));
    const json_t *type = json_object_get(model, "type");
    /* Older files do not say it. */
    const bool is_bpe = type == NULL ? json_object_get(model, "merges") != NULL
                                     : strcmp(text_of(model, "type"), "BPE") == 0;
    bool takes = false;
    if (!json_is_object(json_object_get(model, "vocab")) || !is_bpe)
        leave_out(r, "kind for the model", text_of(model, "type"));
    else
        takes = has_bytes ? takes_llama(r) : takes_gpt2(r, model);
    if (!takes) {
        json_decref(r->facts);
        r->facts = NULL;
        return CSE_OK;
    }
    CSE_TRY(take_tokens(r, model, has_bytes));
    CSE_TRY(take_merges(r, model, has_bytes));
    take_special(r);
    take_ends(r);
    return take_template(r);
}

cse_status cse_tokenizer_facts_read(const char *folder, int64_t vocabulary, cse_text *notice,
                                    json_t **facts)
{
    char path[PATH_MAX], beside[PATH_MAX];
    reading r = { .folder = folder, .vocabulary = vocabulary, .notice = notice };
    *facts = NULL;
    if (snprintf(path, sizeof path, "%s/tokenizer.json", folder) >= (int)sizeof path ||
        snprintf(beside, sizeof beside, "%s/tokenizer_config.json", folder) >= (int)sizeof beside ||
        access(path, F_OK) != 0 || vocabulary < 1 || vocabulary > MOST_TOKENS)
        return CSE_OK;
    CSE_TRY(cse_weights_read_json(path, MOST_BYTES, &r.root));
    cse_status status = access(beside, F_OK) == 0
                            ? cse_weights_read_json_reals(beside, MOST_CONFIG_BYTES, &r.config)
                            : CSE_OK;
    r.facts = json_object();
    r.numbers = json_object();
    if (status == CSE_OK)
        status = read_all(&r);
    json_decref(r.root);
    json_decref(r.config);
    json_decref(r.numbers);
    if (status == CSE_OK)
        *facts = r.facts;
    else
        json_decref(r.facts);
    return status;
}
