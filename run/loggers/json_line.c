/* Values have 17 digits, so that reading gives the same number back. */
#include "run/loggers/json_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/json.h"

enum { NAME_BYTES = 256 };
_Static_assert(6 * NAME_BYTES + 256 < CSE_JSON_LINE_BYTES, "an escaped name fits");

size_t cse_json_line(const cse_logged_scalar *scalar, char line[CSE_JSON_LINE_BYTES])
{
    char name[NAME_BYTES];
    cse_text text = { 0 };
    snprintf(name, sizeof name, "%s", scalar->name);
    cse_text_add(&text, "{\"step\":%lld,\"time_s\":%.6f,\"name\":", (long long)scalar->step,
                 scalar->time_s);
    cse_json_add_string(&text, name);
    if (isfinite(scalar->value))
        cse_text_add(&text, ",\"value\":%.17g}\n", scalar->value);
    else
        cse_text_add(&text, ",\"value\":null}\n");
    const size_t size = text.size;
    memcpy(line, text.data, size + 1);
    cse_text_clear(&text);
    return size;
}
