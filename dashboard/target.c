/* The target of a request line: path and query, decoded here and not by the library, so that what
 * is checked is what came.
 *
 * Refused: what does not begin with '/', bytes outside of printable ASCII, broken escapes, and in
 * the path: escapes of '/', '\', '%' and control characters, empty segments, "." and "..". No
 * route has to think of them. */
#include <stdlib.h>
#include <string.h>

#include "dashboard/http_internal.h"
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

static bool has_odd_segment(const char *path)
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

static bool split_query(cse_exchange *exchange)
{
    char *rest = exchange->query_text, *pair;
    while ((pair = strsep(&rest, "&")) != NULL) {
        if (*pair == '\0')
            continue;
        if (exchange->query_count == CSE_HTTP_MAX_QUERY)
            return false;
        char *value = strchr(pair, '=');
        if (value != NULL)
            *value++ = '\0';
        if (!decode(pair, true) || (value != NULL && !decode(value, true)))
            return false;
        exchange->query[exchange->query_count++] =
            (cse_api_pair){ pair, value != NULL ? value : "" };
    }
    return true;
}

bool cse_exchange_split_target(cse_exchange *exchange)
{
    const char *target = exchange->target;
    size_t length = strcspn(target, "?");
    if (*target != '/' || length >= sizeof exchange->path)
        return false;
    for (const char *c = target; *c != '\0'; c++)
        if ((unsigned char)*c <= 32 || (unsigned char)*c >= 127)
            return false;
    memcpy(exchange->path, target, length);
    exchange->path[length] = '\0';
    if (!decode(exchange->path, false) || has_odd_segment(exchange->path))
        return false;
    if (target[length] == '?')
        exchange->query_text = cse_strdup(target + length + 1);
    return exchange->query_text == NULL || split_query(exchange);
}
