/* Some room on a disk, taken while there is enough and given back when the disk is full, so that
 * what matters most can still be written. It is a file beside the one that is written. */
#ifndef CSE_STORE_RESERVE_H
#define CSE_STORE_RESERVE_H

#include <stdbool.h>

typedef struct cse_reserve {
    char *path; /* owned */
    long bytes;
    bool held;
} cse_reserve;

/* Takes `bytes` in the file DIRECTORY/NAME, if there is room. */
void cse_reserve_open(cse_reserve *reserve, const char *directory, const char *name, long bytes);
/* Takes the room again after it was given back; without effect while it is held. */
void cse_reserve_take(cse_reserve *reserve);
/* Gives the room back by removing the file. */
void cse_reserve_release(cse_reserve *reserve);
/* Releases it and forgets the path. */
void cse_reserve_close(cse_reserve *reserve);

#endif
