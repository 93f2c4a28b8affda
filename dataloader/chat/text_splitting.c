/* Texts cut into parts, and parts replaced. A text without a separator is cut at white space, and
 * has no empty parts then. */
#include "dataloader/chat/text_splitting.h"

#include <string.h>

#include "dataloader/chat/characters.h"
#include "dataloader/chat/text_operations.h"

/* A part may be much longer in memory than in its text: the memory is looked at for each. */
static cse_status add_part(cse_jinja_run *run, cse_jinja_list *list, const char *begin,
                           const char *end)
{
    cse_jinja_list_add(run->arena, list, cse_jinja_text(begin, (size_t)(end - begin)));
    return cse_jinja_step(run, 0);
}

static void reverse(cse_jinja_list *list)
{
    for (size_t i = 0, j = list->count; i + 1 < j; i++) {
        const cse_jinja_value value = list->values[i];
        list->values[i] = list->values[--j];
        list->values[j] = value;
    }
}

/* ---- at white space ---- */

static size_t word_end(const char *text, size_t size)
{
    size_t at = 0, length;
    while (at < size && !cse_character_is_space(cse_character_next(text + at, size - at, &length)))
        at += length;
    return at;
}

static size_t word_begin(const char *text, size_t size)
{
    while (size > 0) {
        size_t length = cse_character_last(text, size), read;
        if (cse_character_is_space(cse_character_next(text + size - length, length, &read)))
            break;
        size -= length;
    }
    return size;
}

static cse_status split_words(cse_jinja_run *run, const cse_jinja_value *text, int64_t most,
                              cse_jinja_list *list)
{
    const char *at = text->text.bytes, *end = at + text->text.length;
    at += cse_characters_strip_begin(at, (size_t)(end - at));
    for (; at < end && most != 0; most--) {
        const char *stop = at + word_end(at, (size_t)(end - at));
        CSE_TRY(add_part(run, list, at, stop));
        at = stop + cse_characters_strip_begin(stop, (size_t)(end - stop));
    }
    return at < end ? add_part(run, list, at, end) : CSE_OK;
}

static cse_status split_words_from_end(cse_jinja_run *run, const cse_jinja_value *text,
                                       int64_t most, cse_jinja_list *list)
{
    const char *bytes = text->text.bytes;
    size_t size = cse_characters_strip_end(bytes, text->text.length);
    for (; size > 0 && most != 0; most--) {
        const size_t begin = word_begin(bytes, size);
        CSE_TRY(add_part(run, list, bytes + begin, bytes + size));
        size = cse_characters_strip_end(bytes, begin);
    }
    if (size > 0)
        CSE_TRY(add_part(run, list, bytes, bytes + size));
    reverse(list);
    return CSE_OK;
}

/* ---- at a separator ---- */

/* Comparing the part at each place may take the product of both lengths: it is counted. */
cse_status cse_jinja_text_last(cse_jinja_run *run, const char *bytes, size_t size,
                               const cse_jinja_value *part, const char **place)
{
    const size_t length = part->text.length;
    size_t compared = 0;
    *place = NULL;
    for (size_t end = size + 1; end-- > length && *place == NULL;) {
        if (memcmp(bytes + end - length, part->text.bytes, length) == 0)
            *place = bytes + end - length;
        compared += length;
        if (compared >= 1 << 16) {
            CSE_TRY(cse_jinja_step(run, compared / 256));
            compared = 0;
        }
    }
    return CSE_OK;
}

/* The usual part is one character, for which memchr looks no further than it must. */
static const char *first_of(const char *bytes, size_t size, const cse_jinja_value *part)
{
    if (part->text.length == 1)
        return memchr(bytes, part->text.bytes[0], size);
    return memmem(bytes, size, part->text.bytes, part->text.length);
}

static cse_status split_at(cse_jinja_run *run, const cse_jinja_value *text,
                           const cse_jinja_value *separator, int64_t most, cse_jinja_list *list)
{
    const char *at = text->text.bytes, *end = at + text->text.length, *mark;
    for (; most != 0 && (mark = first_of(at, (size_t)(end - at), separator)) != NULL; most--) {
        CSE_TRY(add_part(run, list, at, mark));
        at = mark + separator->text.length;
    }
    return add_part(run, list, at, end);
}

static cse_status split_at_from_end(cse_jinja_run *run, const cse_jinja_value *text,
                                    const cse_jinja_value *separator, int64_t most,
                                    cse_jinja_list *list)
{
    const char *bytes = text->text.bytes, *end = bytes + text->text.length, *mark;
    for (; most != 0; most--) {
        CSE_TRY(cse_jinja_text_last(run, bytes, (size_t)(end - bytes), separator, &mark));
        if (mark == NULL)
            break;
        CSE_TRY(add_part(run, list, mark + separator->text.length, end));
        end = mark;
    }
    CSE_TRY(add_part(run, list, bytes, end));
    reverse(list);
    return CSE_OK;
}

