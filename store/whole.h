/* A database that has ended is one file: what its write-ahead log holds is moved into it.
 *
 * SQLite does so when the last connection closes. But readers (a dashboard) may still be open then,
 * and a process that was killed closes nothing: whoever copies run.db alone would have none of the
 * last rows, or no table at all. So the writer does it before it closes, the first process of a run
 * when the writer was killed, and the next that opens the database when all were. */
#ifndef CSE_STORE_WHOLE_H
#define CSE_STORE_WHOLE_H

#include <stdbool.h>

#include "csengine/status.h"

struct sqlite3;

/* Moves the log into the file and empties it; who closes last removes it.
 * Waits at most `wait_ms` for readers that are in the middle of a query. CSE_TEMPORARY when they
 * are longer, CSE_IO when the file cannot be written (a full disk): the log stays, and nothing is
 * lost. */
cse_status cse_database_make_whole(struct sqlite3 *handle, const char *path, int wait_ms);

/* Whether model_dir/run.db of a run that has ended has a log beside it. */
bool cse_store_was_left(const char *model_dir);
/* Makes one file of it, then. CSE_PERMISSION where its files may not be changed. */
cse_status cse_store_make_whole(const char *model_dir);

#endif
