/* Merging of changes into the environment of this process. The changes stand first, where getenv
 * finds them. */
#include "workers/launchers/launch_environment.h"

#include <stdbool.h>
#include <string.h>

#include "engine/base/arena.h"

extern char **environ;

static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return strncmp(a, b, length) == 0 && b[length] == '=';
}

char **cse_launch_environment(const char *const *changes)
{
    size_t count = 0, kept = 0;
    while (environ != NULL && environ[count] != NULL)
        count++;
    size_t change_count = 0;
    while (changes != NULL && changes[change_count] != NULL)
        change_count++;
    char **merged = cse_calloc(count + change_count + 1, sizeof *merged);
    for (size_t c = 0; c < change_count; c++)
        memcpy(&merged[kept++], &changes[c], sizeof *merged);
    for (size_t i = 0; i < count; i++) {
        bool replaced = false;
        for (size_t c = 0; c < change_count; c++)
            replaced = replaced || same_name(changes[c], environ[i]);
        if (!replaced)
            merged[kept++] = environ[i];
    }
    return merged;
}
