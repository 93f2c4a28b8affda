/* The code's line has what it is the digest of in words, which say more than the digest does. */
#include "dashboard/query/origins.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_BYTES = 128, SHOWN_DIGITS = 16 };

static const struct {
    const char *path, *line; /* in words; the line's first word */
    const char *word;        /* before the value in the line's words; NULL: the digest */
} parts[] = {
    { "configuration, as far as it can change a bit", "configuration", NULL },
    { "step graph", "code", "graph " },
    { "version of csengine", "code", "csengine " },
    { "build of csengine", "code", "build " },
    { "generated code, plan and kernels", "artefact", NULL },
    { "training data", "data", NULL },
};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* The text behind the first word of a line; NULL: there is no such line. */
static const char *find_line(const char *links, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = links; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ' ')
            return line + length + 1;
    }
    return NULL;
}

/* Null: the text does not say it. */
static json_t *value_of(const char *links, int part)
{
    char value[VALUE_BYTES];
    const char *line = links != NULL ? find_line(links, parts[part].line) : NULL;
    const char *at = line, *word = parts[part].word;
    if (line == NULL)
        return json_null();
    if (word != NULL) {
        at = strstr(line, word);
        if (at == NULL || at > line + strcspn(line, "\n"))
            return json_null();
        at += strlen(word);
    }
    const size_t size = strcspn(at, word != NULL ? ",\n" : " \n");
    const size_t shown = word == NULL && size > SHOWN_DIGITS ? SHOWN_DIGITS : size;
    if (shown == 0 || shown >= sizeof value)
        return json_null();
    snprintf(value, sizeof value, "%.*s", (int)shown, at);
    return json_string(value);
}

/* Whether two known values are different; null is unknown. */
static bool differs(const json_t *values)
{
    size_t i;
    json_t *value;
    const json_t *first = NULL;
    json_array_foreach(values, i, value)
    {
        if (first != NULL && json_is_string(value) && !json_equal(first, value))
            return true;
        if (first == NULL && json_is_string(value))
            first = value;
    }
    return false;
}

json_t *cse_origins_that_differ(const json_t *links)
{
    json_t *found = json_array(), *text;
    size_t i;
    for (int part = 0; part < PARTS; part++) {
        json_t *values = json_array();
        json_array_foreach(links, i, text)
            json_array_append_new(values, value_of(json_string_value(text), part));
        if (differs(values))
            json_array_append_new(found, json_pack("{s:s, s:b, s:O}", "path", parts[part].path,
                                                   "changes_bits", 1, "values", values));
        json_decref(values);
    }
    return found;
}
