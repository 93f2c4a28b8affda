/* A path that is there as it is given has no name behind it. */
#include "dashboard/models/served_model.h"

#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"

void cse_served_name_split(const char *given, char **path, char **name)
{
    const char *equals = strrchr(given, '=');
    *path = cse_strdup(given);
    if (equals != NULL && equals[1] != '\0' && access(given, F_OK) != 0) {
        (*path)[equals - given] = '\0';
        *name = cse_strdup(equals + 1);
        return;
    }
    size_t size = strlen(given);
    while (size > 1 && given[size - 1] == '/')
        size--;
    size_t first = size;
    while (first > 0 && given[first - 1] != '/')
        first--;
    *name = cse_strdup(given + first);
    (*name)[size - first] = '\0';
    static const char *const ends[] = { ".gguf", ".mdl", ".yaml", ".yml" };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t length = strlen(*name), end = strlen(ends[i]);
        if (length > end && strcmp(*name + length - end, ends[i]) == 0)
            (*name)[length - end] = '\0';
    }
}
