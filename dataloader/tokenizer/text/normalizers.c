/* A table of kinds: what each reads of its entry, and what it does to a text. */
#include "dataloader/tokenizer/text/normalizers.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "dataloader/tokenizer/text/byte_characters.h"
#include "dataloader/tokenizer/text/character_sets.h"
#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/text/characters_map.h"
#include "dataloader/tokenizer/text/json_members.h"
#include "dataloader/tokenizer/text/normal_forms.h"
#include "engine/base/arena.h"

enum {
    MOST_NORMALIZERS = 64,
    MOST_TIMES = 64,
    MORE_BYTES = 1 << 20,
    MOST_MAPPED_BYTES = 5, /* of characters that are seen as one */
    CAPITAL_I_WITH_DOT = 0x130,
    DOT_ABOVE = 0x307
};

/* A text and where its change goes. */
typedef struct change {
    const cse_normalizer *normalizer;
    cse_split_matcher *matcher;
    cse_text_view from;
    cse_aligned_text *to;
    size_t most; /* bytes of the result */
} change;

struct cse_normalizer {
    cse_status (*apply)(change *c);
    cse_normal_form form;
    bool leaves_ascii;            /* as it is */
    cse_split_pattern *pattern;   /* of Replace */
    char *content;                /* of Replace and Prepend */
    bool left, right;             /* of Strip */
    cse_characters_map *map;      /* of Precompiled */
    cse_sentence_rules sentences; /* SentencePiece's */
};

typedef struct kind {
    const char *name, *members;
    cse_status (*read)(cse_normalizers *all, const json_t *entry); /* NULL: there is nothing */
    cse_status (*apply)(change *c);
    cse_normal_form form;
    bool leaves_ascii;
} kind;

static void keep(change *c, size_t begin, size_t end)
{
    cse_aligned_text_keep(c->to, &c->from, begin, end);
}

static void put(change *c, size_t at, uint32_t character)
{
    char bytes[4];
    const size_t size = cse_character_bytes(character, bytes);
    cse_aligned_text_put(c->to, &c->from, at, bytes, size);
}

static cse_normalizer *last_of(cse_normalizers *all)
{
    return &all->list[all->count - 1];
}

/* ---- characters ---- */

static cse_status apply_form(change *c)
{
    return cse_normal_form_add(c->normalizer->form, &c->from, c->to);
}

static void put_lower(change *c, size_t at, uint32_t character)
{
    if (character == CAPITAL_I_WITH_DOT) {
        put(c, at, 'i');
        put(c, at, DOT_ABOVE);
    } else {
        put(c, at, cse_lower_case(character));
    }
}

static cse_status apply_lower(change *c)
{
    for (size_t i = 0, length; i < c->from.size; i += length) {
        const uint32_t one = cse_character_at(c->from.text + i, &length);
        if (one < 0x80 && !(one >= 'A' && one <= 'Z'))
            keep(c, i, i + 1);
        else
            put_lower(c, i, one);
    }
    return CSE_OK;
}

static void leave_out(change *c, cse_character_set set)
{
    size_t done = 0;
    for (size_t i = 0, length; i < c->from.size; i += length) {
        if (!cse_is_in_set(set, cse_character_at(c->from.text + i, &length)))
            continue;
        keep(c, done, i);
        done = i + length;
    }
    keep(c, done, c->from.size);
}

static cse_status apply_marks(change *c)
{
    leave_out(c, CSE_MARK);
    return CSE_OK;
}

/* SentencePiece's default. */
static cse_status apply_nmt(change *c)
{
    for (size_t i = 0, length; i < c->from.size; i += length) {
        const uint32_t one = cse_character_at(c->from.text + i, &length);
        if ((one >= 1 && one <= 8) || one == 0xb || (one >= 0xe && one <= 0x1f) || one == 0x7f ||
            one == 0x8f || one == 0x9f)
            continue;
        if (one == 9 || one == 0xa || one == 0xc || one == 0xd || one == 0x1680 ||
            (one >= 0x200b && one <= 0x200f) || one == 0x2028 || one == 0x2029 || one == 0x2581 ||
            one == 0xfeff || one == 0xfffd)
            put(c, i, ' ');
        else
            keep(c, i, i + length);
    }
    return CSE_OK;
}

