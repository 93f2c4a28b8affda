/* Names are compared exactly, unless a call says otherwise; a miss is answered with the nearest name by edit distance. */
#include "engine/base/registry.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_WORD = 64 };

const void *cse_registry_find(const void *table, const char *name)
{
    const cse_descriptor *const *plugins = table;
    for (; name != NULL && *plugins != NULL; plugins++)
        if (strcmp((*plugins)->name, name) == 0)
            return *plugins;
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
        if (strcasecmp(word, *candidates) == 0)
            return *candidates;
        int distance = edit_distance(word, *candidates);
        if (distance < best_distance && distance < (int)strlen(*candidates)) {
            best_distance = distance;
            best = *candidates;
        }
    }
    return best;
}

cse_status cse_registry_get(const void *table, const char *kind, const char *name,
                            const void **plugin)
{
    *plugin = cse_registry_find(table, name);
    if (*plugin != NULL)
        return CSE_OK;
    char accepted[2048] = "accepted: ";
    const char *names[256] = { NULL };
    size_t used = strlen(accepted), count = 0;
    const cse_descriptor *const *plugins = table;
    for (; *plugins != NULL && count < 255 && used < sizeof accepted; plugins++, count++) {
        names[count] = (*plugins)->name;
        used += (size_t)snprintf(accepted + used, sizeof accepted - used, "%s%s", count ? ", " : "",
                                 (*plugins)->name);
    }
    const char *near = cse_did_you_mean(name ? name : "", names);
    char hint[128] = "";
    if (near != NULL)
        snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    const cse_error error = { .status = CSE_CONFIG,
                              .hint = near != NULL ? hint : NULL,
                              .accepted = accepted };
    return cse_fail_at(&error, "there is no %s '%s'%s%s%s", kind, name ? name : "",
                       near != NULL ? " (" : "", hint, near != NULL ? ")" : "");
}

cse_status cse_registry_get_any_case(const void *table, const char *kind, const char *name,
                                     const void **plugin)
{
    const cse_descriptor *const *plugins = table;
    for (*plugin = cse_registry_find(table, name); name != NULL && *plugins != NULL; plugins++)
        if (*plugin == NULL && strcasecmp((*plugins)->name, name) == 0)
            *plugin = *plugins;
    return *plugin != NULL ? CSE_OK : cse_registry_get(table, kind, name, plugin);
}
