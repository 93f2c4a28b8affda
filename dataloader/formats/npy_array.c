/* A member that is stored is a .npy file within the archive, found by its place. */
#include "dataloader/formats/npy_array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/base/text.h"
#include "engine/formats/weights/weight_formats/zip.h"

#define MOST_MEMORY_BYTES (INT64_C(4) << 30)
enum { MOST_HEADER_BYTES = 1 << 16, PIECE_BYTES = 1 << 20 };

static cse_status too_large(const char *path, const char *what)
{
    return cse_fail(CSE_DATA,
                    "%s: %s, and has more than 4 GiB, which are kept in memory: save it by "
                    "numpy.save(NAME, numpy.ascontiguousarray(array))",
                    path, what);
}

/* ---- order ---- */

/* The elements of the first dimension's index 0, 1, ... stand side by side in Fortran order. */
static void put_in_c_order(const cse_npy_header *header, const unsigned char *from,
                           unsigned char *to)
{
    const int rank = header->shape.rank;
    int64_t index[CSE_MAX_RANK] = { 0 };
    int64_t strides[CSE_MAX_RANK];
    for (int i = 0; i < rank; i++)
        strides[i] = i == 0 ? 1 : strides[i - 1] * header->shape.dims[i - 1];
    for (int64_t e = 0; e < header->elements; e++) {
        int64_t at = 0;
        for (int i = 0; i < rank; i++)
            at += index[i] * strides[i];
        memcpy(to + e * header->size, from + at * header->size, (size_t)header->size);
        for (int i = rank - 1; i >= 0 && ++index[i] == header->shape.dims[i]; i--)
            index[i] = 0;
    }
}

/* `elements` becomes the array's memory, in C order. */
static void keep(cse_npy_array *array, unsigned char *elements)
{
    array->memory = elements;
    if (!array->header.fortran_order)
        return;
    const size_t bytes = (size_t)(array->header.elements * array->header.size);
    array->memory = cse_malloc(bytes + 1);
    put_in_c_order(&array->header, elements, array->memory);
    free(elements);
}

static cse_status take_fortran(cse_npy_array *array)
{
    const char *path = cse_file_pool_path_view(array->pool, array->file);
    const cse_npy_header *header = &array->header;
    const int64_t bytes = header->elements * header->size;
    if (!header->fortran_order)
        return CSE_OK;
    if (bytes > MOST_MEMORY_BYTES)
        return too_large(path, "it is in Fortran order");
    unsigned char *elements = cse_malloc((size_t)bytes + 1);
    cse_status status =
        cse_file_pool_read(array->pool, array->file, header->offset, elements, (size_t)bytes);
    if (status == CSE_OK)
        keep(array, elements);
    else
        free(elements);
    return status;
}

/* ---- members of an archive ---- */

static bool is_array(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".npy") == 0;
}

static cse_status which_member(const cse_zip *zip, const char *path, const char *key)
{
    cse_text names = { 0 };
    for (int i = 0; i < zip->count; i++)
        if (is_array(zip->entries[i].name))
            cse_text_add(&names, "%s%.*s", names.size > 0 ? ", " : "",
                         (int)strlen(zip->entries[i].name) - 4, zip->entries[i].name);
    cse_status status = cse_fail(
        CSE_CONFIG, "%s: %s%s%s; its arrays are: %.2000s", path,
        key != NULL ? "there is no array \"" : "it holds several arrays: name one by its key",
        key != NULL ? key : "", key != NULL ? "\"" : "", names.size > 0 ? names.data : "none");
    cse_text_clear(&names);
    return status;
}

static const cse_zip_entry *find_member(const cse_zip *zip, const char *key)
{
    const cse_zip_entry *found = NULL;
    for (int i = 0; i < zip->count; i++) {
        const cse_zip_entry *entry = &zip->entries[i];
        const size_t length = strlen(entry->name);
        if (!is_array(entry->name))
            continue;
        if (key != NULL && strlen(key) == length - 4 && strncmp(entry->name, key, length - 4) == 0)
            return entry;
        if (key == NULL && found != NULL)
            return NULL;
        if (key == NULL)
            found = entry;
    }
    return found;
}

static cse_status check_size(const cse_npy_array *array, const char *path, int64_t bytes)
{
    const cse_npy_header *header = &array->header;
    return header->offset + header->elements * header->size == bytes
               ? CSE_OK
               : cse_fail(CSE_DATA,
                          "%s: the array has %" PRId64 " elements of %d bytes, but its member has "
                          "%" PRId64 " bytes",
                          path, header->elements, header->size, bytes);
}

/* The checksum of what is read in place is compared when it is opened. */
static cse_status check_stored(const cse_npy_array *array, const char *path,
                               const cse_zip_entry *entry)
{
    uLong sum = crc32(0, NULL, 0);
    unsigned char *piece = cse_malloc(PIECE_BYTES);
    cse_status status = CSE_OK;
    for (uint64_t at = 0; at < entry->bytes && status == CSE_OK; at += PIECE_BYTES) {
        const size_t left =
            entry->bytes - at < PIECE_BYTES ? (size_t)(entry->bytes - at) : PIECE_BYTES;
        status = cse_file_pool_read(array->pool, array->file, (int64_t)(entry->offset + at), piece,
                                    left);
        sum = crc32(sum, piece, (uInt)left);
    }
    free(piece);
    if (status == CSE_OK && (uint32_t)sum != entry->checksum)
        status = cse_fail(CSE_DATA, "%s: the member '%s' is damaged: its checksum differs", path,
                          entry->name);
    return status;
}

