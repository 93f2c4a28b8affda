/* Numbers and texts in a compact binary form: a number takes seven bits a byte, so that small ones
 * take one. What is read may come from a damaged file: reading never goes beyond the end, and the
 * first thing that is wrong is kept. */
#ifndef CSE_GRAPH_PACKING_H
#define CSE_GRAPH_PACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/text.h"

/* A number from 0, and one of either sign. */
void cse_pack_count(cse_text *out, uint64_t number);
void cse_pack_number(cse_text *out, int64_t number);
/* The bits of a double. */
void cse_pack_double(cse_text *out, double number);
/* A text of any bytes, without its end; NULL is written as "". */
void cse_pack_text(cse_text *out, const char *text);

typedef struct cse_unpacker {
    const unsigned char *at, *end;
    bool wrong; /* something was missing or out of its range */
} cse_unpacker;

/* A number below `most`; 0, and `wrong`, for any other. */
uint64_t cse_unpack_count(cse_unpacker *from, uint64_t most);
int64_t cse_unpack_number(cse_unpacker *from);
double cse_unpack_double(cse_unpacker *from);
/* The bytes of a text inside the file; they do not end with a zero. */
const char *cse_unpack_text(cse_unpacker *from, size_t *size);
/* The number of records of at least one byte each that follow; they fit into what is left. */
int cse_unpack_records(cse_unpacker *from);

#endif
