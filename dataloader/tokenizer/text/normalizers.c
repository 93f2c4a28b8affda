/* A table of kinds: what each reads of its entry, and what it does to a text. Normal forms are
 * utf8proc's, but for characters that are younger than the tables of Hugging Face's tokenizers:
 * these stand between the pieces that are normalized. */
#include "dataloader/tokenizer/text/normalizers.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "dataloader/tokenizer/text/character_sets.h"
#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/text/json_members.h"
#include "engine/base/arena.h"

enum {
    MOST_NORMALIZERS = 64,
    MOST_TIMES = 64,
    MORE_BYTES = 1 << 20,
    CAPITAL_I_WITH_DOT = 0x130,
    DOT_ABOVE = 0x307
};

/* A text and where its change goes. */
typedef struct change {
    const cse_normalizer *normalizer;
    cse_split_matcher *matcher;
    const char *text;
    size_t size;
    cse_text *to;
    size_t most; /* bytes of the result */
    bool loses_start;
} change;

struct cse_normalizer {
    cse_status (*apply)(change *c);
    int options;                                                /* of utf8proc */
    cse_split_pattern *pattern;                                 /* of Replace */
    char *content;                                              /* of Replace and Prepend */
    bool left, right;                                           /* of Strip */
    bool cleans, sets_ideographs_apart, strips_accents, lowers; /* of BertNormalizer */
};

typedef struct kind {
    const char *name;
    cse_status (*read)(cse_normalizer *normalizer, const json_t *entry);
    cse_status (*apply)(change *c);
    int options;
} kind;

/* ---- normal forms ---- */

