/* Measured numbers in a file of JSON, one a member of its object: a table of them serves reading
 * and writing. */
#ifndef CSE_RUN_MEASURE_MEASURED_NUMBERS_H
#define CSE_RUN_MEASURE_MEASURED_NUMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "csengine/status.h"

typedef struct cse_measured_number {
    const char *name;
    size_t offset;      /* in the record */
    bool whole;         /* int64_t there, else double */
    double least, most; /* accepted */
} cse_measured_number;

/* A kind of such files. */
typedef struct cse_measured_file {
    const char *what;    /* "the profile" */
    const char *numbers; /* what is said of accepted numbers: "in seconds, ", or "" */
    const char *option;  /* of `csengine plan`, which writes it: "--save_profile" */
    const cse_measured_number *table;
    int count;
} cse_measured_file;

/* The numbers of a record as members of the object. */
void cse_measured_numbers_put(const cse_measured_file *file, const void *record, json_t *object);
/* All of the table; CSE_DATA, which begins with `source`: one is missing or out of range. */
cse_status cse_measured_numbers_take(const cse_measured_file *file, const json_t *object,
                                     const char *source, void *record);

/* Writes the object, which is taken. `flags` as those of json_dump_file. CSE_CANNOT_CREATE. */
cse_status cse_measured_file_write(const cse_measured_file *file, json_t *object, size_t flags,
                                   const char *path);
/* The caller owns *object. CSE_NO_INPUT, CSE_DATA. */
cse_status cse_measured_file_read(const cse_measured_file *file, const char *path, json_t **object);

#endif
