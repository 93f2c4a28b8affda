/* The header is a literal of Python with three keys; no more of Python is read. */
#include "dataloader/npy_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

enum { HEADER_MOST_BYTES = 1 << 16, BEGIN_BYTES = 12 };

static cse_status refuse(const char *path, const char *what)
{
    return cse_fail(CSE_DATA, "%s: no .npy file that can be used: %s", path, what);
}

/* Behind 'NAME': of the literal; NULL where it is missing. */
static const char *value_of(const char *literal, const char *name)
{
    const char *found = strstr(literal, name);
    if (found == NULL)
        return NULL;
    found += strlen(name);
    return found + strspn(found, " ");
}

static cse_status parse_descr(const char *path, const char *text, cse_npy_header *header)
{
    if (text == NULL || text[0] != '\'' || strchr("<|=", text[1]) == NULL || text[1] == '\0')
        return refuse(path, "descr is not of one little-endian number");
    header->kind = text[2];
    header->size = text[3] - '0';
    const bool whole =
        (header->kind == 'i' || header->kind == 'u') &&
        (header->size == 1 || header->size == 2 || header->size == 4 || header->size == 8);
    const bool is_float = header->kind == 'f' && (header->size == 4 || header->size == 8);
    const bool is_bool = header->kind == 'b' && header->size == 1;
    if ((!whole && !is_float && !is_bool) || text[4] != '\'')
        return refuse(path,
                      "accepted are whole numbers of 1 to 8 bytes, float32, float64 and bool");
    return CSE_OK;
}

static cse_status parse_shape(const char *path, const char *text, cse_npy_header *header)
{
    header->elements = 1;
    if (text == NULL || *text++ != '(')
        return refuse(path, "shape is missing");
    for (;;) {
        char *end;
        text += strspn(text, ", ");
        if (*text == ')')
            return CSE_OK;
        const long long dim = strtoll(text, &end, 10);
        if (end == text || dim < 0 || *text == '-' || *text == '+')
            return refuse(path, "shape is no list of sizes");
        if (header->shape.rank == CSE_MAX_RANK)
            return refuse(path, "it has too many dimensions");
        if (__builtin_mul_overflow(header->elements, dim, &header->elements) ||
            header->elements > INT64_MAX / 16)
            return refuse(path, "its size is beyond all files");
        header->shape.dims[header->shape.rank++] = dim;
        text = end;
    }
}

static cse_status parse_literal(const char *path, const char *literal, cse_npy_header *header)
{
    const char *order = value_of(literal, "'fortran_order':");
    CSE_TRY(parse_descr(path, value_of(literal, "'descr':"), header));
    if (order == NULL || strncmp(order, "False", 5) != 0)
        return refuse(path, "it is in Fortran order: save numpy.ascontiguousarray(array)");
    return parse_shape(path, value_of(literal, "'shape':"), header);
}

/* Bytes before the literal, and of it. */
static cse_status measure(const char *path, const unsigned char *bytes, size_t size, size_t *begin,
                          size_t *length)
{
    if (size < BEGIN_BYTES || memcmp(bytes, "\223NUMPY", 6) != 0)
        return refuse(path, "it does not begin with \\x93NUMPY");
    if (bytes[6] < 1 || bytes[6] > 3)
        return refuse(path, "its version is none of 1, 2 and 3");
    *begin = bytes[6] == 1 ? 10 : 12;
    *length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1)
        *length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    return *length <= HEADER_MOST_BYTES ? CSE_OK : refuse(path, "its header is too long");
}

cse_status cse_npy_parse(const char *path, const unsigned char *bytes, size_t size,
                         cse_npy_header *header)
{
    size_t begin, length;
    *header = (cse_npy_header){ 0 };
    CSE_TRY(measure(path, bytes, size, &begin, &length));
    if (size < begin + length)
        return refuse(path, "it ends within its header");
    char *literal = cse_calloc(1, length + 1);
    memcpy(literal, bytes + begin, length);
    header->offset = (int64_t)(begin + length);
    cse_status status = parse_literal(path, literal, header);
    free(literal);
    return status;
}

cse_status cse_npy_read_header(cse_file_pool *pool, int file, cse_npy_header *header)
{
    const char *path = cse_file_pool_path_view(pool, file);
    const int64_t bytes = cse_file_pool_bytes(pool, file);
    unsigned char begin[BEGIN_BYTES];
    size_t first, length;
    if (bytes < BEGIN_BYTES)
        return refuse(path, "it is too short");
    CSE_TRY(cse_file_pool_read(pool, file, 0, begin, sizeof begin));
    CSE_TRY(measure(path, begin, sizeof begin, &first, &length));
    if ((int64_t)(first + length) > bytes)
        return refuse(path, "it ends within its header");
    unsigned char *whole = cse_malloc(first + length);
    cse_status status = cse_file_pool_read(pool, file, 0, whole, first + length);
    if (status == CSE_OK)
        status = cse_npy_parse(path, whole, first + length, header);
    free(whole);
    if (status == CSE_OK && header->elements * header->size != bytes - header->offset)
        status = cse_fail(CSE_DATA,
                          "%s: its shape has %" PRId64 " elements of %d bytes, but %" PRId64
                          " bytes follow the header: the file is not whole",
                          path, header->elements, header->size, bytes - header->offset);
    return status;
}

static int64_t whole_of(const cse_npy_header *header, const unsigned char *raw)
{
    uint64_t value = 0;
    memcpy(&value, raw, (size_t)header->size);
    const int unused = 64 - 8 * header->size;
    if (header->kind == 'i')
        return (int64_t)(value << unused) >> unused;
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static double real_of(const cse_npy_header *header, const unsigned char *raw)
{
    float single;
    double wide;
    if (header->kind != 'f')
        return (double)whole_of(header, raw);
    memcpy(&single, raw, sizeof single);
    if (header->size == 4)
        return (double)single;
    memcpy(&wide, raw, sizeof wide);
    return wide;
}

static int32_t fitting(const cse_npy_header *header, const unsigned char *raw)
{
    if (header->kind == 'f') {
        const double value = real_of(header, raw);
        return value >= -2147483648.0 && value <= 2147483647.0 ? (int32_t)value : INT32_MIN;
    }
    const int64_t value = whole_of(header, raw);
    return value >= INT32_MIN && value <= INT32_MAX ? (int32_t)value : INT32_MIN;
}

void cse_npy_convert(const cse_npy_header *header, const void *raw, int64_t count, cse_dtype dtype,
                     void *values)
{
    const unsigned char *bytes = raw;
    int32_t *integers = values;
    float *floats = values;
    const bool same = header->size == 4 && header->kind == (dtype == CSE_INT32 ? 'i' : 'f');
    if (same) {
        memcpy(values, raw, (size_t)count * 4);
        return;
    }
    for (int64_t i = 0; i < count; i++, bytes += header->size) {
        if (dtype == CSE_INT32)
            integers[i] = fitting(header, bytes);
        else
            floats[i] = (float)real_of(header, bytes);
    }
}
