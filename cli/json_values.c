/* Reading members of objects, printing values. */
#include "cli/json_values.h"

#include <math.h>
#include <stdio.h>

const char *cse_json_text(const json_t *object, const char *name, const char *fallback)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : fallback;
}

double cse_json_real(const json_t *object, const char *name, double fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

int64_t cse_json_whole(const json_t *object, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

json_t *cse_json_finite(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

void cse_json_print(const json_t *value)
{
    json_dumpf(value, stdout, JSON_COMPACT);
    putchar('\n');
}
