/* The ways to read a damaged database: with its log, without it, and as a copy whose pages of the
 * schema are those of a new file. None changes the file or its log. */
#ifndef CSE_STORE_DAMAGED_SOURCE_H
#define CSE_STORE_DAMAGED_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/* What kind of database it is. */
typedef struct cse_damaged_kind {
    /* Makes a new, empty one, closed and without a log. */
    bool (*make)(const char *path);
    /* Copies the rows that `to` does not have yet, as cse_salvage_rows does. */
    int64_t (*copy)(struct sqlite3 *from, struct sqlite3 *to, bool *incomplete);
} cse_damaged_kind;
extern const cse_damaged_kind cse_damaged_run_store;

/* Copies to `to`, a new one, what can be read. False when something could not be. */
bool cse_damaged_source_read(const char *path, const cse_damaged_kind *kind, struct sqlite3 *to);

#endif
