/* A pool of open run stores. A reader is used by one thread at a time and kept open for the next:
 * opening one takes longer than most queries. */
#ifndef CSE_DASHBOARD_DATA_READERS_H
#define CSE_DASHBOARD_DATA_READERS_H

#include "store/reader.h"

typedef struct cse_readers cse_readers;

cse_readers *cse_readers_new(void);
/* After the last one was given back. */
void cse_readers_destroy(cse_readers **readers);

/* As cse_store_reader_open fails. */
cse_status cse_readers_borrow(cse_readers *readers, const char *model_dir,
                              cse_store_reader **reader);
void cse_readers_give_back(cse_readers *readers, const char *model_dir, cse_store_reader **reader);
/* Closes those of a directory that is about to be removed. */
void cse_readers_forget(cse_readers *readers, const char *model_dir);

/* The number of the newest event of a run store; 0 when it has none. */
cse_status cse_newest_event(cse_store_reader *reader, int64_t *number);

#endif
