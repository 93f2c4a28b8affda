/* Methods of texts, with the meaning of Python's str. Places are counted in characters. */
#include <string.h>
#include <utf8proc.h>

#include "dataloader/chat/characters.h"
#include "dataloader/chat/format_text.h"
#include "dataloader/chat/functions.h"
#include "dataloader/chat/text_operations.h"
#include "dataloader/chat/text_splitting.h"

#define METHOD(name)                                                              \
    static cse_status text_##name(cse_jinja_run *run, const cse_jinja_call *call, \
                                  cse_jinja_value *result)

static cse_status text_argument(cse_jinja_run *run, const cse_jinja_call *call, size_t place,
                                const char *name, cse_jinja_value *text)
{
    *text = cse_jinja_argument(call, place, name);
    return text->kind == CSE_JINJA_TEXT ? CSE_OK
                                        : cse_jinja_refuse(run, "%s takes a text, not a %s",
                                                           call->name, cse_jinja_kind_name(text));
}

/* ---- white space and other ends ---- */

static bool is_in(const char *bytes, size_t length, const cse_jinja_value *characters)
{
    const char *at = characters->text.bytes, *end = at + characters->text.length;
    for (size_t size; at < end; at += size) {
        cse_character_next(at, (size_t)(end - at), &size);
        if (size == length && memcmp(at, bytes, length) == 0)
            return true;
    }
    return false;
}

static size_t strip_begin(const cse_jinja_value *text, const cse_jinja_value *characters)
{
    size_t at = 0, length;
    if (characters->kind != CSE_JINJA_TEXT)
        return cse_characters_strip_begin(text->text.bytes, text->text.length);
    for (; at < text->text.length; at += length) {
        cse_character_next(text->text.bytes + at, text->text.length - at, &length);
        if (!is_in(text->text.bytes + at, length, characters))
            break;
    }
    return at;
}

static size_t strip_end(const cse_jinja_value *text, const cse_jinja_value *characters)
{
    size_t end = text->text.length;
    if (characters->kind != CSE_JINJA_TEXT)
        return cse_characters_strip_end(text->text.bytes, end);
    while (end > 0) {
        const size_t length = cse_character_last(text->text.bytes, end);
        if (!is_in(text->text.bytes + end - length, length, characters))
            break;
        end -= length;
    }
    return end;
}

static cse_status strip(cse_jinja_run *run, const cse_jinja_call *call, bool begin, bool end,
                        cse_jinja_value *result)
{
    cse_jinja_value text = call->self;
    const cse_jinja_value characters = cse_jinja_argument(call, 0, "chars");
    if (characters.kind > CSE_JINJA_NONE && characters.kind != CSE_JINJA_TEXT)
        return cse_jinja_refuse(run, "%s takes a text, not a %s", call->name,
                                cse_jinja_kind_name(&characters));
    const size_t compared = characters.kind == CSE_JINJA_TEXT ? characters.text.length : 0;
    CSE_TRY(cse_jinja_step(run, text.text.length * (1 + compared) / 64));
    if (end)
        text.text.length = strip_end(&text, &characters);
    const size_t from = begin ? strip_begin(&text, &characters) : 0;
    *result = cse_jinja_text(text.text.bytes + from, text.text.length - from);
    return CSE_OK;
}

METHOD(strip)
{
    return strip(run, call, true, true, result);
}

METHOD(lstrip)
{
    return strip(run, call, true, false, result);
}

METHOD(rstrip)
{
    return strip(run, call, false, true, result);
}

static bool has_end(const cse_jinja_value *text, const cse_jinja_value *part, bool at_end)
{
    const size_t size = text->text.length, length = part->text.length;
    return length <= size &&
           memcmp(text->text.bytes + (at_end ? size - length : 0), part->text.bytes, length) == 0;
}

static cse_status begins_or_ends(cse_jinja_run *run, const cse_jinja_call *call, bool at_end,
                                 cse_jinja_value *result)
{
    const cse_jinja_value part = cse_jinja_argument(call, 0, NULL);
    bool holds = part.kind == CSE_JINJA_TEXT && has_end(&call->self, &part, at_end);
    if (part.kind == CSE_JINJA_TUPLE) {
        for (size_t i = 0; i < part.list->count && !holds; i++)
            holds = part.list->values[i].kind == CSE_JINJA_TEXT &&
                    has_end(&call->self, &part.list->values[i], at_end);
    } else if (part.kind != CSE_JINJA_TEXT)
        return cse_jinja_refuse(run, "%s takes a text or a tuple of texts, not a %s", call->name,
                                cse_jinja_kind_name(&part));
    *result = cse_jinja_boolean(holds);
    return CSE_OK;
}