static cse_status read_separator(cse_jinja_run *run, const cse_jinja_call *call,
                                 cse_jinja_value *separator)
{
    *separator = cse_jinja_argument(call, 0, "sep");
    if (separator->kind <= CSE_JINJA_NONE && separator->kind != CSE_JINJA_UNDEFINED)
        return CSE_OK;
    return separator->kind == CSE_JINJA_TEXT && separator->text.length > 0
               ? CSE_OK
               : cse_jinja_refuse(run, "the separator of %s is no text, or an empty one",
                                  call->name);
}

cse_status cse_jinja_text_split(cse_jinja_run *run, const cse_jinja_call *call, bool from_end,
                                cse_jinja_value *result)
{
    cse_jinja_value separator;
    int64_t most = -1;
    CSE_TRY(read_separator(run, call, &separator));
    CSE_TRY(cse_jinja_whole_argument(run, call, 1, "maxsplit", &most));
    CSE_TRY(cse_jinja_step(run, call->self.text.length / 4));
    *result = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0);
    if (separator.kind == CSE_JINJA_TEXT)
        return (from_end ? split_at_from_end : split_at)(run, &call->self, &separator, most,
                                                         result->list);
    return (from_end ? split_words_from_end : split_words)(run, &call->self, most, result->list);
}

cse_status cse_jinja_text_partition(cse_jinja_run *run, const cse_jinja_call *call, bool from_end,
                                    cse_jinja_value *result)
{
    cse_jinja_value separator;
    const char *bytes = call->self.text.bytes, *end = bytes + call->self.text.length;
    const char *mark = NULL;
    CSE_TRY(read_separator(run, call, &separator));
    if (separator.kind != CSE_JINJA_TEXT)
        return cse_jinja_refuse(run, "%s takes a text", call->name);
    if (from_end)
        CSE_TRY(cse_jinja_text_last(run, bytes, call->self.text.length, &separator, &mark));
    else
        mark = first_of(bytes, call->self.text.length, &separator);
    const size_t length = mark != NULL ? separator.text.length : 0;
    const char *middle = mark != NULL ? mark : from_end ? bytes : end;
    *result = cse_jinja_list_new(run->arena, CSE_JINJA_TUPLE, 3);
    CSE_TRY(add_part(run, result->list, bytes, middle));
    CSE_TRY(add_part(run, result->list, middle, middle + length));
    return add_part(run, result->list, middle + length, end);
}

/* ---- lines ---- */

static bool ends_line(uint32_t point)
{
    return (point >= 10 && point <= 13) || (point >= 0x1C && point <= 0x1E) || point == 0x85 ||
           point == 0x2028 || point == 0x2029;
}

cse_status cse_jinja_text_lines(cse_jinja_run *run, const cse_jinja_value *text,
                                cse_jinja_value *lines)
{
    const char *begin = text->text.bytes, *at = begin, *end = begin + text->text.length;
    CSE_TRY(cse_jinja_step(run, text->text.length / 4));
    *lines = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0);
    for (size_t length; at < end; at += length) {
        if (!ends_line(cse_character_next(at, (size_t)(end - at), &length)))
            continue;
        CSE_TRY(add_part(run, lines->list, begin, at));
        length += at[0] == '\r' && at + 1 < end && at[1] == '\n';
        begin = at + length;
    }
    if (begin < end)
        CSE_TRY(add_part(run, lines->list, begin, end));
    return CSE_OK;
}

/* ---- replacing ---- */

/* An empty text stands between all characters. */
static void replace_between(cse_text *out, const cse_jinja_value texts[3], int64_t count)
{
    const char *at = texts[0].text.bytes, *end = at + texts[0].text.length;
    for (size_t length; count != 0 && out->size < CSE_JINJA_MOST_BYTES; count--) {
        cse_jinja_print(out, &texts[2]);
        if (at == end)
            return;
        cse_character_next(at, (size_t)(end - at), &length);
        cse_text_add_bytes(out, at, length);
        at += length;
    }
    cse_text_add_bytes(out, at, (size_t)(end - at));
}

cse_status cse_jinja_text_replace(cse_jinja_run *run, const cse_jinja_value texts[3], int64_t count,
                                  cse_jinja_value *result)
{
    const char *at = texts[0].text.bytes, *end = at + texts[0].text.length, *mark;
    cse_text out = { 0 };
    CSE_TRY(cse_jinja_step(run, texts[0].text.length / 16));
    if (texts[1].text.length == 0)
        replace_between(&out, texts, count);
    else {
        for (; count != 0 && out.size < CSE_JINJA_MOST_BYTES &&
               (mark = first_of(at, (size_t)(end - at), &texts[1])) != NULL;
             count--) {
            cse_text_add_bytes(&out, at, (size_t)(mark - at));
            cse_jinja_print(&out, &texts[2]);
            at = mark + texts[1].text.length;
        }
        cse_text_add_bytes(&out, at, (size_t)(end - at));
    }
    return cse_jinja_collected(run, &out, result);
}
