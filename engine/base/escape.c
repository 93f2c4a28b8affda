/* The rules of escape.h. */
#include "engine/base/escape.h"

#include <stdbool.h>
#include <string.h>

/* The terminating zero is no part of it. */
static bool stays_in_comment(char byte)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-.:, ";
    return byte != '\0' && strchr(plain, byte) != NULL;
}

void cse_escape_comment(cse_text *out, const char *text)
{
    bool after_plain = false;
    for (; *text != '\0'; text++) {
        const bool slash = *text == '/' && after_plain && stays_in_comment(text[1]);
        after_plain = stays_in_comment(*text);
        cse_text_add_bytes(out, after_plain || slash ? text : "_", 1);
    }
}

void cse_escape_csv(cse_text *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        cse_text_add_bytes(out, text, strlen(text));
        return;
    }
    cse_text_add_bytes(out, "\"", 1);
    for (; *text != '\0'; text++)
        cse_text_add_bytes(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    cse_text_add_bytes(out, "\"", 1);
}

void cse_escape_label(cse_text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == '"')
            cse_text_add_bytes(out, "\\", 1);
        if (*text == '\n')
            cse_text_add_bytes(out, "\\n", 2);
        else
            cse_text_add_bytes(out, text, 1);
    }
}

void cse_escape_script(cse_text *out, const cse_text *json)
{
    const char *at = json->data, *end = json->data + json->size;
    while (at < end) {
        const char *next = memchr(at, '<', (size_t)(end - at));
        cse_text_add_bytes(out, at, (size_t)((next != NULL ? next : end) - at));
        if (next == NULL)
            return;
        cse_text_add_bytes(out, "\\u003c", 6);
        at = next + 1;
    }
}
