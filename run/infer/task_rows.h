/* The rows of a task's file, one after another: JSON lines, or Parquet as data sets are kept in. */
#ifndef CSE_RUN_INFER_TASK_ROWS_H
#define CSE_RUN_INFER_TASK_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "dataloader/files/file_pool.h"

typedef struct cse_task_rows {
    const char *path;
    bool is_parquet;
    int64_t number;    /* of the row in hand, or of its line, counted from 1 */
    const char *fault; /* why the row in hand is no object */
    FILE *file;
    cse_file_pool *pool; /* of Parquet */
    char *line;
    size_t capacity;
} cse_task_rows;

/* CSE_NO_INPUT; of Parquet as cse_parquet_add_lines. cse_task_rows_close, also after a failure. */
cse_status cse_task_rows_open(const char *path, cse_task_rows *rows);
/* False: there are no more. *row: json_decref; NULL: it is no object (`fault`). */
bool cse_task_rows_next(cse_task_rows *rows, json_t **row);
void cse_task_rows_close(cse_task_rows *rows);

/* "FILE: line 3: WHAT", or row 3, as CSE_DATA; then what is accepted. */
cse_status cse_task_rows_fail(const cse_task_rows *rows, const char *what, const char *accepted);

#endif