METHOD(startswith)
{
    return begins_or_ends(run, call, false, result);
}

METHOD(endswith)
{
    return begins_or_ends(run, call, true, result);
}

METHOD(removeprefix)
{
    cse_jinja_value part;
    CSE_TRY(text_argument(run, call, 0, NULL, &part));
    const size_t cut = has_end(&call->self, &part, false) ? part.text.length : 0;
    *result = cse_jinja_text(call->self.text.bytes + cut, call->self.text.length - cut);
    return CSE_OK;
}

METHOD(removesuffix)
{
    cse_jinja_value part;
    CSE_TRY(text_argument(run, call, 0, NULL, &part));
    const size_t cut = has_end(&call->self, &part, true) ? part.text.length : 0;
    *result = cse_jinja_text(call->self.text.bytes, call->self.text.length - cut);
    return CSE_OK;
}

/* ---- search ---- */

static cse_status find(cse_jinja_run *run, const cse_jinja_call *call, bool is_last,
                       cse_jinja_value *result)
{
    cse_jinja_value part;
    const cse_jinja_value *text = &call->self;
    const char *match = NULL;
    CSE_TRY(text_argument(run, call, 0, NULL, &part));
    CSE_TRY(cse_jinja_step(run, text->text.length / 16));
    if (is_last)
        CSE_TRY(cse_jinja_text_last(run, text->text.bytes, text->text.length, &part, &match));
    else
        match = memmem(text->text.bytes, text->text.length, part.text.bytes, part.text.length);
    *result = cse_jinja_integer(
        match == NULL
            ? -1
            : (int64_t)cse_characters_count(text->text.bytes, (size_t)(match - text->text.bytes)));
    return CSE_OK;
}

METHOD(find)
{
    return find(run, call, false, result);
}

METHOD(rfind)
{
    return find(run, call, true, result);
}

METHOD(index)
{
    CSE_TRY(find(run, call, false, result));
    return result->integer >= 0 ? CSE_OK : cse_jinja_refuse(run, "index: the text is not in it");
}

METHOD(count)
{
    cse_jinja_value part;
    CSE_TRY(text_argument(run, call, 0, NULL, &part));
    const char *at = call->self.text.bytes, *end = at + call->self.text.length;
    int64_t count = 0;
    CSE_TRY(cse_jinja_step(run, call->self.text.length / 16));
    if (part.text.length == 0)
        count = (int64_t)cse_characters_count(at, call->self.text.length) + 1;
    else
        while ((at = memmem(at, (size_t)(end - at), part.text.bytes, part.text.length)) != NULL) {
            at += part.text.length;
            count++;
        }
    *result = cse_jinja_integer(count);
    return CSE_OK;
}

METHOD(replace)
{
    cse_jinja_value texts[3] = { call->self };
    int64_t count = -1;
    CSE_TRY(text_argument(run, call, 0, NULL, &texts[1]));
    CSE_TRY(text_argument(run, call, 1, NULL, &texts[2]));
    CSE_TRY(cse_jinja_whole_argument(run, call, 2, "count", &count));
    return cse_jinja_text_replace(run, texts, count, result);
}

/* ---- letters ---- */

static cse_status to_case(cse_jinja_run *run, const cse_jinja_call *call, cse_character_case to,
                          cse_jinja_value *result)
{
    cse_text out = { 0 };
    cse_characters_add_case(&out, call->self.text.bytes, call->self.text.length, to);
    return cse_jinja_collected(run, &out, result);
}

METHOD(lower)
{
    return to_case(run, call, CSE_LOWER_CASE, result);
}

METHOD(upper)
{
    return to_case(run, call, CSE_UPPER_CASE, result);
}

METHOD(capitalize)
{
    const char *bytes = call->self.text.bytes;
    const size_t size = call->self.text.length, first = cse_characters_offset(bytes, size, 1);
    cse_text out = { 0 };
    cse_characters_add_case(&out, bytes, first, CSE_TITLE_CASE);
    cse_characters_add_case(&out, bytes + first, size - first, CSE_LOWER_CASE);
    return cse_jinja_collected(run, &out, result);
}

static bool is_cased(uint32_t point)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
           category == UTF8PROC_CATEGORY_LT;
}

