/* Translation to PCRE2, which compiles a pattern to machine code. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "dataloader/tokenizer/text/split_pattern.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/text/character_classes.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"

enum {
    PATTERN_MOST_BYTES = 8192,
    MATCH_STEPS = 10000000,
    JIT_STACK_FIRST_BYTES = 32 * 1024,
    JIT_STACK_MOST_BYTES = 1024 * 1024
};

const char cse_gpt2_split[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

struct cse_split_pattern {
    pcre2_code *code;
};

struct cse_split_matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

/* Unicode's White_Space. */
static const char white_space[] = "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}"
                                  "\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";

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

/* One escape; `*at` moves behind it. */
static cse_status add_escape(cse_text *to, const char *pattern, size_t *at, bool in_class)
{
    const size_t begin = *at;
    const char letter = pattern[begin + 1];
    const bool negated = letter == 'S' || letter == 'P' || letter == 'D';
    const char *members = NULL;
    if (letter == '\0' || strchr("hHRXyYKkgGBbAzZwWNOQEcCMo0123456789", letter) != NULL)
        return not_accepted(pattern, begin, "an escape whose meaning differs between libraries");
    if (letter == 'u' || letter == 'x')
        return add_number(to, pattern, at);
    if (in_class && negated)
        return not_accepted(pattern, begin, "a negated class in brackets");
    if (letter == 's' || letter == 'S')
        members = white_space;
    else if (letter == 'd' || letter == 'D')
        members = cse_character_class("Nd", 2);
    if (letter == 'p' || letter == 'P')
        CSE_TRY(find_property(pattern, at, &members));
    else
        *at += 2;
    if (members == NULL)
        cse_text_add_bytes(to, pattern + begin, 2);
    else if (in_class)
        cse_text_add(to, "%s", members);
    else
        cse_text_add(to, "[%s%s]", negated ? "^" : "", members);
    return CSE_OK;
}

/* What Oniguruma takes for something else than PCRE2, outside of brackets: anchors of lines,
 * options in the middle, an interval that is repeated, {,n}, names of groups. */
static cse_status check_syntax(const char *pattern, size_t at)
{
    const char *s = pattern + at;
    if (*s == '^' || *s == '$')
        return not_accepted(pattern, at, "an anchor of lines");
    if (*s == '{' && s[1] == ',')
        return not_accepted(pattern, at, "an interval without its least number");
    if (*s == '}' && s[1] == '+')
        return not_accepted(pattern, at, "an interval that is repeated");
    if (strncmp(s, "(?", 2) != 0)
        return CSE_OK;
    const bool is_usual = strchr(":=!>", s[2]) != NULL && s[2] != '\0';
    const bool looks_back = s[2] == '<' && (s[3] == '=' || s[3] == '!');
    const bool ignores_case = strncmp(s, "(?i:", 4) == 0 || (at == 0 && strncmp(s, "(?i)", 4) == 0);
    return is_usual || looks_back || ignores_case
               ? CSE_OK
               : not_accepted(pattern, at, "a group whose meaning differs between libraries");
}

static cse_status translate(const char *pattern, cse_text *to)
{
    bool in_class = false;
    if (strncmp(pattern, "(*", 2) == 0)
        return not_accepted(pattern, 0, "a directive");
    for (size_t i = 0; pattern[i] != '\0';) {
        if (pattern[i] == '\\') {
            CSE_TRY(add_escape(to, pattern, &i, in_class));
            continue;
        }
        if (in_class && (pattern[i] == '[' || strncmp(pattern + i, "&&", 2) == 0))
            return not_accepted(pattern, i, "a set within a set");
        if (!in_class)
            CSE_TRY(check_syntax(pattern, i));
        if (pattern[i] == '[') {
            in_class = true;
            const size_t first = i + 1 + (pattern[i + 1] == '^');
            cse_text_add_bytes(to, pattern + i, first - i);
            i = first;
            if (pattern[i] == ']')
                return not_accepted(pattern, i, "an empty class");
            continue;
        }
        if (pattern[i] == ']')
            in_class = false;
        cse_text_add_bytes(to, pattern + i++, 1);
    }
    return CSE_OK;
}

static cse_status compile(const char *source, size_t size, uint32_t options, const char *pattern,
                          cse_split_pattern **split)
{
    int error = 0;
    PCRE2_SIZE at = 0;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)source, size, options | PCRE2_UTF, &error, &at, NULL);
    if (code == NULL) {
        char message[160];
        pcre2_get_error_message(error, (PCRE2_UCHAR *)message, sizeof message);
        return cse_fail(CSE_DATA, "the split pattern \"%.200s\" cannot be used: %s", pattern,
                        message);
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* where that is not there, it is interpreted */
    *split = cse_calloc(1, sizeof **split);
    (*split)->code = code;
    return CSE_OK;
}

cse_status cse_split_pattern_new(const char *pattern, bool literal, cse_split_pattern **split)
{
    cse_text translated = { 0 };
    *split = NULL;
    if (*pattern == '\0' || strlen(pattern) > PATTERN_MOST_BYTES)
        return cse_fail(CSE_DATA, "a split pattern has %zu bytes, accepted are 1 to %d",
                        strlen(pattern), PATTERN_MOST_BYTES);
    if (literal)
        return compile(pattern, strlen(pattern), PCRE2_LITERAL, pattern, split);
    cse_status status = translate(pattern, &translated);
    if (status == CSE_OK)
        status = compile(translated.data, translated.size, PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                         pattern, split);
    cse_text_clear(&translated);
    return status;
}

void cse_split_pattern_destroy(cse_split_pattern **split)
{
    if (*split == NULL)
        return;
    pcre2_code_free((*split)->code);
    free(*split);
    *split = NULL;
}

cse_split_matcher *cse_split_matcher_new(void)
{
    cse_split_matcher *matcher = cse_calloc(1, sizeof *matcher);
    matcher->data = pcre2_match_data_create(1, NULL);
    matcher->context = pcre2_match_context_create(NULL);
    matcher->stack = pcre2_jit_stack_create(JIT_STACK_FIRST_BYTES, JIT_STACK_MOST_BYTES, NULL);
    pcre2_set_match_limit(matcher->context, MATCH_STEPS);
    pcre2_jit_stack_assign(matcher->context, NULL, matcher->stack);
    return matcher;
}

void cse_split_matcher_destroy(cse_split_matcher **matcher)
{
    if (*matcher == NULL)
        return;
    pcre2_match_data_free((*matcher)->data);
    pcre2_match_context_free((*matcher)->context);
    pcre2_jit_stack_free((*matcher)->stack);
    free(*matcher);
    *matcher = NULL;
}

int cse_split_next(const cse_split_pattern *split, cse_split_matcher *matcher,
                   cse_split_search *search, size_t range[2])
{
    while (search->from <= search->size) {
        const int found =
            pcre2_match(split->code, (PCRE2_SPTR)search->text, search->size, search->from,
                        PCRE2_NO_UTF_CHECK, matcher->data, matcher->context);
        if (found == PCRE2_ERROR_NOMATCH)
            return 0;
        if (found < 0)
            return -1;
        const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(matcher->data);
        range[0] = offsets[0];
        range[1] = offsets[1];
        if (range[1] < range[0]) /* \K in a look-ahead, which is refused before */
            return -1;
        if (range[0] < range[1] || !search->has_last || search->last != range[1]) {
            search->from = search->last = range[1];
            search->has_last = true;
            return 1;
        }
        do
            search->from++;
        while (search->from < search->size && (search->text[search->from] & 0xc0) == 0x80);
    }
    return 0;
}
