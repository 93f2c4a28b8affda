/* One list of members says what is read of an entry and what is refused. */
#include "dataloader/tokenizer/text/json_members.h"

#include "engine/base/text.h"

typedef struct expected {
    char name[32];
    char type;
    bool is_needed, may_be_null;
} expected;

/* The next of the list; false at its end. */
static bool next_expected(const char **list, expected *member)
{
    const char *at = *list + strspn(*list, " ");
    const size_t length = strcspn(at, ":");
    if (at[length] == '\0')
        return false;
    *member = (expected){ .type = at[length + 1] };
    memcpy(member->name, at, length < sizeof member->name ? length : sizeof member->name - 1);
    for (at += length + 2; *at == '!' || *at == '?'; at++) {
        member->is_needed |= *at == '!';
        member->may_be_null |= *at == '?';
    }
    *list = at;
    return true;
}

static bool is_pattern(const json_t *value)
{
    bool is_literal;
    json_t *inner = json_object();
    json_object_set(inner, "pattern", (json_t *)(uintptr_t)value);
    const bool is_one =
        json_object_size(value) == 1 && cse_json_pattern(inner, &is_literal) != NULL;
    json_decref(inner);
    return is_one;
}

/* Also what the value must be, for the message. */
static bool is_of_type(const json_t *value, char type, const char **accepted)
{
    switch (type) {
    case 'b':
        *accepted = "true or false";
        return json_is_boolean(value);
    case 's':
        *accepted = "a text";
        return json_is_string(value);
    case 'i':
        *accepted = "a whole number of 0 or more";
        return json_is_integer(value) && json_integer_value(value) >= 0;
    case 'n':
        *accepted = "a number";
        return json_is_number(value);
    case 'l':
        *accepted = "a list";
        return json_is_array(value);
    case 'o':
        *accepted = "an object";
        return json_is_object(value);
    case 'p':
        *accepted = "{\"String\": text} or {\"Regex\": text}";
        return is_pattern(value);
    default:
        return true;
    }
}

static cse_status refuse_name(const char *what, const char *name, const char *members)
{
    cse_text names = { 0 };
    expected member;
    while (next_expected(&members, &member))
        cse_text_add(&names, "%s%s", names.size > 0 ? ", " : "", member.name);
    cse_status status = cse_fail(CSE_DATA, "%s has the member \"%.60s\": accepted are %s", what,
                                 name, names.size > 0 ? names.data : "none");
    cse_text_clear(&names);
    return status;
}

static bool is_listed(const char *members, const char *name)
{
    expected member;
    while (next_expected(&members, &member))
        if (strcmp(name, member.name) == 0)
            return true;
    return strcmp(name, "type") == 0;
}

cse_status cse_json_expect(const json_t *entry, const char *what, const char *members)
{
    const char *name, *list = members, *accepted = "";
    json_t *value;
    expected member;
    if (!json_is_object(entry))
        return cse_fail(CSE_DATA, "%s is no object", what);
    json_object_foreach((json_t *)(uintptr_t)entry, name, value)
    {
        if (!is_listed(members, name))
            return refuse_name(what, name, members);
    }
    while (next_expected(&list, &member)) {
        value = json_object_get(entry, member.name);
        if (value == NULL && member.is_needed)
            return cse_fail(CSE_DATA, "%s has no \"%s\"", what, member.name);
        if (value == NULL || (json_is_null(value) && member.may_be_null))
            continue;
        if (!is_of_type(value, member.type, &accepted))
            return cse_fail(CSE_DATA, "%s: \"%s\" is not %s", what, member.name, accepted);
    }
    return CSE_OK;
}
