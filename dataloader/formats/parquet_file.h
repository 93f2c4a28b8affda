/* Parquet, which no library of Debian reads from C, as Arrow: a program in Python makes it, with
 * pyarrow or duckdb, and it is kept under the digest of the file in the cache of this user, so that
 * it is made once. */
#ifndef CSE_DATALOADER_FORMATS_PARQUET_FILE_H
#define CSE_DATALOADER_FORMATS_PARQUET_FILE_H

#include "dataloader/files/file_pool.h"

/* Whether a file's content is Parquet; false where it cannot be read. */
bool cse_is_parquet(const char *path);
/* Adds what was made of a Parquet file, which messages and the data's identity name. Starts the
 * program where the cache does not have it. CSE_UNAVAILABLE: nothing here can read Parquet;
 * CSE_PERMISSION: the job may not start programs; CSE_DATA. */
cse_status cse_parquet_add(cse_file_pool *pool, const char *path, int *file);

/* The same as lines of JSON, an object a row, for columns of lists and objects. */
cse_status cse_parquet_add_lines(cse_file_pool *pool, const char *path, int *file);

extern const char cse_parquet_program[]; /* its text */

#endif
