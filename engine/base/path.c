/* The only place where a path of a setting is changed. */
#include "engine/base/path.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char cse_path_hint[] = "write the path itself; a leading ~/ is the home directory";

static const char *home(cse_arena *arena)
{
    const char *given = getenv("HOME");
    if (given != NULL && *given != '\0')
        return given;
    char memory[4096];
    struct passwd entry, *found = NULL;
    getpwuid_r(getuid(), &entry, memory, sizeof memory, &found);
    return found != NULL ? cse_arena_string(arena, found->pw_dir) : NULL;
}

static const char zoo[] = "$MODELZOO_ROOT/";

const char *cse_path_expand(cse_arena *arena, const char *text, const char **path)
{
    *path = text;
    if (*text == '\0')
        return "is empty";
    const bool of_zoo = strncmp(text, zoo, sizeof zoo - 1) == 0;
    if (of_zoo) {
        const char *root = getenv("MODELZOO_ROOT");
        text += sizeof zoo - 1;
        *path =
            root != NULL && *root != '\0' ? cse_arena_printf(arena, "%s/%s", root, text) : *path;
    }
    if (strchr(text, '$') != NULL)
        return "has a \"$\", and environment variables are not expanded here";
    if (of_zoo || *text != '~')
        return NULL;
    if (text[1] != '\0' && text[1] != '/')
        return "begins with the name of a user, whose home directory is not looked up";
    const char *directory = home(arena);
    if (directory == NULL)
        return "begins with ~, and the home directory is not known: HOME is not set";
    *path = cse_arena_printf(arena, "%s%s", directory, text + 1);
    return NULL;
}
