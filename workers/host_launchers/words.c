/* Splitting and quoting of words. Single quotes are the one form of quoting that sh, ksh, bash, zsh
 * and csh read alike; a quote inside is written as '\'' there. */
#include "workers/host_launchers/words.h"

#include <string.h>

#include "engine/base/text.h"

void cse_words_add(cse_words *words, cse_arena *arena, const char *word)
{
    if (words->count + 1 >= words->capacity) {
        int capacity = words->capacity ? 2 * words->capacity : 32;
        const char **items = cse_arena_alloc(arena, (size_t)capacity * sizeof *items);
        for (int i = 0; i < words->count; i++)
            items[i] = words->items[i];
        words->items = items;
        words->capacity = capacity;
    }
    words->items[words->count++] = word;
    words->items[words->count] = NULL;
}

void cse_words_add_all(cse_words *words, cse_arena *arena, const char *const *more)
{
    for (; more != NULL && *more != NULL; more++)
        cse_words_add(words, arena, *more);
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

/* Copies the word that begins at `from` to `to`; returns where it ends, NULL when a quote is not
 * closed. */
static const char *take_word(const char *from, char *to)
{
    char quote = 0;
    for (; *from != 0 && (quote != 0 || !is_blank(*from)); from++) {
        bool escaped = *from == '\\' && from[1] != 0 &&
                       (quote == 0 || (quote == '"' && (from[1] == '"' || from[1] == '\\')));
        if (escaped)
            *to++ = *++from;
        else if (quote != 0 && *from == quote)
            quote = 0;
        else if (quote == 0 && (*from == '\'' || *from == '"'))
            quote = *from;
        else
            *to++ = *from;
    }
    *to = 0;
    return quote == 0 ? from : NULL;
}

cse_status cse_words_split(cse_words *words, cse_arena *arena, const char *text)
{
    if (text == NULL)
        return CSE_OK;
    size_t length = strnlen(text, CSE_WORDS_TEXT_BYTES);
    if (length == CSE_WORDS_TEXT_BYTES)
        return cse_fail(CSE_CONFIG, "host launcher options: too long; at most %d bytes",
                        CSE_WORDS_TEXT_BYTES - 1);
    for (const char *at = text;;) {
        while (is_blank(*at))
            at++;
        if (*at == 0)
            return CSE_OK;
        if (words->count >= CSE_MAX_WORDS)
            return cse_fail(CSE_CONFIG, "host launcher options: more than %d words", CSE_MAX_WORDS);
        char *word = cse_arena_alloc(arena, strlen(at) + 1);
        at = take_word(at, word);
        if (at == NULL)
            return cse_fail(CSE_CONFIG, "host launcher options: a quote is not closed in \"%s\"",
                            text);
        cse_words_add(words, arena, word);
    }
}

const char *cse_words_replace(cse_arena *arena, const char *text, const char *mark,
                              const char *replacement)
{
    cse_text out = { 0 };
    for (const char *found; (found = strstr(text, mark)) != NULL; text = found + strlen(mark)) {
        cse_text_add_bytes(&out, text, (size_t)(found - text));
        cse_text_add_bytes(&out, replacement, strlen(replacement));
    }
    cse_text_add_bytes(&out, text, strlen(text));
    const char *result = cse_arena_printf(arena, "%.*s", (int)out.size, out.data);
    cse_text_clear(&out);
    return result;
}

static const char plain_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

cse_status cse_words_quote(cse_arena *arena, const char *const *words, const char **text)
{
    cse_text out = { 0 };
    for (int i = 0; words[i] != NULL; i++) {
        const char *word = words[i];
        for (const char *at = word; *at != 0; at++)
            if ((unsigned char)*at < 32 || *at == 127) {
                cse_text_clear(&out);
                return cse_fail(CSE_CONFIG,
                                "argument %d of the command for another host: it has a control "
                                "character, which shells read differently; leave it out",
                                i);
            }
        cse_text_add_bytes(&out, " ", i > 0);
        bool plain = *word != 0 && word[strspn(word, plain_letters)] == 0;
        if (!plain)
            word = cse_arena_printf(arena, "'%s'", cse_words_replace(arena, word, "'", "'\\''"));
        cse_text_add_bytes(&out, word, strlen(word));
    }
    *text = cse_arena_printf(arena, "%.*s", (int)out.size, out.size > 0 ? out.data : "");
    cse_text_clear(&out);
    return CSE_OK;
}