/* Each byte becomes the character that stands for it. */
static cse_status apply_bytes(change *c)
{
    for (size_t i = 0; i < c->from.size; i++)
        put(c, i, (uint32_t)cse_byte_character((unsigned char)c->from.text[i]));
    return CSE_OK;
}

/* ---- ends ---- */

static cse_status read_strip(cse_normalizers *all, const json_t *entry)
{
    last_of(all)->left = cse_json_is_on(entry, "strip_left", false);
    last_of(all)->right = cse_json_is_on(entry, "strip_right", false);
    return CSE_OK;
}

static cse_status apply_strip(change *c)
{
    size_t begin = 0, end = c->from.size, length;
    while (c->normalizer->left && begin < end &&
           cse_is_white_space(cse_character_at(c->from.text + begin, &length)))
        begin += length;
    while (c->normalizer->right && end > begin &&
           cse_is_white_space(cse_character_before(c->from.text, end, &length)))
        end -= length;
    keep(c, begin, end);
    return CSE_OK;
}

static cse_status read_prepend(cse_normalizers *all, const json_t *entry)
{
    last_of(all)->content = cse_strdup(cse_json_text(entry, "prepend"));
    return CSE_OK;
}

static cse_status apply_prepend(change *c)
{
    const char *content = c->normalizer->content;
    if (c->from.size > 0)
        cse_aligned_text_put(c->to, &c->from, 0, content, strlen(content));
    keep(c, 0, c->from.size);
    return CSE_OK;
}

/* ---- Replace ---- */

static cse_status read_replace(cse_normalizers *all, const json_t *entry)
{
    bool is_literal;
    const char *pattern = cse_json_pattern(entry, &is_literal);
    last_of(all)->content = cse_strdup(cse_json_text(entry, "content"));
    return cse_split_pattern_new(pattern, is_literal, &last_of(all)->pattern);
}

/* What is put in belongs to the last character that was taken out. */
static cse_status apply_replace(change *c)
{
    const cse_normalizer *n = c->normalizer;
    const size_t size = strlen(n->content);
    cse_split_search search = { .text = c->from.text, .size = c->from.size };
    size_t done = 0, range[2];
    for (int found; (found = cse_split_next(n->pattern, c->matcher, &search, range)) != 0;) {
        if (found < 0)
            return cse_fail(CSE_DATA, "the pattern of the normalizer Replace takes too many steps "
                                      "on this text");
        keep(c, done, range[0]);
        cse_aligned_text_put(c->to, &c->from, range[1] > 0 ? range[1] - 1 : SIZE_MAX, n->content,
                             size);
        done = range[1];
        if (c->to->text.size > c->most)
            break;
    }
    keep(c, done, c->from.size);
    return CSE_OK;
}

/* ---- Precompiled ---- */

static cse_status read_precompiled(cse_normalizers *all, const json_t *entry)
{
    return cse_characters_map_read_base64(cse_json_text(entry, "precompiled_charsmap"),
                                          &last_of(all)->map);
}

/* Characters and what they do to those they were made from. */
typedef struct change_list {
    cse_character_change *list;
    size_t count, capacity;
    bool is_needed;
} change_list;

static void add_change(change_list *all, uint32_t character, int taken)
{
    CSE_GROW(all->list, all->count, all->capacity);
    all->list[all->count++] = (cse_character_change){ character, taken };
}

/* What is put for a piece; where it has fewer characters, its last one takes the place of the rest,
 * or, where it has none, the one before it, as in the original. */
static bool add_mapped(change_list *all, const cse_characters_map *map, const char *text,
                       size_t size)
{
    size_t length;
    const char *made = cse_characters_map_shortest(map, text, size, &length);
    if (made == NULL)
        return false;
    const size_t made_size = strlen(made);
    const int before = (int)cse_count_characters(text, size);
    int count = 0;
    for (size_t i = 0; i < made_size; i += length, count++) {
        length = cse_utf8_length(made + i, made_size - i);
        const uint32_t one = length > 0 ? cse_character_at(made + i, &length) : 0xfffd;
        length += length == 0;
        add_change(all, one, count >= before);
    }
    if (count < before && all->count > 0)
        all->list[all->count - 1].change += count - before;
    all->is_needed = true;
    return true;
}

