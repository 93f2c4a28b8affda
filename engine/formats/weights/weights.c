/* Adding, reading and closing weights. */
#include "engine/formats/weights/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "engine/base/confinement.h"
#include "engine/base/file_status.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/packed/packed_weight.h"

enum { MOST_WEIGHTS = 1 << 22 };

cse_weights *cse_weights_new(const char *path)
{
    cse_weights *weights = cse_calloc(1, sizeof *weights);
    weights->arena = cse_arena_new();
    weights->path = cse_arena_string(weights->arena, path);
    return weights;
}

void cse_weights_close(cse_weights **weights)
{
    if (weights == NULL || *weights == NULL)
        return;
    cse_weights *w = *weights;
    if (w->close != NULL)
        w->close(w);
    for (int i = 0; i < w->file_count; i++)
        close(w->files[i].descriptor);
    cse_name_index_clear(&w->names);
    json_decref(w->facts);
    json_decref(w->generation);
    json_decref(w->tokenizer);
    cse_arena_destroy(&w->arena);
    free(w->list);
    free(w->files);
    free(w);
    *weights = NULL;
}

/* ---- adding ---- */

cse_status cse_weights_add_file(cse_weights *weights, const char *path, int *file)
{
    struct stat status;
    /* O_NONBLOCK: opening a pipe by mistake must not wait for a writer. */
    int descriptor = cse_confined_open(CSE_PATH_INPUT, path, O_RDONLY | O_NONBLOCK, 0);
    if (descriptor < 0 && errno == EXDEV && cse_confinement_view() != NULL)
        return cse_confinement_refuse(CSE_PATH_INPUT, path);
    if (descriptor < 0)
        return cse_fail(cse_status_of_reading(errno), "%s: cannot be opened: %s", path,
                        strerror(errno));
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor);
        return cse_fail(CSE_DATA, "%s: not a regular file, so it holds no weights", path);
    }
    CSE_GROW(weights->files, weights->file_count, weights->file_capacity);
    weights->files[weights->file_count] =
        (cse_weights_file){ .path = cse_arena_string(weights->arena, path),
                            .descriptor = descriptor,
                            .bytes = (uint64_t)status.st_size };
    *file = weights->file_count++;
    return CSE_OK;
}

static bool is_good_name(const char *name)
{
    const size_t length = name != NULL ? strlen(name) : 0;
    bool good = length > 0 && length <= CSE_WEIGHT_NAME_BYTES;
    for (size_t i = 0; good && i < length; i++)
        good = (unsigned char)name[i] >= 32 && name[i] != 127;
    return good;
}

/* Bytes of the elements; false when they are more than 2^62, or a size is negative. */
static bool count_bytes(const cse_weight *weight, uint64_t *bytes)
{
    *bytes = cse_element_bytes(weight->element);
    bool empty = false;
    for (int i = 0; i < weight->shape.rank; i++) {
        if (weight->shape.dims[i] < 0)
            return false;
        empty = empty || weight->shape.dims[i] == 0;
    }
    for (int i = 0; i < weight->shape.rank && !empty; i++)
        if (__builtin_mul_overflow(*bytes, (uint64_t)weight->shape.dims[i], bytes) ||
            *bytes > (UINT64_C(1) << 62))
            return false;
    *bytes = empty ? 0 : *bytes;
    return true;
}

/* Whether the rows are whole blocks; `*bytes` become those of the blocks. */
static cse_status count_packed(const char *path, const cse_weight *weight, uint64_t *bytes)
{
    char shape[192];
    if (weight->packed == NULL)
        return CSE_OK;
    if (weight->element != CSE_ELEMENT_F32 || !cse_packed_fits(weight->packed, weight->shape))
        return cse_fail(CSE_DATA,
                        "%s: '%s' is packed as %s, but its shape %s has rows that are no whole "
                        "blocks of %d elements",
                        path, weight->name, weight->packed->name,
                        cse_shape_text(weight->shape, shape, sizeof shape),
                        weight->packed->elements);
    *bytes = cse_packed_bytes(weight->packed, *bytes / sizeof(float));
    return CSE_OK;
}

cse_status cse_weights_add(cse_weights *weights, const cse_weight *weight)
{
    uint64_t bytes = 0;
    const char *path = weight->file >= 0 ? weights->files[weight->file].path : weights->path;
    if (!is_good_name(weight->name))
        return cse_fail(CSE_DATA,
                        "%s: the name of a weight is empty, longer than %d bytes, or has control "
                        "characters",
                        path, CSE_WEIGHT_NAME_BYTES);
    if (weights->count >= MOST_WEIGHTS)
        return cse_fail(CSE_DATA, "%s: more than %d weights", path, MOST_WEIGHTS);
    if (weight->shape.rank < 0 || weight->shape.rank > CSE_MAX_RANK)
        return cse_fail(CSE_DATA, "%s: '%s' has %d dimensions; accepted: at most %d", path,
                        weight->name, weight->shape.rank, CSE_MAX_RANK);
    if ((unsigned)weight->element >= CSE_ELEMENT_COUNT || !count_bytes(weight, &bytes))
        return cse_fail(CSE_DATA, "%s: '%s' has a size that no file can have", path, weight->name);
    CSE_TRY(count_packed(path, weight, &bytes));
    if (weight->file >= 0 && (weight->offset > weights->files[weight->file].bytes ||
                              bytes > weights->files[weight->file].bytes - weight->offset))
        return cse_fail(CSE_DATA,
                        "%s: the elements of '%s' go beyond the end of the file: it was cut off "
                        "or is damaged",
                        path, weight->name);
    if (cse_name_index_find(&weights->names, weight->name) >= 0)
        return cse_fail(CSE_DATA, "%s: two weights have the name '%s'", path, weight->name);
    CSE_GROW(weights->list, weights->count, weights->capacity);
    cse_weight *added = &weights->list[weights->count];
    *added = *weight;
    added->name = cse_arena_string(weights->arena, weight->name);
    if (weight->file < 0 && weights->read_rows == NULL)
        added->packed = NULL;
    cse_name_index_add(&weights->names, added->name, weights->count++);
    return CSE_OK;
}

