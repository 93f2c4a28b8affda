/* PCRE2, which compiles a pattern to machine code. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "dataloader/tokenizer/text/split_pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/text/pattern_syntax.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"

enum {
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

static cse_status compile(const char *source, size_t size, uint32_t options, const char *pattern,
                          cse_split_pattern **split)
{
    int error = 0;
    PCRE2_SIZE at = 0;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)source, size, options | PCRE2_UTF, &error, &at, context);
    pcre2_compile_context_free(context);
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
    if (*pattern == '\0' || strlen(pattern) > CSE_PATTERN_MOST_BYTES)
        return cse_fail(CSE_DATA, "a split pattern has %zu bytes, accepted are 1 to %d",
                        strlen(pattern), CSE_PATTERN_MOST_BYTES);
    if (literal)
        return compile(pattern, strlen(pattern), PCRE2_LITERAL, pattern, split);
    cse_status status = cse_pattern_translate(pattern, &translated);
    if (status == CSE_OK)
        status = compile(translated.data, translated.size,
                         PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, pattern, split);
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