/* Bytes of the characters at `at` that are seen as one. */
static size_t size_of_seen(const cse_text_view *from, size_t at)
{
    utf8proc_int32_t state = 0;
    size_t length, size;
    uint32_t before = cse_character_at(from->text + at, &length);
    for (size = length; at + size < from->size; size += length) {
        const uint32_t next = cse_character_at(from->text + at + size, &length);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)next,
                                             &state))
            break;
        before = next;
    }
    return size;
}

static cse_status apply_precompiled(change *c)
{
    const cse_characters_map *map = c->normalizer->map;
    change_list all = { 0 };
    for (size_t i = 0, size; i < c->from.size; i += size) {
        size = size_of_seen(&c->from, i);
        if (size <= MOST_MAPPED_BYTES && add_mapped(&all, map, c->from.text + i, size))
            continue;
        for (size_t j = i, length; j < i + size; j += length) {
            const uint32_t one = cse_character_at(c->from.text + j, &length);
            if (!add_mapped(&all, map, c->from.text + j, length))
                add_change(&all, one, 0);
        }
    }
    if (all.is_needed)
        cse_aligned_text_transform(c->to, &c->from, all.list, all.count);
    else
        keep(c, 0, c->from.size);
    free(all.list);
    return CSE_OK;
}

/* ---- BertNormalizer: several steps ---- */

static cse_status apply_clean(change *c)
{
    for (size_t i = 0, length; i < c->from.size; i += length) {
        const uint32_t one = cse_character_at(c->from.text + i, &length);
        if (one > ' ' && one < 0x7f)
            keep(c, i, i + 1);
        else if (!cse_is_in_set(CSE_CONTROL, one))
            put(c, i, cse_is_white_space(one) ? ' ' : one);
    }
    return CSE_OK;
}

static cse_status apply_ideographs(change *c)
{
    size_t done = 0;
    for (size_t i = 0, length; i < c->from.size; i += length) {
        const uint32_t one = cse_character_at(c->from.text + i, &length);
        if (one < 0x80 || !cse_is_in_set(CSE_IDEOGRAPH, one))
            continue;
        keep(c, done, i);
        put(c, i, ' ');
        put(c, i, one);
        put(c, i, ' ');
        done = i + length;
    }
    keep(c, done, c->from.size);
    return CSE_OK;
}

static cse_status apply_accents(change *c)
{
    leave_out(c, CSE_ACCENT);
    return CSE_OK;
}

static cse_status add_step(cse_normalizers *all, const cse_normalizer *step)
{
    if (all->count == MOST_NORMALIZERS)
        return cse_fail(CSE_DATA, "there are more than %d normalizers", MOST_NORMALIZERS);
    CSE_GROW(all->list, all->count, all->capacity);
    all->list[all->count++] = *step;
    return CSE_OK;
}

static cse_status read_bert(cse_normalizers *all, const json_t *entry)
{
    const bool lowers = cse_json_is_on(entry, "lowercase", true);
    const struct {
        bool is_on;
        cse_normalizer step;
    } steps[] = {
        { cse_json_is_on(entry, "clean_text", true), { .apply = apply_clean } },
        { cse_json_is_on(entry, "handle_chinese_chars", true),
          { .apply = apply_ideographs, .leaves_ascii = true } },
        { cse_json_is_on(entry, "strip_accents", lowers),
          { .apply = apply_form, .form = CSE_NFD, .leaves_ascii = true } },
        { cse_json_is_on(entry, "strip_accents", lowers),
          { .apply = apply_accents, .leaves_ascii = true } },
        { lowers, { .apply = apply_lower } },
    };
    all->count--; /* the steps take the place of the one that was put for it */
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (steps[i].is_on)
            CSE_TRY(add_step(all, &steps[i].step));
    return CSE_OK;
}

/* ---- the list ---- */

