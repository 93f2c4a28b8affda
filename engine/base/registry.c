/* Names are compared exactly, unless a call says otherwise; a miss is answered with the nearest
 * name by edit distance. */
#include "engine/base/registry.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_WORD = 64 };

/* The table is one of pointers to structs of another type, which all have one representation: it is
 * copied, as a lvalue of this type may not read it. */
const cse_descriptor *cse_registry_at(const void *table, size_t index)
{
    const cse_descriptor *plugin;
    memcpy(&plugin, (const char *)table + index * sizeof plugin, sizeof plugin);
    return plugin;
}

/* The plugin whose name compares equal; NULL when none does. */
static const cse_descriptor *find(const void *table, const char *name,
                                  int (*compare)(const char *, const char *))
{
    const cse_descriptor *plugin = cse_registry_at(table, 0);
    for (size_t i = 1; plugin != NULL && compare(plugin->name, name) != 0; i++)
        plugin = cse_registry_at(table, i);
    return plugin;
}

const void *cse_registry_find(const void *table, const char *name)
{
    return name != NULL ? find(table, name, strcmp) : NULL;
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
    for (const cse_descriptor *one;
         (one = cse_registry_at(table, count)) != NULL && count < 255 && used < sizeof accepted;
         count++) {
        names[count] = one->name;
        used += (size_t)snprintf(accepted + used, sizeof accepted - used, "%s%s", count ? ", " : "",
                                 one->name);
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
    *plugin = cse_registry_find(table, name);
    if (*plugin == NULL && name != NULL)
        *plugin = find(table, name, strcasecmp);
    return *plugin != NULL ? CSE_OK : cse_registry_get(table, kind, name, plugin);
}
