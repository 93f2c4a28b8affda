/* Names are compared exactly; a miss is answered with the nearest name by edit distance. */
#include "engine/base/registry.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_WORD = 64 };

const void *cse_registry_find(const void *table, const char *name)
{
    const cse_descriptor *const *members = table;
    for (; name != NULL && *members != NULL; members++)
        if (strcmp((*members)->name, name) == 0)
            return *members;
    return NULL;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int edit_distance(const char *a, const char *b)
{
    int n = (int)strlen(b), row[LONGEST_WORD + 1];
    if (n > LONGEST_WORD || strlen(a) > LONGEST_WORD)
        return LONGEST_WORD;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int substituted = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smaller(substituted, smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

const char *cse_did_you_mean(const char *word, const char *const *candidates)
{
    const char *best = NULL;
    int best_distance = 3 + (int)strlen(word) / 6;
    for (; *candidates != NULL; candidates++) {
        int distance = edit_distance(word, *candidates);
        if (distance < best_distance && distance < (int)strlen(*candidates)) {
            best_distance = distance;
            best = *candidates;
        }
    }
    return best;
}

cse_status cse_registry_get(const void *table, const char *kind, const char *name,
                            const void **member)
{
    *member = cse_registry_find(table, name);
    if (*member != NULL)
        return CSE_OK;
    char accepted[2048] = "";
    const char *names[256] = { NULL };
    size_t used = 0, count = 0;
    const cse_descriptor *const *members = table;
    for (; *members != NULL && count < 255 && used < sizeof accepted; members++, count++) {
        names[count] = (*members)->name;
        used += (size_t)snprintf(accepted + used, sizeof accepted - used, "%s%s", count ? ", " : "",
                                 (*members)->name);
    }
    const char *near = cse_did_you_mean(name ? name : "", names);
    return cse_fail(CSE_CONFIG, "there is no %s '%s'%s%s%s; accepted: %s", kind, name ? name : "",
                    near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "", accepted);
}
