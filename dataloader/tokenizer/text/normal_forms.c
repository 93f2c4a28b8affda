/* Runs of characters that are in the form already are copied. Where origins are wanted, characters
 * are taken apart, sorted and put together here, since utf8proc does not say which became which. */
#include "dataloader/tokenizer/text/normal_forms.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "dataloader/tokenizer/text/character_sets.h"
#include "dataloader/tokenizer/text/characters.h"
#include "engine/base/arena.h"

enum { MOST_PARTS = 32 };

static const int options_of[] = {
    [CSE_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
    [CSE_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
    [CSE_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
    [CSE_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
};

/* Whether the character is in the form, unless one that follows is put together with it. */
static bool is_in_form(cse_normal_form form, uint32_t c)
{
    static const uint32_t first_other[] = {
        [CSE_NFC] = 0x300, [CSE_NFD] = 0xc0, [CSE_NFKC] = 0xa0, [CSE_NFKD] = 0xa0
    };
    if (c < first_other[form])
        return true;
    if (c >= 0x4e00 && c < 0xa000)
        return true;
    return (form == CSE_NFC || form == CSE_NFKC) &&
           ((c >= 0x400 && c < 0x483) || (c >= 0x48a && c < 0x530) ||
            (c >= 0x3041 && c <= 0x3096) || (c >= 0x30a1 && c <= 0x30fa) ||
            (c >= 0xac00 && c <= 0xd7a3));
}

/* ---- without origins ---- */

static cse_status map_text(cse_text *to, const char *text, size_t size, int options)
{
    utf8proc_uint8_t *made = NULL;
    const utf8proc_ssize_t count = utf8proc_map(
        (const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size, &made, (utf8proc_option_t)options);
    if (count >= 0)
        cse_text_add_bytes(to, (const char *)made, (size_t)count);
    free(made);
    return count >= 0 ? CSE_OK
                      : cse_fail(CSE_TEMPORARY, "a text of %zu bytes cannot be normalized: %s",
                                 size, utf8proc_errmsg(count));
}

/* ---- with origins ---- */

typedef struct part {
    uint32_t character;
    int change;
    int order; /* its canonical combining class */
} part;

typedef struct parts {
    part *list;
    size_t count, capacity;
} parts;

/* Marks behind a character in the order of their classes. */
static void add_part(parts *all, uint32_t character, bool is_more)
{
    const part added = { character, is_more,
                         utf8proc_get_property((utf8proc_int32_t)character)->combining_class };
    CSE_GROW(all->list, all->count, all->capacity);
    size_t place = all->count++;
    for (; added.order > 0 && place > 0 && all->list[place - 1].order > added.order; place--)
        all->list[place] = all->list[place - 1];
    all->list[place] = added;
}

static bool decompose(parts *all, const char *text, size_t size, int options)
{
    for (size_t i = 0, length; i < size; i += length) {
        utf8proc_int32_t made[MOST_PARTS];
        int last_class = 0;
        const uint32_t c = cse_character_at(text + i, &length);
        const utf8proc_ssize_t count = utf8proc_decompose_char(
            (utf8proc_int32_t)c, made, MOST_PARTS,
            (utf8proc_option_t)((options & ~UTF8PROC_COMPOSE) | UTF8PROC_DECOMPOSE), &last_class);
        if (count < 0 || count > MOST_PARTS)
            return false;
        for (utf8proc_ssize_t p = 0; p < count; p++)
            add_part(all, (uint32_t)made[p], p > 0);
    }
    return true;
}

/* The character that both are together; 0: there is none. */
static uint32_t composed(uint32_t left, uint32_t right)
{
    utf8proc_int32_t both[2] = { (utf8proc_int32_t)left, (utf8proc_int32_t)right };
    return utf8proc_normalize_utf32(both, 2, UTF8PROC_STABLE | UTF8PROC_COMPOSE) == 1
               ? (uint32_t)both[0]
               : 0;
}

/* In place: the parts that are left are those of the composed form. */
static void compose(parts *all)
{
    size_t out = 0, starter = SIZE_MAX;
    int last_order = -1; /* of the parts between; -1: none */
    for (size_t i = 0; i < all->count; i++) {
        const part here = all->list[i];
        const bool may = starter != SIZE_MAX && last_order < here.order;
        const uint32_t both = may ? composed(all->list[starter].character, here.character) : 0;
        if (both != 0) {
            all->list[starter].character = both;
            all->list[starter].change += here.change - 1;
            continue;
        }
        if (here.order == 0) {
            starter = out;
            last_order = -1;
        } else {
            last_order = here.order;
        }
        all->list[out++] = here;
    }
    all->count = out;
}

static cse_status map_aligned(cse_aligned_text *to, const cse_text_view *from, int options)
{
    parts all = { 0 };
    if (!decompose(&all, from->text, from->size, options)) {
        free(all.list);
        return cse_fail(CSE_DATA, "a text of %zu bytes cannot be normalized", from->size);
    }
    if ((options & UTF8PROC_COMPOSE) != 0)
        compose(&all);
    cse_character_change *changes = cse_malloc((all.count + 1) * sizeof *changes);
    for (size_t i = 0; i < all.count; i++)
        changes[i] = (cse_character_change){ all.list[i].character, all.list[i].change };
    cse_aligned_text_transform(to, from, changes, all.count);
    free(changes);
    free(all.list);
    return CSE_OK;
}

/* ---- both ---- */

static cse_status map(cse_aligned_text *to, const cse_text_view *from, size_t begin, size_t end,
                      int options)
{
    const cse_text_view piece = { from->text + begin, end - begin,
                                  from->origins != NULL ? from->origins + begin : NULL };
    if (piece.size == 0)
        return CSE_OK;
    return piece.origins != NULL ? map_aligned(to, &piece, options)
                                 : map_text(&to->text, piece.text, piece.size, options);
}

cse_status cse_normal_form_add(cse_normal_form form, const cse_text_view *from,
                               cse_aligned_text *to)
{
    size_t done = 0, last = 0; /* what is not written yet; its last character in the form */
    bool is_open = false;      /* characters that are not in the form wait */
    for (size_t i = 0, length; i < from->size; i += length) {
        const uint32_t c = cse_character_at(from->text + i, &length);
        const bool is_apart = c >= 0x80 && cse_is_in_set(CSE_NOT_NORMALIZED, c);
        const bool is_plain = is_in_form(form, c);
        if (!is_apart && !is_plain) {
            if (!is_open && done < i)
                cse_aligned_text_keep(to, from, done, last);
            done = is_open || done == i ? done : last;
            is_open = true;
            continue;
        }
        if (is_open) {
            CSE_TRY(map(to, from, done, i, options_of[form]));
            done = i;
            is_open = false;
        }
        last = i;
        if (is_apart) {
            cse_aligned_text_keep(to, from, done, i + length);
            done = last = i + length;
        }
    }
    if (is_open)
        return map(to, from, done, from->size, options_of[form]);
    cse_aligned_text_keep(to, from, done, from->size);
    return CSE_OK;
}
