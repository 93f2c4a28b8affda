/* Finding formats, and what their writers share. */
#include "engine/formats/weights/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/formats/checkpoint/file_bytes.h"

const cse_weights_format *cse_weights_format_find(const char *name)
{
    for (const cse_weights_format *const *row = cse_weights_formats; *row != NULL; row++)
        if (strcmp((*row)->name, name) == 0)
            return *row;
    return NULL;
}

const char *cse_weights_format_names(cse_arena *arena, bool written)
{
    const char *names = NULL;
    for (const cse_weights_format *const *row = cse_weights_formats; *row != NULL; row++)
        if (!written || (*row)->write != NULL)
            names = names == NULL ? (*row)->name
                                  : cse_arena_printf(arena, "%s, %s", names, (*row)->name);
    return names;
}

enum { BLOCK_BYTES = 1 << 20 }; /* a multiple of the bytes of every element */

cse_status cse_weights_put_bytes(const cse_weights_target *to, const void *data, size_t bytes,
                                 uint64_t offset)
{
    if (cse_write_at(to->descriptor, data, bytes, offset) == 0)
        return CSE_OK;
    return cse_fail(CSE_IO, "%s: cannot be written: %s", to->path, strerror(errno));
}

cse_status cse_weights_put(cse_weights *from, int index, const cse_weights_target *to,
                           uint64_t offset, uint32_t *checksum)
{
    const uint64_t bytes = cse_weight_bytes(&from->list[index]);
    unsigned char *block = cse_malloc(bytes < BLOCK_BYTES ? bytes + 1 : BLOCK_BYTES);
    cse_status status = CSE_OK;
    uLong crc = crc32(0, NULL, 0);
    for (uint64_t done = 0; done < bytes && status == CSE_OK; done += BLOCK_BYTES) {
        const size_t some = bytes - done < BLOCK_BYTES ? (size_t)(bytes - done) : BLOCK_BYTES;
        status = cse_weights_read(from, index, done, some, block);
        if (status == CSE_OK)
            status = cse_weights_put_bytes(to, block, some, offset + done);
        if (status == CSE_OK && checksum != NULL)
            crc = crc32(crc, block, (uInt)some);
    }
    if (checksum != NULL)
        *checksum = (uint32_t)crc;
    free(block);
    return status;
}

static int compare_names(const void *left, const void *right, void *self)
{
    const cse_weights *weights = self;
    return strcmp(weights->list[*(const int *)left].name, weights->list[*(const int *)right].name);
}

int *cse_weights_name_order(const cse_weights *weights)
{
    int *order = cse_malloc(((size_t)weights->count + 1) * sizeof *order);
    for (int i = 0; i < weights->count; i++)
        order[i] = i;
    qsort_r(order, (size_t)weights->count, sizeof *order, compare_names,
            (void *)(uintptr_t)weights);
    return order;
}

cse_status cse_weights_accept(const cse_weights *from, const cse_weights_target *to,
                              const cse_element accepted[])
{
    for (int i = 0; i < from->count; i++) {
        bool good = false;
        for (const cse_element *one = accepted; *one != CSE_ELEMENT_COUNT && !good; one++)
            good = *one == from->list[i].element;
        if (!good)
            return cse_fail(CSE_SHAPE,
                            "%s: '%s' is %s, which this format cannot hold; give --dtype float32 "
                            "or another format",
                            to->path, from->list[i].name, cse_element_name(from->list[i].element));
    }
    return CSE_OK;
}
