/* The header is a literal of Python with three keys; no more of Python is read. */
#include "dataloader/formats/npy_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/types/narrow.h"

enum { HEADER_MOST_BYTES = 1 << 16, BEGIN_BYTES = 12 };

static cse_status refuse(const char *path, const char *what)
{
    return cse_fail(CSE_DATA, "%s: no .npy file that can be used: %s", path, what);
}

/* ---- the literal ---- */

typedef struct literal {
    const char *path, *at;
    cse_npy_header *header;
} literal;

static bool take(literal *l, char c)
{
    l->at += strspn(l->at, " \n");
    if (*l->at != c)
        return false;
    l->at++;
    return true;
}

/* A text in quotes of either kind, as Python 2 and 3 print it. */
static bool take_text(literal *l, char *text, size_t size)
{
    l->at += strspn(l->at, " \n");
    if ((*l->at == 'u' || *l->at == 'b') && (l->at[1] == '\'' || l->at[1] == '"'))
        l->at++;
    const char quote = *l->at;
    const char *end = quote == '\'' || quote == '"' ? strchr(l->at + 1, quote) : NULL;
    if (end == NULL || (size_t)(end - l->at) > size)
        return false;
    snprintf(text, size, "%.*s", (int)(end - l->at - 1), l->at + 1);
    l->at = end + 1;
    return true;
}

/* A structured array is told by the names of its fields: each is the first text in a bracket. */
static cse_status refuse_fields(literal *l)
{
    char name[64], names[512] = "";
    size_t used = 0;
    for (const char *open = strchr(l->at, '(');
         open != NULL && used + sizeof name + 2 < sizeof names; open = strchr(open + 1, '(')) {
        literal field = { .at = open + 1 };
        if (take_text(&field, name, sizeof name))
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", name);
    }
    return cse_fail(CSE_DATA,
                    "%s: a structured array, of the fields %s: accepted is an array of one kind of "
                    "number: save numpy.lib.recfunctions.structured_to_unstructured(array), or one "
                    "field",
                    l->path, names);
}

static cse_status refuse_kind(const char *path, const char *type)
{
    static const struct {
        char kind;
        const char *what;
    } kinds[] = {
        { 'O', "it holds Python objects" },
        { 'U', "it holds texts" },
        { 'S', "it holds texts" },
        { 'a', "it holds texts" },
        { 'M', "it holds dates" },
        { 'm', "it holds times" },
        { 'c', "it holds complex numbers" },
        { 'V', "it holds raw bytes" },
        { 'f', "it holds floats of another size" },
    };
    const char *what = "it is no array of numbers";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].kind == type[0])
            what = kinds[i].what;
    return cse_fail(
        CSE_DATA,
        "%s: no .npy file that can be used: %s (%s): accepted are whole numbers of 1 to "
        "8 bytes, float16, float32, float64 and bool",
        path, what, type);
}

static cse_status take_descr(literal *l)
{
    char text[16];
    const char *type = text;
    cse_npy_header *header = l->header;
    l->at += strspn(l->at, " \n");
    if (*l->at == '[')
        return refuse_fields(l);
    if (!take_text(l, text, sizeof text))
        return refuse(l->path, "descr is not of one number");
    header->big_endian = text[0] == '>';
    type += strchr("<>|=", text[0]) != NULL && text[0] != '\0';
    header->kind = type[0];
    header->size = type[0] != '\0' && type[1] != '\0' && type[2] == '\0' ? type[1] - '0' : 0;
    const bool whole =
        (header->kind == 'i' || header->kind == 'u') &&
        (header->size == 1 || header->size == 2 || header->size == 4 || header->size == 8);
    const bool is_float =
        header->kind == 'f' && (header->size == 2 || header->size == 4 || header->size == 8);
    const bool is_bool = header->kind == 'b' && header->size == 1;
    return whole || is_float || is_bool ? CSE_OK : refuse_kind(l->path, type);
}

static cse_status take_order(literal *l)
{
    l->at += strspn(l->at, " \n");
    const bool is_false = strncmp(l->at, "False", 5) == 0;
    if (!is_false && strncmp(l->at, "True", 4) != 0)
        return refuse(l->path, "fortran_order is neither True nor False");
    l->header->fortran_order = !is_false;
    l->at += is_false ? 5 : 4;
    return CSE_OK;
}

