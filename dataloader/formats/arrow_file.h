/* A table in the format of Apache Arrow (IPC): the stream that `datasets` of Hugging Face saves, or
 * a file with its footer, in which the same stream stands.
 *
 * What is in it is read when it is opened, rows when they are asked for: they stand in batches, of
 * which each column is a few blocks of memory. Every place is checked before it is read. */
#ifndef CSE_DATALOADER_FORMATS_ARROW_FILE_H
#define CSE_DATALOADER_FORMATS_ARROW_FILE_H

#include "csengine/tensor.h"
#include "dataloader/files/file_pool.h"
#include "dataloader/formats/arrow_convert.h"
#include "engine/base/arena.h"

typedef enum cse_arrow_kind {
    CSE_ARROW_OTHER,   /* is not read */
    CSE_ARROW_NUMBERS, /* a number a row, or as many as `shape` says (FixedSizeList) */
    CSE_ARROW_LIST,    /* of numbers, of any length */
    CSE_ARROW_TEXT,    /* UTF-8 or bytes */
} cse_arrow_kind;

typedef struct cse_arrow_column {
    const char *name;
    cse_arrow_kind kind;
    cse_arrow_type type; /* of the numbers */
    int bits;            /* of one of them */
    bool wide;           /* places in lists and texts have 64 bits */
    cse_shape shape;     /* NUMBERS: of one row */
    int levels;          /* of FixedSizeList around the numbers, or 1 of a list */
    int node, buffer;    /* its first ones in a batch */
} cse_arrow_column;

/* A block of memory of a column in the file; none has 0 bytes. */
typedef struct cse_arrow_block {
    uint64_t at, bytes;
    unsigned char *kept; /* its content; NULL: it is in the file alone */
} cse_arrow_block;

/* What was read ahead of a column, for rows that are read one after another. */
typedef struct cse_arrow_window {
    const cse_arrow_block *of;
    uint64_t offset, bytes;
    unsigned char *content;
} cse_arrow_window;

/* A column in a batch. */
typedef struct cse_arrow_part {
    cse_arrow_block places, data;
    cse_arrow_block missing[CSE_MAX_RANK]; /* bits of what is there, by level; none: all is */
    int64_t values;                        /* numbers of all rows */
} cse_arrow_part;

typedef struct cse_arrow_batch {
    int64_t first, rows; /* its first row among those of the file */
    cse_arrow_part *parts;
} cse_arrow_batch;

typedef struct cse_arrow_file {
    cse_arena *arena;
    cse_file_pool *pool; /* borrowed */
    int file;
    cse_arrow_column *columns;
    int column_count;
    cse_arrow_batch *batches;
    int batch_count, batch_capacity;
    int64_t rows;
    uint64_t *room;            /* bytes that may still be kept */
    cse_arrow_window *windows; /* [column] */
} cse_arrow_file;

/* CSE_DATA says what is not accepted. Clear it also after a failure. */
cse_status cse_arrow_open(cse_file_pool *pool, int file, cse_arrow_file *table);
void cse_arrow_clear(cse_arrow_file *table);

/* The position of a column; -1: there is none. */
int cse_arrow_find(const cse_arrow_file *table, const char *name);

typedef struct cse_arrow_cell {
    int column;
    int64_t row;
} cse_arrow_cell;

/* Reading cells does not look at whether the file was changed: who reads rows asks the pool for the
 * file's descriptor before each.
 *
 * How many numbers, or bytes of a text, a cell has. CSE_DATA: it is null, or damaged. */
cse_status cse_arrow_length(const cse_arrow_file *table, cse_arrow_cell cell, int64_t *length);
/* The first `count` numbers of a cell, at most its length, as int32 or float32. CSE_DATA: one is
 * null, does not fit, or is damaged. */
cse_status cse_arrow_read(const cse_arrow_file *table, cse_arrow_cell cell, int64_t count,
                          cse_dtype dtype, void *values);
/* Such a read follows soon: cse_file_pool_expect. */
void cse_arrow_expect(const cse_arrow_file *table, cse_arrow_cell cell);
/* The number of a cell of a column of single numbers, as a double: NaN, too, where it is null, then
 * `*missing`. `*exact` is whether a whole number is one of float32, and true of floats. */
typedef struct cse_arrow_number {
    double value;
    bool missing, exact;
} cse_arrow_number;
cse_status cse_arrow_read_number(const cse_arrow_file *table, cse_arrow_cell cell,
                                 cse_arrow_number *number);
/* Whether a cell is null. */
cse_status cse_arrow_is_null(const cse_arrow_file *table, cse_arrow_cell cell, bool *null);
/* The bytes of a text, of so many. */
cse_status cse_arrow_read_text(const cse_arrow_file *table, cse_arrow_cell cell, int64_t bytes,
                               char *text);

#endif