static cse_status open_stored(cse_npy_array *array, const char *path, const cse_zip_entry *entry)
{
    const size_t most = entry->bytes < MOST_HEADER_BYTES ? entry->bytes : MOST_HEADER_BYTES;
    unsigned char *begin = cse_malloc(most + 1);
    cse_status status =
        cse_file_pool_read(array->pool, array->file, (int64_t)entry->offset, begin, most);
    if (status == CSE_OK)
        status = cse_npy_parse(path, begin, most, &array->header);
    free(begin);
    if (status == CSE_OK)
        status = check_size(array, path, (int64_t)entry->bytes);
    array->header.offset += (int64_t)entry->offset;
    return status == CSE_OK ? check_stored(array, path, entry) : status;
}

static cse_status open_packed(cse_npy_array *array, const cse_weights *archive,
                              const cse_zip_entry *entry)
{
    char *content = NULL;
    const char *path = archive->files[0].path;
    if (entry->bytes > MOST_MEMORY_BYTES)
        return too_large(path, "it is compressed");
    CSE_TRY(cse_zip_read(archive, 0, entry, (size_t)MOST_MEMORY_BYTES, &content));
    cse_status status =
        cse_npy_parse(path, (const unsigned char *)content, entry->bytes, &array->header);
    if (status == CSE_OK)
        status = check_size(array, path, (int64_t)entry->bytes);
    if (status == CSE_OK) {
        const size_t bytes = (size_t)(array->header.elements * array->header.size);
        unsigned char *elements = cse_malloc(bytes + 1);
        memcpy(elements, content + array->header.offset, bytes);
        keep(array, elements);
    }
    free(content);
    return status;
}

static cse_status open_member(cse_npy_array *array, const char *path, const char *key)
{
    cse_zip zip;
    int descriptor;
    CSE_TRY(cse_file_pool_descriptor(array->pool, array->file, &descriptor));
    cse_weights_file file = { path, descriptor,
                              (uint64_t)cse_file_pool_bytes(array->pool, array->file) };
    cse_weights archive = {
        .arena = cse_arena_new(), .path = path, .files = &file, .file_count = 1
    };
    cse_status status = cse_zip_open_packed(&archive, 0, &zip);
    const cse_zip_entry *entry = status == CSE_OK ? find_member(&zip, key) : NULL;
    if (status == CSE_OK && entry == NULL)
        status = which_member(&zip, path, key);
    if (status == CSE_OK)
        status =
            entry->deflated ? open_packed(array, &archive, entry) : open_stored(array, path, entry);
    cse_zip_clear(&zip);
    cse_arena_destroy(&archive.arena);
    return status;
}

/* ---- arrays ---- */

cse_status cse_npy_array_open(cse_file_pool *pool, const char *path, const char *key,
                              cse_npy_array *array)
{
    char begin[4] = "";
    *array = (cse_npy_array){ .pool = pool };
    CSE_TRY(cse_file_pool_add(pool, path, &array->file));
    if (cse_file_pool_bytes(pool, array->file) >= (int64_t)sizeof begin)
        CSE_TRY(cse_file_pool_read(pool, array->file, 0, begin, sizeof begin));
    const bool is_archive = memcmp(begin, "PK\3\4", 4) == 0 || memcmp(begin, "PK\5\6", 4) == 0;
    if (!is_archive && key != NULL)
        return cse_fail(CSE_CONFIG, "%s: it is no .npz archive: a key (%s) chooses an array of one",
                        path, key);
    CSE_TRY(is_archive ? open_member(array, path, key)
                       : cse_npy_header_of(pool, array->file, &array->header));
    return array->memory == NULL ? take_fortran(array) : CSE_OK;
}

cse_status cse_npy_array_keep(cse_npy_array *array, int64_t most_bytes)
{
    const int64_t bytes = array->header.elements * array->header.size;
    if (array->memory != NULL || bytes > most_bytes)
        return CSE_OK;
    unsigned char *elements = cse_malloc((size_t)bytes + 1);
    cse_status status = cse_npy_array_read(array, 0, array->header.elements, elements);
    if (status == CSE_OK)
        array->memory = elements;
    else
        free(elements);
    return status;
}

void cse_npy_array_clear(cse_npy_array *array)
{
    free(array->memory);
    array->memory = NULL;
}

void cse_npy_array_expect(const cse_npy_array *array, int64_t first, int64_t count)
{
    const int64_t size = array->header.size;
    if (array->memory == NULL)
        cse_file_pool_expect(array->pool, array->file, array->header.offset + first * size,
                             (size_t)(count * size));
}

cse_status cse_npy_array_read(const cse_npy_array *array, int64_t first, int64_t count, void *raw)
{
    const int64_t size = array->header.size;
    if (array->memory == NULL)
        return cse_file_pool_read(array->pool, array->file, array->header.offset + first * size,
                                  raw, (size_t)(count * size));
    memcpy(raw, array->memory + first * size, (size_t)(count * size));
    return CSE_OK;
}
