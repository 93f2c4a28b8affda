/* The number of rows is known at the end: the header has room for it. The file is written beside
 * its place and renamed, so that it is never seen half. */
#include "cli/npy_writer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/types/npy_header.h"
#include "engine/base/types/shape.h"

enum { HEADER_BYTES = 256 };

struct cse_npy_writer {
    FILE *file;
    char path[PATH_MAX], draft[PATH_MAX + 8];
    cse_shape row;
    cse_dtype dtype;
    int64_t rows;
};

static void print_header(const cse_npy_writer *writer, cse_text *header)
{
    cse_shape shape = { .rank = writer->row.rank + 1, .dims = { writer->rows } };
    memcpy(shape.dims + 1, writer->row.dims, sizeof *shape.dims * (size_t)writer->row.rank);
    cse_npy_header_print(writer->dtype == CSE_INT32 ? "<i4" : "<f4", shape, HEADER_BYTES, header);
}

static cse_status failed(const cse_npy_writer *writer)
{
    return cse_fail(CSE_IO, "%s: cannot be written: %s", writer->path, strerror(errno));
}

cse_status cse_npy_writer_open(const char *path, cse_shape row, cse_dtype dtype,
                               cse_npy_writer **result)
{
    char header[HEADER_BYTES] = { 0 };
    cse_npy_writer *writer = cse_calloc(1, sizeof *writer);
    *writer = (cse_npy_writer){ .row = row, .dtype = dtype };
    snprintf(writer->path, sizeof writer->path, "%s", path);
    snprintf(writer->draft, sizeof writer->draft, "%s.tmp", writer->path);
    writer->file = fopen(writer->draft, "wb");
    if (writer->file == NULL) {
        cse_status status =
            cse_fail(CSE_CANNOT_CREATE, "%s: cannot be created: %s", path, strerror(errno));
        free(writer);
        return status;
    }
    *result = writer;
    return fwrite(header, sizeof header, 1, writer->file) == 1 ? CSE_OK : failed(writer);
}

cse_status cse_npy_writer_add(cse_npy_writer *writer, const void *rows, int64_t count)
{
    const size_t bytes = (size_t)(cse_shape_elements(writer->row) * count) * 4;
    writer->rows += count;
    return bytes == 0 || fwrite(rows, bytes, 1, writer->file) == 1 ? CSE_OK : failed(writer);
}

cse_status cse_npy_writer_close(cse_npy_writer **writer, cse_status status)
{
    cse_text header = { 0 };
    cse_npy_writer *old = *writer;
    *writer = NULL;
    print_header(old, &header);
    if (status == CSE_OK &&
        (fseek(old->file, 0, SEEK_SET) != 0 || fwrite(header.data, header.size, 1, old->file) != 1))
        status = failed(old);
    cse_text_clear(&header);
    if (fclose(old->file) != 0 && status == CSE_OK)
        status = failed(old);
    if (status == CSE_OK && rename(old->draft, old->path) != 0)
        status = failed(old);
    if (status != CSE_OK)
        unlink(old->draft);
    free(old);
    return status;
}
