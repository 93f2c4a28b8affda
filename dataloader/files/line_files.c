/* The files, their lines, and the fields of a line. */
#include "dataloader/files/line_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/files/file_list.h"
#include "dataloader/files/part_of.h"
#include "engine/base/arena.h"

cse_status cse_line_files_add(cse_line_files *files, const char *path)
{
    int file;
    if (files->pool == NULL)
        files->pool = cse_file_pool_new(NULL, NULL);
    CSE_TRY(cse_file_pool_add(files->pool, path, &file));
    CSE_GROW(files->files, file, files->capacity);
    cse_line_file *added = &files->files[file];
    *added = (cse_line_file){ .first = files->samples };
    files->count = file + 1;
    CSE_TRY(cse_line_index_make(&added->lines, files->pool, file));
    if (added->lines.count < files->headers + 1)
        return cse_fail(CSE_DATA, "%s: it has no line%s", path,
                        files->headers > 0 ? " behind the one that names the columns" : "");
    files->samples += added->lines.count - files->headers;
    return CSE_OK;
}

static cse_status add_folder(cse_line_files *files, const char *folder, const char *endings)
{
    cse_file_list list = { 0 };
    cse_status status = cse_file_list_read(&list, folder, endings);
    if (status == CSE_OK && list.count == 0)
        status = cse_fail(CSE_NO_INPUT, "%s: no file ends in %s", folder, endings);
    for (int i = 0; i < list.count && status == CSE_OK; i++)
        status =
            cse_line_files_add(files, cse_arena_printf(list.arena, "%s/%s", folder, list.names[i]));
    cse_file_list_clear(&list);
    return status;
}

cse_status cse_line_files_open(cse_line_files *files, const cse_settings *settings,
                               const char *setting, const char *endings)
{
    for (int i = 0; i < cse_settings_count(settings, setting); i++)
        CSE_TRY(add_folder(files, cse_settings_text_at(settings, setting, i), endings));
    return CSE_OK;
}

void cse_line_files_clear(cse_line_files *files)
{
    cse_file_pool_destroy(&files->pool);
    for (int i = 0; i < files->count; i++)
        cse_line_index_clear(&files->files[i].lines);
    free(files->files);
    free(files->line);
}

static cse_status read_line(cse_line_files *files, int file, int64_t number, char **line)
{
    const cse_line *place = &files->files[file].lines.lines[number];
    if ((size_t)place->bytes + 1 > files->line_bytes) {
        files->line_bytes = (size_t)place->bytes * 2 + 1;
        files->line = cse_realloc(files->line, files->line_bytes);
    }
    CSE_TRY(
        cse_file_pool_read(files->pool, file, place->offset, files->line, (size_t)place->bytes));
    files->line[place->bytes] = '\0';
    *line = files->line;
    return CSE_OK;
}

static int find(const cse_line_files *files, int64_t sample, int64_t *line)
{
    const int file =
        (int)cse_part_of(&files->files[0].first, sizeof files->files[0], files->count, sample);
    *line = sample - files->files[file].first + files->headers;
    return file;
}

cse_status cse_line_files_read(cse_line_files *files, int64_t sample, char **line, int *file)
{
    int64_t number;
    *file = find(files, sample, &number);
    return read_line(files, *file, number, line);
}

cse_status cse_line_files_header(cse_line_files *files, int file, char **line)
{
    return read_line(files, file, 0, line);
}

void cse_line_files_locate(const cse_line_files *files, int64_t sample, char *text, size_t size)
{
    int64_t line;
    const int file = find(files, sample, &line);
    snprintf(text, size, "%s: line %" PRId64, cse_file_pool_path_view(files->pool, file),
             files->files[file].lines.lines[line].number);
}

/* The field behind a quote, up to the next single one; moved together where "" stood in it. */
static char *take_quoted(char *from, char **end)
{
    char *to = from, *field = from;
    while (*from != '\0' && (from[0] != '"' || from[1] == '"')) {
        from += from[0] == '"';
        *to++ = *from++;
    }
    *end = from + (*from == '"');
    *to = '\0';
    return field;
}

char *cse_take_field(char **at, char delimiter, bool quotes)
{
    char *field = *at, *end;
    const char stops[] = { delimiter, '\r', '\0' };
    if (field == NULL)
        return NULL;
    if (quotes && *field == '"') {
        field = take_quoted(field + 1, &end);
        end += strcspn(end, stops);
        *at = *end == delimiter ? end + 1 : NULL;
        return field;
    }
    end = field + strcspn(field, stops);
    *at = *end == delimiter ? end + 1 : NULL;
    *end = '\0';
    return field;
}

bool cse_field_is_open(const char *line, char delimiter)
{
    for (bool begins = true; *line != '\0'; begins = *line++ == delimiter) {
        if (!begins || *line != '"')
            continue;
        for (line++; *line != '\0' && (line[0] != '"' || line[1] == '"');)
            line += line[0] == '"' ? 2 : 1;
        if (*line == '\0')
            return true;
    }
    return false;
}
