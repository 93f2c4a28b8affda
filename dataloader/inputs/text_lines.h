/* Texts that stand under names in the lines of files: in the columns of tables (.csv, .tsv) or in
 * the members of JSON lines (.jsonl). Also the kind of a text file (.txt), which has no names. */
#ifndef CSE_DATALOADER_INPUTS_TEXT_LINES_H
#define CSE_DATALOADER_INPUTS_TEXT_LINES_H

#include <jansson.h>

#include "csengine/extend.h"
#include "dataloader/files/line_files.h"
#include "engine/base/arena.h"

#define CSE_TEXT_DELIMITER_SETTING                                                             \
    {                                                                                          \
        .name = "delimiter", .type = CSE_SETTING_TEXT, .default_value = "null",                \
        .doc = "the one character between the fields of a table; null: a tab in .tsv, else a " \
               "comma"                                                                         \
    }

enum { CSE_MOST_LINE_TEXTS = 8 };

typedef enum cse_text_form {
    CSE_TEXT_TABLES,
    CSE_TEXT_JSON_LINES,
    CSE_TEXT_PLAIN /* .txt */
} cse_text_form;

/* Start from a zeroed struct with `names` and `count`; release with cse_text_lines_clear. */
typedef struct cse_text_lines {
    const char *names[CSE_MOST_LINE_TEXTS]; /* the caller's; NULL: not asked for */
    int count;                              /* names */
    bool may_lack_last;                     /* files may have no column of the last name */
    char delimiter;                         /* of tables; 0: by the file's name */
    bool has_form;
    cse_text_form form; /* of all files */
    cse_line_files files;
    int *columns; /* [files, count]: where the names stand; -1: nowhere */
} cse_text_lines;

/* CSE_CONFIG: the setting `delimiter` is no single character, or a quote. */
cse_status cse_text_lines_read_delimiter(cse_text_lines *lines, const cse_settings *settings);

/* Takes the form of the first file by the end of its name. CSE_DATA: the end is not known, or the
 * form is another than that of the files before. */
cse_status cse_text_lines_take_form(cse_text_lines *lines, const char *path);

/* Looks up the names in the headers of all files, when those were added. CSE_DATA: a table lacks
 * one. */
cse_status cse_text_lines_find_columns(cse_text_lines *lines);

void cse_text_lines_clear(cse_text_lines *lines);

/* The fields [count] of a table's line, which is changed; NULL where a file has no such column.
 * CSE_DATA: the line is short of one, or ends within quotes. */
cse_status cse_text_lines_fields(const cse_text_lines *lines, char *line, int file,
                                 char *fields[CSE_MOST_LINE_TEXTS]);

/* The members of those names that a JSON line has; json_decref them. CSE_DATA. */
cse_status cse_text_lines_members(const cse_text_lines *lines, const char *line, json_t **members);

#endif
