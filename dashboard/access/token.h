/* The token that lets clients in over TCP: read from a file that the operator names, or made for
 * the server's directory.
 *
 * Whoever has it may do what the owner may do through the API, so it stands only in files that the
 * owner alone can read. */
#ifndef CSE_DASHBOARD_ACCESS_TOKEN_H
#define CSE_DASHBOARD_ACCESS_TOKEN_H

#include <stdbool.h>

#include "csengine/status.h"

/* The text of a file that its owner alone can read, at most 64 KiB; free(). CSE_PERMISSION when
 * others may read it, CSE_NO_INPUT, CSE_DATA. */
cse_status cse_token_file_read(const char *path, char **text);
/* CSE_DATA where it is no token; the message names the file and the line, and not the token. */
cse_status cse_token_check(const char *token, const char *path, int line);

/* One line of 16 to 4096 printable characters, in a file that its owner alone can read.
 * CSE_PERMISSION when others may read it, CSE_NO_INPUT, CSE_DATA. */
cse_status cse_token_read(const char *path, char **token);

/* A new token of 32 random bytes, as URL-safe text, in DIRECTORY/token (mode 0600). With `reuse`
 * one that is there and that nobody else could read is kept. *path is NULL where the file could not
 * be written, which is a line in the log: the token then stands nowhere but in this process. */
cse_status cse_token_make(const char *directory, bool reuse, char **token, char **path);

/* Overwrites and frees it. */
void cse_token_clear(char **token);

#endif
