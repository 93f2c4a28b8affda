/* Where a server listens, for commands that look for it: server.json in the server's directory and,
 * for a root, in the user's run-time directory ($XDG_RUNTIME_DIR/csengine):
 * {"url","socket","pid","mode","root"|"run","token_file","started_ms","host"}.
 *
 * A server that is killed leaves them, its socket and the token that it made. They say where nobody
 * is, or somebody else by now: a token that is sent there is given away. So they are not believed
 * unless a server is there (cse_server_note_is_stale), and removed by the next start of the run. */
#ifndef CSE_DASHBOARD_HTTP_SERVER_ADDRESS_H
#define CSE_DASHBOARD_HTTP_SERVER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cse_server_address {
    const char *url, *directory;
    const char *socket; /* path of the unix socket in `directory`; NULL: none */
    bool root;
    const char *token_file; /* absolute; NULL: none */
    int64_t started_ms;
} cse_server_address;

/* Writes the files; `files` gets their paths, for cse_server_address_remove. A file that cannot be
 * written is a line in the log. */
void cse_server_address_publish(const cse_server_address *address, char *files[2]);
/* Removes those that this process wrote, and frees the paths. */
void cse_server_address_remove(char *files[2]);

/* Whether the server that the content of a server.json tells of is known to have ended: it was one
 * of this host, and its socket is not served, or it had none and its process is gone. */
struct json_t;
bool cse_server_note_is_stale(const struct json_t *note);

/* Removes what a killed server of one run has left in its folder. That of a queue is replaced by
 * the next server, which keeps the token. */
void cse_server_address_sweep(const char *model_dir);

#endif
