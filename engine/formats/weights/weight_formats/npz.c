/* npz: NumPy's arrays in a ZIP archive, an entry NAME.npy for each, as numpy.savez writes them
 * (numpy/lib/format.py, versions 1.0 to 3.0). NumPy has no bfloat16. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/base/types/npy_header.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/weight_formats/zip.h"

enum { HEADER_LIMIT_BYTES = 4096, MAGIC_BYTES = 8, ALIGNMENT = 64 };

static const char magic[] = "\x93NUMPY";
static const char extension[] = ".npy";

static const struct {
    const char *type; /* in the file */
    cse_element element;
} types[] = {
    { "<f4", CSE_ELEMENT_F32 }, { "<f2", CSE_ELEMENT_F16 }, { "<f8", CSE_ELEMENT_F64 },
    { "<i8", CSE_ELEMENT_I64 }, { "<i4", CSE_ELEMENT_I32 }, { "<i2", CSE_ELEMENT_I16 },
    { "|i1", CSE_ELEMENT_I8 },  { "|u1", CSE_ELEMENT_U8 },  { "|b1", CSE_ELEMENT_BOOL },
};
enum { TYPES = sizeof types / sizeof types[0] };

static bool begins(const cse_weights_file *file, const unsigned char *start, size_t bytes)
{
    (void)file;
    if (bytes < 30 || memcmp(start, "PK\3\4", 4) != 0)
        return false;
    const size_t length = start[26] | (size_t)start[27] << 8;
    return length >= 4 && 30 + length <= bytes &&
           memcmp(start + 30 + length - 4, extension, 4) == 0;
}

/* ---- reading ---- */

/* Takes a word that must stand next, after blanks. */
static bool take(const char **at, const char *word)
{
    *at += strspn(*at, " ");
    if (strncmp(*at, word, strlen(word)) != 0)
        return false;
    *at += strlen(word);
    return true;
}

static bool take_shape(const char **at, cse_shape *shape)
{
    *shape = (cse_shape){ .rank = 0 };
    if (!take(at, "("))
        return false;
    while (!take(at, ")")) {
        char *end = NULL;
        if (shape->rank == CSE_MAX_RANK || **at < '0' || **at > '9')
            return false;
        shape->dims[shape->rank++] = strtoll(*at, &end, 10);
        *at = end;
        if (!take(at, ",") && **at != ')')
            return false;
    }
    return true;
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } as numpy prints it. */
static bool read_header(const char *text, cse_weight *weight)
{
    const char *at = text;
    char type[4] = "";
    if (!take(&at, "{") || !take(&at, "'descr':") || !take(&at, "'") || strlen(at) < 4)
        return false;
    memcpy(type, at, 3);
    at += 3;
    weight->element = CSE_ELEMENT_COUNT;
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].type, type) == 0)
            weight->element = types[i].element;
    return take(&at, "',") && take(&at, "'fortran_order':") && take(&at, "False,") &&
           take(&at, "'shape':") && take_shape(&at, &weight->shape) && take(&at, ",") &&
           take(&at, "}") && weight->element != CSE_ELEMENT_COUNT;
}

