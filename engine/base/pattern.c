/* One expression of each use is made of the text: PCRE2 has no option for an end behind a dot. */
#include "engine/base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

enum { MOST_STEPS = 100000, MOST_BYTES = 4096 };

struct cse_pattern {
    pcre2_code *code;
};

cse_pattern *cse_pattern_new(const char *text, char *why, size_t why_bytes)
{
    int error = 0;
    PCRE2_SIZE at = 0;
    if (strlen(text) > MOST_BYTES) {
        snprintf(why, why_bytes, "it is longer than %d bytes", MOST_BYTES);
        return NULL;
    }
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                                     PCRE2_NEVER_BACKSLASH_C, &error, &at, NULL);
    if (code == NULL) {
        PCRE2_UCHAR message[128];
        pcre2_get_error_message(error, message, sizeof message);
        snprintf(why, why_bytes, "%s (at character %zu)", (const char *)message, at + 1);
        return NULL;
    }
    cse_pattern *pattern = cse_calloc(1, sizeof *pattern);
    pattern->code = code;
    return pattern;
}

void cse_pattern_destroy(cse_pattern **pattern)
{
    if (*pattern == NULL)
        return;
    pcre2_code_free((*pattern)->code);
    free(*pattern);
    *pattern = NULL;
}

static bool matches(const cse_pattern *pattern, const char *name, size_t from, uint32_t options)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(context, MOST_STEPS);
    const int found = pcre2_match(pattern->code, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, from,
                                  options, data, context);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    return found >= 0;
}

static const uint32_t whole = PCRE2_ANCHORED | PCRE2_ENDANCHORED;

bool cse_pattern_matches(const cse_pattern *pattern, const char *name)
{
    return matches(pattern, name, 0, whole);
}

bool cse_pattern_matches_end(const cse_pattern *pattern, const char *name)
{
    bool found = matches(pattern, name, 0, whole);
    for (const char *dot = strchr(name, '.'); dot != NULL && !found; dot = strchr(dot + 1, '.'))
        found = matches(pattern, name, (size_t)(dot + 1 - name), whole);
    return found;
}

bool cse_pattern_is_in(const cse_pattern *pattern, const char *name)
{
    return matches(pattern, name, 0, 0);
}
