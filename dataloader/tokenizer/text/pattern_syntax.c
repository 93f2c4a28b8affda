/* What both libraries have is copied. Classes are written out with the characters that they have in
 * Oniguruma; nested sets become alternatives with lookaheads, since each matches one character. */
#include "dataloader/tokenizer/text/pattern_syntax.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/text/character_classes.h"

enum { MOST_GROUPS = 64 };

/* Unicode's White_Space. */
static const char white_space[] = "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}"
                                  "\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
static const char any_character[] = "[\\x{0}-\\x{10ffff}]";

static cse_status not_accepted(const char *pattern, size_t at, const char *why)
{
    return cse_fail(CSE_DATA,
                    "the split pattern \"%.200s\" has %s at its byte %zu, which is not accepted "
                    "here",
                    pattern, why, at);
}

/* \p{L} and \P{L}; `*at` moves behind it. */
static cse_status find_property(const char *pattern, size_t *at, const char **members)
{
    const char *name = pattern + *at + 3;
    const char *end = pattern[*at + 2] == '{' ? strchr(name, '}') : NULL;
    *members = end != NULL ? cse_character_class(name, (size_t)(end - name)) : NULL;
    if (*members == NULL)
        return not_accepted(pattern, *at, "a property that is no general category and not Han");
    *at = (size_t)(end - pattern) + 1;
    return CSE_OK;
}

static int digits_of(const char *text, int most)
{
    int count = 0;
    while (count < most && isxdigit((unsigned char)text[count]))
        count++;
    return count;
}

