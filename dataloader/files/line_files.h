/* Text files whose lines are samples: one or several folders of them, read when they are asked for,
 * with or without a line at the top of each that names its columns. */
#ifndef CSE_DATALOADER_FILES_LINE_FILES_H
#define CSE_DATALOADER_FILES_LINE_FILES_H

#include "csengine/extend.h"
#include "dataloader/files/file_pool.h"
#include "dataloader/files/line_index.h"

typedef struct cse_line_file {
    cse_line_index lines; /* with the header */
    int64_t first;        /* its first sample among all */
} cse_line_file;

/* Start from a zeroed struct; release with cse_line_files_clear. */
typedef struct cse_line_files {
    cse_file_pool *pool;
    cse_line_file *files; /* by the pool's numbers */
    int count, capacity;
    int headers; /* lines at the top of each file that are no sample: 0 or 1 */
    int64_t samples;
    char *line;
    size_t line_bytes;
} cse_line_files;

/* Adds the files of the folders that a PATHS setting names, in the order of their names, whose
 * names end in one of `endings` (".csv|.tsv"). CSE_NO_INPUT where a folder is missing or has no
 * such file. */
cse_status cse_line_files_open(cse_line_files *files, const cse_settings *settings,
                               const char *setting, const char *endings);
/* Adds one file. */
cse_status cse_line_files_add(cse_line_files *files, const char *path);
void cse_line_files_clear(cse_line_files *files);

/* The text of a sample's line, to be changed at will until the next call; `*file` is its number. */
cse_status cse_line_files_read(cse_line_files *files, int64_t sample, char **line, int *file);
/* The line that names the columns of a file. */
cse_status cse_line_files_header(cse_line_files *files, int file, char **line);
/* "a.csv: line 3". */
void cse_line_files_locate(const cse_line_files *files, int64_t sample, char *text, size_t size);

/* Ends the field at `*at`, which moves behind it, and returns it; NULL after the last one. With
 * quotes around it, which are taken away, it may have the delimiter, and "" for a quote in it
 * (RFC 4180); other fields are taken as they are. `quotes` false: quotes mean nothing. */
char *cse_take_field(char **at, char delimiter, bool quotes);
/* Whether a field of the line begins with a quote that does not end in it. */
bool cse_field_is_open(const char *line, char delimiter);

#endif
