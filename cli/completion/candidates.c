/* What was offered is kept, since several tables may have the same word. */
#include "cli/completion/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

void cse_candidate(cse_candidates *c, const char *word, const char *doc)
{
    if (strncmp(word, c->begun, strlen(c->begun)) != 0)
        return;
    for (int i = 0; i < c->given_count; i++)
        if (strcmp(c->given[i], word) == 0)
            return;
    CSE_GROW(c->given, c->given_count, c->given_capacity);
    c->given[c->given_count++] = cse_strdup(word);
    c->goes_on = c->goes_on || (*word != '\0' && word[strlen(word) - 1] == '=');
    fprintf(c->out, "%s%s\t%s\n", c->lead, word, doc != NULL ? doc : "");
}

void cse_candidate_choices(cse_candidates *c, const char *prefix, const char *choices)
{
    while (*choices != '\0') {
        const size_t length = strcspn(choices, "|");
        cse_text word = { 0 };
        cse_text_add(&word, "%s%.*s", prefix, (int)length, choices);
        cse_candidate(c, word.data, NULL);
        cse_text_clear(&word);
        choices += length + (choices[length] == '|');
    }
}
