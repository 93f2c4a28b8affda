/* Landlock: a process gives up the file system but for what it names, for itself and all that it
 * starts. The system calls are made directly; what the kernel knows is found at run time. */
#ifndef CSE_BASE_LANDLOCK_H
#define CSE_BASE_LANDLOCK_H

#include <stdbool.h>

#include "csengine/status.h"

/* The kernel's version of the interface; 0: there is none, or it is switched off. */
int cse_landlock_version(void);

typedef struct cse_landlock cse_landlock;

/* What a process may do below a folder, or with a file. */
typedef enum cse_landlock_access {
    CSE_LANDLOCK_LIST,    /* list folders */
    CSE_LANDLOCK_READ,    /* and read files */
    CSE_LANDLOCK_EXECUTE, /* and start programs */
    CSE_LANDLOCK_WRITE    /* and make, change and remove files, folders, links and sockets */
} cse_landlock_access;

/* NULL where the kernel has none: then the other functions do nothing. `connects`: the process may
 * use TCP. */
cse_landlock *cse_landlock_new(bool connects);
/* A path that does not exist is left out. */
void cse_landlock_allow(cse_landlock *landlock, const char *path, cse_landlock_access access);
/* From here on the calling thread, and what it starts, has these rights and no others; no TCP but
 * for one that connects, and, where the kernel can, no signals to processes outside. Needs
 * PR_SET_NO_NEW_PRIVS. Destroys `*landlock`. */
cse_status cse_landlock_enforce(cse_landlock **landlock);

#endif
