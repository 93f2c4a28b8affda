/* Where the lines of a file begin: blank ones do not count. */
#ifndef CSE_DATALOADER_FILES_LINE_INDEX_H
#define CSE_DATALOADER_FILES_LINE_INDEX_H

#include "dataloader/files/file_pool.h"

enum { CSE_LINE_BYTES = 1 << 26 }; /* of one line, at most */

typedef struct cse_line {
    int64_t offset, bytes; /* without the end of the line */
    int64_t number;        /* in the file, counted from 1, blank ones included */
} cse_line;

/* Start from a zeroed struct. */
typedef struct cse_line_index {
    cse_line *lines;
    int64_t count, capacity;
} cse_line_index;

/* Reads the file once. CSE_DATA for a compressed one, in which no line can be found by its place,
 * and a line of more than CSE_LINE_BYTES. */
cse_status cse_line_index_make(cse_line_index *index, cse_file_pool *pool, int file);
void cse_line_index_clear(cse_line_index *index);

#endif
