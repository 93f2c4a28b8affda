/* Where a server listens, for commands that look for it: server.json in the server's directory and,
 * for a root, in the user's run-time directory ($XDG_RUNTIME_DIR/csengine):
 * {"url","socket","pid","mode","root"|"run","token_file","started_ms"}. */
#ifndef CSE_DASHBOARD_SERVER_ADDRESS_H
#define CSE_DASHBOARD_SERVER_ADDRESS_H

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

#endif
