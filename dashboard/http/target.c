/* The path and query are decoded in place. */
#include "dashboard/http/target.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decodes in place; in a query '+' is a blank. False at a broken escape or a zero byte. */
static bool decode(char *text, bool query)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        char c = *from;
        if (c == '%') {
            int high = hex_digit(from[1]);
            int low = high < 0 ? -1 : hex_digit(from[2]);
            if (low < 0 || (high == 0 && low == 0))
                return false;
            c = (char)(high << 4 | low);
            from += 2;
            if (!query && (c == '/' || c == '\\' || c == '%' || (unsigned char)c < 32))
                return false;
        } else if (query && c == '+') {
            c = ' ';
        }
        *to++ = c;
    }
    *to = '\0';
    return true;
}

static bool has_invalid_segment(const char *path)
{
    for (const char *c = path; *c == '/';) {
        size_t length = strcspn(++c, "/");
        bool last = c[length] == '\0';
        if ((length == 0 && !(last && c == path + 1)) || (length == 1 && *c == '.') ||
            (length == 2 && c[0] == '.' && c[1] == '.') || memchr(c, '\\', length) != NULL)
            return true;
        c += length;
    }
    return false;
}

static bool split_query(cse_target *target)
{
    char *rest = target->query_text, *pair;
    while ((pair = strsep(&rest, "&")) != NULL) {
        if (*pair == '\0')
            continue;
        if (target->query_count == CSE_TARGET_MAX_QUERY)
            return false;
        char *value = strchr(pair, '=');
        if (value != NULL)
            *value++ = '\0';
        if (!decode(pair, true) || (value != NULL && !decode(value, true)))
            return false;
        target->query[target->query_count++] = (cse_api_pair){ pair, value != NULL ? value : "" };
    }
    return true;
}

bool cse_target_split(const char *text, cse_target *target)
{
    size_t length = strcspn(text, "?");
    if (*text != '/' || length >= sizeof target->path)
        return false;
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c <= 32 || (unsigned char)*c >= 127)
            return false;
    memcpy(target->path, text, length);
    target->path[length] = '\0';
    if (!decode(target->path, false) || has_invalid_segment(target->path))
        return false;
    if (text[length] == '?')
        target->query_text = cse_strdup(text + length + 1);
    return target->query_text == NULL || split_query(target);
}

void cse_target_clear(cse_target *target)
{
    free(target->query_text);
    target->query_text = NULL;
    target->query_count = 0;
}
