/* run.db itself: opening, the schema, and rows into their tables. One thread uses a handle. */
#ifndef CSE_STORE_DATABASE_H
#define CSE_STORE_DATABASE_H

#include "store/rows.h"

struct sqlite3;
typedef struct cse_database cse_database;

/* Opens model_dir/run.db for writing, made with its schema when there is none; failures as
 * cse_store_open says. */
cse_status cse_database_open(const char *model_dir, cse_database **database);
void cse_database_close(cse_database **database);

/* Writes all rows in one transaction, or none: CSE_IO. `attempt` is that of points. */
cse_status cse_database_write(cse_database *database, const cse_text *rows, int64_t attempt);

/* The first column of the first row of a query, 0 when there is none; for what is read at the
 * opening. */
int64_t cse_database_integer(cse_database *database, const char *sql);
/* The first `size` - 1 bytes of the same as text, "" when there is none. */
void cse_database_text(cse_database *database, const char *sql, char *text, size_t size);
/* Calls `take` with the id and the name of each series. */
void cse_database_series(cse_database *database,
                         void (*take)(void *self, int64_t id, const char *name), void *self);

/* Calls `take` with the row of each checkpoint that is not marked as deleted. */
void cse_database_checkpoints(cse_database *database, void (*take)(void *self, const cse_row *row),
                              void *self);

/* Removes events of frequent types up to `event`, and topologies before `time_ms`; no harm when it
 * fails. */
void cse_database_prune(cse_database *database, int64_t event, int64_t time_ms);

/* CSE_DATA when what is open is no run store, or one of a version that is not read. */
cse_status cse_database_check(struct sqlite3 *handle, const char *path);

/* Written by autogen.sh from schema.sql. */
extern const char cse_store_schema[];

#endif
