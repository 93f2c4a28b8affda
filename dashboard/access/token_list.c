/* Words are separated by blanks; the first is the token. Messages quote names and numbers, and
 * never a token. */
#include "dashboard/access/token_list.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/access/token.h"
#include "engine/base/arena.h"

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

typedef struct place {
    const char *path;
    int line;
} place;

static cse_status wrong(const place *at, const char *what, const char *word)
{
    return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                     .place = { .source = at->path, .line = at->line, .column = 1 },
                                     .accepted = "accepted: TOKEN, or TOKEN name=NAME [cores=N] "
                                                 "[memory_mib=N] [jobs=N]" },
                       "%s%.40s", what, word);
}

/* A whole number from 1 on, at most `most`. */
static cse_status read_number(const place *at, const char *word, int64_t most, int64_t *number)
{
    char *end = NULL;
    const char *digits = strchr(word, '=') + 1;
    errno = 0;
    const long long value = strtoll(digits, &end, 10);
    if (errno != 0 || end == digits || *end != '\0' || value < 1 || value > most)
        return wrong(at, "no number of 1 or more: ", word);
    *number = value;
    return CSE_OK;
}

static cse_status read_name(const place *at, const char *name, cse_grant *grant)
{
    const size_t length = strlen(name);
    if (length == 0 || length >= sizeof grant->name || strspn(name, NAME_CHARACTERS) != length)
        return wrong(at, "a name has 1 to 32 letters, digits and _ . -: ", name);
    snprintf(grant->name, sizeof grant->name, "%s", name);
    return CSE_OK;
}

static cse_status read_word(const place *at, const char *word, cse_grant *grant)
{
    int64_t mib = 0;
    if (strncmp(word, "name=", 5) == 0)
        return read_name(at, word + 5, grant);
    if (strncmp(word, "cores=", 6) == 0)
        return read_number(at, word, 4096, &grant->cores);
    if (strncmp(word, "jobs=", 5) == 0)
        return read_number(at, word, 1000000, &grant->jobs);
    if (strncmp(word, "memory_mib=", 11) != 0)
        return wrong(at, "unknown word behind the token: ", word);
    CSE_TRY(read_number(at, word, INT64_C(1) << 40, &mib));
    grant->memory_bytes = mib << 20;
    return CSE_OK;
}

/* Two of one name would be one account with two limits. */
static cse_status check_new(const place *at, const cse_token_list *list, const char *token,
                            const cse_grant *grant)
{
    const bool limited = grant->cores > 0 || grant->memory_bytes > 0 || grant->jobs > 0;
    if (limited && grant->name[0] == '\0')
        return wrong(at, "limits need a name, by which they are told and jobs are counted", "");
    if (list->count == CSE_MOST_TOKENS)
        return wrong(at, "more than 64 tokens", "");
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->tokens[i], token) == 0)
            return wrong(at, "a token that stands in an earlier line", "");
        if (grant->name[0] != '\0' && strcmp(list->grants[i].name, grant->name) == 0)
            return wrong(at, "a name that stands in an earlier line: ", grant->name);
    }
    return CSE_OK;
}

static cse_status read_line(const place *at, char *line, cse_token_list *list)
{
    char *rest = NULL;
    cse_grant grant = { .cores = 0 };
    char *token = strtok_r(line, " \t\r", &rest);
    if (token == NULL)
        return CSE_OK;
    CSE_TRY(cse_token_check(token, at->path, at->line));
    for (char *word; (word = strtok_r(NULL, " \t\r", &rest)) != NULL;)
        CSE_TRY(read_word(at, word, &grant));
    CSE_TRY(check_new(at, list, token, &grant));
    cse_token_list_add(list, token);
    list->grants[list->count - 1] = grant;
    return CSE_OK;
}

cse_status cse_token_list_read(const char *path, cse_token_list *list)
{
    char *text = NULL, *rest = NULL;
    place at = { .path = path };
    *list = (cse_token_list){ .count = 0 };
    cse_status status = cse_token_file_read(path, &text);
    const size_t size = text != NULL ? strlen(text) : 0;
    for (char *line = text; status == CSE_OK && line != NULL; line = rest) {
        rest = strchr(line, '\n');
        if (rest != NULL)
            *rest++ = '\0';
        at.line++;
        status = read_line(&at, line, list);
    }
    if (status == CSE_OK && list->count == 0)
        status = cse_token_check("", path, 1);
    if (text != NULL)
        sodium_memzero(text, size);
    free(text);
    return status;
}

void cse_token_list_add(cse_token_list *list, const char *token)
{
    if (list->count == CSE_MOST_TOKENS)
        return;
    list->grants[list->count] = (cse_grant){ .cores = 0 };
    list->tokens[list->count++] = cse_strdup(token);
}

void cse_token_list_clear(cse_token_list *list)
{
    for (int i = 0; i < list->count; i++)
        cse_token_clear(&list->tokens[i]);
    list->count = 0;
}
