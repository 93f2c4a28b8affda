/* Opening data whose identity is known, or is taken now. */
#ifndef CSE_DATALOADER_DATA_WATCH_H
#define CSE_DATALOADER_DATA_WATCH_H

#include "dataloader/data_identity.h"
#include "dataloader/input.h"

typedef struct cse_data_watch {
    cse_data_identity *identity;
    bool complete;     /* no other file may be opened; else further ones are added */
    const char *cache; /* a file that keeps the digests of large files; NULL: none */
} cse_data_watch;

/* cse_dataloader_open that compares every file it opens with the identity. CSE_DATA, naming the
 * file and both contents, when one was changed, and when one changes while it is read. */
cse_status cse_data_open(const cse_settings *settings, uint64_t default_seed,
                         const cse_data_watch *watch, cse_dataloader **loader);

/* Logs a warning about the data that an input function is opening, once in this process. Nothing in
 * processes that open data whose identity is complete: the one that took it has told. */
void cse_data_tell(const char *format, ...) CSE_PRINTF(1, 2);

/* Whether a run is opening data for the first time, and so looks at all values; the processes that
 * open them later need not. */
bool cse_data_is_first_look(void);

/* What the files that this thread opens are compared with; NULL: nothing. */
void cse_data_watch_set(const cse_data_watch *wanted);

/* Called with each regular file that is opened to be read; does nothing outside cse_data_open. */
cse_status cse_data_note_open(int descriptor, const char *path);
/* The same of the library that holds the input function. */
cse_status cse_data_note_library(int descriptor, const char *path);

#endif
