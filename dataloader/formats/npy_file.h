/* .npy files: one array of numbers behind a short header (NumPy's format, versions 1 to 3). */
#ifndef CSE_DATALOADER_FORMATS_NPY_FILE_H
#define CSE_DATALOADER_FORMATS_NPY_FILE_H

#include <stddef.h>

#include "csengine/tensor.h"
#include "dataloader/files/file_pool.h"

typedef struct cse_npy_header {
    char kind; /* i, u, f or b, as in NumPy's descr */
    int size;  /* bytes of an element */
    bool big_endian;
    bool fortran_order; /* false where both orders are one */
    cse_shape shape;
    int64_t elements;
    int64_t offset; /* of the first element in the file */
} cse_npy_header;

/* Reads the header of a file of the pool, and checks that the file is as long as it says. CSE_DATA
 * for anything but numbers in C order. */
cse_status cse_npy_read_header(cse_file_pool *pool, int file, cse_npy_header *header);
/* The same of either order. */
cse_status cse_npy_header_of(cse_file_pool *pool, int file, cse_npy_header *header);
/* The same of text: `size` bytes that begin a file. */
cse_status cse_npy_parse(const char *path, const unsigned char *bytes, size_t size,
                         cse_npy_header *header);
/* As int32 or float32. Whole numbers that do not fit become -2147483648. */
void cse_npy_convert(const cse_npy_header *header, const void *raw, int64_t count, cse_dtype dtype,
                     void *values);
/* One element; a whole number beyond int64 is its greatest. */
int64_t cse_npy_whole(const cse_npy_header *header, const void *raw);
double cse_npy_real(const cse_npy_header *header, const void *raw);
/* Whether float32 holds it, if it is a whole number; true of floats, which are rounded. */
bool cse_npy_fits_float(const cse_npy_header *header, const void *raw);

#endif
