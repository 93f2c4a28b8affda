/* The lines of facts.h, from one table. */
#include "engine/formats/checkpoint/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum fact_kind { SIGNED, UNSIGNED, TEXT } fact_kind;

typedef struct fact {
    const char *name;
    fact_kind kind;
    size_t offset; /* in cse_checkpoint */
} fact;

static const fact facts[] = {
    { "global_step", SIGNED, offsetof(cse_checkpoint, global_step) },
    { "seed", UNSIGNED, offsetof(cse_checkpoint, seed) },
    { "samples_seen", SIGNED, offsetof(cse_checkpoint, samples_seen) },
    { "model_name", TEXT, offsetof(cse_checkpoint, model_name) },
    { "config", TEXT, offsetof(cse_checkpoint, config) },
    { "kernels", TEXT, offsetof(cse_checkpoint, kernels) },
    { "data", TEXT, offsetof(cse_checkpoint, data) },
    { "origin", TEXT, offsetof(cse_checkpoint, origin) },
    { "links", TEXT, offsetof(cse_checkpoint, links) },
    { "chain", TEXT, offsetof(cse_checkpoint, chain) },
    { "values", TEXT, offsetof(cse_checkpoint, values) },
};
enum { FACTS = sizeof facts / sizeof facts[0] };

static void print_text(const char *value, cse_text *lines)
{
    for (; *value != '\0'; value++)
        if (*value == '\n')
            cse_text_add(lines, "\\n");
        else if (*value == '\\')
            cse_text_add(lines, "\\\\");
        else
            cse_text_add_bytes(lines, value, 1);
}

void cse_facts_print(const cse_checkpoint *checkpoint, cse_text *lines)
{
    for (int i = 0; i < FACTS; i++) {
        const void *at = (const char *)checkpoint + facts[i].offset;
        if (facts[i].kind == TEXT && *(const char *const *)at == NULL)
            continue;
        cse_text_add(lines, "fact %s ", facts[i].name);
        if (facts[i].kind == SIGNED)
            cse_text_add(lines, "%" PRId64, *(const int64_t *)at);
        else if (facts[i].kind == UNSIGNED)
            cse_text_add(lines, "%" PRIu64, *(const uint64_t *)at);
        else
            print_text(*(const char *const *)at, lines);
        cse_text_add(lines, "\n");
    }
}

/* In place: the text grows shorter. */
static bool read_text(char *value)
{
    char *to = value;
    for (const char *from = value; *from != '\0'; from++) {
        char letter = *from;
        if (letter == '\\' && (*++from != 'n' && *from != '\\'))
            return false;
        if (letter == '\\')
            letter = *from == 'n' ? '\n' : '\\';
        *to++ = letter;
    }
    *to = '\0';
    return true;
}

/* As it was printed, to the digit. */
static bool read_number(const char *value, fact_kind kind, void *at)
{
    char again[32];
    char *end = NULL;
    errno = 0;
    if (kind == SIGNED) {
        *(int64_t *)at = strtoll(value, &end, 10);
        snprintf(again, sizeof again, "%" PRId64, *(int64_t *)at);
    } else {
        *(uint64_t *)at = strtoull(value, &end, 10);
        snprintf(again, sizeof again, "%" PRIu64, *(uint64_t *)at);
    }
    return errno == 0 && strcmp(value, again) == 0;
}

static bool read_fact(char *line, cse_arena *arena, cse_checkpoint *checkpoint, bool seen[FACTS])
{
    char *value = line;
    const char *word = strsep(&value, " "), *name = strsep(&value, " ");
    if (value == NULL || strcmp(word, "fact") != 0)
        return false;
    for (int i = 0; i < FACTS; i++) {
        if (strcmp(name, facts[i].name) != 0)
            continue;
        void *at = (char *)checkpoint + facts[i].offset;
        if (seen[i])
            return false;
        seen[i] = true;
        if (facts[i].kind != TEXT)
            return read_number(value, facts[i].kind, at);
        if (!read_text(value))
            return false;
        *(const char **)at = cse_arena_string(arena, value);
        return true;
    }
    return false;
}

bool cse_facts_read(char *lines, cse_arena *arena, cse_checkpoint *checkpoint)
{
    bool seen[FACTS] = { false }, good = true;
    char *rest = lines, *line;
    while (good && (line = strsep(&rest, "\n")) != NULL && (*line != '\0' || rest != NULL))
        good = read_fact(line, arena, checkpoint, seen);
    for (int i = 0; i < FACTS; i++)
        good = good && (seen[i] || facts[i].kind == TEXT);
    return good;
}
