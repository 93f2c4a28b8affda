/* The server of this machine, by the file it leaves: ROOT/server.json, and for the one that was
 * started last $XDG_RUNTIME_DIR/csengine/server.json, or
 * /tmp/csengine-UID/server.json where there is no such directory. It is trusted only when this user
 * owns it: whoever else could write it would be given the token. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/client_internal.h"

static void file_path(char *path, size_t size)
{
    const char *directory = getenv("XDG_RUNTIME_DIR");
    if (directory != NULL && *directory == '/')
        snprintf(path, size, "%s/csengine/server.json", directory);
    else
        snprintf(path, size, "/tmp/csengine-%ld/server.json", (long)getuid());
}

cse_status cse_client_find(const char *root, char *url, size_t size)
{
    char path[4096];
    struct stat info;
    if (root != NULL)
        snprintf(path, sizeof path, "%s/server.json", root);
    else
        file_path(path, sizeof path);
    FILE *file = fopen(path, "re");
    bool ours = file != NULL && fstat(fileno(file), &info) == 0 && info.st_uid == geteuid();
    json_t *json = ours ? json_loadf(file, 0, NULL) : NULL;
    const char *found = json_string_value(json_object_get(json, "url"));
    bool fits = found != NULL && (size_t)snprintf(url, size, "%s", found) < size;
    json_decref(json);
    if (file != NULL)
        fclose(file);
    if (fits)
        return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE,
                    "no server is known: %s %s; start one with `csengine serve --root DIR`, or "
                    "name one by --server or CSE_SERVER",
                    path, file == NULL ? "is not there" : "does not name one");
}
