/* Parquet is read as the JSON lines that are made of it (parquet_file.h). */
#include "run/infer/task_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataloader/formats/parquet_file.h"
#include "engine/base/error.h"

enum { MAX_LINE_BYTES = 64 << 20 };

/* The pool's descriptor is read from its begin, whatever has read it before. */
static cse_status open_parquet(cse_task_rows *rows)
{
    int number = 0, descriptor = -1;
    rows->pool = cse_file_pool_new(NULL, NULL);
    CSE_TRY(cse_parquet_add_lines(rows->pool, rows->path, &number));
    CSE_TRY(cse_file_pool_descriptor(rows->pool, number, &descriptor));
    const int own = dup(descriptor);
    rows->file = own >= 0 && lseek(own, 0, SEEK_SET) == 0 ? fdopen(own, "r") : NULL;
    if (rows->file == NULL && own >= 0)
        close(own);
    return CSE_OK;
}

cse_status cse_task_rows_open(const char *path, cse_task_rows *rows)
{
    *rows = (cse_task_rows){ .path = path, .is_parquet = cse_is_parquet(path) };
    if (rows->is_parquet)
        CSE_TRY(open_parquet(rows));
    else
        rows->file = fopen(path, "re");
    return rows->file != NULL
               ? CSE_OK
               : cse_fail(CSE_NO_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
}

bool cse_task_rows_next(cse_task_rows *rows, json_t **row)
{
    json_error_t error;
    ssize_t size;
    *row = NULL;
    do {
        size = getline(&rows->line, &rows->capacity, rows->file);
        rows->number++;
    } while (size > 0 && strspn(rows->line, " \t\r\n") == (size_t)size);
    if (size <= 0)
        return false;
    rows->fault = "it is longer than 64 MB";
    if (size > MAX_LINE_BYTES)
        return true;
    rows->fault = "it is no JSON object";
    *row = json_loadb(rows->line, (size_t)size, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(*row))
        return true;
    json_decref(*row);
    *row = NULL;
    return true;
}

void cse_task_rows_close(cse_task_rows *rows)
{
    if (rows->file != NULL)
        fclose(rows->file);
    rows->file = NULL;
    cse_file_pool_destroy(&rows->pool);
    free(rows->line);
    rows->line = NULL;
}

cse_status cse_task_rows_fail(const cse_task_rows *rows, const char *what, const char *accepted)
{
    return cse_fail(CSE_DATA, "%s: %s %lld: %s; %s", rows->path, rows->is_parquet ? "row" : "line",
                    (long long)rows->number, what, accepted);
}
