/* The files are replaced by renaming, so that a reader never sees half of one. */
#include "dashboard/http/server_address.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "engine/base/socket_path.h"
#include "engine/base/text.h"

/* Never NULL. */
static const char *host_name(void)
{
    static _Thread_local char name[256];
    if (gethostname(name, sizeof name - 1) != 0)
        name[0] = '\0';
    return name;
}

static void write_file(const cse_server_address *a, const char *path)
{
    cse_text part = { 0 };
    json_t *address = json_object();
    json_object_set_new(address, "url", json_string(a->url));
    json_object_set_new(address, "socket",
                        a->socket != NULL ? json_string(a->socket) : json_null());
    json_object_set_new(address, "pid", json_integer(getpid()));
    json_object_set_new(address, "mode", json_string(a->root ? "root" : "run"));
    json_object_set_new(address, a->root ? "root" : "run", json_string(a->directory));
    json_object_set_new(address, "token_file",
                        a->token_file != NULL ? json_string(a->token_file) : json_null());
    json_object_set_new(address, "started_ms", json_integer(a->started_ms));
    json_object_set_new(address, "host", json_string(host_name()));
    char *text = json_dumps(address, JSON_INDENT(2));
    json_decref(address);
    cse_text_add(&part, "%s.part", path);
    FILE *file = text != NULL ? fopen(part.data, "we") : NULL;
    bool written = file != NULL && fprintf(file, "%s\n", text) > 0;
    if (file != NULL && fclose(file) != 0)
        written = false;
    if (!written || rename(part.data, path) != 0)
        cse_log_line(CSE_LOG_WARNING, "%s: %s", path, strerror(errno));
    free(text);
    cse_text_clear(&part);
}

void cse_server_address_publish(const cse_server_address *a, char *files[2])
{
    cse_text own = { 0 }, users = { 0 };
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    cse_text_add(&own, "%s/server.json", a->directory);
    write_file(a, own.data);
    files[0] = own.data;
    if (!a->root || runtime == NULL || *runtime != '/')
        return;
    cse_text_add(&users, "%s/csengine", runtime);
    mkdir(users.data, 0700);
    cse_text_add(&users, "/server.json");
    write_file(a, users.data);
    files[1] = users.data;
}

void cse_server_address_remove(char *files[2])
{
    for (int i = 0; i < 2; i++) {
        json_t *address = files[i] != NULL ? json_load_file(files[i], 0, NULL) : NULL;
        if (json_integer_value(json_object_get(address, "pid")) == getpid())
            unlink(files[i]);
        json_decref(address);
        free(files[i]);
        files[i] = NULL;
    }
}

bool cse_server_note_is_stale(const json_t *note)
{
    const char *host = json_string_value(json_object_get(note, "host"));
    const char *socket = json_string_value(json_object_get(note, "socket"));
    const json_int_t process = json_integer_value(json_object_get(note, "pid"));
    if (process <= 0 || (host != NULL && strcmp(host, host_name()) != 0))
        return false;
    if (socket != NULL)
        return !cse_socket_is_served(socket);
    return kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return lstat(one, &a) == 0 && lstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

void cse_server_address_sweep(const char *model_dir)
{
    cse_text path = { 0 };
    cse_text_add(&path, "%s/server.json", model_dir);
    json_t *note = json_load_file(path.data, 0, NULL);
    const char *mode = json_string_value(json_object_get(note, "mode"));
    const char *token = json_string_value(json_object_get(note, "token_file"));
    if (mode != NULL && strcmp(mode, "run") == 0 && cse_server_note_is_stale(note)) {
        unlink(path.data);
        path.size = 0;
        cse_text_add(&path, "%s/server.sock", model_dir);
        unlink(path.data);
        path.size = 0;
        cse_text_add(&path, "%s/token", model_dir);
        if (token != NULL && is_same_file(token, path.data)) /* not one of the operator's */
            unlink(path.data);
    }
    json_decref(note);
    cse_text_clear(&path);
}