int cse_weights_find(const cse_weights *weights, const char *name)
{
    return cse_name_index_find(&weights->names, name);
}

uint64_t cse_weight_bytes(const cse_weight *weight)
{
    uint64_t bytes = 0;
    return count_bytes(weight, &bytes) ? bytes : 0;
}

/* ---- reading ---- */

cse_status cse_weights_read(cse_weights *weights, int index, uint64_t first, size_t bytes, void *to)
{
    if (weights->list[index].file < 0 || weights->read != NULL)
        return weights->read(weights, index, first, bytes, to);
    return cse_weights_read_file(weights, index, first, bytes, to);
}

/* Once for each span; two threads that come together both read it. */
static cse_status compare_checksum(const cse_weights *weights, const cse_weight *weight)
{
    enum { BLOCK_BYTES = 1 << 20 };
    const cse_weights_file *file = &weights->files[weight->file];
    cse_weights_span *span = weight->span;
    if (span == NULL || __atomic_load_n(&span->is_good, __ATOMIC_ACQUIRE))
        return CSE_OK;
    unsigned char *block = cse_malloc(BLOCK_BYTES);
    uLong sum = crc32(0, NULL, 0);
    uint64_t done = 0;
    while (done < span->bytes) {
        const uint64_t left = span->bytes - done;
        const size_t some = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        if (cse_read_at(file->descriptor, block, some, span->offset + done) != (int64_t)some)
            break;
        sum = crc32(sum, block, (uInt)some);
        done += some;
    }
    free(block);
    if (done < span->bytes || (uint32_t)sum != span->checksum)
        return cse_fail(CSE_DATA,
                        "%s: '%s' is damaged: the checksum of its entry in the archive differs; "
                        "fetch the file again",
                        file->path, weight->name);
    __atomic_store_n(&span->is_good, true, __ATOMIC_RELEASE);
    return CSE_OK;
}

/* Bytes of its file, as they lie there. */
static cse_status read_from_file(const cse_weights *weights, const cse_weight *weight,
                                 uint64_t place, size_t bytes, void *to)
{
    const cse_weights_file *file = &weights->files[weight->file];
    const int64_t got = cse_read_at(file->descriptor, to, bytes, place);
    if (got == (int64_t)bytes)
        return CSE_OK;
    return cse_fail(CSE_IO, "%s: '%s' cannot be read: %s", file->path, weight->name,
                    got < 0 ? strerror(errno) : "the file has become shorter");
}

cse_status cse_weights_read_file(const cse_weights *weights, int index, uint64_t first,
                                 size_t bytes, void *to)
{
    const cse_weight *weight = &weights->list[index];
    const cse_weights_file *file = &weights->files[weight->file];
    CSE_TRY(compare_checksum(weights, weight));
    if (weight->packed != NULL)
        return cse_packed_read(&(cse_packed_place){ .type = weight->packed,
                                                    .descriptor = file->descriptor,
                                                    .path = file->path,
                                                    .name = weight->name,
                                                    .offset = weight->offset },
                               first, bytes, to);
    return read_from_file(weights, weight, weight->offset + first, bytes, to);
}

uint64_t cse_weight_row_bytes(const cse_weight *weight)
{
    return cse_packed_bytes(weight->packed, (uint64_t)weight->shape.dims[weight->shape.rank - 1]);
}

cse_status cse_weights_read_rows(cse_weights *weights, int index, int64_t first, int64_t count,
                                 void *to)
{
    const cse_weight *weight = &weights->list[index];
    const uint64_t row = cse_weight_row_bytes(weight);
    if (weight->file < 0 || weights->read != NULL)
        return weights->read_rows(weights, index, first, count, to);
    CSE_TRY(compare_checksum(weights, weight));
    return read_from_file(weights, weight, weight->offset + (uint64_t)first * row,
                          (size_t)((uint64_t)count * row), to);
}

enum { BLOCK_ELEMENTS = 1 << 16 };

cse_status cse_weights_read_as(cse_weights *weights, int index, cse_element element, void *to)
{
    const cse_weight *weight = &weights->list[index];
    const size_t width = cse_element_bytes(weight->element), out = cse_element_bytes(element);
    const uint64_t count = cse_weight_bytes(weight) / width;
    if (weight->element == element)
        return cse_weights_read(weights, index, 0, (size_t)(count * width), to);
    if (!cse_element_converts(weight->element, element))
        return cse_fail(CSE_SHAPE, "%s: '%s' is %s there, which does not become %s", weights->path,
                        weight->name, cse_element_name(weight->element), cse_element_name(element));
    unsigned char *block = cse_malloc(BLOCK_ELEMENTS * width);
    cse_status status = CSE_OK;
    for (uint64_t done = 0; done < count && status == CSE_OK; done += BLOCK_ELEMENTS) {
        const size_t some = count - done < BLOCK_ELEMENTS ? (size_t)(count - done) : BLOCK_ELEMENTS;
        status = cse_weights_read(weights, index, done * width, some * width, block);
        if (status == CSE_OK && !cse_element_convert(weight->element, block, element,
                                                     (unsigned char *)to + done * out, some))
            status = cse_fail(CSE_DATA, "%s: '%s' holds a number that %s cannot hold",
                              weights->path, weight->name, cse_element_name(element));
    }
    free(block);
    return status;
}
