/* A scanner that knows where values end, and jansson for those that are wanted. */
#include "dataloader/formats/json_line.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/nesting.h"

enum { MOST_LEVELS = 64 };

typedef struct scanner {
    const char *line, *at, *end;
} scanner;

static cse_status wrong(const scanner *s, const char *what)
{
    return cse_fail(CSE_DATA, "column %td: no JSON: %s", s->at - s->line + 1, what);
}

static void pass_blanks(scanner *s)
{
    while (s->at < s->end && strchr(" \t\r\n", *s->at) != NULL && *s->at != '\0')
        s->at++;
}

static bool take(scanner *s, char c)
{
    pass_blanks(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static cse_status pass_text(scanner *s)
{
    const scanner begin = *s;
    if (!take(s, '"'))
        return wrong(s, "expected a text in double quotes");
    while (s->at < s->end && *s->at != '"')
        s->at += *s->at == '\\' && s->at + 1 < s->end ? 2 : 1;
    if (s->at >= s->end)
        return wrong(&begin, "the text has no closing quote on its line");
    s->at++;
    return CSE_OK;
}

/* NaN, Infinity and -Infinity are words of Python's. */
static bool is_no_number(const char *at, size_t size)
{
    return (size == 3 && memcmp(at, "NaN", 3) == 0) ||
           (size == 8 && memcmp(at, "Infinity", 8) == 0) ||
           (size == 9 && memcmp(at, "-Infinity", 9) == 0);
}

static size_t word_length(const scanner *s)
{
    size_t length = 0;
    while (s->at + length < s->end && strchr(" \t\r\n,:[]{}\"", s->at[length]) == NULL)
        length++;
    return length;
}

static cse_status pass_word(scanner *s)
{
    const size_t length = word_length(s);
    const bool is_name =
        (length == 4 && (memcmp(s->at, "true", 4) == 0 || memcmp(s->at, "null", 4) == 0)) ||
        (length == 5 && memcmp(s->at, "false", 5) == 0);
    bool is_number = length > 0;
    for (size_t i = 0; i < length; i++)
        is_number = is_number && s->at[i] != '\0' && strchr("+-.0123456789eE", s->at[i]) != NULL;
    if (!is_name && !is_number && !is_no_number(s->at, length))
        return wrong(s, "expected a value");
    s->at += length;
    return CSE_OK;
}

/* Over a value of any depth, which was limited before. */
static cse_status pass_value(scanner *s)
{
    int depth = 0;
    do {
        pass_blanks(s);
        if (s->at == s->end)
            return wrong(s, "a value does not end on this line");
        if (*s->at == '"') {
            CSE_TRY(pass_text(s));
        } else if (strchr("[]{},:", *s->at) == NULL) {
            CSE_TRY(pass_word(s));
        } else {
            depth += *s->at == '[' || *s->at == '{';
            depth -= *s->at == ']' || *s->at == '}';
            if (depth < 0 || (depth == 0 && (*s->at == ',' || *s->at == ':')))
                return wrong(s, "expected a value");
            s->at++;
        }
    } while (depth > 0);
    return CSE_OK;
}

/* ---- values that are wanted ---- */

/* The same text with null in place of what Python writes for numbers that are none. */
static char *without_nan(const char *from, size_t size, size_t *length)
{
    char *text = cse_malloc(2 * size + 1), *to = text;
    scanner s = { from, from, from + size };
    while (s.at < s.end) {
        const char *begin = s.at;
        const size_t word = word_length(&s);
        if (*s.at != '"' || pass_text(&s) != CSE_OK)
            s.at = begin + (word > 0 ? word : 1);
        const bool is_null = is_no_number(begin, (size_t)(s.at - begin));
        const size_t copied = is_null ? 4 : (size_t)(s.at - begin);
        memcpy(to, is_null ? "null" : begin, copied);
        to += copied;
    }
    *length = (size_t)(to - text);
    return text;
}

static cse_status refuse_value(const char *name, const json_error_t *error)
{
    if (strstr(error->text, "invalid Unicode") != NULL)
        return cse_fail(
            CSE_DATA,
            "member \"%s\": half of a surrogate pair (%s) is no character: the text was "
            "cut within one",
            name, strstr(error->text, "invalid Unicode"));
    return cse_fail(CSE_DATA, "member \"%s\": no JSON: %s", name, error->text);
}

static cse_status make_value(const char *name, const scanner *begin, const char *end,
                             json_t *object)
{
    json_error_t error;
    size_t length;
    char *text = without_nan(begin->at, (size_t)(end - begin->at), &length);
    json_t *value = json_loadb(text, length,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    free(text);
    if (value == NULL)
        return refuse_value(name, &error);
    json_object_set_new(object, name, value);
    return CSE_OK;
}

/* The name of a member, which may be written with escapes; NULL: it is not wanted. */
static const char *wanted(const char *begin, const char *end, const char *const names[])
{
    const char *found = NULL;
    json_t *key = json_loadb(begin, (size_t)(end - begin), JSON_DECODE_ANY, NULL);
    for (int i = 0; names[i] != NULL && found == NULL && key != NULL; i++)
        if (strcmp(names[i], json_string_value(key)) == 0)
            found = names[i];
    json_decref(key);
    return found;
}

/* ---- the line ---- */

static cse_status refuse_other_formats(const scanner *s)
{
    const size_t size = (size_t)(s->end - s->at);
    if (size >= 2 && (memcmp(s->at, "\xff\xfe", 2) == 0 || memcmp(s->at, "\xfe\xff", 2) == 0 ||
                      s->at[0] == '\0' || s->at[1] == '\0'))
        return wrong(s, "it is UTF-16: save the file as UTF-8");
    if (size >= 1 && *s->at == '[')
        return wrong(s,
                     "the line begins a list: of a file that is one JSON array, write each entry "
                     "to a line of its own, as jq -c '.[]' does");
    return CSE_OK;
}

static cse_status read_member(scanner *s, const char *const names[], json_t *object)
{
    pass_blanks(s);
    const char *begin = s->at;
    CSE_TRY(pass_text(s));
    const char *name = wanted(begin, s->at, names);
    if (!take(s, ':'))
        return wrong(s, "expected a colon behind the name of a member");
    pass_blanks(s);
    const scanner value = *s;
    CSE_TRY(pass_value(s));
    return name != NULL ? make_value(name, &value, s->at, object) : CSE_OK;
}

static cse_status read_members(scanner *s, const char *const names[], json_t *object)
{
    if (!take(s, '{'))
        return wrong(s, "each line must be an object in braces");
    if (!take(s, '}'))
        for (;;) {
            CSE_TRY(read_member(s, names, object));
            if (take(s, '}'))
                break;
            if (!take(s, ','))
                return wrong(s, s->at == s->end ? "the object does not end on its line: each line "
                                                  "must be a whole object"
                                                : "expected a comma or the end of the object");
        }
    pass_blanks(s);
    return s->at == s->end ? CSE_OK : wrong(s, "something follows the object");
}

cse_status cse_json_line_read(const char *line, size_t size, const char *const names[],
                              json_t **object)
{
    cse_nesting where;
    scanner s = { line, line, line + size };
    *object = NULL;
    if (size >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
        s.at += 3;
    pass_blanks(&s);
    CSE_TRY(refuse_other_formats(&s));
    if (!cse_nesting_json(line, size, MOST_LEVELS, &where))
        return cse_fail(CSE_DATA, "column %d: more than %d brackets are open", where.column,
                        MOST_LEVELS);
    *object = json_object();
    cse_status status = read_members(&s, names, *object);
    if (status != CSE_OK) {
        json_decref(*object);
        *object = NULL;
    }
    return status;
}

bool cse_json_int32(const json_t *value, int32_t *number)
{
    const double real = json_number_value(value);
    if (!json_is_number(value) || !(real >= INT32_MIN && real <= INT32_MAX) || real != floor(real))
        return false;
    *number = (int32_t)real;
    return true;
}
