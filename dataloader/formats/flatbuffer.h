/* Reads tables of FlatBuffers that somebody else wrote: each place is checked before it is read.
 *
 * A table is a set of fields with numbers, which may be missing; a field is a number, or leads to a
 * table, a text or a vector. What does not lie in the bytes sets `is_damaged`, which stays, and
 * reads as missing: so a reader asks once, at its end. */
#ifndef CSE_DATALOADER_FORMATS_FLATBUFFER_H
#define CSE_DATALOADER_FORMATS_FLATBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cse_flatbuffer {
    const unsigned char *bytes;
    size_t size;
    bool is_damaged;
} cse_flatbuffer;

typedef struct cse_flat_table {
    cse_flatbuffer *buffer;
    size_t at;            /* 0: it is missing */
    size_t fields, count; /* where the places of its fields stand, and how many there are */
    size_t bytes;         /* of the table itself */
} cse_flat_table;

typedef struct cse_flat_vector {
    cse_flatbuffer *buffer;
    size_t at, count, width; /* `width` bytes an element */
} cse_flat_vector;

cse_flat_table cse_flat_root(cse_flatbuffer *buffer);

/* A number of 1, 2, 4 or 8 bytes; `missing` where it is not there. */
int64_t cse_flat_integer(const cse_flat_table *table, int field, size_t width, int64_t missing);
cse_flat_table cse_flat_inner(const cse_flat_table *table, int field);
/* Its bytes, not ended by a zero, and their number; NULL: it is missing. */
const char *cse_flat_text(const cse_flat_table *table, int field, size_t *size);
/* Of tables the width is 4. */
cse_flat_vector cse_flat_list(const cse_flat_table *table, int field, size_t width);
cse_flat_table cse_flat_list_table(const cse_flat_vector *list, size_t index);
/* A number of 8 bytes, `offset` bytes behind the beginning of an element. */
int64_t cse_flat_list_integer(const cse_flat_vector *list, size_t index, size_t offset);

#endif
