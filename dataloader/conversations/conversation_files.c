/* Rows of conversations; see conversation_files.h. Lines are parsed when they are asked for. */
#include "dataloader/conversations/conversation_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/files/file_list.h"
#include "dataloader/formats/parquet_file.h"
#include "engine/base/arena.h"
#include "engine/base/nesting.h"

enum { MOST_JSON_BYTES = 1 << 30, MOST_DEPTH = 200 };

void cse_conversation_files_clear(cse_conversation_files *files)
{
    for (int i = 0; i < files->count; i++) {
        cse_line_index_clear(&files->files[i].lines);
        json_decref(files->files[i].list);
    }
    cse_file_pool_destroy(&files->pool);
    free(files->files);
    free(files->line);
    *files = (cse_conversation_files){ 0 };
}

/* ---- JSON ---- */

/* Parses a value, whose texts may hold zero bytes. */
static cse_status parse(const char *text, size_t size, json_t **value)
{
    json_error_t error;
    cse_nesting where;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        size -= 3;
    }
    if (!cse_nesting_json(text, size, MOST_DEPTH, &where))
        return cse_fail(CSE_DATA, "%d:%d: more than %d brackets stand in one another", where.line,
                        where.column, MOST_DEPTH);
    *value = json_loadb(text, size, JSON_ALLOW_NUL, &error);
    return *value != NULL
               ? CSE_OK
               : cse_fail(CSE_DATA, "column %d: it is no JSON: %s", error.column, error.text);
}

static cse_status read_list(cse_conversation_files *files, cse_conversation_file *file)
{
    const int64_t bytes = cse_file_pool_bytes(files->pool, file->number);
    const char *path = cse_file_pool_path_view(files->pool, file->number);
    if (bytes > MOST_JSON_BYTES)
        return cse_fail(CSE_DATA,
                        "%s: a list of more than %d bytes: make JSON lines of it with jq -c '.[]'",
                        path, MOST_JSON_BYTES);
    char *text = cse_malloc((size_t)bytes + 1);
    cse_status status = cse_file_pool_read(files->pool, file->number, 0, text, (size_t)bytes);
    if (status == CSE_OK)
        status = parse(text, (size_t)bytes, &file->list);
    free(text);
    if (status != CSE_OK)
        return cse_fail_within(status, "%s: ", path);
    return json_is_array(file->list)
               ? CSE_OK
               : cse_fail(CSE_DATA,
                          "%s: it is no list of conversations; JSON lines have names in .jsonl",
                          path);
}

/* ---- files ---- */

static cse_status open_file(cse_conversation_files *files, const char *path,
                            cse_conversation_file *file)
{
    file->is_parquet = cse_is_parquet(path);
    if (file->is_parquet)
        CSE_TRY(cse_parquet_add_lines(files->pool, path, &file->number));
    else if (!cse_name_ends(path, ".jsonl|.ndjson|.json"))
        return cse_fail(CSE_DATA,
                        "%s: the end of the name tells no kind of file; accepted: .jsonl, .ndjson, "
                        ".json, .parquet",
                        path);
    else
        CSE_TRY(cse_file_pool_add(files->pool, path, &file->number));
    return !file->is_parquet && cse_name_ends(path, ".json")
               ? read_list(files, file)
               : cse_line_index_make(&file->lines, files->pool, file->number);
}

static int64_t rows_of(const cse_conversation_file *file)
{
    return file->list != NULL ? (int64_t)json_array_size(file->list) : file->lines.count;
}

cse_status cse_conversation_files_add(cse_conversation_files *files, const char *path)
{
    if (files->pool == NULL)
        files->pool = cse_file_pool_new(NULL, NULL);
    CSE_GROW(files->files, files->count, files->capacity);
    cse_conversation_file *file = &files->files[files->count++];
    *file = (cse_conversation_file){ .first = files->rows };
    CSE_TRY(open_file(files, path, file));
    files->rows += rows_of(file);
    for (int64_t i = 0; i < file->lines.count; i++)
        if ((size_t)file->lines.lines[i].bytes > files->line_bytes)
            files->line_bytes = (size_t)file->lines.lines[i].bytes;
    files->line = cse_realloc(files->line, files->line_bytes + 1);
    return rows_of(file) > 0 ? CSE_OK : cse_fail(CSE_DATA, "%s: it has no conversation", path);
}

static const cse_conversation_file *file_of(const cse_conversation_files *files, int64_t row)
{
    int file = 0;
    while (file + 1 < files->count && files->files[file + 1].first <= row)
        file++;
    return &files->files[file];
}

cse_status cse_conversation_files_read(cse_conversation_files *files, int64_t row, json_t **object)
{
    const cse_conversation_file *file = file_of(files, row);
    if (file->list != NULL)
        *object = json_incref(json_array_get(file->list, (size_t)(row - file->first)));
    else {
        const cse_line *line = &file->lines.lines[row - file->first];
        CSE_TRY(cse_file_pool_read(files->pool, file->number, line->offset, files->line,
                                   (size_t)line->bytes));
        CSE_TRY(parse(files->line, (size_t)line->bytes, object));
    }
    if (json_is_object(*object))
        return CSE_OK;
    json_decref(*object);
    *object = NULL;
    return cse_fail(CSE_DATA, "it is no object of JSON");
}

void cse_conversation_files_locate(const cse_conversation_files *files, int64_t row, char *text,
                                   size_t size)
{
    const cse_conversation_file *file = file_of(files, row);
    const int64_t index = row - file->first;
    const bool is_line = file->list == NULL && !file->is_parquet;
    snprintf(text, size, "%s: %s %" PRId64, cse_file_pool_path_view(files->pool, file->number),
             is_line            ? "line"
             : file->is_parquet ? "row"
                                : "entry",
             is_line ? file->lines.lines[index].number : index + 1);
}