static cse_status add_array(cse_weights *weights, int file, const cse_zip_entry *entry)
{
    unsigned char start[HEADER_LIMIT_BYTES + 1];
    const size_t size = entry->bytes < HEADER_LIMIT_BYTES ? entry->bytes : HEADER_LIMIT_BYTES;
    const size_t length = strlen(entry->name);
    cse_weight weight = { .file = file };
    if (length < sizeof extension || strcmp(entry->name + length - 4, extension) != 0)
        return cse_fail(CSE_DATA, "%s: the entry '%s' is no array: its name does not end with .npy",
                        weights->path, entry->name);
    bool good =
        size > 12 &&
        cse_read_at(weights->files[file].descriptor, start, size, entry->offset) == (int64_t)size &&
        memcmp(start, magic, 6) == 0 && start[6] >= 1 && start[6] <= 3;
    const size_t field = good && start[6] == 1 ? 2 : 4;
    uint64_t header = 0;
    for (size_t i = field; good && i > 0; i--)
        header = header << 8 | start[MAGIC_BYTES + i - 1];
    const uint64_t begin = MAGIC_BYTES + field + header;
    good = good && begin <= size;
    if (good)
        start[begin] = '\0';
    if (!good || !read_header((const char *)start + MAGIC_BYTES + field, &weight))
        return cse_fail(CSE_DATA,
                        "%s: the header of '%s' is not accepted; accepted: arrays of little endian "
                        "floats, integers or bool, in C order, of at most 8 dimensions",
                        weights->path, entry->name);
    weight.name = cse_arena_printf(weights->arena, "%.*s", (int)(length - 4), entry->name);
    weight.offset = entry->offset + begin;
    weight.span = entry->span;
    CSE_TRY(cse_weights_add(weights, &weight));
    return cse_weight_bytes(&weight) == entry->bytes - begin
               ? CSE_OK
               : cse_fail(CSE_DATA, "%s: the shape of '%s' does not fit its bytes", weights->path,
                          entry->name);
}

static cse_status open_npz(cse_weights *weights, int file, const cse_weights_options *options)
{
    cse_zip zip;
    (void)options;
    cse_status status = cse_zip_open(weights, file, &zip);
    for (int i = 0; i < zip.count && status == CSE_OK; i++)
        status = add_array(weights, file, &zip.entries[i]);
    cse_zip_clear(&zip);
    return status;
}

/* ---- writing ---- */

static void print_header(const cse_weight *weight, cse_text *out)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].element == weight->element)
            cse_npy_header_print(types[i].type, weight->shape, 0, out);
}

static cse_status add_weight(cse_zip_writer *zip, cse_weights *from, int index)
{
    const cse_weight *weight = &from->list[index];
    const uint64_t bytes = cse_weight_bytes(weight);
    cse_text header = { 0 };
    char name[1100];
    uint32_t checksum = 0;
    snprintf(name, sizeof name, "%s%s", weight->name, extension);
    print_header(weight, &header);
    const uint64_t at = cse_zip_content(zip, name);
    cse_status status = cse_weights_put_bytes(zip->to, header.data, header.size, at);
    if (status == CSE_OK)
        status = cse_weights_put(from, index, zip->to, at + header.size, &checksum);
    if (status == CSE_OK)
        status = cse_zip_add(
            zip, name, header.size + bytes,
            (uint32_t)crc32_combine(crc32(0, (const Bytef *)header.data, (uInt)header.size),
                                    checksum, (z_off_t)bytes));
    cse_text_clear(&header);
    return status;
}

static cse_status write_npz(cse_weights *from, const cse_weights_target *to)
{
    static const cse_element accepted[] = { CSE_ELEMENT_F32,  CSE_ELEMENT_F16, CSE_ELEMENT_F64,
                                            CSE_ELEMENT_I64,  CSE_ELEMENT_I32, CSE_ELEMENT_I16,
                                            CSE_ELEMENT_I8,   CSE_ELEMENT_U8,  CSE_ELEMENT_BOOL,
                                            CSE_ELEMENT_COUNT };
    cse_zip_writer zip = { .to = to };
    cse_status status = CSE_OK;
    CSE_TRY(cse_weights_accept(from, to, accepted));
    int *order = cse_weights_name_order(from);
    for (int i = 0; i < from->count && status == CSE_OK; i++)
        status = add_weight(&zip, from, order[i]);
    if (status == CSE_OK)
        status = cse_zip_finish(&zip);
    cse_zip_writer_clear(&zip);
    free(order);
    return status;
}

const cse_weights_format cse_weight_format_npz = {
    .name = "npz",
    .summary = "arrays as numpy.savez writes them",
    .extensions = ".npz",
    .begins = begins,
    .open = open_npz,
    .write = write_npz,
};
