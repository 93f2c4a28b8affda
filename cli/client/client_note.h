/* server.json, by which a server tells local clients its address, its unix socket and its token's
 * file. */
#ifndef CSE_CLI_CLIENT_CLIENT_NOTE_H
#define CSE_CLI_CLIENT_CLIENT_NOTE_H

#include "csengine/status.h"

typedef struct cse_client_note {
    char url[1024];
    char socket[4096];     /* "" when it has none */
    char token_file[4096]; /* "" when it has none */
} cse_client_note;

/* Reads the file of the server of `root` (a server's directory or a run's model_dir), or with NULL
 * of the server that this user started last. CSE_UNAVAILABLE when there is none, or when that
 * server was killed. */
cse_status cse_client_note_read(const char *root, cse_client_note *note);

#endif
