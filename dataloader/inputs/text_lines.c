/* A table is read by the names in its header, a JSON line by the names of its members. */
#include "dataloader/inputs/text_lines.h"

#include <stdlib.h>
#include <string.h>

#include "dataloader/files/file_list.h"
#include "dataloader/formats/json_line.h"
#include "engine/base/config/settings.h"

enum { MOST_COLUMNS = 256, MOST_TOLD = 20 };

cse_status cse_text_lines_read_delimiter(cse_text_lines *lines, const cse_settings *settings)
{
    const char *text =
        cse_settings_has(settings, "delimiter") ? cse_settings_text(settings, "delimiter") : NULL;
    if (text != NULL && (strlen(text) != 1 || text[0] == '"'))
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: delimiter is \"%s\": accepted is one character, and no "
                        "quote",
                        cse_settings_origin(settings, "delimiter"), text);
    lines->delimiter = text != NULL ? text[0] : (char)0;
    return CSE_OK;
}

cse_status cse_text_lines_take_form(cse_text_lines *lines, const char *path)
{
    const cse_text_form form = cse_name_ends(path, ".csv|.tsv") ? CSE_TEXT_TABLES
                               : cse_name_ends(path, ".txt")    ? CSE_TEXT_PLAIN
                                                                : CSE_TEXT_JSON_LINES;
    if (form == CSE_TEXT_JSON_LINES && !cse_name_ends(path, ".jsonl|.ndjson"))
        return cse_fail(CSE_DATA,
                        "%s: the end of the name tells no kind of file; accepted: .csv, .tsv, "
                        ".jsonl, .txt",
                        path);
    if (lines->has_form && form != lines->form)
        return cse_fail(CSE_DATA, "%s: it is of another kind than the first file", path);
    lines->has_form = true;
    lines->form = form;
    lines->files.headers = form == CSE_TEXT_TABLES;
    return CSE_OK;
}

static char delimiter_of(const cse_text_lines *lines, int file)
{
    return lines->delimiter != 0 ? lines->delimiter
           : cse_name_ends(cse_file_pool_path_view(lines->files.pool, file), ".tsv") ? '\t'
                                                                                     : ',';
}

static bool is_missing(const cse_text_lines *lines, const int *found, int name)
{
    return lines->names[name] != NULL && found[name] < 0 &&
           (name != lines->count - 1 || !lines->may_lack_last);
}

/* `arena` holds the names of the file's columns, for the message. */
static cse_status find_columns_of(const cse_text_lines *lines, int file, char *header,
                                  cse_arena *arena)
{
    const char *known = "";
    int *found = lines->columns + lines->count * file;
    const char delimiter = delimiter_of(lines, file);
    if (strncmp(header, "\xef\xbb\xbf", 3) == 0) /* the mark of UTF-8 that some programs write */
        header += 3;
    for (int n = 0; n < lines->count; n++)
        found[n] = -1;
    for (int i = 0; i < MOST_COLUMNS; i++) {
        const char *name = cse_take_field(&header, delimiter, true);
        for (int n = 0; name != NULL && n < lines->count; n++)
            if (lines->names[n] != NULL && strcmp(name, lines->names[n]) == 0)
                found[n] = i;
        if (name != NULL && i < MOST_TOLD)
            known = cse_arena_printf(arena, "%s%s%.60s", known, i > 0 ? ", " : "", name);
    }
    for (int n = 0; n < lines->count; n++)
        if (is_missing(lines, found, n))
            return cse_fail(CSE_DATA, "%s: there is no column %s; its columns are: %s",
                            cse_file_pool_path_view(lines->files.pool, file), lines->names[n],
                            known);
    return CSE_OK;
}

cse_status cse_text_lines_find_columns(cse_text_lines *lines)
{
    char *header;
    cse_arena *arena = cse_arena_new();
    cse_status status = CSE_OK;
    lines->columns =
        cse_calloc((size_t)lines->files.count * (size_t)lines->count + 1, sizeof *lines->columns);
    for (int file = 0; status == CSE_OK && file < lines->files.count; file++) {
        status = cse_line_files_header(&lines->files, file, &header);
        if (status == CSE_OK)
            status = find_columns_of(lines, file, header, arena);
    }
    cse_arena_destroy(&arena);
    return status;
}

void cse_text_lines_clear(cse_text_lines *lines)
{
    cse_line_files_clear(&lines->files);
    free(lines->columns);
    lines->columns = NULL;
}

cse_status cse_text_lines_fields(const cse_text_lines *lines, char *line, int file,
                                 char *fields[CSE_MOST_LINE_TEXTS])
{
    char *all[MOST_COLUMNS] = { NULL };
    const int *columns = lines->columns + lines->count * file;
    const char delimiter = delimiter_of(lines, file);
    const bool quotes = delimiter != '\t';
    if (quotes && cse_field_is_open(line, delimiter))
        return cse_fail(CSE_DATA,
                        "a quote does not end in the line: texts with line breaks are not "
                        "read from tables; JSON lines have them as \\n");
    for (int i = 0; i < MOST_COLUMNS && (all[i] = cse_take_field(&line, delimiter, quotes)) != NULL;
         i++)
        ;
    for (int n = 0; n < lines->count; n++) {
        fields[n] = columns[n] >= 0 ? all[columns[n]] : NULL;
        if (columns[n] >= 0 && fields[n] == NULL)
            return cse_fail(CSE_DATA, "it has no field %s", lines->names[n]);
    }
    return CSE_OK;
}

cse_status cse_text_lines_members(const cse_text_lines *lines, const char *line, json_t **members)
{
    const char *names[CSE_MOST_LINE_TEXTS + 1] = { NULL };
    int count = 0;
    for (int n = 0; n < lines->count; n++)
        if (lines->names[n] != NULL)
            names[count++] = lines->names[n];
    return cse_json_line_read(line, strlen(line), names, members);
}
