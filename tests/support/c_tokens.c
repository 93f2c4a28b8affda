/* Each phase reads what the one before has left. */
#include "tests/support/c_tokens.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

static void replace_trigraphs(char *text)
{
    static const char signs[] = "=/'()!<>-", meant[] = "#\\^[]|{}~";
    char *to = text;
    for (const char *at = text; *at != '\0'; to++) {
        const char *sign = at[0] == '?' && at[1] == '?' && at[2] ? strchr(signs, at[2]) : NULL;
        *to = sign != NULL ? meant[sign - signs] : *at;
        at += sign != NULL ? 3 : 1;
    }
    *to = '\0';
}

static void join_lines(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        size_t blanks = *at == '\\' ? strspn(at + 1, " \t\r\v\f") : 0;
        if (*at == '\\' && at[1 + blanks] == '\n')
            at += 2 + blanks;
        else
            *to++ = *at++;
    }
    *to = '\0';
}

static const char *end_of_literal(const char *at)
{
    const char quote = *at++;
    while (*at != '\0' && *at != '\n' && *at != quote)
        at += *at == '\\' && at[1] != '\0' ? 2 : 1;
    return *at == quote ? at + 1 : NULL;
}

static const char *end_of_comment(const char *at)
{
    if (at[1] == '/')
        return at + strcspn(at, "\n");
    const char *end = strstr(at + 2, "*/");
    return end != NULL ? end + 2 : NULL;
}

char *c_tokens(const char *text)
{
    char *read = cse_strdup(text), *tokens = cse_malloc(strlen(text) + 16), *to = tokens;
    replace_trigraphs(read);
    join_lines(read);
    for (const char *at = read; at != NULL && *at != '\0';) {
        const bool comment = *at == '/' && (at[1] == '/' || at[1] == '*');
        const bool literal = *at == '"' || *at == '\'';
        if (comment || *at == ' ' || *at == '\t' || *at == '\v' || *at == '\f' || *at == '\r') {
            at = comment ? end_of_comment(at) : at + 1;
            if (to == tokens || to[-1] != ' ')
                *to++ = ' ';
        } else if (literal) {
            at = end_of_literal(at);
            *to++ = '"';
        } else {
            *to++ = *at++;
        }
        if (at == NULL)
            to = stpcpy(to, "<open>");
    }
    *to = '\0';
    free(read);
    return tokens;
}