static cse_status add_normal_form(cse_text *to, const char *text, size_t size, int options)
{
    utf8proc_uint8_t *made = NULL;
    if (size == 0)
        return CSE_OK;
    const utf8proc_ssize_t count = utf8proc_map(
        (const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size, &made, (utf8proc_option_t)options);
    if (count >= 0)
        cse_text_add_bytes(to, (const char *)made, (size_t)count);
    free(made);
    return count >= 0 ? CSE_OK
                      : cse_fail(CSE_TEMPORARY, "a text of %zu bytes cannot be normalized: %s",
                                 size, utf8proc_errmsg(count));
}

static cse_status normal_form(cse_text *to, const char *text, size_t size, int options)
{
    size_t done = 0;
    for (size_t i = 0, length; i < size; i += length) {
        const uint32_t c = cse_character_at(text + i, &length);
        if (c < 0x80 || !cse_is_in_set(CSE_NOT_NORMALIZED, c))
            continue;
        CSE_TRY(add_normal_form(to, text + done, i - done, options));
        cse_text_add_bytes(to, text + i, length);
        done = i + length;
    }
    return add_normal_form(to, text + done, size - done, options);
}

static cse_status apply_form(change *c)
{
    return normal_form(c->to, c->text, c->size, c->normalizer->options);
}

/* ---- characters ---- */

static void add_lower(cse_text *to, uint32_t character)
{
    if (character == CAPITAL_I_WITH_DOT) {
        cse_text_add_character(to, 'i');
        cse_text_add_character(to, DOT_ABOVE);
    } else {
        cse_text_add_character(to, cse_lower_case(character));
    }
}

static cse_status apply_lower(change *c)
{
    for (size_t i = 0, length; i < c->size; i += length)
        add_lower(c->to, cse_character_at(c->text + i, &length));
    return CSE_OK;
}

static void leave_out(change *c, cse_character_set set)
{
    for (size_t i = 0, length; i < c->size; i += length)
        if (!cse_is_in_set(set, cse_character_at(c->text + i, &length)))
            cse_text_add_bytes(c->to, c->text + i, length);
        else if (i == 0)
            c->loses_start = true;
}

static cse_status apply_marks(change *c)
{
    leave_out(c, CSE_MARK);
    return CSE_OK;
}

/* SentencePiece's default. */
static cse_status apply_nmt(change *c)
{
    for (size_t i = 0, length; i < c->size; i += length) {
        const uint32_t one = cse_character_at(c->text + i, &length);
        if ((one >= 1 && one <= 8) || one == 0xb || (one >= 0xe && one <= 0x1f) || one == 0x7f ||
            one == 0x8f || one == 0x9f)
            c->loses_start |= i == 0;
        else if (one == 9 || one == 0xa || one == 0xc || one == 0xd || one == 0x1680 ||
                 (one >= 0x200b && one <= 0x200f) || one == 0x2028 || one == 0x2029 ||
                 one == 0x2581 || one == 0xfeff || one == 0xfffd)
            cse_text_add_bytes(c->to, " ", 1);
        else
            cse_text_add_bytes(c->to, c->text + i, length);
    }
    return CSE_OK;
}

/* ---- ends ---- */

static cse_status read_strip(cse_normalizer *normalizer, const json_t *entry)
{
    normalizer->left = cse_json_is_on(entry, "strip_left", false);
    normalizer->right = cse_json_is_on(entry, "strip_right", false);
    return CSE_OK;
}

static cse_status apply_strip(change *c)
{
    size_t begin = 0, end = c->size, length;
    while (c->normalizer->left && begin < end &&
           cse_is_white_space(cse_character_at(c->text + begin, &length)))
        begin += length;
    while (c->normalizer->right && end > begin &&
           cse_is_white_space(cse_character_before(c->text, end, &length)))
        end -= length;
    c->loses_start = begin > 0;
    cse_text_add_bytes(c->to, c->text + begin, end - begin);
    return CSE_OK;
}

static cse_status read_prepend(cse_normalizer *normalizer, const json_t *entry)
{
    normalizer->content = cse_strdup(cse_json_text(entry, "prepend"));
    return CSE_OK;
}

static cse_status apply_prepend(change *c)
{
    if (c->size > 0)
        cse_text_add_bytes(c->to, c->normalizer->content, strlen(c->normalizer->content));
    cse_text_add_bytes(c->to, c->text, c->size);
    return CSE_OK;
}

/* ---- Replace ---- */

static cse_status read_replace(cse_normalizer *normalizer, const json_t *entry)
{
    bool is_literal;
    const char *pattern = cse_json_pattern(entry, &is_literal);
    const json_t *content = json_object_get(entry, "content");
    if (pattern == NULL || !json_is_string(content))
        return cse_fail(CSE_DATA, "the normalizer Replace has no content, or a pattern that is "
                                  "neither Regex nor String");
    normalizer->content = cse_strdup(json_string_value(content));
    return cse_split_pattern_new(pattern, is_literal, &normalizer->pattern);
}

static cse_status apply_replace(change *c)
{
    const cse_normalizer *n = c->normalizer;
    cse_split_search search = { .text = c->text, .size = c->size };
    size_t done = 0, range[2];
    for (int found; (found = cse_split_next(n->pattern, c->matcher, &search, range)) != 0;) {
        if (found < 0)
            return cse_fail(CSE_DATA, "the pattern of the normalizer Replace takes too many steps "
                                      "on this text");
        cse_text_add_bytes(c->to, c->text + done, range[0] - done);
        cse_text_add_bytes(c->to, n->content, strlen(n->content));
        /* What is put in belongs to the last character that was taken out. */
        c->loses_start |= range[0] == 0 && range[1] > 0 &&
                          (*n->content == '\0' || cse_count_characters(c->text, range[1]) > 1);
        done = range[1];
        if (c->to->size > c->most)
            break;
    }
    cse_text_add_bytes(c->to, c->text + done, c->size - done);
    return CSE_OK;
}

/* ---- BertNormalizer ---- */

static cse_status read_bert(cse_normalizer *normalizer, const json_t *entry)
{
    normalizer->cleans = cse_json_is_on(entry, "clean_text", true);
    normalizer->sets_ideographs_apart = cse_json_is_on(entry, "handle_chinese_chars", true);
    normalizer->lowers = cse_json_is_on(entry, "lowercase", true);
    normalizer->strips_accents = cse_json_is_on(entry, "strip_accents", normalizer->lowers);
    return CSE_OK;
}

static void add_bert_character(const cse_normalizer *n, cse_text *to, uint32_t c)
{
    if (n->cleans && cse_is_white_space(c))
        c = ' ';
    if (n->sets_ideographs_apart && cse_is_in_set(CSE_IDEOGRAPH, c)) {
        cse_text_add_bytes(to, " ", 1);
        cse_text_add_character(to, c);
        c = ' ';
    }
    cse_text_add_character(to, c);
}

/* In the order of the original: what one step makes, the next one sees. */
static cse_status apply_bert(change *c)
{
    const cse_normalizer *n = c->normalizer;
    cse_text clean = { 0 }, apart = { 0 };
    cse_status status = CSE_OK;
    for (size_t i = 0, length; i < c->size; i += length) {
        const uint32_t one = cse_character_at(c->text + i, &length);
        if (n->cleans && cse_is_in_set(CSE_CONTROL, one))
            c->loses_start |= i == 0;
        else
            add_bert_character(n, &clean, one);
    }
    if (n->strips_accents)
        status = normal_form(&apart, clean.data, clean.size, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    const cse_text *from = n->strips_accents ? &apart : &clean;
    for (size_t i = 0, length; i < from->size && status == CSE_OK; i += length) {
        const uint32_t one = cse_character_at(from->data + i, &length);
        if (n->strips_accents && cse_is_in_set(CSE_ACCENT, one))
            c->loses_start |= i == 0;
        else if (n->lowers)
            add_lower(c->to, one);
        else
            cse_text_add_bytes(c->to, from->data + i, length);
    }
    cse_text_clear(&clean);
    cse_text_clear(&apart);
    return status;
}

/* ---- the list ---- */

enum {
    FORM_D = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
    FORM_C = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
    COMPATIBLE = UTF8PROC_COMPAT
};

static const kind kinds[] = {
    { "NFC", NULL, apply_form, FORM_C },
    { "NFD", NULL, apply_form, FORM_D },
    { "NFKC", NULL, apply_form, FORM_C | COMPATIBLE },
    { "NFKD", NULL, apply_form, FORM_D | COMPATIBLE },
    { "Lowercase", NULL, apply_lower, 0 },
    { "Strip", read_strip, apply_strip, 0 },
    { "StripAccents", NULL, apply_marks, 0 },
    { "Replace", read_replace, apply_replace, 0 },
    { "Prepend", read_prepend, apply_prepend, 0 },
    { "Nmt", NULL, apply_nmt, 0 },
    { "BertNormalizer", read_bert, apply_bert, 0 },
};

static cse_status read_one(cse_normalizers *normalizers, const json_t *entry)
{
    const int index = CSE_JSON_KIND(kinds, entry);
    if (index < 0)
        return cse_fail(CSE_DATA,
                        "normalizer is \"%.60s\": accepted are NFC, NFD, NFKC, NFKD, Lowercase, "
                        "Strip, StripAccents, Replace, Prepend, Nmt, BertNormalizer and Sequence",
                        cse_json_text(entry, "type"));
    if (normalizers->count == MOST_NORMALIZERS)
        return cse_fail(CSE_DATA, "there are more than %d normalizers", MOST_NORMALIZERS);
    CSE_GROW(normalizers->list, normalizers->count, normalizers->capacity);
    cse_normalizer *added = &normalizers->list[normalizers->count++];
    *added = (cse_normalizer){ .apply = kinds[index].apply, .options = kinds[index].options };
    return kinds[index].read != NULL ? kinds[index].read(added, entry) : CSE_OK;
}

/* As deep as the brackets of the file, which have a limit. */
cse_status cse_normalizers_read(cse_normalizers *normalizers, const json_t *entry)
{
    const json_t *list = json_object_get(entry, "normalizers");
    if (entry == NULL || json_is_null(entry))
        return CSE_OK;
    if (strcmp(cse_json_text(entry, "type"), "Sequence") != 0)
        return read_one(normalizers, entry);
    if (!json_is_array(list))
        return cse_fail(CSE_DATA, "normalizer is a Sequence without the list normalizers");
    for (size_t i = 0; i < json_array_size(list); i++)
        CSE_TRY(cse_normalizers_read(normalizers, json_array_get(list, i)));
    return CSE_OK;
}

void cse_normalizers_clear(cse_normalizers *normalizers)
{
    for (int i = 0; i < normalizers->count; i++) {
        cse_split_pattern_destroy(&normalizers->list[i].pattern);
        free(normalizers->list[i].content);
    }
    free(normalizers->list);
    *normalizers = (cse_normalizers){ 0 };
}

static bool is_ascii(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((text[i] & 0x80) != 0)
            return false;
    return true;
}

cse_status cse_normalize(const cse_normalizers *normalizers, cse_split_matcher *matcher,
                         cse_normalized *work, const char **text, size_t *size)
{
    const size_t most = *size * MOST_TIMES + MORE_BYTES;
    work->lost_its_start = false;
    for (int i = 0; i < normalizers->count; i++) {
        const cse_normalizer *n = &normalizers->list[i];
        if (n->apply == apply_form && is_ascii(*text, *size))
            continue; /* is in all normal forms */
        cse_text *to = &work->texts[work->at = 1 - work->at];
        change c = { n, matcher, *text, *size, to, most, false };
        to->size = 0;
        CSE_TRY(n->apply(&c));
        if (to->size > most)
            return cse_fail(CSE_DATA,
                            "the normalizer makes more than %d times as many bytes of a "
                            "text",
                            MOST_TIMES);
        work->lost_its_start |= c.loses_start;
        *text = to->size > 0 ? to->data : "";
        *size = to->size;
    }
    return CSE_OK;
}

void cse_normalized_clear(cse_normalized *work)
{
    for (int i = 0; i < 2; i++)
        cse_text_clear(&work->texts[i]);
}