/* clang-format off */
static const kind kinds[] = {
    { "NFC", "", NULL, apply_form, CSE_NFC, true },
    { "NFD", "", NULL, apply_form, CSE_NFD, true },
    { "NFKC", "", NULL, apply_form, CSE_NFKC, true },
    { "NFKD", "", NULL, apply_form, CSE_NFKD, true },
    { "Lowercase", "", NULL, apply_lower, 0, false },
    { "Strip", "strip_left:b strip_right:b", read_strip, apply_strip, 0, false },
    { "StripAccents", "", NULL, apply_marks, 0, true },
    { "Replace", "pattern:p! content:s!", read_replace, apply_replace, 0, false },
    { "Prepend", "prepend:s!", read_prepend, apply_prepend, 0, false },
    { "Nmt", "", NULL, apply_nmt, 0, false },
    { "ByteLevel", "", NULL, apply_bytes, 0, false },
    { "Precompiled", "precompiled_charsmap:s!", read_precompiled, apply_precompiled, 0, false },
    { "BertNormalizer", "clean_text:b handle_chinese_chars:b strip_accents:b? lowercase:b",
      read_bert, NULL, 0, false },
};
/* clang-format on */

static cse_status read_one(cse_normalizers *normalizers, const json_t *entry)
{
    char what[80];
    const char *type = cse_json_text(entry, "type");
    const int index = CSE_JSON_KIND(kinds, entry);
    if (index < 0)
        return cse_fail(CSE_DATA,
                        "normalizer is \"%.60s\": accepted are NFC, NFD, NFKC, NFKD, Lowercase, "
                        "Strip, StripAccents, Replace, Prepend, Nmt, ByteLevel, Precompiled, "
                        "BertNormalizer and Sequence",
                        type);
    snprintf(what, sizeof what, "normalizer %s", type);
    CSE_TRY(cse_json_expect(entry, what, kinds[index].members));
    CSE_TRY(add_step(normalizers, &(cse_normalizer){ .apply = kinds[index].apply,
                                                     .form = kinds[index].form,
                                                     .leaves_ascii = kinds[index].leaves_ascii }));
    return kinds[index].read != NULL ? kinds[index].read(normalizers, entry) : CSE_OK;
}

/* As deep as the brackets of the file, which have a limit. */
cse_status cse_normalizers_read(cse_normalizers *normalizers, const json_t *entry)
{
    const json_t *list = json_object_get(entry, "normalizers");
    if (entry == NULL || json_is_null(entry))
        return CSE_OK;
    if (strcmp(cse_json_text(entry, "type"), "Sequence") != 0)
        return read_one(normalizers, entry);
    CSE_TRY(cse_json_expect(entry, "normalizer Sequence", "normalizers:l!"));
    for (size_t i = 0; i < json_array_size(list); i++)
        CSE_TRY(cse_normalizers_read(normalizers, json_array_get(list, i)));
    return CSE_OK;
}

static cse_status apply_sentences(change *c)
{
    cse_sentence_text_add(&c->normalizer->sentences, &c->from, c->to);
    return CSE_OK;
}

cse_status cse_normalizers_of_sentences(cse_normalizers *normalizers,
                                        const cse_sentence_rules *rules)
{
    return add_step(
        normalizers,
        &(cse_normalizer){ .apply = apply_sentences, .map = rules->map, .sentences = *rules });
}

void cse_normalizers_clear(cse_normalizers *normalizers)
{
    for (int i = 0; i < normalizers->count; i++) {
        cse_split_pattern_destroy(&normalizers->list[i].pattern);
        cse_characters_map_destroy(&normalizers->list[i].map);
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
                         cse_normalized *work, cse_text_view *view)
{
    const size_t most = view->size * MOST_TIMES + MORE_BYTES;
    for (int i = 0; i < normalizers->count; i++) {
        const cse_normalizer *n = &normalizers->list[i];
        if (n->leaves_ascii && is_ascii(view->text, view->size))
            continue;
        cse_aligned_text *to = &work->texts[work->at = 1 - work->at];
        change c = { n, matcher, *view, to, most };
        to->text.size = 0;
        CSE_TRY(n->apply(&c));
        if (to->text.size > most)
            return cse_fail(CSE_DATA,
                            "the normalizer makes more than %d times as many bytes of a "
                            "text",
                            MOST_TIMES);
        *view = cse_aligned_text_view(to, view);
    }
    return CSE_OK;
}

void cse_normalized_clear(cse_normalized *work)
{
    for (int i = 0; i < 2; i++)
        cse_aligned_text_clear(&work->texts[i]);
}
