/* Reading members of objects, and text that may have come from others. */
#include "engine/base/json_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

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

/* The text for a terminal; NULL where it is that already. */
static json_t *printable(const char *text)
{
    size_t size = cse_text_printable(text, NULL, 0);
    if (size == strlen(text))
        return NULL;
    char *clean = cse_malloc(size + 1);
    cse_text_printable(text, clean, size + 1);
    json_t *value = json_string(clean);
    free(clean);
    return value;
}

/* The parser bounds the depth. */
static void make_printable(json_t *value)
{
    const char *name;
    json_t *member;
    void *next;
    size_t i;
    if (json_is_string(value)) {
        json_t *clean = printable(json_string_value(value));
        if (clean != NULL)
            json_string_set(value, json_string_value(clean));
        json_decref(clean);
    }
    json_array_foreach(value, i, member) make_printable(member);
    json_object_foreach_safe(value, next, name, member)
    {
        json_t *clean = printable(name);
        make_printable(member);
        if (clean != NULL) {
            json_object_set(value, json_string_value(clean), member);
            json_object_del(value, name);
        }
        json_decref(clean);
    }
}

json_t *cse_json_from_others(const char *text, size_t size)
{
    json_t *value = text != NULL ? json_loadb(text, size, JSON_DECODE_ANY, NULL) : NULL;
    make_printable(value);
    return value;
}
