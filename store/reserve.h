/* Reserved disk space: a file that is allocated while there is room and removed when the disk is
 * full, so that the most important rows can still be written. */
#ifndef CSE_STORE_RESERVE_H
#define CSE_STORE_RESERVE_H

#include <stdbool.h>

typedef struct cse_reserve {
    char *path; /* owned */
    long bytes;
    bool held;
} cse_reserve;

/* Reserves `bytes` in the file DIRECTORY/NAME, if there is room. */
void cse_reserve_open(cse_reserve *reserve, const char *directory, const char *name, long bytes);
/* Reserves the space again after a release; no effect while it is reserved. */
void cse_reserve_take(cse_reserve *reserve);
/* Releases the space by removing the file. */
void cse_reserve_release(cse_reserve *reserve);
/* Releases it and forgets the path. */
void cse_reserve_close(cse_reserve *reserve);

#endif
