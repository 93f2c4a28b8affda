/* Rows of conversations in files: JSON lines (.jsonl, .ndjson), a list in a .json, Parquet. */
#ifndef CSE_DATALOADER_CONVERSATIONS_CONVERSATION_FILES_H
#define CSE_DATALOADER_CONVERSATIONS_CONVERSATION_FILES_H

#include <jansson.h>

#include "dataloader/files/file_pool.h"
#include "dataloader/files/line_index.h"

typedef struct cse_conversation_file {
    int number; /* in the pool */
    cse_line_index lines;
    json_t *list;    /* of a .json */
    bool is_parquet; /* lines were made of its rows */
    int64_t first;   /* its first row among all */
} cse_conversation_file;

/* Start from a zeroed struct; clear it also after a failure. */
typedef struct cse_conversation_files {
    cse_file_pool *pool;
    cse_conversation_file *files;
    int count, capacity;
    int64_t rows;
    char *line;
    size_t line_bytes;
} cse_conversation_files;

/* Adds the rows of a file. CSE_DATA for one without rows, and for a name that tells no kind. */
cse_status cse_conversation_files_add(cse_conversation_files *files, const char *path);
void cse_conversation_files_clear(cse_conversation_files *files);

/* A row, an object; json_decref. */
cse_status cse_conversation_files_read(cse_conversation_files *files, int64_t row, json_t **object);
/* "a.jsonl: line 3", "a.json: entry 3", "a.parquet: row 3", counted from 1. */
void cse_conversation_files_locate(const cse_conversation_files *files, int64_t row, char *text,
                                   size_t size);

#endif
