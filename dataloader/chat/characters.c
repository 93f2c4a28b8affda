/* Characters of UTF-8; see characters.h. */
#include "dataloader/chat/characters.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

bool cse_character_is_space(uint32_t point)
{
    if (point < 128)
        return (point >= 9 && point <= 13) || (point >= 28 && point <= 32);
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    return point == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

uint32_t cse_character_next(const char *text, size_t size, size_t *length)
{
    *length = cse_utf8_length(text, size);
    if (*length > 0)
        return cse_utf8_code_point(text, *length);
    *length = 1;
    return 0xFFFD;
}

size_t cse_character_last(const char *text, size_t size)
{
    size_t length = 1;
    while (length < 4 && length < size && ((unsigned char)text[size - length] & 0xC0) == 0x80)
        length++;
    return length;
}

size_t cse_characters_strip_begin(const char *text, size_t size)
{
    size_t at = 0, length;
    while (at < size && cse_character_is_space(cse_character_next(text + at, size - at, &length)))
        at += length;
    return at;
}

size_t cse_characters_strip_end(const char *text, size_t size)
{
    while (size > 0) {
        size_t length = cse_character_last(text, size), read;
        if (!cse_character_is_space(cse_character_next(text + size - length, length, &read)))
            break;
        size -= length;
    }
    return size;
}

static bool is_of_name(uint32_t point)
{
    if (point < 128)
        return point == '_' || (point >= '0' && point <= '9') ||
               ((point | 0x20) >= 'a' && (point | 0x20) <= 'z');
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO &&
           category != UTF8PROC_CATEGORY_ME;
}

size_t cse_characters_name(const char *text, size_t size)
{
    size_t at = 0, length;
    while (at < size && is_of_name(cse_character_next(text + at, size - at, &length)))
        at += length;
    return at;
}

size_t cse_characters_count(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

size_t cse_characters_offset(const char *text, size_t size, size_t index)
{
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80 && index-- == 0)
            return i;
    return size;
}

/* Characters whose other case is more than one, from Unicode's SpecialCasing.txt. */
static bool add_special(cse_text *out, uint32_t point, cse_character_case to)
{
    static const struct {
        uint32_t point;
        const char *lower, *upper, *title;
    } special[] = {
        { 0xDF, NULL, "SS", "Ss" },
        { 0x130, "i\xCC\x87", NULL, NULL },
        { 0x149, NULL, "\xCA\xBCN", "\xCA\xBCN" },
        { 0x1F0, NULL, "J\xCC\x8C", "J\xCC\x8C" },
        { 0xFB00, NULL, "FF", "Ff" },
        { 0xFB01, NULL, "FI", "Fi" },
        { 0xFB02, NULL, "FL", "Fl" },
        { 0xFB03, NULL, "FFI", "Ffi" },
        { 0xFB04, NULL, "FFL", "Ffl" },
    };
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        if (special[i].point != point)
            continue;
        const char *text = to == CSE_LOWER_CASE   ? special[i].lower
                           : to == CSE_UPPER_CASE ? special[i].upper
                                                  : special[i].title;
        if (text != NULL)
            cse_text_add_bytes(out, text, strlen(text));
        return text != NULL;
    }
    return false;
}

/* A capital sigma at the end of a word is another small letter. */
static bool is_final_sigma(const char *text, size_t size, size_t at, size_t length)
{
    if (cse_utf8_code_point(text + at, length) != 0x3A3 || at == 0)
        return false;
    const char *before = text + at - cse_character_last(text, at);
    const bool after =
        at + length < size && cse_characters_name(text + at + length, size - at - length) > 0;
    return !after && cse_characters_name(before, (size_t)(text + at - before)) > 0;
}

void cse_characters_add_case(cse_text *out, const char *text, size_t size, cse_character_case to)
{
    for (size_t at = 0, length; at < size; at += length) {
        const uint32_t point = cse_character_next(text + at, size - at, &length);
        utf8proc_uint8_t bytes[4];
        if (add_special(out, point, to))
            continue;
        utf8proc_int32_t other = (utf8proc_int32_t)point;
        if (to == CSE_LOWER_CASE)
            other = is_final_sigma(text, size, at, length) ? 0x3C2 : utf8proc_tolower(other);
        else
            other = to == CSE_UPPER_CASE ? utf8proc_toupper(other) : utf8proc_totitle(other);
        cse_text_add_bytes(out, (const char *)bytes, (size_t)utf8proc_encode_char(other, bytes));
    }
}
