/* Translation to PCRE2, which compiles a pattern to machine code. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "dataloader/tokenizer/split_pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/character_classes.h"
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

/* One escape; `*at` moves behind it. */
static cse_status add_escape(cse_text *to, const char *pattern, size_t *at, bool in_class)
{
    const size_t begin = *at;
    const char letter = pattern[begin + 1];
    const bool negated = letter == 'S' || letter == 'P' || letter == 'D';
    const char *members = NULL;
    if (letter == '\0' || strchr("hHRXyYKkgGBbAzZwW0123456789", letter) != NULL)
        return not_accepted(pattern, begin, "an escape whose meaning differs between libraries");
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
        if (pattern[i] == '[')
            in_class = true;
        else if (pattern[i] == ']')
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
        pcre2_compile((PCRE2_SPTR)source, size,
                      options | PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, NULL);
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
        status = compile(translated.data, translated.size, 0, pattern, split);
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

int cse_split_next(const cse_split_pattern *split, cse_split_matcher *matcher, const char *text,
                   size_t size, size_t range[2])
{
    const int found =
        pcre2_match(split->code, (PCRE2_SPTR)text, size, range[0],
                    PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, matcher->data, matcher->context);
    if (found == PCRE2_ERROR_NOMATCH)
        return 0;
    if (found < 0)
        return -1;
    const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(matcher->data);
    range[0] = offsets[0];
    range[1] = offsets[1];
    return range[1] > range[0] ? 1 : -1;
}
