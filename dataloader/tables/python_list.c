/* The subset of the notation that str() writes of a list of str. */
#include "dataloader/tables/python_list.h"

#include <stdlib.h>
#include <string.h>

static char *skip_blanks(char *text)
{
    return text + strspn(text, " \t");
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *put_character(unsigned long c, char *to)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (char)(0xE0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    } else {
        *to++ = (char)(0xF0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3F));
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    }
    return to;
}

/* The character after a backslash at `*from`, which is never longer than its escape. NULL: it is
 * none that Python writes. */
static char *take_escape(char **from, char *to)
{
    static const char names[] = "nrt\\'\"", values[] = "\n\r\t\\'\"";
    const char kind = *(*from)++;
    const char *known = kind != '\0' ? strchr(names, kind) : NULL;
    const int digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    unsigned long c = 0;
    if (known != NULL) {
        *to++ = values[known - names];
        return to;
    }
    for (int i = 0; i < digits; i++) {
        const int digit = digit_of(**from);
        if (digit < 0)
            return NULL;
        c = c << 4 | (unsigned long)digit;
        (*from)++;
    }
    return digits > 0 && c > 0 && c <= 0x10FFFF ? put_character(c, to) : NULL;
}

/* The string whose quote is at `*at`; NULL for one that does not end. */
static char *take_string(char **at)
{
    const char quote = **at;
    char *from = *at + 1, *to = from, *string = from;
    while (*from != quote) {
        if (*from == '\0')
            return NULL;
        if (*from == '\\') {
            from++;
            to = take_escape(&from, to);
            if (to == NULL)
                return NULL;
        } else {
            *to++ = *from++;
        }
    }
    *at = from + 1;
    *to = '\0';
    return string;
}

cse_status cse_python_list_split(char *text, char **strings, int most, int *count)
{
    *count = 0;
    text = skip_blanks(text);
    if (*text++ != '[')
        return cse_fail(CSE_DATA, "a list of strings belongs here, which begins with [");
    text = skip_blanks(text);
    while (*text != ']') {
        if (*text != '\'' && *text != '"')
            return cse_fail(CSE_DATA, "entry %d of the list is no string in quotes", *count);
        if (*count == most)
            return cse_fail(CSE_DATA, "the list has more than %d entries", most);
        strings[*count] = take_string(&text);
        if (strings[(*count)++] == NULL)
            return cse_fail(CSE_DATA, "entry %d of the list is no string as Python writes it",
                            *count - 1);
        text = skip_blanks(text);
        if (*text == ',')
            text = skip_blanks(text + 1);
        else if (*text != ']')
            return cse_fail(CSE_DATA, "entry %d of the list is not followed by a comma",
                            *count - 1);
    }
    return CSE_OK;
}
