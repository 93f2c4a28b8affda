/* What the client library has the program `csengine` do: all that needs oneDNN, OpenMP or HDF5,
 * which a process of somebody else may have loaded itself, in another version. */
#ifndef CSE_CLIENT_ASK_H
#define CSE_CLIENT_ASK_H

#include "engine/base/text.h"

/* Runs `csengine answer VERSION words[0] words[1] ...` (ended by NULL) and waits for its end.
 * `input`: its standard input, -1: none. `output`: its standard output; -1: what it writes is added
 * to `answer`. Fails with what the program failed with. */
cse_status cse_client_ask(const char *const words[], int input, int output, cse_text *answer);

/* A file in memory with this content, for `input`; CSE_TEMPORARY. */
cse_status cse_client_memory_new(const cse_text *content, int *descriptor);

#endif
