/* The table of byte_characters.h, made from its rule. */
#include "dataloader/tokenizer/text/byte_characters.h"

static bool is_printable(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

int cse_byte_character(unsigned char byte)
{
    int before = 0;
    if (is_printable(byte))
        return byte;
    for (int other = 0; other < byte; other++)
        before += !is_printable(other);
    return 0x100 + before;
}

void cse_byte_characters_add(cse_text *text, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const int point = cse_byte_character((unsigned char)bytes[i]);
        char utf8[2] = { (char)(0xc0 | point >> 6), (char)(0x80 | (point & 0x3f)) };
        if (point < 0x80)
            utf8[0] = (char)point;
        cse_text_add_bytes(text, utf8, point < 0x80 ? 1 : 2);
    }
}

/* The byte of a code point, -1 for another one. */
static int byte_of(int point)
{
    if (point < 0x100)
        return is_printable(point) ? point : -1;
    for (int byte = 0, next = 0x100; byte < 256; byte++)
        if (!is_printable(byte) && next++ == point)
            return byte;
    return -1;
}

long cse_byte_characters_read(const char *text, size_t size, char *bytes)
{
    long count = 0;
    for (size_t i = 0; i < size; count++) {
        const size_t length = cse_utf8_length(text + i, size - i);
        const unsigned char *character = (const unsigned char *)text + i;
        int byte = -1;
        if (length == 1)
            byte = byte_of(character[0]);
        else if (length == 2)
            byte = byte_of((character[0] & 0x1f) << 6 | (character[1] & 0x3f));
        if (byte < 0)
            return -1;
        bytes[count] = (char)byte;
        i += length;
    }
    return count;
}
