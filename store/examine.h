/* Whether a run store's file is damaged. Nothing is changed by looking. */
#ifndef CSE_STORE_EXAMINE_H
#define CSE_STORE_EXAMINE_H

#include <stdbool.h>

#include "engine/base/text.h"

/* The pages of a file up to 64 MiB are all looked at, of a larger one those that its tables begin
 * with: what is wrong elsewhere shows when it is written. `why` may be NULL. False also when the
 * file cannot be opened, is empty, or is another database. */
bool cse_store_is_damaged(const char *path, cse_text *why);
/* SQLite's own check alone, of any database: an empty file is sound. */
bool cse_database_has_damage(const char *path, cse_text *why);
/* Whether the log beside the file is that of another run's store. */
bool cse_store_has_log_of_another(const char *path);
/* Whether it begins as SQLite's files do. */
bool cse_is_sqlite_file(const char *path);
/* A file without a byte. */
bool cse_store_is_empty(const char *path);

#endif
