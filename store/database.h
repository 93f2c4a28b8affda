/* The SQLite file run.db: opening, schema, and writing rows. A handle is used by one thread. */
#ifndef CSE_STORE_DATABASE_H
#define CSE_STORE_DATABASE_H

#include "store/rows.h"

struct sqlite3;
typedef struct cse_database cse_database;

/* Opens model_dir/run.db for writing; creates it with its schema when there is none. Fails as
 * cse_store_open does. */
cse_status cse_database_open(const char *model_dir, cse_database **database);
/* The same of a file by its path. */
cse_status cse_database_open_file(const char *path, cse_database **database);
/* Opens for reading; `how` is a parameter of SQLite's URIs, as "mode=ro". SQLite's result code. */
int cse_database_open_view(const char *path, const char *how, struct sqlite3 **handle);
/* The first column of the first row of a query; 0 when there is none, or it cannot be read. */
int64_t cse_sql_integer(struct sqlite3 *handle, const char *sql);
/* The same of a query with the parameters ?1 and ?2. */
int64_t cse_sql_integer_of(struct sqlite3 *handle, const char *sql, int64_t a, int64_t b);
struct sqlite3 *cse_database_handle(cse_database *database);

/* Whether the file that is open still stands under its name, with its log, as long as it was.
 * `why`: what became of it, borrowed. */
bool cse_database_is_in_place(cse_database *database, const char **why);
/* Some query since it was opened said that the file is damaged. */
bool cse_database_is_damaged(const cse_database *database);
void cse_database_close(cse_database **database);
/* Closes it and leaves its log beside it: the name of that may soon be another file's. */
void cse_database_abandon(cse_database **database);
/* Nothing more is written: run.db becomes one file (store/whole.h). */
cse_status cse_database_end(cse_database *database);

/* The attempt whose rows are written. `takes_over`: its steps are those of the attempt before, bit
 * for bit. */
void cse_database_begin(cse_database *database, int64_t attempt, bool takes_over);

/* Writes all rows in one transaction, or none: CSE_IO, or CSE_DATA when the file is damaged. */
cse_status cse_database_write(cse_database *database, const cse_text *rows);

/* The same of a database that is open for writing, which notes damage. */
int64_t cse_database_integer(cse_database *database, const char *sql);
/* The same as text, cut to `size` - 1 bytes; "" when there is none. */
void cse_database_text(cse_database *database, const char *sql, char *text, size_t size);
/* Calls `take` with the id and the name of each series. */
void cse_database_series(cse_database *database,
                         void (*take)(void *self, int64_t id, const char *name), void *self);

/* Calls `take` with the row of each checkpoint that is not marked as deleted. */
void cse_database_checkpoints(cse_database *database, void (*take)(void *self, const cse_row *row),
                              void *self);

/* Removes old rows: events of frequent types up to `event`, topologies before `time_ms`, and the
 * oldest samples. A failure is ignored. */
void cse_database_prune(cse_database *database, int64_t event, int64_t time_ms);

/* CSE_DATA when the open database is no run store, a damaged one, or one of an unsupported
 * version. */
cse_status cse_database_check(struct sqlite3 *handle, const char *path);
/* The handle's last failure, with what helps where the file is damaged. */
cse_status cse_database_fail(struct sqlite3 *handle, const char *path, bool opening);

/* Written by autogen.sh from schema.sql. */
extern const char cse_store_schema[];

#endif
