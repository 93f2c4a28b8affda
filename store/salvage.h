/* What can be read of a damaged run store, row by row.
 *
 * SQLite refuses a page that it cannot make sense of, and with it the query. So each table is read
 * in the order of its key; after a refusal the next key is searched from which on rows come again.
 * Only rows whose columns have the types of the table are taken: a damaged page may still parse. */
#ifndef CSE_STORE_SALVAGE_H
#define CSE_STORE_SALVAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/text.h"

struct sqlite3;

/* A table: its columns with spaces between them, their types as in rows.h, and how many leading
 * ones are its key, integers; 0: the first is, a text. */
typedef struct cse_salvaged_table {
    const char *name, *columns, *types;
    int keys;
} cse_salvaged_table;
int64_t cse_salvage_table(struct sqlite3 *from, struct sqlite3 *to, const cse_salvaged_table *table,
                          bool *incomplete);

/* Copies rows that `to`, a run store of this version, does not have yet. Returns how many. A table
 * that `from` lacks is passed over, and *incomplete set, as it is where a page was refused. */
int64_t cse_salvage_rows(struct sqlite3 *from, struct sqlite3 *to, bool *incomplete);

/* Appends the tables of `handle` that have rows, and how many: "12 points, 3 logs". */
void cse_salvage_count(struct sqlite3 *handle, cse_text *text);

#endif