METHOD(title)
{
    cse_text out = { 0 };
    bool within = false;
    for (size_t at = 0, length; at < call->self.text.length; at += length) {
        const char *bytes = call->self.text.bytes + at;
        const uint32_t point = cse_character_next(bytes, call->self.text.length - at, &length);
        cse_characters_add_case(&out, bytes, length, within ? CSE_LOWER_CASE : CSE_TITLE_CASE);
        within = is_cased(point);
    }
    return cse_jinja_collected(run, &out, result);
}

/* Some letter has a case, and none has the other one. */
static cse_status is_all_case(const cse_jinja_call *call, utf8proc_category_t wanted,
                              cse_jinja_value *result)
{
    bool some = false, all = true;
    for (size_t at = 0, length; at < call->self.text.length; at += length) {
        const uint32_t point =
            cse_character_next(call->self.text.bytes + at, call->self.text.length - at, &length);
        const bool is_wanted = utf8proc_category((utf8proc_int32_t)point) == wanted;
        some = some || is_wanted;
        all = all && (is_wanted || !is_cased(point));
    }
    *result = cse_jinja_boolean(some && all);
    return CSE_OK;
}

METHOD(islower)
{
    (void)run;
    return is_all_case(call, UTF8PROC_CATEGORY_LL, result);
}

METHOD(isupper)
{
    (void)run;
    return is_all_case(call, UTF8PROC_CATEGORY_LU, result);
}

static bool is_letter(uint32_t point)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

static bool is_digit(uint32_t point)
{
    return utf8proc_category((utf8proc_int32_t)point) == UTF8PROC_CATEGORY_ND || point == 0xB2 ||
           point == 0xB3 || point == 0xB9;
}

static bool is_decimal(uint32_t point)
{
    return utf8proc_category((utf8proc_int32_t)point) == UTF8PROC_CATEGORY_ND;
}

