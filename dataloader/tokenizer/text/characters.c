/* RFC 3629. */
#include "dataloader/tokenizer/text/characters.h"

uint32_t cse_character_at(const char *text, size_t *length)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) {
        *length = 1;
        return s[0];
    }
    *length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint32_t character = s[0] & (0x7fu >> *length);
    for (size_t i = 1; i < *length; i++)
        character = character << 6 | (s[i] & 0x3fu);
    return character;
}

uint32_t cse_character_before(const char *text, size_t at, size_t *length)
{
    size_t begin = at - 1;
    while (begin > 0 && ((unsigned char)text[begin] & 0xc0) == 0x80)
        begin--;
    return cse_character_at(text + begin, length);
}

size_t cse_character_bytes(uint32_t c, char bytes[4])
{
    size_t size = 0;
    if (c < 0x80) {
        bytes[size++] = (char)c;
    } else if (c < 0x800) {
        bytes[size++] = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        bytes[size++] = (char)(0xe0 | c >> 12);
        bytes[size++] = (char)(0x80 | (c >> 6 & 0x3f));
    } else {
        bytes[size++] = (char)(0xf0 | c >> 18);
        bytes[size++] = (char)(0x80 | (c >> 12 & 0x3f));
        bytes[size++] = (char)(0x80 | (c >> 6 & 0x3f));
    }
    if (c >= 0x80)
        bytes[size++] = (char)(0x80 | (c & 0x3f));
    return size;
}

void cse_text_add_character(cse_text *text, uint32_t character)
{
    char bytes[4];
    cse_text_add_bytes(text, bytes, cse_character_bytes(character, bytes));
}

size_t cse_count_characters(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

bool cse_is_white_space(uint32_t c)
{
    return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

bool cse_is_utf8(const char *bytes, size_t size)
{
    for (size_t i = 0, length; i < size; i += length) {
        length = (bytes[i] & 0x80) == 0 ? 1 : cse_utf8_length(bytes + i, size - i);
        if (length == 0)
            return false;
    }
    return true;
}

/* Bytes at the begin that could still become a character, at least one (Unicode 15, 3.9: the
 * maximal subpart of an ill-formed sequence). */
static size_t unfinished(const unsigned char *bytes, size_t size)
{
    const unsigned char first = bytes[0];
    const size_t whole = first >= 0xc2 && first <= 0xdf   ? 2
                         : first >= 0xe0 && first <= 0xef ? 3
                         : first >= 0xf0 && first <= 0xf4 ? 4
                                                          : 1;
    size_t length = 1;
    for (; length < whole && length < size; length++) {
        unsigned char low = 0x80, high = 0xbf;
        if (length == 1) {
            low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : low;
            high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : high;
        }
        if (bytes[length] < low || bytes[length] > high)
            break;
    }
    return length;
}

void cse_text_add_mended(cse_text *text, const char *bytes, size_t size)
{
    for (size_t i = 0, length; i < size; i += length) {
        length = cse_utf8_length(bytes + i, size - i);
        if (length > 0) {
            cse_text_add_bytes(text, bytes + i, length);
            continue;
        }
        length = unfinished((const unsigned char *)bytes + i, size - i);
        cse_text_add_character(text, 0xfffd);
    }
}