/* \uHHHH, \xHH and \x{H...}; `*at` moves behind it. */
static cse_status add_number(cse_text *to, const char *pattern, size_t *at)
{
    const size_t begin = *at;
    const char *digits = pattern + begin + 2;
    const bool braces = pattern[begin + 1] == 'x' && *digits == '{';
    digits += braces;
    const int most = braces                      ? 6
                     : pattern[begin + 1] == 'u' ? 4
                                                 : 2,
              count = digits_of(digits, most);
    const long value = strtol(count > 0 ? digits : "0", NULL, 16);
    const bool is_whole = braces ? count > 0 && digits[count] == '}' : count == most;
    if (!is_whole || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return not_accepted(pattern, begin, "no number of a character");
    if (most == 2 && value >= 0x80)
        return not_accepted(pattern, begin, "a byte that is no character");
    char number[8];
    snprintf(number, sizeof number, "%.*s", count, digits);
    cse_text_add(to, "\\x{%s}", number);
    *at = (size_t)(digits - pattern) + (size_t)count + braces;
    return CSE_OK;
}

/* The members of a class that a letter names; NULL: it names none. A word has less within
 * brackets. */
static cse_status find_members(const char *pattern, size_t *at, bool in_class, const char **members)
{
    const char letter = (char)tolower((unsigned char)pattern[*at + 1]);
    if (letter == 'p')
        return find_property(pattern, at, members);
    *members = letter == 's'   ? white_space
               : letter == 'd' ? cse_character_class("Nd", 2)
               : letter == 'w' ? cse_character_class(in_class ? "[w]" : "w", in_class ? 3 : 1)
               : letter == 'h' ? "0-9A-Fa-f"
                               : NULL;
    if (*members != NULL)
        *at += 2;
    return CSE_OK;
}

static bool is_negated_class(char letter)
{
    return letter != '\0' && strchr("SDWHP", letter) != NULL;
}

/* Between a character of a word and none. */
static void add_boundary(cse_text *to, bool is_boundary)
{
    const char *word = cse_character_class("w", 1);
    cse_text_add(to, "(?:(?<=[%s])(?%c[%s])|(?<![%s])(?%c[%s]))", word, is_boundary ? '!' : '=',
                 word, word, is_boundary ? '=' : '!', word);
}

/* An escape that is no class; `*at` moves behind it. */
static cse_status add_plain_escape(cse_text *to, const char *pattern, size_t *at, bool in_class)
{
    const size_t begin = *at;
    const char letter = pattern[begin + 1];
    if (letter == 'u' || letter == 'x')
        return add_number(to, pattern, at);
    if (letter == '\0' || strchr("RXyYKkgGoQEcCMNO0123456789", letter) != NULL ||
        (in_class && strchr("bBAzZ", letter) != NULL))
        return not_accepted(pattern, begin, "an escape whose meaning differs between libraries");
    *at += 2;
    if (letter == 'b' || letter == 'B')
        add_boundary(to, letter == 'b');
    else if (letter == 'v')
        cse_text_add(to, "\\x{b}");
    else
        cse_text_add_bytes(to, pattern + begin, 2);
    return CSE_OK;
}

static cse_status add_escape(cse_text *to, const char *pattern, size_t *at)
{
    const char letter = pattern[*at + 1];
    const char *members = NULL;
    CSE_TRY(find_members(pattern, at, false, &members));
    if (members == NULL)
        return add_plain_escape(to, pattern, at, false);
    cse_text_add(to, "[%s%s]", is_negated_class(letter) ? "^" : "", members);
    return CSE_OK;
}

/* ---- sets ---- */

/* Members for brackets, and what else is a character of the set, with "|" between. */
typedef struct set_parts {
    cse_text members, others;
} set_parts;

static void clear_parts(set_parts *parts)
{
    cse_text_clear(&parts->members);
    cse_text_clear(&parts->others);
}

/* One character of the parts. */
static void add_union(cse_text *to, const set_parts *parts)
{
    if (parts->others.size == 0) {
        cse_text_add(to, "[%s]", parts->members.data != NULL ? parts->members.data : "");
        return;
    }
    cse_text_add(to, "(?:");
    if (parts->members.size > 0)
        cse_text_add(to, "[%s]|", parts->members.data);
    cse_text_add(to, "%s)", parts->others.data);
}

static cse_status add_set(cse_text *to, const char *pattern, size_t *at);

static void begin_other(set_parts *parts)
{
    if (parts->others.size > 0)
        cse_text_add(&parts->others, "|");
}

/* One member; `*at` moves behind it. */
static cse_status add_member(set_parts *parts, const char *pattern, size_t *at)
{
    const char *members = NULL, letter = pattern[*at + 1];
    if (pattern[*at] == '[') {
        begin_other(parts);
        return add_set(&parts->others, pattern, at);
    }
    if (pattern[*at] != '\\') {
        cse_text_add_bytes(&parts->members, pattern + (*at)++, 1);
        return CSE_OK;
    }
    CSE_TRY(find_members(pattern, at, true, &members));
    if (members == NULL)
        return add_plain_escape(&parts->members, pattern, at, true);
    if (is_negated_class(letter)) {
        begin_other(parts);
        cse_text_add(&parts->others, "[^%s]", members);
    } else {
        cse_text_add(&parts->members, "%s", members);
    }
    return CSE_OK;
}

/* Members up to "]" or "&&", which `*at` stands at then. */
static cse_status add_members(set_parts *parts, const char *pattern, size_t *at)
{
    const size_t begin = *at;
    while (pattern[*at] != ']' && strncmp(pattern + *at, "&&", 2) != 0) {
        if (pattern[*at] == '\0')
            return not_accepted(pattern, begin, "a set without its end");
        CSE_TRY(add_member(parts, pattern, at));
    }
    return *at > begin ? CSE_OK : not_accepted(pattern, begin, "an empty class");
}

/* All operands of "&&" as looks ahead but for the last one. */
static cse_status add_operands(cse_text *to, const char *pattern, size_t *at, bool *is_plain,
                               set_parts *last)
{
    for (;;) {
        clear_parts(last);
        CSE_TRY(add_members(last, pattern, at));
        if (pattern[*at] == ']')
            break;
        *is_plain = false;
        *at += 2;
        cse_text_add(to, "(?=");
        add_union(to, last);
        cse_text_add(to, ")");
    }
    *is_plain &= last->others.size == 0;
    return CSE_OK;
}

/* `*at` stands at "[" and moves behind "]"; as deep as the brackets, of which there is a limit. */
static cse_status add_set(cse_text *to, const char *pattern, size_t *at)
{
    const size_t begin = *at;
    const bool is_negated = pattern[begin + 1] == '^';
    bool is_plain = true;
    set_parts last = { 0 };
    cse_text before = { 0 };
    if (strncmp(pattern + begin, "[:", 2) == 0)
        return not_accepted(pattern, begin, "a class of POSIX");
    if (to->size > CSE_PATTERN_MOST_BYTES)
        return not_accepted(pattern, begin, "too many sets");
    *at += 1 + is_negated;
    cse_status status = add_operands(&before, pattern, at, &is_plain, &last);
    if (status == CSE_OK && is_plain) {
        cse_text_add(to, "[%s%s]", is_negated ? "^" : "", last.members.data);
    } else if (status == CSE_OK) {
        cse_text_add(to, "(?:%s%s", is_negated ? "(?!" : "", before.size > 0 ? before.data : "");
        add_union(to, &last);
        cse_text_add(to, is_negated ? ")%s)" : ")", any_character);
    }
    cse_text_clear(&before);
    clear_parts(&last);
    *at += status == CSE_OK;
    return status;
}

/* ---- groups and intervals ---- */

/* Where what an interval repeats begins in the result. */
typedef struct atoms {
    size_t last;
    size_t groups[MOST_GROUPS];
    int depth;
} atoms;

/* Groups that Oniguruma takes for something else: options in the middle, and the like. */
static cse_status check_group(const char *pattern, size_t at)
{
    const char *s = pattern + at;
    if (strncmp(s, "(?", 2) != 0)
        return CSE_OK;
    const bool is_usual = strchr(":=!>", s[2]) != NULL && s[2] != '\0';
    const bool looks_back = s[2] == '<' && (s[3] == '=' || s[3] == '!');
    const bool is_named = s[2] == '<' && isalpha((unsigned char)s[3]);
    const bool ignores_case = strncmp(s, "(?i:", 4) == 0 || (at == 0 && strncmp(s, "(?i)", 4) == 0);
    return is_usual || looks_back || is_named || ignores_case
               ? CSE_OK
               : not_accepted(pattern, at, "a group whose meaning differs between libraries");
}

static cse_status add_group(cse_text *to, const char *pattern, size_t *at, atoms *found)
{
    CSE_TRY(check_group(pattern, *at));
    if (found->depth == MOST_GROUPS)
        return not_accepted(pattern, *at, "too many groups");
    found->groups[found->depth++] = to->size;
    cse_text_add_bytes(to, pattern + (*at)++, 1);
    return CSE_OK;
}

/* "{2,3}+" repeats what "{2,3}" repeats; in PCRE2 it would give nothing back. */
static cse_status add_interval(cse_text *to, const char *pattern, size_t *at, const atoms *found)
{
    const char *end = strchr(pattern + *at, '}');
    if (pattern[*at + 1] == ',' || end == NULL)
        return not_accepted(pattern, *at, "an interval without its least number or its end");
    const size_t size = (size_t)(end - pattern) + 1 - *at;
    cse_text_add_bytes(to, pattern + *at, size);
    *at += size;
    if (pattern[*at] != '+')
        return CSE_OK;
    cse_text repeated = { 0 };
    cse_text_add_bytes(&repeated, to->data + found->last, to->size - found->last);
    to->size = found->last;
    cse_text_add(to, "(?:%s)+", repeated.data);
    cse_text_clear(&repeated);
    ++*at;
    return CSE_OK;
}

static bool repeats(char c)
{
    return c == '*' || c == '+' || c == '?';
}

/* One character that is none of the above. */
static void add_character(cse_text *to, const char *pattern, size_t *at, atoms *found)
{
    const char c = pattern[*at];
    if (c == ')' && found->depth > 0)
        found->last = found->groups[--found->depth];
    else if (!repeats(c) && (c & 0xc0) != 0x80)
        found->last = to->size;
    cse_text_add_bytes(to, pattern + (*at)++, 1);
}

cse_status cse_pattern_translate(const char *pattern, cse_text *to)
{
    atoms found = { 0 };
    if (strncmp(pattern, "(*", 2) == 0)
        return not_accepted(pattern, 0, "a directive");
    for (size_t i = 0; pattern[i] != '\0';) {
        if (pattern[i] == '\\' || pattern[i] == '[')
            found.last = to->size;
        if (pattern[i] == '\\')
            CSE_TRY(add_escape(to, pattern, &i));
        else if (pattern[i] == '[')
            CSE_TRY(add_set(to, pattern, &i));
        else if (pattern[i] == '(')
            CSE_TRY(add_group(to, pattern, &i, &found));
        else if (pattern[i] == '{')
            CSE_TRY(add_interval(to, pattern, &i, &found));
        else
            add_character(to, pattern, &i, &found);
    }
    return CSE_OK;
}
