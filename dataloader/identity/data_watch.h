/* What the files that are opened are compared with, while a thread opens data (data_open.h). */
#ifndef CSE_DATALOADER_IDENTITY_DATA_WATCH_H
#define CSE_DATALOADER_IDENTITY_DATA_WATCH_H

#include "dataloader/identity/data_identity.h"

typedef struct cse_data_watch {
    cse_data_identity *identity;
    bool complete;     /* no other file may be opened; else further ones are added */
    const char *cache; /* a file that keeps the digests of large files; NULL: none */
} cse_data_watch;

/* The watch of this thread; NULL: none. Borrowed. */
void cse_data_watch_set(const cse_data_watch *watch);

/* Logs a warning about the data that an input function is opening, once in this process. Nothing in
 * processes that open data whose identity is complete: the one that took it has told. */
void cse_data_tell(const char *format, ...) CSE_PRINTF(1, 2);

/* Whether a run is opening data for the first time, and so looks at all values; the processes that
 * open them later need not. */
bool cse_data_is_first_look(void);

/* Called with each regular file that is opened to be read; does nothing without a watch. */
cse_status cse_data_note_open(int descriptor, const char *path);
/* The same of the library that holds the input function. */
cse_status cse_data_note_library(int descriptor, const char *path);

#endif
