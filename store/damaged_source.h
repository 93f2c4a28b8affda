/* The ways to read a damaged run.db: with its log, without it, and as a copy whose pages of the
 * schema are those of a new file. None changes the file or its log. */
#ifndef CSE_STORE_DAMAGED_SOURCE_H
#define CSE_STORE_DAMAGED_SOURCE_H

#include <stdbool.h>

struct sqlite3;

/* Copies to `to`, a new store, what can be read. False when something could not be. */
bool cse_damaged_source_read(const char *path, struct sqlite3 *to);

#endif
