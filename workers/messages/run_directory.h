/* The directory of a running cluster's sockets: created with mode 0700, marked as in use by a lock,
 * removed at the end of the run, or by the next run when its coordinator was killed. */
#ifndef CSE_WORKERS_MESSAGES_RUN_DIRECTORY_H
#define CSE_WORKERS_MESSAGES_RUN_DIRECTORY_H

#include "csengine/status.h"

/* Short, as the path of a socket in it must fit sockaddr_un (108 bytes). */
enum { CSE_RUN_DIRECTORY_BYTES = 80 };

typedef struct cse_run_directory {
    char path[CSE_RUN_DIRECTORY_BYTES];
    int lock; /* descriptor that holds an flock while the owner lives */
} cse_run_directory;

/* Created in $XDG_RUNTIME_DIR if that is short enough and belongs to this user, else in /tmp.
 * CSE_CANNOT_CREATE when neither works. */
cse_status cse_run_directory_make(cse_run_directory *directory);
void cse_run_directory_remove(cse_run_directory *directory);

/* From here on cse_run_directory_make gives this directory, which somebody else removes: for a
 * process that may make none elsewhere. Borrowed, to the end of the process. */
void cse_run_directory_use(const char *path);

/* Removes the directories of this user whose owners are gone (their locks are free). */
void cse_run_directory_sweep(void);

#endif
