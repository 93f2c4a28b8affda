/* Reads ROOT/server.json, or $XDG_RUNTIME_DIR/csengine/server.json of the server that was started
 * last. The file must belong to this user: another user could name a server of his own in it, to
 * which the token would be sent. A note that a killed server has left is not believed for the same
 * reason: the address may be somebody else's by now. */
#include "cli/client/client_note.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/http/server_address.h"

static cse_status note_path(const char *root, char *path, size_t size)
{
    const char *directory = getenv("XDG_RUNTIME_DIR");
    if (root == NULL && (directory == NULL || *directory != '/'))
        return cse_fail(CSE_UNAVAILABLE,
                        "no server is known: name one by --server or CSE_SERVER (the directory of "
                        "its queue will do), or start one with `csengine serve --root DIR`");
    snprintf(path, size, "%s%s", root != NULL ? root : directory,
             root != NULL ? "/server.json" : "/csengine/server.json");
    return CSE_OK;
}

cse_status cse_client_note_read(const char *root, cse_client_note *note)
{
    char path[4096];
    struct stat info;
    CSE_TRY(note_path(root, path, sizeof path));
    FILE *file = fopen(path, "re");
    bool ours = file != NULL && fstat(fileno(file), &info) == 0 && info.st_uid == geteuid();
    json_t *json = ours ? json_loadf(file, 0, NULL) : NULL;
    const char *url = json_string_value(json_object_get(json, "url"));
    const char *socket = json_string_value(json_object_get(json, "socket"));
    const char *token = json_string_value(json_object_get(json, "token_file"));
    snprintf(note->url, sizeof note->url, "%s", url != NULL ? url : "");
    snprintf(note->socket, sizeof note->socket, "%s", socket != NULL ? socket : "");
    snprintf(note->token_file, sizeof note->token_file, "%s", token != NULL ? token : "");
    const bool found = url != NULL, stale = found && cse_server_note_is_stale(json);
    const long long process = json_integer_value(json_object_get(json, "pid"));
    json_decref(json);
    if (file != NULL)
        fclose(file);
    if (stale)
        return cse_fail(CSE_UNAVAILABLE,
                        "the server that %s names (process %lld) was killed: nobody listens there; "
                        "start it again with `csengine serve`",
                        path, process);
    if (found)
        return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE,
                    "no server is known: %s %s; start one with `csengine serve --root DIR`, or "
                    "name one by --server or CSE_SERVER",
                    path,
                    file == NULL ? "is not there"
                    : ours       ? "does not name one"
                                 : "belongs to another user");
}
