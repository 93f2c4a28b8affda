/* Members of a tokenizer.json: which an entry may have, a text, a switch, and kinds by name. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_JSON_MEMBERS_H
#define CSE_DATALOADER_TOKENIZER_TEXT_JSON_MEMBERS_H

#include <jansson.h>
#include <string.h>

#include "csengine/status.h"

/* Refuses what the list does not name, and values of another type. `members`: "name:TYPE" with a
 * space between; types are b (true or false), s (text), i (whole number of 0 or more), n (number),
 * l (list), o (object), p (pattern: {"String"} or {"Regex"}) and * (any); "!" behind it: it must be
 * there; "?": it may be null. `what` begins the message; a member "type" is always accepted. */
cse_status cse_json_expect(const json_t *entry, const char *what, const char *members);

/* "" for a missing member or one that is no text. */
static inline const char *cse_json_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static inline bool cse_json_is_on(const json_t *object, const char *name, bool otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* {"Regex": ...} or {"String": ...}: NULL where it is neither. */
static inline const char *cse_json_pattern(const json_t *entry, bool *is_literal)
{
    const json_t *pattern = json_object_get(entry, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    *is_literal = regex == NULL;
    return regex != NULL ? regex : json_string_value(json_object_get(pattern, "String"));
}

/* A table of kinds, by the type of an entry. */
#define CSE_JSON_KIND(table, entry)                                     \
    cse_json_kind_index(cse_json_text(entry, "type"), &(table)[0].name, \
                        sizeof(table) / sizeof((table)[0]), sizeof((table)[0]))

/* The row whose first member is this name, -1 for none. */
static inline int cse_json_kind_index(const char *type, const char *const *names, size_t count,
                                      size_t row_bytes)
{
    for (size_t i = 0; i < count; i++) {
        const char *const *name =
            (const char *const *)(const void *)((const char *)(const void *)names + i * row_bytes);
        if (strcmp(*name, type) == 0)
            return (int)i;
    }
    return -1;
}

#endif
