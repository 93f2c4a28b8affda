/* Values have 17 digits, so that reading gives the same number back. */
#include "run/loggers/json_line.h"

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 1024 };

/* RFC 8259: quotes, backslashes and control characters are escaped. */
static size_t add_text(const char *text, char *to)
{
    size_t size = 0;
    for (; *text != '\0' && size < NAME_BYTES; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            to[size++] = '\\';
            to[size++] = (char)c;
        } else if (c < 0x20) {
            size += (size_t)snprintf(to + size, 7, "\\u%04x", c);
        } else {
            to[size++] = (char)c;
        }
    }
    return size;
}

size_t cse_json_line(const cse_logged_scalar *scalar, char line[CSE_JSON_LINE_BYTES])
{
    int head = snprintf(line, CSE_JSON_LINE_BYTES, "{\"step\":%lld,\"time_s\":%.6f,\"name\":\"",
                        (long long)scalar->step, scalar->time_s);
    size_t size = (size_t)head + add_text(scalar->name, line + head);
    int tail = isfinite(scalar->value)
                   ? snprintf(line + size, CSE_JSON_LINE_BYTES - size, "\",\"value\":%.17g}\n",
                              scalar->value)
                   : snprintf(line + size, CSE_JSON_LINE_BYTES - size, "\",\"value\":null}\n");
    return size + (size_t)tail;
}