/* Sizes of Python 2 end with L. */
static cse_status take_shape(literal *l)
{
    cse_npy_header *header = l->header;
    header->elements = 1;
    header->shape.rank = 0;
    if (!take(l, '('))
        return refuse(l->path, "shape is missing");
    while (!take(l, ')')) {
        char *end;
        if (*l->at < '0' || *l->at > '9')
            return refuse(l->path, "shape is no list of sizes");
        const long long dim = strtoll(l->at, &end, 10);
        if (header->shape.rank == CSE_MAX_RANK)
            return refuse(l->path, "it has too many dimensions");
        if (__builtin_mul_overflow(header->elements, dim, &header->elements) ||
            header->elements > INT64_MAX / 16)
            return refuse(l->path, "its size is beyond all files");
        header->shape.dims[header->shape.rank++] = dim;
        l->at = end + (*end == 'L');
        if (!take(l, ',') && *l->at != ')')
            return refuse(l->path, "shape is no list of sizes");
    }
    return CSE_OK;
}

static cse_status parse_literal(const char *path, const char *text, cse_npy_header *header)
{
    static const struct {
        const char *name;
        cse_status (*take)(literal *l);
    } keys[] = { { "descr", take_descr },
                 { "fortran_order", take_order },
                 { "shape", take_shape } };
    literal l = { .path = path, .at = text, .header = header };
    char name[32];
    unsigned found = 0;
    if (!take(&l, '{'))
        return refuse(path, "its header is no dictionary");
    while (!take(&l, '}')) {
        int key = 0;
        if (!take_text(&l, name, sizeof name) || !take(&l, ':'))
            return refuse(path, "its header is no dictionary");
        while (key < 3 && strcmp(keys[key].name, name) != 0)
            key++;
        if (key == 3 || (found & 1u << key) != 0)
            return refuse(path, "its header has other keys than descr, fortran_order and shape");
        found |= 1u << key;
        CSE_TRY(keys[key].take(&l));
        take(&l, ',');
    }
    if (found != 7)
        return refuse(path, "its header lacks one of descr, fortran_order and shape");
    /* Of a row, both orders are one. */
    int long_dims = 0;
    for (int i = 0; i < header->shape.rank; i++)
        long_dims += header->shape.dims[i] != 1;
    header->fortran_order = header->fortran_order && long_dims > 1;
    return CSE_OK;
}

/* ---- the file ---- */

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
    char *text = cse_calloc(1, length + 1);
    memcpy(text, bytes + begin, length);
    header->offset = (int64_t)(begin + length);
    cse_status status = parse_literal(path, text, header);
    free(text);
    return status;
}

cse_status cse_npy_header_of(cse_file_pool *pool, int file, cse_npy_header *header)
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

cse_status cse_npy_read_header(cse_file_pool *pool, int file, cse_npy_header *header)
{
    CSE_TRY(cse_npy_header_of(pool, file, header));
    return header->fortran_order
               ? refuse(cse_file_pool_path_view(pool, file),
                        "it is in Fortran order: save numpy.ascontiguousarray(array)")
               : CSE_OK;
}

/* ---- elements ---- */

static uint64_t bits_of(const cse_npy_header *header, const unsigned char *raw)
{
    uint64_t value = 0;
    for (int i = 0; i < header->size; i++)
        value |= (uint64_t)raw[header->big_endian ? header->size - 1 - i : i] << (8 * i);
    return value;
}

int64_t cse_npy_whole(const cse_npy_header *header, const void *raw)
{
    const uint64_t value = bits_of(header, raw);
    const int unused = 64 - 8 * header->size;
    if (header->kind == 'i')
        return (int64_t)(value << unused) >> unused;
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

double cse_npy_real(const cse_npy_header *header, const void *raw)
{
    float single;
    double wide;
    const uint64_t bits = bits_of(header, raw);
    if (header->kind == 'b')
        return bits != 0;
    if (header->kind == 'u')
        return (double)bits;
    if (header->kind == 'i')
        return (double)cse_npy_whole(header, raw);
    if (header->size == 2)
        return (double)cse_load_float16((uint16_t)bits);
    if (header->size == 8) {
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    const uint32_t word = (uint32_t)bits;
    memcpy(&single, &word, sizeof single);
    return (double)single;
}

bool cse_npy_fits_float(const cse_npy_header *header, const void *raw)
{
    const double value = cse_npy_real(header, raw);
    if (header->kind == 'f' || header->size < 4)
        return true;
    if (fabs(value) >= 9223372036854775808.0)
        return bits_of(header, raw) % 4096 == 0; /* 24 bits of a number of 64 */
    const int64_t whole = cse_npy_whole(header, raw);
    return fabs((double)(float)whole) < 9223372036854775808.0 && (int64_t)(float)whole == whole;
}