static bool is_alphanumeric(uint32_t point)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    return is_letter(point) ||
           (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

static cse_status are_all(const cse_jinja_call *call, bool (*is)(uint32_t point),
                          cse_jinja_value *result)
{
    bool all = call->self.text.length > 0;
    for (size_t at = 0, length; all && at < call->self.text.length; at += length)
        all = is(
            cse_character_next(call->self.text.bytes + at, call->self.text.length - at, &length));
    *result = cse_jinja_boolean(all);
    return CSE_OK;
}

METHOD(isalnum)
{
    (void)run;
    return are_all(call, is_alphanumeric, result);
}

METHOD(isalpha)
{
    (void)run;
    return are_all(call, is_letter, result);
}

METHOD(isdecimal)
{
    (void)run;
    return are_all(call, is_decimal, result);
}

METHOD(isdigit)
{
    (void)run;
    return are_all(call, is_digit, result);
}

METHOD(isspace)
{
    (void)run;
    return are_all(call, cse_character_is_space, result);
}

/* ---- width ---- */

/* `left` and `right`: where blanks go. */
static cse_status pad(cse_jinja_run *run, const cse_jinja_call *call, bool left, bool right,
                      cse_jinja_value *result)
{
    int64_t width = 0;
    cse_jinja_value fill = cse_jinja_argument(call, 1, "fillchar");
    cse_text out = { 0 };
    CSE_TRY(cse_jinja_whole_argument(run, call, 0, "width", &width));
    if (fill.kind == CSE_JINJA_ABSENT)
        fill = cse_jinja_word(" ");
    if (width > 1000000 || fill.kind != CSE_JINJA_TEXT ||
        cse_characters_count(fill.text.bytes, fill.text.length) != 1)
        return cse_jinja_refuse(run, "%s takes a width of at most 1000000 and one character",
                                call->name);
    const int64_t count =
        (int64_t)cse_characters_count(call->self.text.bytes, call->self.text.length);
    const int64_t missing = width > count ? width - count : 0;
    int64_t before = left && right ? missing / 2 + (missing & width & 1) : left ? missing : 0;
    for (int64_t i = 0; i < before; i++)
        cse_jinja_print(&out, &fill);
    cse_jinja_print(&out, &call->self);
    for (int64_t i = before; i < missing; i++)
        cse_jinja_print(&out, &fill);
    return cse_jinja_collected(run, &out, result);
}

METHOD(center)
{
    return pad(run, call, true, true, result);
}

METHOD(ljust)
{
    return pad(run, call, false, true, result);
}

METHOD(rjust)
{
    return pad(run, call, true, false, result);
}

METHOD(zfill)
{
    cse_jinja_value arguments[2] = { cse_jinja_argument(call, 0, "width"), cse_jinja_word("0") };
    cse_jinja_call padded = *call;
    const char *bytes = call->self.text.bytes;
    const bool has_sign = call->self.text.length > 0 && (bytes[0] == '-' || bytes[0] == '+');
    if (has_sign) {
        padded.self = cse_jinja_text(bytes + 1, call->self.text.length - 1);
        if (arguments[0].kind == CSE_JINJA_INTEGER)
            arguments[0].integer--;
    }
    padded.values = arguments;
    padded.count = 2;
    CSE_TRY(pad(run, &padded, true, false, result));
    const cse_jinja_value sign = cse_jinja_text(bytes, has_sign), digits = *result;
    return cse_jinja_binary(run, "+", &sign, &digits, result);
}

/* ---- several texts ---- */

METHOD(join)
{
    cse_jinja_list *list;
    cse_text out = { 0 };
    const cse_jinja_value values = cse_jinja_argument(call, 0, NULL);
    CSE_TRY(cse_jinja_iterate(run, &values, &list));
    for (size_t i = 0; i < list->count; i++)
        if (list->values[i].kind != CSE_JINJA_TEXT)
            return cse_jinja_refuse(run, "join takes texts, but value %zu is a %s", i,
                                    cse_jinja_kind_name(&list->values[i]));
    for (size_t i = 0; i < list->count && out.size < CSE_JINJA_MOST_BYTES; i++) {
        if (i > 0)
            cse_jinja_print(&out, &call->self);
        cse_jinja_print(&out, &list->values[i]);
    }
    return cse_jinja_collected(run, &out, result);
}

METHOD(format)
{
    return cse_jinja_brace_format(run, call, result);
}

METHOD(splitlines)
{
    return cse_jinja_text_lines(run, &call->self, result);
}

METHOD(split)
{
    return cse_jinja_text_split(run, call, false, result);
}

METHOD(rsplit)
{
    return cse_jinja_text_split(run, call, true, result);
}

METHOD(partition)
{
    return cse_jinja_text_partition(run, call, false, result);
}

METHOD(rpartition)
{
    return cse_jinja_text_partition(run, call, true, result);
}

/* clang-format off */
static const cse_jinja_function methods[] = {
    { "capitalize", text_capitalize, NULL, 0 },
    { "center", text_center, "width,fillchar", 1 },
    { "count", text_count, "sub", 1 },
    { "endswith", text_endswith, "suffix", 1 },
    { "find", text_find, "sub", 1 },
    { "format", text_format, "*,**", 0 },
    { "index", text_index, "sub", 1 },
    { "isalnum", text_isalnum, NULL, 0 },
    { "isalpha", text_isalpha, NULL, 0 },
    { "isdecimal", text_isdecimal, NULL, 0 },
    { "isdigit", text_isdigit, NULL, 0 },
    { "islower", text_islower, NULL, 0 },
    { "isspace", text_isspace, NULL, 0 },
    { "isupper", text_isupper, NULL, 0 },
    { "join", text_join, "iterable", 1 },
    { "ljust", text_ljust, "width,fillchar", 1 },
    { "lower", text_lower, NULL, 0 },
    { "lstrip", text_lstrip, "chars", 0 },
    { "partition", text_partition, "sep", 1 },
    { "removeprefix", text_removeprefix, "prefix", 1 },
    { "removesuffix", text_removesuffix, "suffix", 1 },
    { "replace", text_replace, "old,new,count", 2 },
    { "rfind", text_rfind, "sub", 1 },
    { "rjust", text_rjust, "width,fillchar", 1 },
    { "rpartition", text_rpartition, "sep", 1 },
    { "rsplit", text_rsplit, "sep,maxsplit", 0 },
    { "rstrip", text_rstrip, "chars", 0 },
    { "split", text_split, "sep,maxsplit", 0 },
    { "splitlines", text_splitlines, NULL, 0 },
    { "startswith", text_startswith, "prefix", 1 },
    { "strip", text_strip, "chars", 0 },
    { "title", text_title, NULL, 0 },
    { "upper", text_upper, NULL, 0 },
    { "zfill", text_zfill, "width", 1 },
};
/* clang-format on */

const cse_jinja_functions cse_jinja_text_methods = CSE_JINJA_FUNCTIONS(methods);
