/* Reads and checks the header, then as many values as it announces, then one byte more, which must
 * not exist. */
#include "dataloader/formats/idx_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/input.h"

enum { WORD_BYTES = 4, TYPE_UNSIGNED_BYTE = 0x08 };

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static cse_status read_header(cse_byte_source *source, const char *path, cse_idx_file *file)
{
    unsigned char header[WORD_BYTES * (1 + CSE_IDX_MAX_RANK)];
    size_t header_bytes = WORD_BYTES * (1 + (size_t)file->rank), got;
    CSE_TRY(cse_byte_source_read(source, header, header_bytes, &got));
    uint32_t expected = (uint32_t)TYPE_UNSIGNED_BYTE << 8 | (uint32_t)file->rank;
    if (got >= WORD_BYTES && big_endian(header) != expected)
        return cse_fail(CSE_DATA,
                        "%s: offset 0: the magic number is 0x%08" PRIx32 ", expected 0x%08" PRIx32
                        " (idx, unsigned bytes, %d dimensions): this is another kind of file",
                        path, big_endian(header), expected, file->rank);
    if (got < header_bytes)
        return cse_fail(CSE_DATA,
                        "%s: offset %zu: the file ends within its header of %zu bytes: it is "
                        "truncated; fetch it again",
                        path, got, header_bytes);
    file->size_bytes = 1;
    for (int axis = 0; axis < file->rank; axis++) {
        int offset = WORD_BYTES * (1 + axis);
        file->dims[axis] = big_endian(header + offset);
        if (file->dims[axis] == 0)
            return cse_fail(CSE_DATA, "%s: offset %d: dimension %d is 0, expected at least 1", path,
                            offset, axis);
        if (__builtin_mul_overflow(file->size_bytes, file->dims[axis], &file->size_bytes))
            return cse_fail(CSE_DATA,
                            "%s: offset %d: dimension %d is %" PRId64
                            ": the sizes multiply to more than 2^63 values, the header is damaged",
                            path, offset, axis, file->dims[axis]);
    }
    return CSE_OK;
}

static cse_status read_values(cse_byte_source *source, const char *path, cse_idx_file *file)
{
    unsigned char probe;
    size_t got, beyond, header_bytes = WORD_BYTES * (1 + (size_t)file->rank);
    CSE_TRY(cse_byte_source_take(source, (size_t)file->size_bytes, &file->values, &got));
    if (got < (size_t)file->size_bytes)
        return cse_fail(CSE_DATA,
                        "%s: offset %zu: the content ends here, expected %" PRId64
                        " values after the header and found %zu: the file is truncated; fetch it "
                        "again",
                        path, header_bytes + got, file->size_bytes, got);
    CSE_TRY(cse_byte_source_read(source, &probe, 1, &beyond));
    if (beyond != 0)
        return cse_fail(CSE_DATA,
                        "%s: offset %zu: more bytes follow the %" PRId64
                        " values that the header announces: the header or the content is damaged",
                        path, header_bytes + got, file->size_bytes);
    return CSE_OK;
}

cse_status cse_idx_file_load(const char *path, int rank, cse_idx_file *file)
{
    cse_byte_source *source;
    *file = (cse_idx_file){ .rank = rank };
    CSE_TRY(cse_byte_source_open(path, &source));
    cse_status status = read_header(source, path, file);
    if (status == CSE_OK)
        status = read_values(source, path, file);
    cse_byte_source_close(&source);
    if (status != CSE_OK)
        cse_idx_file_clear(file);
    return status;
}

void cse_idx_file_clear(cse_idx_file *file)
{
    free(file->values);
    *file = (cse_idx_file){ 0 };
}
