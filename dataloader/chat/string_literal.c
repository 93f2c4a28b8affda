/* Escapes of quoted texts; see string_literal.h. An escape that Python does not know stays as it is
 * written. */
#include "dataloader/chat/string_literal.h"

#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

typedef struct literal {
    const char *bytes;
    size_t size, at;
    char *out;
    size_t length;
    const char *wrong;
} literal;

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    letter |= 0x20;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : 16;
}

/* Up to `most` digits; `exact`: all of them must be there. */
static uint32_t take_digits(literal *self, int base, int most, bool exact)
{
    uint32_t point = 0;
    int count = 0;
    for (; count < most && self->at < self->size; count++, self->at++) {
        const int digit = digit_of(self->bytes[self->at]);
        if (digit >= base)
            break;
        point = point * (uint32_t)base + (uint32_t)digit;
    }
    if (exact && count < most)
        self->wrong = "an escape of a text has too few digits: accepted are \\xHH, \\uHHHH and "
                      "\\UHHHHHHHH";
    return point;
}

static void put(literal *self, uint32_t point)
{
    utf8proc_uint8_t bytes[4];
    if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
        self->wrong = "an escape of a text is no character: accepted are code points up to 10FFFF "
                      "without the halves of pairs, D800 to DFFF";
        return;
    }
    const utf8proc_ssize_t count = utf8proc_encode_char((utf8proc_int32_t)point, bytes);
    memcpy(self->out + self->length, bytes, (size_t)count);
    self->length += (size_t)count;
}

/* `at` stands behind the backslash. */
static void take_escape(literal *self)
{
    static const char letters[] = "abfnrtv\\'\"", meanings[] = "\a\b\f\n\r\t\v\\'\"";
    const char letter = self->at < self->size ? self->bytes[self->at] : '\0';
    const char *known = letter != '\0' ? strchr(letters, letter) : NULL;
    if (known != NULL) {
        self->out[self->length++] = meanings[known - letters];
        self->at++;
    } else if (letter == '\n')
        self->at++;
    else if (letter >= '0' && letter <= '7')
        put(self, take_digits(self, 8, 3, false));
    else if (letter == 'x' || letter == 'u' || letter == 'U') {
        self->at++;
        put(self, take_digits(self, 16, letter == 'x' ? 2 : letter == 'u' ? 4 : 8, true));
    } else if (letter == 'N')
        self->wrong = "\\N{...} is not accepted in a text: write the character, or \\uHHHH";
    else
        self->out[self->length++] = '\\';
}

const char *cse_string_literal(cse_arena *arena, const char *bytes, size_t size, size_t *length,
                               const char **wrong)
{
    /* No escape is shorter than the bytes that it stands for. */
    literal self = { .bytes = bytes, .size = size, .out = cse_arena_alloc(arena, size + 1) };
    while (self.at < size && self.wrong == NULL) {
        if (bytes[self.at] != '\\')
            self.out[self.length++] = bytes[self.at++];
        else {
            self.at++;
            take_escape(&self);
        }
    }
    *length = self.length;
    *wrong = self.wrong;
    return self.wrong == NULL ? self.out : NULL;
}
