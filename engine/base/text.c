/* A buffer that doubles when it is full. */
#include "engine/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

void cse_text_reserve(cse_text *text, size_t more)
{
    if (text->size + more + 1 <= text->capacity)
        return;
    text->capacity = (text->size + more + 1) * 2;
    text->data = cse_realloc(text->data, text->capacity);
}

void cse_text_add(cse_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    cse_text_reserve(text, (size_t)length);
    vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
    va_end(again);
    text->size += (size_t)length;
}

void cse_text_add_bytes(cse_text *text, const char *bytes, size_t size)
{
    cse_text_reserve(text, size);
    memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void cse_text_clear(cse_text *text)
{
    free(text->data);
    memset(text, 0, sizeof *text);
}

size_t cse_utf8_bytes(const char *text, size_t left)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t bytes = left == 0                       ? 0
                   : at[0] < 0x80                  ? 1
                   : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                   : (at[0] & 0xf0) == 0xe0        ? 3
                   : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                   : 0;
    if (bytes > left)
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xed && at[1] >= 0xa0;
    bool beyond = at[0] == 0xf4 && at[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : bytes;
}
